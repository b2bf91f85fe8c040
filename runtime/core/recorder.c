/* SPDX-License-Identifier: Apache-2.0 */
/* Recorders: room for what each block records, and joining it into the trace. */
#include "runtime/core/recorder.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "prem/base/list.h"
#include "prem/base/numbers.h"

enum { CELLS_ALIGNMENT_BYTES = 128 }; /* two cache lines: the prefetcher fetches them in pairs */

struct prem_late_log {
  _Atomic int64_t count; /* of all, kept or not */
  prem_late_release *kept;
};

void prem_late_log_add(prem_late_log *log, const prem_trace_record *record, int64_t late_ns) {
  const int64_t at = atomic_fetch_add(&log->count, 1);
  if (at < PREM_LATE_KEPT)
    log->kept[at] = (prem_late_release){.hyperperiod = record->hyperperiod,
                                        .tile = record->tile,
                                        .late_ns = (uint32_t)prem_min_i64(late_ns, UINT32_MAX),
                                        .task = record->task,
                                        .block = record->block,
                                        .phase = record->phase};
}

static size_t stats_stride_bytes(int32_t task_count) {
  size_t bytes = (size_t)task_count * PREM_PHASE_COUNT * sizeof(prem_phase_stats);
  return (bytes + CELLS_ALIGNMENT_BYTES - 1) & ~(size_t)(CELLS_ALIGNMENT_BYTES - 1);
}

/* Where the room of a block begins that has `before` of all records ahead of it. */
static int64_t room_begin(const prem_program *program, const prem_trace *trace, int64_t before) {
  if (program->record_count == 0)
    return 0;
  return (int64_t)((prem_wide)trace->record_capacity * before / program->record_count);
}

prem_status prem_recorders_new(const prem_program *program, const prem_run_request *request,
                               prem_trace *trace, bool one_thread, prem_recorder **out) {
  *out = NULL;
  size_t blocks = (size_t)program->block_count, stride = stats_stride_bytes(trace->task_count);
  prem_recorder *recorders = calloc(blocks, sizeof *recorders);
  prem_late_log *late = malloc(sizeof *late);
  unsigned char *stats = one_thread ? NULL : aligned_alloc(CELLS_ALIGNMENT_BYTES, blocks * stride);
  if (!recorders || !late || (!stats && !one_thread)) {
    PREM_FREE(recorders, late, stats);
    return PREM_ERR_MEMORY;
  }
  atomic_init(&late->count, 0);
  late->kept = trace->late;
  int64_t before = 0;
  for (size_t b = 0; b < blocks; ++b) {
    int64_t begin = room_begin(program, trace, before);
    before += (int64_t)program->blocks[b].memory_count + program->blocks[b].compute_count;
    prem_phase_stats *own = one_thread ? NULL : (prem_phase_stats *)(void *)(stats + b * stride);
    recorders[b] = (prem_recorder){.records = trace->records + begin,
                                   .capacity = room_begin(program, trace, before) - begin,
                                   .stats = own ? own : trace->stats,
                                   .own_stats = own,
                                   .discard = request->discard,
                                   .late_ns = program->schedule->platform.late_ns,
                                   .late = late};
    if (own)
      for (int32_t i = 0; i < trace->task_count * PREM_PHASE_COUNT; ++i)
        prem_phase_stats_clear(&own[i]);
  }
  *out = recorders;
  return PREM_OK;
}

void prem_recorders_collect(const prem_program *program, prem_recorder *recorders,
                            prem_trace *trace) {
  for (int32_t b = 0; b < program->block_count; ++b) {
    const prem_recorder *recorder = &recorders[b];
    memmove(trace->records + trace->record_count, recorder->records,
            (size_t)recorder->count * sizeof *trace->records);
    trace->record_count += recorder->count;
    trace->lost += recorder->lost;
    trace->warmup_count += recorder->warmup_count;
    for (int32_t i = 0; recorder->own_stats && i < trace->task_count * PREM_PHASE_COUNT; ++i)
      prem_phase_stats_merge(&trace->stats[i], &recorder->own_stats[i]);
  }
  trace->late_count = (int32_t)prem_min_i64(atomic_load(&recorders[0].late->count), PREM_LATE_KEPT);
}

void prem_recorders_free(prem_recorder *recorders, int32_t block_count) {
  if (!recorders)
    return;
  if (block_count > 0) { /* one allocation for all blocks */
    free(recorders[0].own_stats);
    free(recorders[0].late);
  }
  free(recorders);
}
