/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Errands: work that comes while a schedule runs.
 *
 * A best-effort task with a `server` in the schedule file works off errands, each for some of its
 * tiles:
 *
 *   prem_errand_acquire() -> { prem_errand_port() } -> prem_errand_send()
 *   prem_errand_collect() -> { prem_errand_port() } -> prem_errand_release()
 *
 * These calls may come from any number of threads, before a run of the session and while another
 * thread is in prem_session_run(). Each answers at once, but for prem_errand_collect(), which waits
 * as long as it is told. Each errand that was sent ends exactly once, and is collected exactly
 * once; it may then be sent again instead of being released. When a run ends, so do all errands
 * that it has not done; what is sent later waits for the next run. On
 * sim, whose time passes within a run, errands are sent before it, or come by
 * prem_run_request.arrivals. On cuda ports lie where blocks copy from and to, over the bus.
 */
#ifndef TTPREM_ERRAND_H
#define TTPREM_ERRAND_H

#include "ttprem/runtime.h"

/** Where a port of an errand lies: element (i0, i1, i2, i3), right-aligned, as in prem_array. */
typedef struct prem_errand_view {
  void *data;
  int64_t shape[4];
  int64_t pitch_bytes; /* from one row to the next */
  prem_type type;
} prem_errand_view;

PREM_EXTERN_C_BEGIN

/**
 * Get room for an errand: all tiles of the task, or as many as it may have, from the first on, and
 * tag 0. Change `first_tile`, `tile_count` and `tag` as you like.
 *
 * @param task  of the session's schedule.
 * @retval PREM_ERR_FULL      `capacity` errands are there, or others ask at the same moment
 * @retval PREM_ERR_ARGUMENT  the task has no server
 */
PREM_API prem_status prem_errand_acquire(prem_session *session, int32_t task, prem_errand *out);

/**
 * Where the application fills an input, before the errand is sent, or finds an output, until it is
 * released. An array that no other task uses is the errand's own.
 *
 * @retval PREM_ERR_ARGUMENT  no such port, or an input that other tasks read as well
 */
PREM_API prem_status prem_errand_port(prem_session *session, const prem_errand *errand,
                                      const char *port, prem_errand_view *out);

/**
 * Send it. Its arrival is now; on sim, the start of the run.
 *
 * @retval PREM_ERR_FULL      a run is just ending: send it again
 * @retval PREM_ERR_ARGUMENT  no such tiles, or more than `server.tiles`, or it was sent already
 */
PREM_API prem_status prem_errand_send(prem_session *session, prem_errand *errand);

/**
 * The next errand that has ended, of any server.
 *
 * @param timeout_ns  so long to wait for one; 0: not at all.
 * @retval PREM_ERR_TIMEOUT  none has
 */
PREM_API prem_status prem_errand_collect(prem_session *session, int64_t timeout_ns,
                                         prem_errand *out);

/** Give the room of an errand back that was collected, or acquired and not sent.
 *  @retval PREM_ERR_ARGUMENT  it is neither */
PREM_API prem_status prem_errand_release(prem_session *session, const prem_errand *errand);

PREM_EXTERN_C_END
#endif
