/* SPDX-License-Identifier: Apache-2.0 */
/* Planned and real phases of the rows' example runs, as CSV beside a result. */
#include "report/result_phases.h"

#include <inttypes.h>
#include <stdlib.h>

#include "measure/slot_order.h"
#include "prem/base/csv_quote.h"
#include "prem/base/numbers.h"

enum { MAX_PHASES = 20000, MAX_BLOCKS = 64 };

/** A kept run's records are those of its first record's hyperperiod. */
static bool is_first(const prem_trace *trace, const prem_trace_record *record) {
  return record->hyperperiod == trace->records[0].hyperperiod;
}

/* ---- which blocks --------------------------------------------------------------------------- */

typedef struct block_facts {
  int64_t *count;    /* records of the block, of all rows */
  int64_t *worst_ns; /* lateness, in mode tt */
} block_facts;

static void collect_run(const prem_trace *trace, int32_t blocks, block_facts *facts) {
  for (int64_t r = 0; r < trace->record_count; ++r) {
    const prem_trace_record *record = &trace->records[r];
    if (!is_first(trace, record) || record->block >= blocks)
      continue;
    ++facts->count[record->block];
    if (record->release_ns == PREM_NO_RELEASE)
      continue;
    int64_t lateness_ns = record->start_ns - record->release_ns;
    facts->worst_ns[record->block] = prem_max_i64(facts->worst_ns[record->block], lateness_ns);
  }
}

/** The block with the worst lateness above the limit that is not chosen yet; -1: none. */
static int32_t latest_block(const prem_phases *phases, const block_facts *facts) {
  int32_t worst = -1;
  int64_t worst_ns = phases->result->late_ns;
  for (int32_t block = 0; block < phases->schedule->platform.blocks; ++block)
    if (!phases->chosen[block] && facts->worst_ns[block] > worst_ns) {
      worst = block;
      worst_ns = facts->worst_ns[block];
    }
  return worst;
}

/** False when there is no room for it; the first one always finds room. */
static bool choose_block(prem_phases *phases, const block_facts *facts, int32_t block,
                         int64_t *room) {
  if (phases->chosen[block] || facts->count[block] == 0)
    return true;
  if (phases->block_count > 0 && (facts->count[block] > *room || phases->block_count == MAX_BLOCKS))
    return false;
  phases->chosen[block] = true;
  ++phases->block_count;
  *room -= facts->count[block];
  return true;
}

static void choose_blocks(prem_phases *phases, const block_facts *facts) {
  const prem_schedule *schedule = phases->schedule;
  int64_t room = MAX_PHASES;
  for (int late = 0; late < MAX_BLOCKS / 4; ++late) {
    int32_t block = latest_block(phases, facts);
    if (block < 0 || !choose_block(phases, facts, block, &room))
      break;
  }
  for (int32_t position = 0, more = 1; more; ++position) {
    more = 0;
    for (int32_t t = 0; t < schedule->task_count; ++t) {
      const prem_task *task = &schedule->tasks[t];
      if (position >= task->block_count)
        continue;
      more = 1;
      if (!choose_block(phases, facts, task->blocks[position], &room))
        return;
    }
  }
}

/* ---- their planned windows ------------------------------------------------------------------ */

static prem_status collect_slots(prem_phases *phases, prem_diag *diag) {
  const prem_schedule *schedule = phases->schedule;
  int64_t count = 0;
  prem_status status = prem_plan_expand(schedule, schedule->plan, &phases->slots, &count, diag);
  for (int64_t i = 0; status == PREM_OK && i < count; ++i)
    if (phases->chosen[phases->slots[i].block] && !(phases->slots[i].flags & PREM_SLOT_WARMUP))
      phases->slots[phases->slot_count++] = phases->slots[i];
  if (phases->slot_count > 0)
    qsort(phases->slots, (size_t)phases->slot_count, sizeof *phases->slots, prem_slot_order);
  return status;
}

static int64_t count_runs(const prem_result *result, bool *several) {
  prem_kept_run kept[PREM_MAX_KEPT];
  int64_t runs = 0;
  for (int32_t i = 0; i < result->row_count; ++i) {
    const int32_t of_row = prem_row_kept(&result->rows[i], kept);
    *several |= of_row > 1;
    runs += of_row;
  }
  return runs;
}

prem_status prem_phases_choose(const prem_result *result, const prem_schedule *schedule,
                               prem_phases *out, prem_diag *diag) {
  *out = (prem_phases){.result = result, .schedule = schedule};
  const int64_t runs = count_runs(result, &out->has_runs);
  if (runs == 0 || !schedule->plan)
    return PREM_OK;
  out->max = MAX_PHASES / runs;
  size_t blocks = (size_t)schedule->platform.blocks;
  block_facts facts = {calloc(blocks, sizeof(int64_t)), calloc(blocks, sizeof(int64_t))};
  out->chosen = calloc(blocks, sizeof *out->chosen);
  prem_status status = facts.count && facts.worst_ns && out->chosen ? PREM_OK : PREM_ERR_MEMORY;
  if (status == PREM_OK) {
    prem_kept_run kept[PREM_MAX_KEPT];
    for (int32_t i = 0; i < result->row_count; ++i)
      for (int32_t k = prem_row_kept(&result->rows[i], kept); k > 0; --k)
        collect_run(kept[k - 1].trace, schedule->platform.blocks, &facts);
    choose_blocks(out, &facts);
    status = collect_slots(out, diag);
  }
  free(facts.count);
  free(facts.worst_ns);
  return status;
}

void prem_phases_free(prem_phases *phases) {
  free(phases->chosen);
  free(phases->slots);
  *phases = (prem_phases){0};
}

/* ---- writing -------------------------------------------------------------------------------- */

static void write_phase(const prem_phases *phases, const prem_row *row,
                        const prem_trace_record *record, int64_t epoch_ns, int64_t run,
                        FILE *file) {
  prem_csv_quote(file, row->label);
  fputc(',', file);
  prem_csv_quote(file, phases->schedule->tasks[record->task].name);
  fprintf(file, ",%" PRId32 ",%d,%" PRId32 ",%s,", record->job, record->block, record->tile,
          prem_phase_name((prem_phase)record->phase));
  const prem_slot *slot = record->flags & PREM_SLOT_WARMUP
                              ? NULL
                              : prem_slot_find(phases->slots, phases->slot_count, record);
  if (slot)
    fprintf(file, "%" PRId64 ",%" PRId64 ",", slot->planned_ns, slot->planned_ns + slot->length_ns);
  else
    fputs(",,", file);
  if (record->release_ns != PREM_NO_RELEASE)
    fprintf(file, "%" PRId64, record->release_ns - epoch_ns);
  fprintf(file, ",%" PRId64 ",%" PRId64 ",%" PRId64, record->ready_ns - epoch_ns,
          record->start_ns - epoch_ns, record->end_ns - epoch_ns);
  if (phases->has_runs)
    fprintf(file, ",%" PRId64, run);
  fputc('\n', file);
}

static void write_run(const prem_phases *phases, const prem_row *row, const prem_kept_run *kept,
                      FILE *file) {
  const prem_trace *trace = kept->trace;
  int64_t count = 0;
  for (int64_t i = 0; i < trace->record_count && count < phases->max; ++i) {
    const prem_trace_record *record = &trace->records[i];
    if (!is_first(trace, record) || record->block >= phases->schedule->platform.blocks ||
        !phases->chosen[record->block])
      continue;
    write_phase(phases, row, record, kept->epoch_ns, kept->run, file);
    ++count;
  }
}

void prem_phases_write(const prem_phases *phases, FILE *file) {
  fputs("label,task,job,block,tile,phase,planned_ns,planned_end_ns,release_ns,ready_ns,start_ns,"
        "end_ns",
        file);
  fputs(phases->has_runs ? ",run\n" : "\n", file);
  prem_kept_run kept[PREM_MAX_KEPT];
  for (int32_t i = 0; i < phases->result->row_count; ++i) {
    const int32_t count = prem_row_kept(&phases->result->rows[i], kept);
    for (int32_t k = 0; k < count; ++k)
      write_run(phases, &phases->result->rows[i], &kept[k], file);
  }
}
