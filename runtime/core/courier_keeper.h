/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Results that a GPU's keeper shows as soon as their jobs are over, so that they wait for no
 * decision. Who decides gives it a result together with the ticket; two of an output at most, and
 * only behind others that it has. It hands them on, and says so; then they are counted.
 */
#ifndef TTPREM_RUNTIME_CORE_COURIER_KEEPER_H
#define TTPREM_RUNTIME_CORE_COURIER_KEEPER_H

#include "runtime/core/courier_common.h"

/** A result that the keeper shows. */
typedef struct prem_kept_result {
  uint64_t frames; /* that the output has had then; 0: none. Given by who decides, taken away by the
                      keeper when the result is handed on */
  int64_t job;
  prem_note note; /* but for when it was shown */
  prem_channel *channel;
  const unsigned char *from;
  unsigned char *to;
  int32_t bytes, slot, writer;
} prem_kept_result;

/** Of an output. */
typedef struct prem_kept_sink {
  prem_kept_result results[2]; /* [count % 2] */
  uint32_t handed, shown;      /* counts, of who decides: results given; known to be shown */
} prem_kept_sink;

/** The result of the job that was just decided: where it is put down; NULL: it is not the keeper's,
 *  as its job may yet be left out, or others before it are not. */
PREM_SHARED_CODE prem_kept_result *keeper_place(const prem_courier *c, const prem_stream *sink,
                                                prem_kept_sink *of) {
  uint32_t count = 0; /* with it */
  for (uint32_t left = sink->producer.writing; left != 0; left &= left - 1)
    ++count;
  const bool may = !c->tasks[sink->writer].left_out && count <= 2;
  return may && count - 1 == of->handed - of->shown ? &of->results[of->handed & 1] : NULL;
}

/** Put it down. @return what is then written to its `frames`, behind all else. */
PREM_SHARED_CODE uint64_t keeper_put(const prem_stream *sink, int32_t slot, const prem_note *note,
                                     prem_kept_sink *of, prem_kept_result *at) {
  at->job = sink->next - 1;
  at->note = *note;
  at->channel = sink->producer.channel;
  at->slot = slot;
  at->writer = sink->writer;
  return sink->producer.next + (of->handed++ - of->shown) + 1;
}

/** Is the oldest result that is not shown the keeper's? NULL: no. */
PREM_SHARED_CODE prem_kept_result *keeper_oldest(const prem_stream *sink, prem_kept_sink *of) {
  prem_kept_result *at = &of->results[of->shown & 1];
  return of->handed != of->shown && at->job == sink->oldest ? at : NULL;
}

/** It has been shown. */
PREM_SHARED_CODE void keeper_count(prem_courier *c, prem_stream *sink, prem_kept_sink *of,
                                   const prem_kept_result *at) {
  ++of->shown;
  prem_producer_fill(&sink->producer, at->slot);
  sink->producer.handed_on = sink->producer.next;
  ++c->by_keeper;
}

#endif
