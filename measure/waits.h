/* SPDX-License-Identifier: Apache-2.0 */
/** What a phase waited for until it began, told from the stamps of a trace. */
#pragma once

#include "measure/predecessors.h"
#include "ttprem/measure.h"

/** The records of each block, in the order of their starts. A record is called by its position
 * there: so that what is kept of it lies beside what is kept of its neighbours. */
typedef struct prem_waits {
  const prem_schedule *schedule;
  const prem_trace *trace;
  int64_t clock_step_ns;
  int64_t *order;    /* [position] index of the record, block after block, ascending in each */
  int64_t *first;    /* [block + 1] position */
  bool *begins;      /* [position] the first phase of its kind of its job on its block? */
  int32_t look_back; /* records of a block: more than can hold up a phase */
  bool apart;        /* prefetches and writebacks of a block run beside each other */
  prem_predecessors *predecessors;
} prem_waits;

/** A reason for a start after its due instant. */
typedef struct prem_wait {
  prem_cause cause;
  bool known;       /* the cause is */
  bool lost;        /* whom it waited for is among the lost records */
  bool until_start; /* not until the culprit's end, but until its start */
  int64_t culprit;  /* position of the record that it waited for; -1: none */
  int32_t from;     /* of a hand-over: the task that ended; else -1 */
} prem_wait;

/** @param trace  sorted; outlives the waits, as the schedule does. */
prem_status prem_waits_open(const prem_schedule *schedule, const prem_trace *trace,
                            int64_t clock_step_ns, prem_waits *out);
void prem_waits_close(prem_waits *waits);

/** Why a record began after it was due. O(buffers), and O(log records) for a job's first phases. */
prem_wait prem_wait_of(const prem_waits *waits, int64_t position);

static inline const prem_trace_record *prem_record_at(const prem_waits *waits, int64_t position) {
  return &waits->trace->records[waits->order[position]];
}

/** The phase before it of its tile, further up in its block; -1: not there. */
int64_t prem_tile_before(const prem_waits *waits, int64_t position);
/** The other half of its joined pair; -1: none. */
int64_t prem_other_half(const prem_waits *waits, int64_t position);
/** When it was due: its release, or, chained, the end of the phase before it of its tile. */
int64_t prem_due_ns(const prem_waits *waits, int64_t position);
/** How much longer than its window it took. */
int64_t prem_excess_ns(const prem_waits *waits, int64_t position);
bool prem_record_is_late(const prem_waits *waits, int64_t position);
