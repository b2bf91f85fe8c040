/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Best-effort tasks: an ordinary program in mode free, beside the one of the critical tasks, for as
 * long as that one runs. It goes through its hyperperiods again and again; before each memory phase
 * a block asks its gate (runtime/core/gate.h).
 *
 * Of a server each block works one tile after the other, as errands ask for them (errands.h).
 *
 * A phase is held back as a whole, so a bound is that of a tile: small tiles drain soon. Computes
 * are not held back.
 *
 * A window is planned for the longest times of critical phases, and mostly these end sooner. It is
 * over when all jobs that have memory phases in it have ended, which whoever counts their ends can
 * say: then the gate opens before the window's end.
 */
#ifndef TTPREM_RUNTIME_CORE_BEST_EFFORT_H
#define TTPREM_RUNTIME_CORE_BEST_EFFORT_H

#include "runtime/core/arrays.h"
#include "runtime/core/errands.h"
#include "runtime/core/gate.h"
#include "runtime/core/program.h"

enum { PREM_BEST_EFFORT_ROWS = 64 }; /* hyperperiods of which the trace keeps the ends */

/** A critical task with memory phases in a closed window. */
typedef struct prem_due {
  int32_t window, task;
  int32_t jobs; /* from the window's hyperperiod on: when so many have ended, no more is in it */
} prem_due;

/** The best-effort tasks of a schedule. */
typedef struct prem_free_part {
  prem_schedule *schedule; /* of these alone; its plan is an order */
  prem_program *program;
  prem_arrays *arrays;
  prem_errands *errands; /* of its servers; NULL: there are none */
  int64_t *ahead_ns;     /* [task * 3 + phase]: prem_ahead_ns(); 0: no memory phase */
  prem_gate_list closed;
  int32_t *closed_for; /* [closed.count]: the critical task whose phase opens the window */
  prem_due *due;       /* window by window: */
  int64_t *due_from; /* [closed.count + 1]: where its own begin; without any it lasts as planned */
  int32_t *jobs;     /* [critical task]: in a hyperperiod */
  double open_share;
} prem_free_part;

/** How many jobs of a critical task have ended on all its blocks; whoever reads that sees what they
 *  wrote. */
typedef int64_t prem_jobs_over(void *of, int32_t task);

/** One a block, which alone writes it. */
typedef struct prem_gatekeeper {
  prem_memory_gate gate;
  const prem_free_part *part;
  prem_best_effort_counts *counts; /* [task] */
  prem_jobs_over *jobs_over;       /* NULL: nobody says; windows last as planned */
  void *jobs_over_of;
  int64_t waits_since_ns; /* -1: nothing waits */
  int32_t block;
  bool is_gated;
} prem_gatekeeper;

/**
 * The best-effort part of a schedule, ready to run: nothing where there are no such tasks.
 *
 * @param[out] out  NULL on error, or without best-effort tasks; free with prem_free_part_free()
 * @retval PREM_ERR_INVALID  cannot be executed (diag: why)
 */
prem_status prem_free_part_new(const prem_schedule *whole, prem_free_part **out, prem_diag *diag);
void prem_free_part_free(prem_free_part *part);

/** Room for what the part's run records, beside a trace of the critical tasks. */
prem_status prem_best_effort_trace_new(const prem_free_part *part, int64_t max_records,
                                       prem_best_effort_trace **out);
void prem_best_effort_trace_free(prem_best_effort_trace *trace);
void prem_best_effort_trace_clear(prem_best_effort_trace *trace);

/** In which modes best-effort tasks run: tt, free, and those that a backend names (bits 1 << mode).
 */
prem_status prem_free_part_judge(const prem_free_part *part, uint32_t others, prem_mode mode,
                                 prem_diag *diag);
/** The request of the part's own run, for that of the critical tasks. */
prem_run_request prem_free_part_request(const prem_run_request *request);

/** A keeper for each block, before a run. The first hyperperiod of the critical tasks begins at 0;
 * free with prem_gatekeepers_free(). NULL: no memory. */
prem_gatekeeper *prem_gatekeepers_new(const prem_free_part *part, prem_mode mode);
void prem_gatekeepers_free(prem_gatekeeper *keepers);
/** From now on they open when the jobs of a window have ended. */
void prem_gatekeepers_watch(prem_gatekeeper *keepers, prem_jobs_over *jobs_over, void *of);
/** After it: what the keepers counted, and how often each task's jobs ended.
 *  @param jobs  [task] */
void prem_gatekeepers_collect(const prem_gatekeeper *keepers, const int64_t *jobs,
                              int64_t length_ns, prem_best_effort_trace *out);

/** What tasks did, of a backend whose blocks count their phases alone.
 *  @param ended       [block * 3 + phase]: phases of the block's table that have ended, in its
 * order
 *  @param[out] counts jobs, tiles, bytes; the rest is left alone
 *  @return hyperperiods that every block has been through; -1: no memory */
int64_t prem_free_part_count(const prem_free_part *part, const int64_t *ended,
                             prem_best_effort_counts *counts);

static inline bool prem_is_gated(const prem_free_part *part, const prem_record *record) {
  return part->ahead_ns[record->task * PREM_PHASE_COUNT + record->phase] > 0;
}

/** A record may not begin yet: has all ended that the window in the way was planned for? Then true,
 *  and it is the next window's turn: read the clock again, and ask. */
bool prem_gatekeeper_look(prem_gatekeeper *keeper);

/** May the record begin at a reading of the clock? Then `now_ns`, else when to ask again. */
static inline int64_t prem_gatekeeper_ask(prem_gatekeeper *keeper, const prem_record *record,
                                          int64_t now_ns) {
  const prem_free_part *part = keeper->part;
  if (!keeper->is_gated || !prem_is_gated(part, record))
    return now_ns;
  const int64_t from_ns =
      prem_gate_ask(&keeper->gate, &part->closed, now_ns,
                    part->ahead_ns[record->task * PREM_PHASE_COUNT + record->phase]);
  if (from_ns > now_ns) {
    if (keeper->waits_since_ns < 0)
      keeper->waits_since_ns = now_ns;
  } else if (keeper->waits_since_ns >= 0) {
    ++keeper->counts[record->task].waits;
    keeper->counts[record->task].wait_ns += now_ns - keeper->waits_since_ns;
    keeper->waits_since_ns = -1;
  }
  return from_ns;
}

/** A phase has ended: what it moved, and whether it reached into a closed window. */
void prem_gatekeeper_note(prem_gatekeeper *keeper, const prem_record *record, int64_t end_ns);

/** Where hyperperiod `h` of the best-effort tasks begins: at a rate, or as soon as may be. */
static inline int64_t prem_free_epoch_ns(const prem_program *program, int64_t h) {
  const int64_t period_ns = program->schedule->period_lcm_ns;
  return period_ns > 0 && h > PREM_MAX_NS / period_ns ? PREM_MAX_NS : h * period_ns;
}

#endif
