/* SPDX-License-Identifier: Apache-2.0 */
#include "experiments/live/ways/rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prem/base/clock.h"
#include "prem/base/random.h"
#include "ttprem/measure.h"

enum { STAMPED_PART = 4 /* so many times fewer turns are stamped than not */ };

void prem_way_rows_add(prem_way_rows *rows, const prem_way_setup *setup, const char *suffix) {
  if (!rows->rows)
    rows->rows = calloc(PREM_MAX_WAY_ROWS, sizeof *rows->rows);
  if (!rows->rows || rows->count == PREM_MAX_WAY_ROWS)
    return;
  prem_way_row *row = &rows->rows[rows->count++];
  row->setup = *setup;
  snprintf(row->name, sizeof row->name, "%s%s", prem_way_name(setup->way), suffix);
}

enum { TIMES = 7, TIMES_ONCE = 3 };

static void list_times(prem_way_samples *samples, int64_t **times[TIMES]) {
  int64_t **const all[TIMES] = {
      &samples->response_ns, &samples->whole_ns,       &samples->device_ns,    &samples->store_ns,
      &samples->load_ns,     &samples->store_again_ns, &samples->load_again_ns};
  memcpy(times, all, sizeof all);
}

void prem_way_samples_free(prem_way_samples *samples) {
  int64_t **times[TIMES];
  list_times(samples, times);
  for (int i = 0; i < TIMES; ++i)
    free(*times[i]);
  *samples = (prem_way_samples){0};
}

bool prem_way_samples_make(int64_t room, bool twice, prem_way_samples *out) {
  int64_t **times[TIMES];
  bool made = true;
  *out = (prem_way_samples){.room = room};
  list_times(out, times);
  for (int i = 0; i < (twice ? TIMES : TIMES_ONCE); ++i) {
    *times[i] = calloc((size_t)room, sizeof **times[i]);
    made &= *times[i] != NULL;
  }
  return made;
}

void prem_way_rows_free(prem_way_rows *rows) {
  for (int32_t r = 0; r < rows->count; ++r)
    prem_way_samples_free(&rows->rows[r].samples);
  free(rows->rows);
  rows->rows = NULL;
  rows->count = 0;
}

static bool make_room(prem_way_rows *rows) {
  for (int32_t r = 0; r < rows->count; ++r)
    if (!prem_way_samples_make(rows->turns, rows->twice, &rows->rows[r].samples))
      return false;
  return rows->rows != NULL;
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* Why a row cannot be: what was said last. */
static void leave_out(prem_way_row *row, prem_status status, const prem_diag *diag) {
  const size_t count = prem_diag_count(diag);
  snprintf(row->left_out, sizeof row->left_out, "%s",
           count > 0 ? prem_diag_at(diag, count - 1)->reason : prem_status_text(status));
}

/* A failure of one way is no reason to end, as long as the machine still works. */
static bool ends_all(const prem_experiment_context *context, prem_status status) {
  if (status == PREM_ERR_MEMORY)
    return true;
  return status == PREM_ERR_MACHINE && prem_is_gpu(context->backend) && !prem_gpu_way_lives();
}

static prem_status measure_part(const prem_experiment_context *context, prem_way_row *row,
                                const prem_way_turns *turns, prem_diag *diag) {
  prem_diag *of_row = prem_diag_new();
  if (!of_row)
    return PREM_ERR_MEMORY;
  const prem_status status = prem_way_run(context, &row->setup, turns, &row->samples, of_row);
  prem_status result = PREM_OK;
  if (status != PREM_OK) {
    leave_out(row, status, of_row);
    if (ends_all(context, status)) {
      prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, "", "%s", row->left_out);
      result = status;
    }
  }
  prem_diag_free(of_row);
  return result;
}

/* In virtual time all turns are had, so that it gives the same numbers every time. */
static prem_status measure_row(const prem_experiment_context *context, const prem_way_rows *rows,
                               prem_way_row *row, int64_t row_ns, prem_diag *diag) {
  const int64_t now_ns = prem_host_clock_ns(), turns = rows->turns / rows->rounds;
  prem_way_turns part = {.warm_up = rows->warm_up,
                         .count = turns > 0 ? turns : 1,
                         .end_ns = prem_is_sim(context->backend)
                                       ? INT64_MAX
                                       : now_ns + row_ns / STAMPED_PART * (STAMPED_PART - 1),
                         .twice = rows->twice,
                         .stop = context->stop};
  prem_status status = measure_part(context, row, &part, diag);
  if (row->setup.way == PREM_WAY_LIVE || status != PREM_OK || *row->left_out)
    return status;
  part.stamped = true;
  part.end_ns = now_ns + row_ns;
  part.count = turns / STAMPED_PART > 0 ? turns / STAMPED_PART : 1;
  return measure_part(context, row, &part, diag);
}

static prem_status measure_round(const prem_experiment_context *context, prem_way_rows *rows,
                                 int32_t round, int64_t end_ns, uint64_t *dice, prem_diag *diag) {
  int32_t order[PREM_MAX_WAY_ROWS];
  prem_status status = PREM_OK;
  for (int32_t r = 0; r < rows->count; ++r)
    order[r] = r;
  prem_shuffle(order, rows->count, dice);
  for (int32_t r = 0; r < rows->count && status == PREM_OK; ++r) {
    const int64_t done = (int64_t)round * rows->count + r,
                  all = (int64_t)rows->rounds * rows->count;
    const int64_t left_ns = end_ns - prem_host_clock_ns();
    prem_way_row *row = &rows->rows[order[r]];
    if (prem_experiment_stopped(context))
      return PREM_ERR_INTERRUPTED;
    if (!*row->left_out)
      status = measure_row(context, rows, row, (left_ns > 0 ? left_ns : 0) / (all - done), diag);
    prem_experiment_progress(context, done + 1, all);
  }
  return status;
}

static void conclude(prem_way_rows *rows, prem_findings *findings) {
  for (int32_t r = 0; r < rows->count; ++r) {
    prem_way_row *row = &rows->rows[r];
    if (row->samples.count + row->samples.device_count > 0)
      prem_findings_output(findings, row->samples.wrong == 0);
    if (row->samples.wrong > 0)
      prem_findings_note(findings,
                         "%s, %" PRId32 " x %" PRId32 ": %" PRId64 " turns gave wrong outputs.",
                         row->name, row->setup.blocks, row->setup.threads, row->samples.wrong);
  }
}

prem_status prem_way_rows_measure(const prem_experiment_context *context, prem_way_rows *rows,
                                  prem_findings *findings, prem_diag *diag) {
  if (!make_room(rows))
    return PREM_ERR_MEMORY;
  uint64_t dice = context->seed;
  const int64_t end_ns = prem_host_clock_ns() + rows->budget_ns;
  prem_status status = PREM_OK;
  for (int32_t round = 0; round < rows->rounds && status == PREM_OK; ++round)
    status = measure_round(context, rows, round, end_ns, &dice, diag);
  conclude(rows, findings);
  return status;
}

/* ---- from a file's rows to what was found ---------------------------------------------------- */

static prem_way_setup setup_at(const prem_table *plan, int64_t row) {
  const char *way = prem_probe_cell_text(plan, row, "way"),
             *work = prem_probe_cell_text(plan, row, "work"),
             *memory = prem_probe_cell_text(plan, row, "memory");
  prem_way_setup setup = {.size = (int32_t)prem_probe_cell(plan, row, "size", 0, 1 << 24),
                          .blocks = (int32_t)prem_probe_cell(plan, row, "blocks", 1, 1024),
                          .threads = (int32_t)prem_probe_cell(plan, row, "threads", 1, 1024),
                          .pace_ns = prem_probe_cell(plan, row, "pace", 0, 1000000000),
                          .mode = strcmp(prem_probe_cell_text(plan, row, "mode"), "tt") == 0
                                      ? PREM_MODE_TT
                                      : PREM_MODE_FREE};
  while (setup.way + 1 < PREM_WAY_COUNT && strcmp(prem_way_name(setup.way), way) != 0)
    ++setup.way;
  while (setup.work < PREM_WORK_MIXED && strcmp(prem_work_name(setup.work), work) != 0)
    ++setup.work;
  while (setup.memory + 1 < PREM_MEMORY_COUNT &&
         strcmp(prem_way_memory_name(setup.memory), memory) != 0)
    ++setup.memory;
  return setup;
}

prem_way_rows prem_way_rows_of(const prem_probe_call *call) {
  prem_way_rows rows = {.turns = prem_probe_whole(call, "turns", 1, 1000000),
                        .warm_up = prem_probe_whole(call, "warm_up", 0, 1000000),
                        .rounds = (int32_t)prem_probe_whole(call, "rounds", 1, 1000),
                        .twice = prem_probe_whole(call, "twice", 0, 1) == 1,
                        .budget_ns = prem_probe_whole(call, "budget", 1, 3600) * 1000000000};
  const prem_table *plan = prem_probe_table(call, "plan");
  for (int64_t row = 0; row < prem_probe_rows(plan); ++row) {
    const prem_way_setup setup = setup_at(plan, row);
    prem_way_rows_add(&rows, &setup, prem_probe_cell_text(plan, row, "suffix"));
  }
  return rows;
}

/* Rows of one reason are told together. */
void prem_way_tell_left_out(const prem_way_rows *rows, prem_findings *findings) {
  for (int32_t r = 0; r < rows->count; ++r) {
    const prem_way_row *row = &rows->rows[r];
    int32_t same = 0, before = 0;
    for (int32_t other = 0; other < rows->count && *row->left_out; ++other)
      if (strcmp(rows->rows[other].left_out, row->left_out) == 0) {
        ++same;
        before += other < r;
      }
    if (same > 0 && before == 0)
      prem_findings_note(findings,
                         "%" PRId32 " row%s left out, the first of them '%s' with %" PRId32
                         " x %" PRId32 " threads: %s.",
                         same, same == 1 ? " is" : "s are", row->name, row->setup.blocks,
                         row->setup.threads, row->left_out);
  }
}

void prem_way_give_times(prem_table *found, int64_t *times_ns, int64_t count) {
  prem_summary times;
  prem_summarise(times_ns, times_ns ? count : 0, &times);
  prem_table_row(found, INT_IF(times.count > 0, times.p50), KNOWN(times.p99),
                 INT_IF(times.count > 0, times.max));
}

void prem_way_rows_give(const prem_way_rows *rows, const char *load, prem_table *found) {
  for (int32_t r = 0; r < rows->count; ++r) {
    const prem_way_row *row = &rows->rows[r];
    const prem_way_samples *samples = &row->samples;
    const char *memory = prem_way_memory_name(row->setup.memory),
               *owner = row->setup.way == PREM_WAY_LIVE ? "a live session's" : memory;
    char series[96];
    prem_summary host, gpu;
    snprintf(series, sizeof series, "%s, %s", owner, row->name);
    prem_summarise(samples->response_ns, samples->count, &host);
    prem_summarise(samples->device_ns, samples->device_count, &gpu);
    const bool any = host.count > 0, stamped = gpu.count > 0;
    prem_table_row(found, TEXT(row->name), TEXT(prem_way_name(row->setup.way)),
                   TEXT(prem_work_name(row->setup.work)), TEXT(memory), TEXT(owner), TEXT(series),
                   TEXT(load), INT(row->setup.size), INT(row->setup.blocks),
                   INT(row->setup.threads), INT(host.count), INT_IF(any, host.p50), KNOWN(host.p99),
                   KNOWN(host.p999), KNOWN(host.p9999), INT_IF(any, host.max),
                   REAL_IF(any, host.mean), INT(gpu.count), INT_IF(stamped, gpu.p50),
                   KNOWN(gpu.p99), INT_IF(stamped, gpu.max), INT_IF(stamped, gpu.min));
    prem_way_give_times(found, samples->whole_ns, samples->count);
    prem_way_give_times(found, samples->store_ns, samples->count);
    prem_way_give_times(found, samples->store_again_ns, samples->count);
    prem_way_give_times(found, samples->load_ns, samples->count);
    prem_way_give_times(found, samples->load_again_ns, samples->count);
  }
}

static prem_status measure_ways(const prem_probe_call *call) {
  prem_way_rows rows = prem_way_rows_of(call);
  const prem_status status =
      prem_way_rows_measure(call->context, &rows, call->findings, call->diag);
  prem_way_tell_left_out(&rows, call->findings);
  prem_way_rows_give(&rows, "none", call->found);
  prem_way_rows_free(&rows);
  return status;
}

const prem_probe prem_ways_probe = {PREM_WAY_COLUMNS, measure_ways, "plan"};

/* ---- starting anew --------------------------------------------------------------------------- */

enum { ANEW = 20, QUICK_ANEW = 2 };

/* Open, one turn, close: what changing the plan or the kernel costs where nothing is resident for
 * both. */
static prem_status start_anew(const prem_experiment_context *context, const prem_way_setup *setup,
                              int64_t repeats, int64_t *took_ns) {
  const prem_way_turns one = {.count = 1, .end_ns = INT64_MAX, .stop = context->stop};
  prem_way_samples samples;
  prem_diag *diag = prem_diag_new();
  prem_status status = prem_way_samples_make(1, false, &samples) ? PREM_OK : PREM_ERR_MEMORY;
  for (int64_t i = 0; i < repeats && status == PREM_OK; ++i) {
    const int64_t begin_ns = prem_host_clock_ns();
    samples.count = 0;
    status = prem_experiment_stopped(context) ? PREM_ERR_INTERRUPTED
                                              : prem_way_run(context, setup, &one, &samples, diag);
    took_ns[i] = prem_host_clock_ns() - begin_ns;
  }
  prem_way_samples_free(&samples);
  prem_diag_free(diag);
  return status;
}

static prem_status measure_anew(const prem_probe_call *call) {
  const prem_table *plan = prem_probe_table(call, "plan_anew");
  const int64_t repeats = call->context->quick ? QUICK_ANEW : ANEW;
  for (int64_t row = 0; row < prem_probe_rows(plan); ++row) {
    const prem_way_setup setup = setup_at(plan, row);
    int64_t took_ns[ANEW];
    prem_summary times;
    const prem_status status = start_anew(call->context, &setup, repeats, took_ns);
    if (status == PREM_ERR_INTERRUPTED || status == PREM_ERR_MEMORY)
      return status;
    if (status != PREM_OK) /* the rows of `ways` say why */
      continue;
    prem_summarise(took_ns, repeats, &times);
    prem_table_row(call->found, TEXT(prem_way_name(setup.way)), INT(repeats), INT(times.p50),
                   INT(times.max));
  }
  return PREM_OK;
}

const prem_probe prem_anew_probe = {"way [text]; count; p50; max", measure_anew, "plan_anew"};
