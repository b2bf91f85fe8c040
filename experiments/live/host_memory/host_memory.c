/* SPDX-License-Identifier: Apache-2.0 */
/* What it costs a core to store inputs and to load outputs, by the memory that they lie in. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/common/originals.h"
#include "experiments/live/ways/rows.h"
#include "prem/base/clock.h"
#include "prem/base/numbers.h"
#include "report/findings/tables.h"

enum {
  TURNS = 4000,
  QUICK_TURNS = 40,
  WARM_UP = 50,
  ROUNDS = 4,
  QUICK_ROUNDS = 2,
  MAX_THREADS = 1024,
  LIVE_THREADS = 288,
  COMPARED = 1024,
  LINE_BYTES = 64
};

#define BUDGET_NS       INT64_C(30000000000)
#define QUICK_BUDGET_NS INT64_C(6000000000)

static const int32_t sizes[] = {64, 256, 1024, 16384};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* ---- ordinary memory, which nobody else uses ------------------------------------------------- */

/* To memory: whoever comes next misses. */
static void evict(const float *values, int64_t count) {
#if defined(__x86_64__)
  for (int64_t i = 0; i < count; i += LINE_BYTES / (int64_t)sizeof *values)
    __builtin_ia32_clflush(values + i);
  __builtin_ia32_mfence();
#else
  (void)values, (void)count;
#endif
}

static int64_t copy(float *to, const float *from, int64_t count) {
  const int64_t begin_ns = prem_host_clock_ns();
  memcpy(to, from, (size_t)count * sizeof *to);
  __asm__ volatile("" ::"r"(to) : "memory");
  return prem_host_clock_ns() - begin_ns;
}

/* Room for a row of ordinary memory, and its times. */
typedef struct ordinary {
  float *buffer, *staging;
  prem_way_samples samples;
} ordinary;

static void measure_turns(ordinary *memory, int32_t size, int64_t turns) {
  for (int64_t turn = 0; turn < turns; ++turn) {
    prem_way_times times = {0};
    for (int32_t i = 0; i < size; ++i)
      memory->staging[i] = (float)(turn + i);
    evict(memory->buffer, size);
    times.store_ns = copy(memory->buffer, memory->staging, size);
    times.store_again_ns = copy(memory->buffer, memory->staging, size);
    evict(memory->buffer, size);
    memset(memory->staging, 0, (size_t)size * sizeof *memory->staging);
    times.load_ns = copy(memory->staging, memory->buffer, size);
    times.load_again_ns = copy(memory->staging, memory->buffer, size);
    times.wrong = memory->staging[size - 1] != (float)(turn + size - 1);
    prem_way_keep(&memory->samples, &times);
  }
}

static bool open_ordinary(ordinary *memory, int32_t size, int64_t turns) {
  *memory = (ordinary){.buffer = calloc((size_t)size, sizeof(float)),
                       .staging = calloc((size_t)size, sizeof(float))};
  return prem_way_samples_make(turns, true, &memory->samples) && memory->buffer && memory->staging;
}

static void close_ordinary(ordinary *memory) {
  prem_way_samples_free(&memory->samples);
  free(memory->buffer);
  free(memory->staging);
}

/* ---- telling --------------------------------------------------------------------------------- */

static prem_table *begin_tables(prem_findings *findings) {
  prem_table *table =
      prem_table_begin(findings, "stores_and_loads", "A core stores inputs and loads outputs", NULL,
                       "floats; memory; way; count");
  static const char *const what[] = {"store", "store again", "load", "load again"};
  for (size_t w = 0; w < sizeof what / sizeof *what; ++w) {
    char columns[96];
    snprintf(columns, sizeof columns, "%s p50 [ns]; %s p99 [ns]; %s largest [ns]", what[w], what[w],
             what[w]);
    prem_table_columns(table, columns);
  }
  return table;
}

static int64_t tell_times(prem_table *table, int64_t *times_ns, int64_t count) {
  prem_summary summary;
  prem_summarise(times_ns, count, &summary);
  prem_table_row(table, INT(summary.p50), KNOWN(summary.p99), INT(summary.max));
  return summary.p50;
}

static void tell_load(prem_table *loads, int32_t size, const char *memory, int64_t median_ns) {
  prem_table_row(loads, INT(size), TEXT(memory), INT(median_ns));
}

/* Its median first load. */
static int64_t tell_row(prem_table *table, prem_table *loads, int32_t size, const char *memory,
                        const char *way, const prem_way_samples *samples) {
  char series[96];
  prem_table_row(table, INT(size), TEXT(memory), TEXT(way), INT(samples->count));
  tell_times(table, samples->store_ns, samples->count);
  tell_times(table, samples->store_again_ns, samples->count);
  snprintf(series, sizeof series, "%s%s%s", memory, *way ? ", " : "", way);
  const int64_t load_ns = tell_times(table, samples->load_ns, samples->count);
  tell_load(loads, size, series, load_ns);
  tell_times(table, samples->load_again_ns, samples->count);
  return load_ns;
}

static prem_table *begin_loads(prem_findings *findings) {
  prem_table *table =
      prem_table_begin(findings, "loads", "Loads, by floats", NULL, "floats; memory; median [ns]");
  prem_chart_add(findings, PREM_CHART_LINES, "loads", "Median of the first load of outputs",
                 "floats", "median", "memory", PREM_LOG_X | PREM_LOG_Y);
  return table;
}

/* ---- measuring ------------------------------------------------------------------------------- */

static void add_rows(prem_way_rows *rows, const prem_experiment_context *context) {
  static const struct {
    prem_way way;
    prem_way_memory memory;
  } ways[] = {
      {PREM_WAY_LIVE, PREM_MEMORY_MAPPED},       {PREM_WAY_LAUNCH, PREM_MEMORY_PAGEABLE},
      {PREM_WAY_LAUNCH, PREM_MEMORY_COPIED},     {PREM_WAY_LAUNCH, PREM_MEMORY_MANAGED},
      {PREM_WAY_LAUNCH, PREM_MEMORY_MAPPED},     {PREM_WAY_RESIDENT, PREM_MEMORY_MAPPED},
      {PREM_WAY_RESIDENT, PREM_MEMORY_COMBINED}, {PREM_WAY_RESIDENT, PREM_MEMORY_REGISTERED}};
  const bool is_gpu = prem_is_gpu(context->backend);
  for (size_t s = 0; s < SIZES; ++s)
    for (size_t w = 0; w < (is_gpu ? sizeof ways / sizeof *ways : 1); ++w)
      prem_way_rows_add(rows,
                        &(prem_way_setup){.way = ways[w].way,
                                          .work = PREM_WORK_INCREMENT,
                                          .size = sizes[s],
                                          .memory = ways[w].memory,
                                          .blocks = 1,
                                          .threads = !is_gpu  ? 1
                                                     : w == 0 ? LIVE_THREADS
                                                              : prem_min_i32(sizes[s], MAX_THREADS),
                                          .pace_ns = is_gpu ? 100000 : 1000000,
                                          .mode = PREM_MODE_FREE},
                        "");
}

static prem_status measure_ordinary(prem_table *table, prem_table *loads, int64_t turns,
                                    prem_findings *findings, int64_t *load_ns) {
  for (size_t s = 0; s < SIZES; ++s) {
    ordinary memory;
    const bool made = open_ordinary(&memory, sizes[s], turns);
    if (made) {
      measure_turns(&memory, sizes[s], turns);
      prem_findings_output(findings, memory.samples.wrong == 0);
      const int64_t median_ns = tell_row(table, loads, sizes[s], "ordinary", "", &memory.samples);
      *load_ns = sizes[s] == COMPARED ? median_ns : *load_ns;
    }
    close_ordinary(&memory);
    if (!made)
      return PREM_ERR_MEMORY;
  }
  return PREM_OK;
}

static void tell_rows(const prem_way_rows *rows, prem_table *table, prem_table *loads) {
  for (int32_t r = 0; r < rows->count; ++r) {
    const prem_way_row *row = &rows->rows[r];
    if (row->samples.count > 0)
      tell_row(table, loads, row->setup.size,
               row->setup.way == PREM_WAY_LIVE ? "a live session's"
                                               : prem_way_memory_name(row->setup.memory),
               row->name, &row->samples);
  }
}

/* The median first load of so many floats; INT64_MIN: there is no such row. */
static int64_t load_of(const prem_way_rows *rows, prem_way way, int32_t size) {
  for (int32_t r = 0; r < rows->count; ++r) {
    const prem_way_row *row = &rows->rows[r];
    prem_summary summary;
    if (row->setup.way != way || row->setup.memory != PREM_MEMORY_MAPPED ||
        row->setup.size != size || row->samples.count == 0)
      continue;
    prem_summarise(row->samples.load_ns, row->samples.count, &summary);
    return summary.p50;
  }
  return INT64_MIN;
}

static void tell_verdict(const prem_way_rows *rows, int64_t ordinary_ns, prem_findings *findings) {
  const int64_t mapped_ns = load_of(rows, PREM_WAY_RESIDENT, COMPARED),
                live_ns = load_of(rows, PREM_WAY_LIVE, COMPARED);
  char text[160] = "";
  if (mapped_ns != INT64_MIN)
    snprintf(text, sizeof text, ", of mapped memory %" PRId64 " ns", mapped_ns);
  if (live_ns != INT64_MIN)
    snprintf(text + strlen(text), sizeof text - strlen(text),
             ", of a live session's %" PRId64 " ns", live_ns);
  prem_findings_verdict(findings,
                        "A first load of %d floats of ordinary memory takes %" PRId64
                        " ns at the median%s.",
                        COMPARED, ordinary_ns, text);
}

static void conclude(const prem_way_rows *rows, int64_t ordinary_ns, prem_findings *findings) {
  tell_verdict(rows, ordinary_ns, findings);
  prem_findings_note(findings,
                     "The first store and load of a turn come behind the GPU's accesses; `again` "
                     "is the same once more at once. Ordinary memory, which nobody else uses, is "
                     "evicted from the caches before the first one%s.",
#if defined(__x86_64__)
                     ""
#else
                     ", but not on this machine"
#endif
  );
  prem_findings_note(findings, "Reading the clock takes some 20 to 40 ns of each time.");
  prem_way_tell_left_out(rows, findings);
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  prem_way_rows rows = {.turns = context->quick ? QUICK_TURNS : TURNS,
                        .warm_up = context->quick ? WARM_UP / 10 : WARM_UP,
                        .rounds = context->quick ? QUICK_ROUNDS : ROUNDS,
                        .twice = true,
                        .budget_ns = context->quick ? QUICK_BUDGET_NS : BUDGET_NS};
  prem_table *table = begin_tables(findings), *loads = begin_loads(findings);
  prem_original_add(findings, "host_memory", "original");
  int64_t ordinary_ns = 0;
  prem_status status = measure_ordinary(table, loads, rows.turns, findings, &ordinary_ns);
  if (status != PREM_OK)
    return status;
  add_rows(&rows, context);
  status = prem_way_rows_measure(context, &rows, findings, diag);
  if (status == PREM_OK || status == PREM_ERR_INTERRUPTED) {
    tell_rows(&rows, table, loads);
    conclude(&rows, ordinary_ns, findings);
  }
  prem_way_rows_free(&rows);
  return status;
}

const prem_experiment prem_host_memory_experiment = {
    .name = "host_memory",
    .title = "A core's stores and loads",
    .question = "What does it cost a core to store inputs and to load outputs, by their memory?",
    .backends = "cuda cpu",
    .run = run,
};
