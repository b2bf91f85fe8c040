/* SPDX-License-Identifier: Apache-2.0 */
/* The trace: its room, its counts, its CSV form. */
#include "prem/base/list.h"
#include "prem/base/sorting.h"
#include "runtime/core/best_effort.h"
#include "runtime/core/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ttprem/text.h"

/* ---- room ----------------------------------------------------------------------------------- */

/* a * b, or INT64_MAX where that does not fit; neither is negative. */
static int64_t capped_product(int64_t a, int64_t b) {
  return a != 0 && b > INT64_MAX / a ? INT64_MAX : a * b;
}

static int64_t records_of(const prem_schedule *schedule, const prem_task *task) {
  int64_t phases = 0;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    phases += task->phase[p].exists;
  return capped_product(prem_task_jobs(schedule, task), phases * task->tile_count);
}

static int64_t records_of_hyperperiod(const prem_schedule *schedule) {
  int64_t records = 0;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    int64_t more = records_of(schedule, &schedule->tasks[t]);
    records = more > INT64_MAX - records ? INT64_MAX : records + more;
  }
  return records;
}

/* Memory that is there: written with a pattern that no allocator gives for free. NULL: there is
 * none. */
static void *touched(int64_t count, size_t element_bytes) {
  if ((uint64_t)count > (SIZE_MAX >> 1) / element_bytes)
    return NULL;
  size_t bytes = (size_t)count * element_bytes;
  void *memory = malloc(bytes ? bytes : 1);
  if (memory)
    memset(memory, 0xFF, bytes);
  return memory;
}

static prem_status number_jobs(prem_trace *trace, const prem_schedule *schedule) {
  trace->first_job = calloc((size_t)schedule->task_count + 1, sizeof *trace->first_job);
  if (!trace->first_job)
    return PREM_ERR_MEMORY;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    trace->first_job[t + 1] = trace->first_job[t] + prem_task_jobs(schedule, &schedule->tasks[t]);
  trace->job_count = trace->first_job[schedule->task_count];
  return PREM_OK;
}

/* The first that there is no memory for is the last that is asked for. */
static bool has_room(prem_trace *trace) {
  const int64_t hyperperiods = trace->hyperperiod_capacity;
  const int64_t ends = capped_product(hyperperiods, trace->job_count);
  const int64_t stats = (int64_t)trace->task_count * PREM_PHASE_COUNT;
  return (trace->records = touched(trace->record_capacity, sizeof *trace->records)) &&
         (trace->late = touched(PREM_LATE_KEPT, sizeof *trace->late)) &&
         (trace->job_end_ns = touched(ends, sizeof *trace->job_end_ns)) &&
         (trace->stats = touched(stats, sizeof *trace->stats)) &&
         (trace->away_ns = touched(ends, sizeof *trace->away_ns)) &&
         (trace->epoch_ns = touched(hyperperiods, sizeof *trace->epoch_ns)) &&
         (trace->operating_mode = touched(hyperperiods, sizeof *trace->operating_mode));
}

prem_status prem_trace_new(const prem_schedule *schedule, int64_t hyperperiods, int64_t max_records,
                           prem_trace **out) {
  *out = NULL;
  if (hyperperiods < 1 || max_records < 0 || !schedule->plan)
    return PREM_ERR_ARGUMENT;
  prem_trace *trace = calloc(1, sizeof *trace);
  if (!trace)
    return PREM_ERR_MEMORY;
  int64_t records = capped_product(hyperperiods, records_of_hyperperiod(schedule));
  trace->task_count = schedule->task_count;
  trace->hyperperiod_capacity = hyperperiods;
  trace->record_capacity = records < max_records ? records : max_records;
  prem_status status = number_jobs(trace, schedule);
  if (!status && !has_room(trace))
    status = PREM_ERR_MEMORY;
  if (status) {
    prem_trace_free(trace);
    return status;
  }
  prem_trace_clear(trace);
  *out = trace;
  return PREM_OK;
}

bool prem_trace_is_of(const prem_trace *trace, const prem_schedule *schedule) {
  bool is_of = trace->task_count == schedule->task_count;
  for (int32_t t = 0; is_of && t < schedule->task_count; ++t)
    is_of = trace->first_job[t + 1] - trace->first_job[t] ==
            prem_task_jobs(schedule, &schedule->tasks[t]);
  return is_of;
}

void prem_trace_free(prem_trace *trace) {
  if (!trace)
    return;
  PREM_FREE(trace->first_job, trace->records, trace->late, trace->stats, trace->job_end_ns,
            trace->away_ns, trace->epoch_ns, trace->operating_mode);
  prem_best_effort_trace_free(trace->best_effort);
  free(trace);
}

void prem_trace_clear(prem_trace *trace) {
  trace->record_count = 0;
  trace->lost = 0;
  trace->late_count = 0;
  trace->warmup_count = 0;
  trace->hyperperiods = 0;
  trace->launch_ns = -1;
  trace->oversubscribed = false;
  trace->stalls = (prem_stalls){0};
  for (int64_t i = 0; i < (int64_t)trace->task_count * PREM_PHASE_COUNT; ++i)
    prem_phase_stats_clear(&trace->stats[i]);
  int64_t ends = trace->hyperperiod_capacity * trace->job_count;
  for (int64_t i = 0; i < ends; ++i)
    trace->job_end_ns[i] = trace->away_ns[i] = -1;
  for (int64_t h = 0; h < trace->hyperperiod_capacity; ++h)
    trace->epoch_ns[h] = -1;
  memset(trace->operating_mode, 0, (size_t)trace->hyperperiod_capacity);
  if (trace->best_effort)
    prem_best_effort_trace_clear(trace->best_effort);
}

void prem_trace_begin_periodically(prem_trace *trace, int64_t hyperperiod_ns,
                                   int64_t hyperperiods) {
  for (int64_t h = 0; h < hyperperiods; ++h)
    trace->epoch_ns[h] = h * hyperperiod_ns;
}

/* ---- counts --------------------------------------------------------------------------------- */

void prem_phase_stats_clear(prem_phase_stats *stats) {
  *stats = (prem_phase_stats){.lateness_max_ns = INT64_MIN, .duration_min_ns = INT64_MAX};
}

void prem_phase_stats_add(prem_phase_stats *stats, const prem_trace_record *record,
                          int64_t window_end_ns, int64_t late_ns) {
  prem_phase_stats_count(stats, record, window_end_ns, late_ns);
}

static void keep_max(int64_t *to, int64_t from) {
  if (*to < from)
    *to = from;
}

void prem_phase_stats_merge(prem_phase_stats *to, const prem_phase_stats *from) {
  to->count += from->count;
  to->releases += from->releases;
  to->late += from->late;
  to->overruns += from->overruns;
  keep_max(&to->lateness_max_ns, from->lateness_max_ns);
  keep_max(&to->overrun_max_ns, from->overrun_max_ns);
  if (to->duration_min_ns > from->duration_min_ns)
    to->duration_min_ns = from->duration_min_ns;
  keep_max(&to->duration_max_ns, from->duration_max_ns);
  to->duration_sum_ns += from->duration_sum_ns;
  for (int i = 0; i < PREM_HIST_BUCKETS; ++i)
    to->lateness_hist[i] += from->lateness_hist[i];
}

/* ---- order ---------------------------------------------------------------------------------- */

static int compare_records(const void *left, const void *right) {
  const prem_trace_record *a = left, *b = right;
  if (a->start_ns != b->start_ns)
    return a->start_ns < b->start_ns ? -1 : 1;
  return prem_by_numbers((int64_t[]){a->block, a->phase, a->hyperperiod, a->task, a->job, a->tile},
                         (int64_t[]){b->block, b->phase, b->hyperperiod, b->task, b->job, b->tile},
                         6);
}

/* As one block leaves them: sorting would ask for as much memory again. */
static bool is_sorted(const prem_trace *trace) {
  for (int64_t i = 1; i < trace->record_count; ++i)
    if (compare_records(&trace->records[i - 1], &trace->records[i]) > 0)
      return false;
  return true;
}

void prem_trace_sort(prem_trace *trace) {
  if (is_sorted(trace))
    return;
  qsort(trace->records, (size_t)trace->record_count, sizeof *trace->records, compare_records);
}

/* ---- CSV ------------------------------------------------------------------------------------ */

enum {
  QUOTED_NAME_BYTES = 2 * PREM_NAME_BYTES + 3, /* every character a quote */
  LINE_BYTES = QUOTED_NAME_BYTES + 10 * 21 + 16,
  BUFFER_BYTES = 1 << 16
};

static char *put_text(char *at, const char *text) {
  size_t length = strlen(text);
  memcpy(at, text, length);
  return at + length;
}

static char *put_number(char *at, int64_t value) {
  char digits[20];
  int count = 0;
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  do {
    digits[count++] = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest);
  if (value < 0)
    *at++ = '-';
  while (count)
    *at++ = digits[--count];
  return at;
}

/* Names may hold commas and quotes: such fields are quoted, quotes doubled (RFC 4180). What a
 * spreadsheet would take for a formula is quoted behind an apostrophe. */
static void quote_name(const char *name, char *out) {
  const bool is_formula = prem_text_is_formula(name);
  if (!strpbrk(name, ",\"") && !is_formula) {
    *put_text(out, name) = 0;
    return;
  }
  *out++ = '"';
  if (is_formula)
    *out++ = '\'';
  for (; *name; ++name) {
    if (*name == '"')
      *out++ = '"';
    *out++ = *name;
  }
  *out++ = '"';
  *out = 0;
}

static char *put_cell(char *at, int64_t value) {
  at = put_number(at, value);
  *at++ = ',';
  return at;
}

static char *put_name(char *at, const char *name) {
  at = put_text(at, name);
  *at++ = ',';
  return at;
}

static char *put_line(char *at, const prem_trace_record *record, const char *task, int64_t run) {
  at = put_cell(at, run);
  at = put_name(at, task);
  at = put_cell(at, record->block);
  at = put_cell(at, record->tile);
  at = put_name(at, prem_phase_name((prem_phase)record->phase));
  if (record->release_ns != PREM_NO_RELEASE)
    at = put_number(at, record->release_ns);
  *at++ = ',';
  at = put_cell(at, record->ready_ns);
  at = put_cell(at, record->start_ns);
  at = put_cell(at, record->end_ns);
  at = put_cell(at, record->job);
  at = put_number(at, record->issue_ns);
  *at++ = '\n';
  return at;
}

static bool write_lines(const prem_trace *trace, const char (*names)[QUOTED_NAME_BYTES],
                        int64_t first_run, char *buffer, FILE *file) {
  char *at = buffer;
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *record = &trace->records[i];
    if (at - buffer > BUFFER_BYTES - LINE_BYTES) {
      if (fwrite(buffer, 1, (size_t)(at - buffer), file) != (size_t)(at - buffer))
        return false;
      at = buffer;
    }
    at = put_line(at, record, names[record->task], first_run + record->hyperperiod);
  }
  return fwrite(buffer, 1, (size_t)(at - buffer), file) == (size_t)(at - buffer);
}

static char *put_late(char *at, const prem_late_release *late, const char *mode, const char *task,
                      int64_t run) {
  at = put_name(at, mode);
  at = put_cell(at, run);
  at = put_name(at, task);
  at = put_cell(at, late->block);
  at = put_cell(at, late->tile);
  at = put_name(at, prem_phase_name((prem_phase)late->phase));
  at = put_number(at, late->late_ns);
  *at++ = '\n';
  return at;
}

prem_status prem_trace_write_late(const prem_trace *trace, const prem_schedule *schedule,
                                  prem_mode mode, int64_t first_run, bool header, FILE *file) {
  if (header && fputs("mode,run,task,block,tile,phase,late_ns\n", file) < 0)
    return PREM_ERR_IO;
  for (int32_t i = 0; i < trace->late_count; ++i) {
    const prem_late_release *late = &trace->late[i];
    char name[QUOTED_NAME_BYTES], line[LINE_BYTES];
    quote_name(schedule->tasks[late->task].name, name);
    const size_t length =
        (size_t)(put_late(line, late, prem_mode_name(mode), name, first_run + late->hyperperiod) -
                 line);
    if (fwrite(line, 1, length, file) != length)
      return PREM_ERR_IO;
  }
  return PREM_OK;
}

prem_status prem_trace_write_csv(const prem_trace *trace, const prem_schedule *schedule,
                                 int64_t first_run, bool header, FILE *file) {
  char(*names)[QUOTED_NAME_BYTES] = malloc((size_t)schedule->task_count * sizeof *names);
  char *buffer = malloc(BUFFER_BYTES);
  prem_status status = names && buffer ? PREM_OK : PREM_ERR_MEMORY;
  if (!status) {
    for (int32_t t = 0; t < schedule->task_count; ++t)
      quote_name(schedule->tasks[t].name, names[t]);
    static const char head[] =
        "run,task,block,tile,phase,release_ns,ready_ns,start_ns,end_ns,job,issue_ns\n";
    if ((header && fputs(head, file) < 0) ||
        !write_lines(trace, (const char(*)[QUOTED_NAME_BYTES])names, first_run, buffer, file))
      status = PREM_ERR_IO;
  }
  free(names);
  free(buffer);
  return status;
}
