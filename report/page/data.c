/* SPDX-License-Identifier: Apache-2.0 */
/* Samples become distributions, phases lists of numbers. */
#include "report/page/data.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prem/base/list.h"
#include "prem/base/sorting.h"
#include "report/json_pieces.h"
#include "report/traces/csv_reader.h"
#include "report/traces/gzip_file.h"

/** Points of all distributions of a result together, and of one. */
enum { ALL_POINTS = 60000, MAX_POINTS = 300, FEWEST_POINTS = 40 };

static const json_t *rows_of(const json_t *result) {
  return json_object_get(result, "rows");
}

/** The number of the row with this label; -1: none. */
static int64_t find_row(const json_t *result, const char *label) {
  size_t index;
  const json_t *row;
  json_array_foreach(rows_of(result), index, row) {
    if (strcmp(text_of(row, "label"), label) == 0)
      return (int64_t)index;
  }
  return -1;
}

/** Only warn: what the result itself says is still right. */
static void leave_out(const char *path, const char *what, const prem_diag *found, prem_diag *diag) {
  if (prem_diag_count(found) == 0) {
    prem_diag_add(diag, PREM_WARNING, 0, (prem_place){.file = path}, "", "no memory; %s left out",
                  what);
    return;
  }
  const prem_problem *problem = prem_diag_at(found, 0);
  prem_diag_add(diag, PREM_WARNING, 0, (prem_place){problem->file, problem->line}, "",
                "%s; %s left out", problem->reason, what);
}

/* ---- distributions -------------------------------------------------------------------------- */

typedef struct series {
  int64_t *values;
  int64_t count;
} series;

static bool append(series *to, int64_t value) {
  return PREM_APPEND(to->values, to->count, value);
}

/** Sort, and keep each value once: values[i], and upto[i] samples are not longer. */
static int64_t accumulate(series *samples, int64_t *upto) {
  int64_t distinct = 0;
  qsort(samples->values, (size_t)samples->count, sizeof *samples->values, prem_by_i64);
  for (int64_t i = 0; i < samples->count; ++i) {
    if (i == 0 || samples->values[i] != samples->values[distinct - 1])
      samples->values[distinct++] = samples->values[i];
    upto[distinct - 1] = i + 1;
  }
  return distinct;
}

/** The smallest and the quarter of the points that lies highest are kept as they are; of those
 *  between, equal steps. */
static bool is_kept(int64_t i, int64_t distinct, int64_t points) {
  int64_t tail = points / 4, body = distinct - tail, between = points - tail;
  if (distinct <= points || i == 0 || i >= body)
    return true;
  return i * between / body != (i - 1) * between / body;
}

static json_t *distribution_json(series *samples, int64_t points) {
  int64_t *upto = malloc((size_t)(samples->count + 1) * sizeof *upto);
  json_t *object = json_object(), *values = json_array(), *counts = json_array();
  bool whole = upto && object && values && counts;
  int64_t distinct = whole && samples->count > 0 ? accumulate(samples, upto) : 0;
  for (int64_t i = 0; i < distinct; ++i)
    if (is_kept(i, distinct, points)) {
      whole &= json_array_append_new(values, integer(samples->values[i])) == 0;
      whole &= json_array_append_new(counts, integer(upto[i])) == 0;
    }
  whole &= put(object, "ns", values);
  whole &= put(object, "upto", counts);
  free(upto);
  return finished(object, whole);
}

/* ---- samples -------------------------------------------------------------------------------- */

enum { FIRST_JOB = 3 }; /* column, after run, label and makespan */

/** Distributions of a result: row by row the makespan, then the tasks. */
typedef struct sample_set {
  int64_t rows, tasks;
  series *all;      /* [rows][1 + tasks] */
  int32_t *task_of; /* [columns]: the task that a column is of; -1: makespan */
  bool *is_apart;   /* [columns]: of the line in hand, disturbed and told apart */
  int32_t columns;
  bool tells_disturbed; /* in one column more, the last */
} sample_set;

static const json_t *tasks_of(const json_t *result) {
  return json_object_get(json_array_get(rows_of(result), 0), "tasks");
}

/** "NAME response_ns" and "NAME job 3 response_ns" are columns of task NAME. */
static bool is_column_of(const char *column, const char *task) {
  size_t length = strlen(task);
  if (strncmp(column, task, length) != 0)
    return false;
  const char *rest = column + length;
  if (strcmp(rest, " response_ns") == 0)
    return true;
  if (strncmp(rest, " job ", 5) != 0)
    return false;
  rest += 5;
  rest += strspn(rest, "0123456789");
  return strcmp(rest, " response_ns") == 0;
}

static int32_t find_column_task(const json_t *result, const char *column, int32_t guess) {
  int32_t count = (int32_t)json_array_size(tasks_of(result));
  for (int32_t i = 0; i < count; ++i) {
    int32_t task = (guess + i) % count; /* columns are in the order of the tasks */
    if (is_column_of(column, text_of(json_array_get(tasks_of(result), (size_t)task), "name")))
      return task;
  }
  return -1;
}

static bool read_sample_header(prem_csv *csv, const json_t *result, sample_set *set) {
  if (!prem_csv_next(csv))
    return csv->status == PREM_OK ? prem_csv_refuse(csv, "is empty") : false;
  if (csv->field_count < 3 || strcmp(csv->fields[1], "label") != 0 ||
      strcmp(csv->fields[2], "makespan_ns") != 0)
    return prem_csv_refuse(csv, "not the header of a result's samples");
  set->tells_disturbed = strcmp(csv->fields[csv->field_count - 1], "disturbed") == 0;
  set->columns = csv->field_count - set->tells_disturbed;
  set->task_of = calloc((size_t)set->columns, sizeof *set->task_of);
  set->is_apart = calloc((size_t)set->columns, sizeof *set->is_apart);
  if (!set->task_of || !set->is_apart) {
    csv->status = PREM_ERR_MEMORY;
    return false;
  }
  set->task_of[2] = -1;
  int32_t task = 0;
  for (int32_t c = FIRST_JOB; c < set->columns; ++c) {
    task = find_column_task(result, csv->fields[c], task);
    if (task < 0)
      return prem_csv_refuse(csv, "column '%.80s' is of no task of the result", csv->fields[c]);
    set->task_of[c] = task;
  }
  return true;
}

/** Older results call them preempted. */
static const json_t *disturbed_of(const json_t *row) {
  const json_t *disturbed = json_object_get(row, "disturbed");
  return disturbed ? disturbed : json_object_get(row, "preempted");
}

static bool tells_apart(const json_t *row) {
  const json_t *disturbed = disturbed_of(row);
  return json_integer_value(json_object_get(disturbed, "count")) > 0 &&
         !json_is_true(json_object_get(disturbed, "mixed"));
}

/** Which of the line's times the result leaves out: disturbed jobs, and the makespan with any. */
static bool mark_apart(prem_csv *csv, const sample_set *set, bool tells_apart) {
  memset(set->is_apart, 0, (size_t)set->columns * sizeof *set->is_apart);
  for (char *at = csv->fields[set->columns], *end; *at; at = end) {
    const long job = strtol(at, &end, 10);
    if (end == at || job < 0 || job >= set->columns - FIRST_JOB)
      return prem_csv_refuse(csv, "'%.40s' are no numbers of jobs", csv->fields[set->columns]);
    set->is_apart[2] = set->is_apart[FIRST_JOB + job] = tells_apart;
  }
  return true;
}

static bool read_sample(prem_csv *csv, const json_t *result, const sample_set *set) {
  const int32_t fields = set->columns + set->tells_disturbed;
  if (csv->field_count != fields)
    return prem_csv_refuse(csv, "%" PRId32 " fields, the header has %" PRId32, csv->field_count,
                           fields);
  int64_t row = find_row(result, csv->fields[1]);
  if (row < 0)
    return prem_csv_refuse(csv, "'%.60s' is no row of the result", csv->fields[1]);
  if (set->tells_disturbed &&
      !mark_apart(csv, set, tells_apart(json_array_get(rows_of(result), (size_t)row))))
    return false;
  for (int32_t c = 2; c < set->columns; ++c) {
    int64_t value;
    if (c > 2 && csv->fields[c][0] == '\0') /* a mode that computes nothing */
      continue;
    if (set->is_apart[c])
      continue;
    if (!prem_csv_integer(csv, c, "sample", &value))
      return false;
    if (!append(&set->all[row * (1 + set->tasks) + 1 + set->task_of[c]], value)) {
      csv->status = PREM_ERR_MEMORY;
      return false;
    }
  }
  return true;
}

static json_t *row_samples_json(const json_t *result, series *of_row, int64_t points) {
  json_t *tasks = json_object();
  bool whole = tasks != NULL;
  size_t index;
  const json_t *task;
  json_array_foreach(tasks_of(result), index, task) {
    whole &= put(tasks, text_of(task, "name"), distribution_json(&of_row[1 + index], points));
  }
  json_t *object = json_object();
  whole &= put(object, "makespan", distribution_json(&of_row[0], points));
  whole &= put(object, "tasks", tasks);
  return finished(object, whole);
}

static json_t *samples_json(const json_t *result, const sample_set *set) {
  int64_t curves = set->rows * (1 + set->tasks);
  int64_t points = ALL_POINTS / (curves > 0 ? curves : 1);
  points = points > MAX_POINTS ? MAX_POINTS : points < FEWEST_POINTS ? FEWEST_POINTS : points;
  json_t *object = json_object();
  bool whole = object != NULL;
  for (int64_t r = 0; r < set->rows; ++r)
    whole &= put(object, text_of(json_array_get(rows_of(result), (size_t)r), "label"),
                 row_samples_json(result, &set->all[r * (1 + set->tasks)], points));
  return finished(object, whole);
}

/** Are these the samples that a summary of the result was made of? */
static bool are_samples_of(prem_csv *csv, const series *samples, const json_t *summary,
                           const char *row, const char *what) {
  const int64_t said = json_integer_value(json_object_get(summary, "count"));
  if (samples->count != said)
    return prem_csv_refuse(csv,
                           "is of another run: %" PRId64 " samples of %s in row '%.60s', the "
                           "result has %" PRId64,
                           samples->count, what, row, said);
  if (said == 0)
    return true;
  int64_t min_seen = samples->values[0], max_seen = samples->values[0];
  for (int64_t i = 1; i < samples->count; ++i) {
    min_seen = samples->values[i] < min_seen ? samples->values[i] : min_seen;
    max_seen = samples->values[i] > max_seen ? samples->values[i] : max_seen;
  }
  long double above = 0; /* the least, as the result's own mean was made */
  for (int64_t i = 0; i < samples->count; ++i)
    above += (long double)samples->values[i] - (long double)min_seen;
  const double mean = (double)((long double)min_seen + above / (long double)samples->count);
  const double says = json_number_value(json_object_get(summary, "mean"));
  const int64_t min = json_integer_value(json_object_get(summary, "min"));
  const int64_t max = json_integer_value(json_object_get(summary, "max"));
  if (min_seen == min && max_seen == max && fabs(mean - says) <= 1e-6 + 1e-12 * fabs(says))
    return true;
  return prem_csv_refuse(csv,
                         "is of another run: %s of row '%.60s' is %" PRId64 " to %" PRId64
                         " ns, mean %.3f; the result says %" PRId64 " to %" PRId64 ", mean %.3f",
                         what, row, min_seen, max_seen, mean, min, max, says);
}

/** A file of the same name that another run has left would be drawn as this one's. */
static bool judge_samples(prem_csv *csv, const json_t *result, const sample_set *set) {
  bool same = true;
  csv->line = 0; /* it is about all of them */
  for (int64_t r = 0; r < set->rows && same; ++r) {
    const json_t *row = json_array_get(rows_of(result), (size_t)r);
    const series *of_row = &set->all[r * (1 + set->tasks)];
    const char *label = text_of(row, "label");
    same =
        are_samples_of(csv, &of_row[0], json_object_get(row, "makespan_ns"), label, "the makespan");
    /* Older files have no undisturbed jobs of runs that had disturbed ones as well. */
    if (tells_apart(row) && !set->tells_disturbed)
      continue;
    for (int64_t t = 0; t < set->tasks && same; ++t) {
      const json_t *task = json_array_get(json_object_get(row, "tasks"), (size_t)t);
      const char *name = text_of(task, "name");
      char what[96];
      snprintf(what, sizeof what, "the response of '%.60s'", name ? name : "");
      same = are_samples_of(csv, &of_row[1 + t], json_object_get(task, "response_ns"), label, what);
    }
  }
  return same;
}

static json_t *read_samples(prem_csv *csv, const json_t *result) {
  sample_set set = {.rows = (int64_t)json_array_size(rows_of(result)),
                    .tasks = (int64_t)json_array_size(tasks_of(result))};
  int64_t curves = set.rows * (1 + set.tasks);
  set.all = calloc((size_t)curves + 1, sizeof *set.all);
  bool whole = set.all && read_sample_header(csv, result, &set);
  while (whole && prem_csv_next(csv))
    whole = read_sample(csv, result, &set);
  whole = whole && csv->status == PREM_OK && judge_samples(csv, result, &set);
  json_t *made = whole ? samples_json(result, &set) : NULL;
  for (int64_t i = 0; set.all && i < curves; ++i)
    free(set.all[i].values);
  PREM_FREE(set.all, set.task_of, set.is_apart);
  return made;
}

/* ---- phases --------------------------------------------------------------------------------- */

/** Where a row has several runs, a last column says which; else it is missing. */
enum { PHASE_COLUMNS = 12, FIRST_NUMBER = 6, RUN_COLUMN = PHASE_COLUMNS, MAX_COLUMNS };

static const char *const phase_columns[MAX_COLUMNS] = {
    "label",          "task",       "job",      "block",    "tile",   "phase", "planned_ns",
    "planned_end_ns", "release_ns", "ready_ns", "start_ns", "end_ns", "run"};
/** Lengths and waits have fewer digits than the instants they come from. */
static const char *const page_columns[PHASE_COLUMNS] = {
    "",        "task",           "job",      "block",  "tile",  "phase",
    "planned", "planned_length", "lateness", "waited", "start", "length"};

static bool read_phase_header(prem_csv *csv, int *columns) {
  if (!prem_csv_next(csv))
    return csv->status == PREM_OK ? prem_csv_refuse(csv, "is empty") : false;
  bool same = csv->field_count == PHASE_COLUMNS || csv->field_count == MAX_COLUMNS;
  *columns = csv->field_count;
  for (int i = 0; same && i < *columns; ++i)
    same = strcmp(csv->fields[i], phase_columns[i]) == 0;
  return same || prem_csv_refuse(csv, "not the header of a result's phases");
}

static int64_t find_task(const json_t *result, const char *name) {
  size_t index;
  const json_t *task;
  json_array_foreach(tasks_of(result), index, task) {
    if (strcmp(text_of(task, "name"), name) == 0)
      return (int64_t)index;
  }
  return -1;
}

static int find_phase(const char *name) {
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    if (strcmp(prem_phase_name((prem_phase)p), name) == 0)
      return p;
  return -1;
}

/** The numbers of a line in the order of its columns; INT64_MIN: empty. */
static bool read_phase(prem_csv *csv, const json_t *result, int columns, int64_t *numbers) {
  if (csv->field_count != columns)
    return prem_csv_refuse(csv, "%" PRId32 " fields where there should be %d", csv->field_count,
                           columns);
  numbers[1] = find_task(result, csv->fields[1]);
  if (numbers[1] < 0)
    return prem_csv_refuse(csv, "'%.60s' is no task of the result", csv->fields[1]);
  numbers[5] = find_phase(csv->fields[5]);
  if (numbers[5] < 0)
    return prem_csv_refuse(csv, "'%.40s' is no phase", csv->fields[5]);
  for (int c = 2; c < columns; ++c) {
    bool may_be_empty = c >= 6 && c <= 8;
    if (c == 5)
      continue;
    numbers[c] = INT64_MIN;
    if ((*csv->fields[c] || !may_be_empty) &&
        !prem_csv_integer(csv, c, phase_columns[c], &numbers[c]))
      return false;
  }
  return true;
}

static json_t *number_or_null(bool there, int64_t value) {
  return there ? integer(value) : json_null();
}

static bool append_phase(json_t *lists, const int64_t *numbers) {
  bool planned = numbers[6] != INT64_MIN && numbers[7] != INT64_MIN;
  bool released = numbers[8] != INT64_MIN;
  json_t *values[PHASE_COLUMNS] = {
      [6] = number_or_null(planned, numbers[6]),
      [7] = number_or_null(planned, numbers[7] - (planned ? numbers[6] : 0)),
      [8] = number_or_null(released, numbers[10] - (released ? numbers[8] : 0)),
      [9] = number_or_null(released, numbers[9] - (released ? numbers[8] : 0)),
      [10] = integer(numbers[10]),
      [11] = integer(numbers[11] - numbers[10])};
  for (int c = 1; c < FIRST_NUMBER; ++c)
    values[c] = integer(numbers[c]);
  bool whole = true;
  for (int c = 1; c < PHASE_COLUMNS; ++c)
    whole &= json_array_append_new(json_object_get(lists, page_columns[c]), values[c]) == 0;
  return whole;
}

static json_t *empty_lists(void) {
  json_t *object = json_object();
  bool whole = object != NULL;
  for (int c = 1; c < PHASE_COLUMNS; ++c)
    whole &= put(object, page_columns[c], json_array());
  return finished(object, whole);
}

/** The lists of a run among those of its row, added at the end when it is new. */
static json_t *lists_of_run(json_t *runs, int64_t run) {
  size_t index;
  json_t *lists;
  json_array_foreach(runs, index, lists) {
    if (json_integer_value(json_object_get(lists, "run")) == run)
      return lists;
  }
  lists = empty_lists();
  if (!put(lists, "run", integer(run))) {
    json_decref(lists);
    return NULL;
  }
  return json_array_append_new(runs, lists) == 0 ? lists : NULL;
}

static bool add_phase(prem_csv *csv, const json_t *result, int columns, json_t *rows) {
  int64_t numbers[MAX_COLUMNS] = {0};
  if (!read_phase(csv, result, columns, numbers))
    return false;
  const char *label = csv->fields[0];
  const bool has_runs = columns == MAX_COLUMNS;
  if (find_row(result, label) < 0)
    return prem_csv_refuse(csv, "'%.60s' is no row of the result", label);
  if (!json_object_get(rows, label))
    put(rows, label, has_runs ? json_array() : empty_lists());
  json_t *lists = json_object_get(rows, label);
  if (has_runs)
    lists = lists_of_run(lists, numbers[RUN_COLUMN]);
  if (lists && append_phase(lists, numbers))
    return true;
  csv->status = PREM_ERR_MEMORY;
  return false;
}

static json_t *read_phases(prem_csv *csv, const json_t *result) {
  json_t *rows = json_object();
  int columns = 0;
  bool whole = rows && read_phase_header(csv, &columns);
  while (whole && prem_csv_next(csv))
    whole = add_phase(csv, result, columns, rows);
  return finished(rows, whole && csv->status == PREM_OK);
}

/* ---- files ---------------------------------------------------------------------------------- */

static json_t *read_file(const json_t *result, const char *path, const char *what,
                         json_t *(*read)(prem_csv *, const json_t *), prem_diag *diag) {
  FILE *file = prem_gzip_open(path);
  if (!file) {
    prem_diag_add(diag, PREM_WARNING, 0, (prem_place){.file = path}, "",
                  "cannot be read: %s; %s left out",
                  errno ? strerror(errno) : "it is no regular file", what);
    return NULL;
  }
  prem_diag *found = prem_diag_new();
  prem_csv csv;
  prem_csv_open(&csv, file, path, found);
  json_t *made = read(&csv, result);
  if (!made)
    leave_out(path, what, found, diag);
  prem_csv_close(&csv);
  prem_diag_free(found);
  fclose(file);
  return made;
}

json_t *prem_report_samples(const json_t *result, const char *path, prem_diag *diag) {
  return read_file(result, path, "distributions are", read_samples, diag);
}

json_t *prem_report_phases(const json_t *result, const char *path, prem_diag *diag) {
  return read_file(result, path, "the timeline is", read_phases, diag);
}
