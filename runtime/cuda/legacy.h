/**
 * Modes legacy and launched: the same tasks as ordinary kernels, one launch a job over the whole
 * array, every task on a stream of its own.
 *
 * Hyperperiods run one after the other; the host waits for the end of each. `after` is
 * cudaStreamWaitEvent, a lag is a gate behind it. Every way to launch that is known for a task's
 * kernel is timed at the first run of a session, alone and then with all tasks together; the best
 * ones are used from there on (legacy_tune.c).
 *
 * What is measured: the end of a job is when its last block has issued its last store, stamped by
 * the blocks themselves on %globaltimer. (When the store is visible to other SMs is not waited for:
 * less than a microsecond, to the opponent's benefit.) It counts from S:
 *
 * - legacy is gated: all is queued behind one gate a stream, a thread that waits for S, so that no
 *   cost of launching is inside. From S to a stream's first block about one microsecond goes by,
 *   which counts. A job with a release has a gate of its own.
 *
 * - launched is as launched: the GPU stamps S when it sees a word of the host, which launches as
 *   soon as it sees the stamp, about one microsecond later. Later releases are kept by the host's
 *   clock.
 */
#ifndef TTPREM_LEGACY_H
#define TTPREM_LEGACY_H

#include "cuda_arrays.h"

typedef struct prem_legacy prem_legacy;

/**
 * @retval PREM_ERR_UNAVAILABLE  a task's kernel has no ordinary version, or an array is too large
 *                               for it (diag: a note)
 */
prem_status prem_legacy_new(const prem_program *program, const prem_cuda_arrays *arrays,
                            const prem_arrays *host, int32_t sm_count, prem_legacy **out,
                            prem_diag *diag);
/** Not of one that is lost: freeing would wait for its kernel. */
void prem_legacy_free(prem_legacy *legacy);
/** As prem_session_run(); mode legacy or launched. */
prem_status prem_legacy_run(prem_legacy *legacy, const prem_run_request *request, prem_trace *trace,
                            prem_diag *diag);
/** What was tried; NULL before the first run. */
const prem_tuning *prem_legacy_tuning(const prem_legacy *legacy);
/** A kernel never came back: nothing of the device can be freed. */
bool prem_legacy_is_lost(const prem_legacy *legacy);

#endif
