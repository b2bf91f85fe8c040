/* SPDX-License-Identifier: Apache-2.0 */
/* What a block does in a run: its two tables merged into one order, record after record. */
#include "runtime/cpu/cpu.h"

#include <string.h>

#include "runtime/core/record_rules.h"
#include "runtime/core/windows.h"

/* ---- the phases ----------------------------------------------------------------------------- */

static unsigned char *input_buffer(const prem_cpu_block *block, const prem_record *record) {
  return prem_cpu_input_buffer(block, block->in_buffers[record->in_buffer]);
}

static unsigned char *output_buffer(const prem_cpu_block *block, const prem_record *record) {
  return prem_cpu_output_buffer(block, block->out_buffers[record->out_buffer]);
}

/* False: the watchdog gave the block up meanwhile; only its own memory may be touched from here. */
static bool compute(prem_cpu_block *block, int64_t hyperperiod, const prem_record *record,
                    const int32_t *slots) {
  const prem_cpu_kernel *kernel = &block->cpu->kernels[record->task];
  _Alignas(8) unsigned char changed[PREM_PARAMS_BYTES];
  const void *params = kernel->params;
  const unsigned char *newer = NULL;
  if (!kernel->compute)
    return true;
  if (block->cpu->courier)
    newer = prem_courier_params(block->cpu->courier, record->task, hyperperiod);
  if (newer) /* a compute may outlive the session */
    params = memcpy(changed, newer, sizeof changed);
  prem_view views[PREM_MAX_PORTS];
  prem_tile_views_slots(block->cpu->arrays, record->task, record->tile, slots,
                        input_buffer(block, record), output_buffer(block, record), views);
  atomic_store_explicit(&block->stage, PREM_CPU_COMPUTING, memory_order_release);
  kernel->compute(params, views);
  int expected = PREM_CPU_COMPUTING;
  return atomic_compare_exchange_strong_explicit(&block->stage, &expected, PREM_CPU_RUNNING,
                                                 memory_order_acq_rel, memory_order_acquire);
}

static bool perform(prem_cpu_block *block, int64_t hyperperiod, const prem_record *record) {
  prem_arrays *arrays = block->cpu->arrays;
  int32_t room[PREM_MAX_PORTS];
  const int32_t *slots = room;
  if (prem_is_server(block->cpu->errands, record->task))
    prem_errands_slots(block->cpu->errands, block->number, room);
  else if (block->cpu->courier)
    prem_courier_slots(block->cpu->courier, hyperperiod, record, room);
  else
    slots = prem_program_slots(block->cpu->program, hyperperiod, record, room);
  switch (record->phase) {
  case PREM_PREFETCH:
    prem_tile_fetch_slots(arrays, record->task, record->tile, slots, input_buffer(block, record));
    return true;
  case PREM_WRITEBACK:
    prem_tile_store_slots(arrays, record->task, record->tile, slots, output_buffer(block, record));
    return true;
  default:
    return compute(block, hyperperiod, record, slots);
  }
}

/* ---- one record, or a joined pair ----------------------------------------------------------- */

/* When a record (or a joined pair) is to begin, from S. */
static int64_t due_ns(const prem_cpu_block *block, const prem_record *record, int32_t count) {
  const prem_cpu *cpu = block->cpu;
  int64_t due = block->epoch_ns;
  for (int32_t i = 0; i < count; ++i)
    due = prem_max_i64(
        due, prem_earliest_ns(cpu->program, cpu->request->mode, &record[i], block->epoch_ns));
  return due;
}

static bool is_skipped(const prem_cpu *cpu, int64_t hyperperiod, const prem_record *record) {
  return cpu->courier && prem_courier_skips(cpu->courier, hyperperiod, record);
}

static int64_t first_hyperperiod(const prem_cpu *cpu) {
  return cpu->courier ? cpu->courier->first_hyperperiod : 0;
}

/* The block works its records in order, so their waits on the block itself are over by now; if one
 * is not, the records are wrong and going on would move garbage. */
static bool own_waits_are_over(const prem_cpu_block *block, int64_t hyperperiod,
                               const prem_record *record) {
  int64_t before[PREM_PHASE_COUNT];
  for (int32_t p = 0; p < PREM_PHASE_COUNT; ++p)
    before[p] = (hyperperiod - first_hyperperiod(block->cpu)) * block->program->phase_count[p];
  return prem_waits_are_over(record, block->phases_done, before);
}

static bool wait_for_tokens(const prem_cpu_block *block, const prem_cpu_claim *claim) {
  prem_cpu *cpu = block->cpu;
  int32_t turns = 0;
  const int64_t ticket = prem_cpu_tokens_queue(&cpu->tokens);
  while (!prem_cpu_tokens_take(&cpu->tokens, ticket, claim)) {
    if (prem_cpu_is_aborted(cpu))
      return false;
    prem_cpu_take_a_turn(cpu, &turns);
  }
  return true;
}

static void raise_fault(prem_cpu_block *block) {
  prem_cpu_fault *fault = &block->cpu->fault;
  bool expected = false;
  if (atomic_compare_exchange_strong(&fault->claimed, &expected, true)) {
    fault->block = block;
    fault->at_ns = prem_cpu_now_ns(block);
  }
  atomic_store_explicit(&block->cpu->abort.value, PREM_CPU_FAULTED, memory_order_relaxed);
}

static void finish(prem_cpu_block *block, int64_t hyperperiod, const prem_record *record,
                   bool is_empty, int64_t ready_ns, int64_t start_ns, int64_t end_ns) {
  prem_cpu *cpu = block->cpu;
  const int64_t before = block->recorder->count;
  ++block->phases_done[record->phase];
  if (cpu->critical && !is_empty)
    prem_gatekeeper_note(&cpu->keepers[block->number], record, end_ns);
  if (record->flags & PREM_RECORD_LAST)
    prem_cpu_publish_job(cpu, hyperperiod, record,
                         prem_block_position(block->program, record->task), end_ns);
  if (!is_empty)
    prem_record_executed(block->recorder, cpu->request->mode, record,
                         &(prem_execution){.epoch_ns = block->epoch_ns,
                                           .ready_ns = ready_ns,
                                           .start_ns = start_ns,
                                           .end_ns = end_ns,
                                           .hyperperiod = prem_traced_hyperperiod(
                                               hyperperiod - first_hyperperiod(cpu)),
                                           .block = block->number});
  if (!is_empty && prem_is_server(cpu->errands, record->task)) {
    if (block->recorder->count > before)
      prem_errands_note(cpu->errands, block->number, &block->recorder->records[before]);
    if (record->flags & PREM_RECORD_LAST)
      prem_errands_put_down(cpu->errands, block->number, end_ns);
  }
  atomic_store_explicit(&block->records_done,
                        atomic_load_explicit(&block->records_done, memory_order_relaxed) + 1,
                        memory_order_relaxed);
}

/* Wait for the instant of records. Of a job that is left out already only the end has one. */
static bool wait_for_place(prem_cpu_block *block, int64_t hyperperiod, const prem_record *record,
                           int32_t count, int64_t *start_ns) {
  const int64_t due = due_ns(block, record, count);
  bool is_empty = true, is_end = false;
  for (int32_t i = 0; i < count; ++i) {
    is_empty &= is_skipped(block->cpu, hyperperiod, &record[i]);
    is_end |= (record[i].flags & PREM_RECORD_LAST) != 0;
  }
  if (*start_ns >= due || (is_empty && !is_end))
    return true;
  return is_empty ? prem_cpu_keep_place(block, due, start_ns)
                  : prem_cpu_wait_until(block, due, start_ns);
}

/* A phase of a server for which there is no tile. */
static bool leave_out(prem_cpu_block *block, int64_t hyperperiod, const prem_record *record,
                      int64_t now_ns) {
  finish(block, hyperperiod, record, true, now_ns, now_ns, now_ns);
  return true;
}

/* Both halves of a joined pair start together and end together. False: the run is over for us. */
static bool execute(prem_cpu_block *block, int64_t hyperperiod, const prem_record *record,
                    int32_t count) {
  prem_cpu *cpu = block->cpu;
  if (prem_cpu_is_aborted(cpu))
    return false;
  int64_t earliest_ns = INT64_MIN, ready_ns, start_ns;
  for (int32_t i = 0; i < count; ++i) {
    if (!own_waits_are_over(block, hyperperiod, &record[i])) {
      raise_fault(block);
      return false;
    }
    if ((record[i].flags & PREM_RECORD_AFTER) &&
        !prem_cpu_wait_for_predecessors(block, hyperperiod, &record[i], record[i].phase,
                                        &earliest_ns))
      return false;
    if (cpu->courier && !prem_cpu_wait_for_tickets(block, hyperperiod, &record[i]))
      return false;
  }
  if (!prem_cpu_wait_until(block, earliest_ns, &ready_ns))
    return false;
  start_ns = ready_ns;
  if (!wait_for_place(block, hyperperiod, record, count, &start_ns))
    return false;

  prem_record of_errand;
  if (prem_is_server(cpu->errands, record->task)) {
    if (record->phase == PREM_PREFETCH && !prem_cpu_wait_for_tile(block, record))
      return false;
    const prem_record *found = prem_errands_record(cpu->errands, block->number, record, &of_errand);
    if (!found)
      return leave_out(block, hyperperiod, record, ready_ns);
    record = found;
  }
  /* looked at once: who is told later to leave a phase out leaves out the next one */
  const bool is_empty[] = {is_skipped(cpu, hyperperiod, record),
                           count == 1 || is_skipped(cpu, hyperperiod, &record[1])};
  prem_cpu_claim claim = {.empty = true};
  if (cpu->request->mode == PREM_MODE_LOCK && !(is_empty[0] && is_empty[1]) &&
      prem_record_is_at_memory(cpu->program->schedule, record))
    prem_cpu_tokens_claim(&cpu->tokens, record, count, &claim);
  if (cpu->critical && !prem_cpu_wait_at_gate(block, record, &start_ns))
    return false;
  if (!claim.empty) {
    if (!wait_for_tokens(block, &claim))
      return false;
    start_ns = prem_cpu_now_ns(block);
  }
  for (int32_t i = 0; i < count; ++i)
    if (!is_empty[i] && !perform(block, hyperperiod, &record[i]))
      return false;
  const int64_t end_ns = prem_max_i64(prem_cpu_now_ns(block), start_ns);
  if (!claim.empty)
    prem_cpu_tokens_give(&cpu->tokens, &claim);
  if (ready_ns < 0)
    ready_ns = 0; /* it stood by before S */
  for (int32_t i = 0; i < count; ++i)
    finish(block, hyperperiod, &record[i], is_empty[i], ready_ns, start_ns, end_ns);
  if ((record->flags | record[count - 1].flags) & PREM_RECORD_LAST)
    prem_cpu_away_job_over(block, end_ns);
  return true;
}

/* ---- a run ---------------------------------------------------------------------------------- */

/* A place in the merged order of the block's two tables. */
typedef struct cursor {
  int32_t memory, compute;
} cursor;

/* The record at the cursor, which then stands behind it; NULL at the end. `*count` is 2 for a
 * joined pair. */
static const prem_record *next_record(const prem_block_program *program, cursor *at,
                                      int32_t *count) {
  *count = 1;
  if (at->memory == program->memory_count && at->compute == program->compute_count)
    return NULL;
  if (!prem_block_memory_first(program, at->memory, at->compute))
    return &program->compute[at->compute++];
  const prem_record *record = &program->memory[at->memory];
  if (record->flags & PREM_RECORD_JOIN_NEXT)
    *count = 2;
  at->memory += *count;
  return record;
}

static void turn_buffers(prem_cpu_block *block) {
  if (!block->program->turns)
    return;
  prem_turn_buffers(block->program->in_turn, block->in_buffers);
  prem_turn_buffers(block->program->out_turn, block->out_buffers);
}

static bool begin(prem_cpu_block *block, int64_t hyperperiod) {
  const prem_cpu *cpu = block->cpu;
  if (cpu->courier)
    return prem_cpu_wait_for_hyperperiod(block, hyperperiod);
  if (cpu->critical) {
    block->epoch_ns = prem_free_epoch_ns(cpu->program, hyperperiod);
    return true; /* the end comes between two records */
  }
  if (hyperperiod >= cpu->request->hyperperiods)
    return false;
  block->epoch_ns = cpu->trace->epoch_ns[hyperperiod];
  return true;
}

void prem_cpu_run_block(prem_cpu_block *block) {
  memset(block->phases_done, 0, sizeof block->phases_done);
  for (int i = 0; i < PREM_MAX_BUFFERS; ++i)
    block->in_buffers[i] = block->out_buffers[i] = (uint8_t)i;
  for (int64_t h = first_hyperperiod(block->cpu); begin(block, h); ++h, turn_buffers(block)) {
    cursor at = {0};
    int32_t count;
    const prem_block_program *program = &block->plan->blocks[block->number];
    for (const prem_record *record; (record = next_record(program, &at, &count));)
      if (!execute(block, h, record, count))
        return;
  }
}

const prem_record *prem_cpu_block_record(const prem_cpu_block *block, int64_t done,
                                         int64_t *hyperperiod, int64_t *index) {
  const prem_cpu *cpu = block->cpu;
  const prem_block_program *program = block->program;
  *hyperperiod = done / block->records;
  *index = done % block->records;
  if (cpu->courier) /* its row is there: the hyperperiod is not over */
    program =
        &cpu->program->plans[prem_courier_plan(cpu->courier, *hyperperiod + first_hyperperiod(cpu))]
             ->blocks[block->number];
  cursor at = {0};
  int32_t count;
  int64_t seen = 0;
  const prem_record *record;
  while ((record = next_record(program, &at, &count)) && seen + count <= *index)
    seen += count;
  return record;
}
