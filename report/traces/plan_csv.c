/* SPDX-License-Identifier: Apache-2.0 */
/* Plans to CSV and back. A row is a slot, or says something of the whole plan. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "prem/base/csv_quote.h"
#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "prem/base/sorting.h"
#include "report/traces/csv_reader.h"
#include "ttprem/plan_file.h"

typedef enum column {
  TASK,
  JOB,
  TILE,
  PHASE,
  BLOCK,
  START,
  LENGTH,
  RELEASE,
  DEADLINE,
  FOLLOWS,
  HEAD,
  JOINED,
  MODE,
  COLUMNS
} column;

static const char *const columns[COLUMNS] = {
    "task",       "job",         "tile",    "phase",   "block",  "start_ns", "length_ns",
    "release_ns", "deadline_ns", "follows", "head_ns", "joined", "mode"};

/* What a phase without an instant of its own follows: "tile", the one before it of its tile; "job",
 * that of its job on its block. */
enum { FOLLOWS_NONE, FOLLOWS_TILE, FOLLOWS_JOB };
static const char *const follows_names[] = {"", "tile", "job"};

/* Rows of the whole plan, by their phase. */
enum { ROW_HYPERPERIOD = PREM_PHASE_COUNT, ROW_WARMUP };
static const char *const row_names[] = {"prefetch", "compute", "writeback", "hyperperiod",
                                        "warmup"};
enum { ROW_NAMES = sizeof row_names / sizeof row_names[0] };

typedef struct plan_row {
  prem_slot slot;
  int32_t mode; /* of the operating modes; -1: the file's plan */
  int32_t line; /* it was read from; follows when it is written */
  uint8_t follows;
} plan_row;

typedef struct row_list {
  plan_row *rows;
  int64_t count;
} row_list;

/* ---- writing -------------------------------------------------------------------------------- */

static int by_start(const void *left, const void *right) {
  const prem_slot *a = &((const plan_row *)left)->slot, *b = &((const plan_row *)right)->slot;
  return prem_by_numbers((int64_t[]){a->planned_ns, a->task, a->job, a->tile, a->phase},
                         (int64_t[]){b->planned_ns, b->task, b->job, b->tile, b->phase}, 5);
}

static uint8_t follows_of(const prem_plan *plan, const prem_slot *slot) {
  if (!(slot->flags & PREM_SLOT_CHAINED))
    return FOLLOWS_NONE;
  const bool of_job =
      slot->place < plan->affine_count && (plan->affine[slot->place].chain & PREM_CHAIN_JOB);
  return of_job ? FOLLOWS_JOB : FOLLOWS_TILE;
}

static void put_row(const prem_schedule *schedule, const plan_row *row, const char *mode,
                    FILE *file) {
  const prem_slot *slot = &row->slot;
  const prem_task *task = &schedule->tasks[slot->task];
  const int64_t release_ns = task->release_ns + slot->job * task->period_ns;
  prem_csv_name(file, task->name);
  fprintf(file, ",%" PRId32 ",%" PRId32 ",%s,%" PRId32 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",",
          slot->job, slot->tile, row_names[slot->phase], slot->block, slot->planned_ns,
          slot->length_ns, release_ns);
  if (task->deadline_ns > 0)
    fprintf(file, "%" PRId64, release_ns + task->deadline_ns);
  fprintf(file, ",%s,", follows_names[row->follows]);
  if (row->follows)
    fprintf(file, "%" PRId64, slot->head_ns);
  fputs(slot->flags & PREM_SLOT_JOINED ? ",1," : ",,", file);
  prem_csv_name(file, mode);
  fputc('\n', file);
}

static prem_status put_plan(const prem_schedule *schedule, const prem_plan *plan, FILE *file,
                            prem_diag *diag) {
  prem_slot *slots = NULL;
  int64_t count = 0, kept = 0;
  prem_status status = prem_plan_expand(schedule, plan, &slots, &count, diag);
  plan_row *rows = status ? NULL : malloc(((size_t)count + 1) * sizeof *rows);
  if (!status && !rows)
    status = PREM_ERR_MEMORY;
  for (int64_t i = 0; i < count && rows; ++i)
    if (!(slots[i].flags & PREM_SLOT_WARMUP))
      rows[kept++] = (plan_row){.slot = slots[i], .follows = follows_of(plan, &slots[i])};
  if (rows)
    qsort(rows, (size_t)kept, sizeof *rows, by_start);
  for (int64_t i = 0; i < kept; ++i)
    put_row(schedule, &rows[i], plan->mode, file);
  free(rows);
  free(slots);
  return status;
}

prem_status prem_plan_write_csv(const prem_schedule *schedule, FILE *file, prem_diag *diag) {
  const prem_plan *plan = schedule->plan;
  if (!plan)
    return PREM_ERR_ARGUMENT;
  for (int i = 0; i < COLUMNS; ++i)
    fprintf(file, "%s%s", i ? "," : "", columns[i]);
  fprintf(file, "\n,,,hyperperiod,,0,%" PRId64 ",,,,,,\n", plan->hyperperiod_ns);
  if (plan->warmup_tiles > 0)
    fprintf(file, ",,%" PRId32 ",warmup,,0,%" PRId64 ",,,,,,\n", plan->warmup_tiles,
            plan->warmup_ns);
  prem_status status = put_plan(schedule, plan, file, diag);
  for (int32_t m = 0; m < plan->mode_count && !status; ++m)
    status = put_plan(schedule, plan->modes[m], file, diag);
  return !status && ferror(file) ? PREM_ERR_IO : status;
}

/* ---- reading a row -------------------------------------------------------------------------- */

typedef struct reading {
  prem_csv csv;
  const prem_schedule *schedule;
  int32_t at[COLUMNS]; /* field of a column; -1: the file has none */
  row_list list;
  prem_plan *plan;
} reading;

static bool PREM_PRINTF(3, 4) refuse(reading *of, column which, const char *format, ...) {
  char reason[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(reason, sizeof reason, format, arguments);
  va_end(arguments);
  return prem_csv_refuse(&of->csv, "column %d, %s: %s", (int)of->at[which] + 1, columns[which],
                         reason);
}

static const char *field(const reading *of, column which) {
  return of->at[which] < 0 ? "" : of->csv.fields[of->at[which]];
}

/* A table with holes makes 12.0 of 12: that is an integer as well. */
static bool number(reading *of, column which, int64_t least, int64_t *out) {
  const char *text = field(of, which);
  char digits[32] = "";
  const size_t length = strspn(text, "-0123456789");
  const bool whole = text[length] != '.' || text[length + 1 + strspn(text + length + 1, "0")] == 0;
  if (length < sizeof digits)
    memcpy(digits, text, length);
  char *end = digits;
  errno = 0;
  *out = strtoll(digits, &end, 10);
  if (!*digits || *end || errno || !whole || (text[length] && text[length] != '.'))
    return refuse(of, which, "'%.40s' is not an integer", text);
  if (*out < least || *out > PREM_MAX_NS)
    return refuse(of, which, "%" PRId64 " is not from %" PRId64 " to 2^62", *out, least);
  return true;
}

/* As number(), and from 0 to below `end`. */
static bool index_below(reading *of, column which, int64_t end, const char *what, int32_t *out) {
  int64_t value;
  if (!number(of, which, 0, &value))
    return false;
  *out = (int32_t)prem_min_i64(value, INT32_MAX);
  return value < end ||
         refuse(of, which, "%" PRId64 "; the %s has %" PRId64 ", from 0", value, what, end);
}

static bool word(reading *of, column which, const char *const *words, int count, uint8_t *out) {
  char all[120] = "";
  for (int i = 0; i < count; ++i) {
    if (strcmp(field(of, which), words[i]) == 0) {
      *out = (uint8_t)i;
      return true;
    }
    const size_t used = strlen(all);
    snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", *words[i] ? words[i] : "empty");
  }
  return refuse(of, which, "'%.40s' is none of: %s", field(of, which), all);
}

static bool read_task(reading *of, plan_row *row) {
  row->slot.task = prem_schedule_find_task(of->schedule, field(of, TASK));
  if (row->slot.task < 0)
    return refuse(of, TASK, "the schedule has no task '%.63s'", field(of, TASK));
  return !of->schedule->tasks[row->slot.task].best_effort ||
         refuse(of, TASK, "'%.63s' is best effort: no phase of it is planned", field(of, TASK));
}

static bool read_mode(reading *of, plan_row *row) {
  const char *name = field(of, MODE);
  row->mode = -1;
  if (!*name)
    return true;
  for (int32_t m = 0; m < of->schedule->operating_mode_count; ++m)
    if (strcmp(of->schedule->operating_modes[m].name, name) == 0) {
      row->mode = m;
      return of->schedule->operating_modes[m].has_plan ||
             refuse(of, MODE, "operating mode '%.63s' has no `policy`, so it uses the file's plan",
                    name);
    }
  return refuse(of, MODE, "the schedule has no operating mode '%.63s'", name);
}

/* What follows from the schedule may be left out; where it stands it has to be true. */
static bool agrees(reading *of, const plan_row *row) {
  const prem_slot *slot = &row->slot;
  const prem_task *task = &of->schedule->tasks[slot->task];
  int64_t value;
  if (*field(of, BLOCK)) {
    if (!number(of, BLOCK, 0, &value))
      return false;
    if (value != slot->block)
      return refuse(of, BLOCK, "%" PRId64 "; tile %" PRId32 " of '%s' runs on block %" PRId32,
                    value, slot->tile, task->name, slot->block);
  }
  if (!*field(of, LENGTH) || row->follows == FOLLOWS_JOB || (slot->flags & PREM_SLOT_JOINED))
    return true;
  const int64_t wcet_ns = task->phase[slot->phase].wcet_ns;
  if (!number(of, LENGTH, 0, &value))
    return false;
  return value == wcet_ns ||
         refuse(of, LENGTH,
                "%" PRId64 "; the schedule says %" PRId64 ": the plan was made for other times",
                value, wcet_ns);
}

static bool read_slot(reading *of, uint8_t phase, plan_row *row) {
  prem_slot *slot = &row->slot;
  slot->phase = phase;
  if (!read_task(of, row) || !read_mode(of, row))
    return false;
  const prem_task *task = &of->schedule->tasks[slot->task];
  if (!index_below(of, JOB, prem_task_jobs(of->schedule, task), "task's hyperperiod", &slot->job) ||
      !index_below(of, TILE, task->tile_count, "task", &slot->tile))
    return false;
  if (!task->phase[phase].exists)
    return refuse(of, PHASE, "task '%s' has no %s", task->name, row_names[phase]);
  slot->block = task->blocks[slot->tile % task->block_count];
  if (!number(of, START, 0, &slot->planned_ns) ||
      !word(of, FOLLOWS, follows_names, 3, &row->follows))
    return false;
  slot->head_ns = slot->planned_ns;
  if (row->follows && !number(of, HEAD, 0, &slot->head_ns))
    return false;
  slot->flags = row->follows ? PREM_SLOT_CHAINED : 0;
  uint8_t joined = 0;
  if (!word(of, JOINED, (const char *const[]){"", "0", "1", "1.0"}, 4, &joined))
    return false;
  if (joined > 1 && phase == PREM_COMPUTE)
    return refuse(of, JOINED, "a compute is never joined");
  slot->flags |= joined > 1 ? PREM_SLOT_JOINED : 0;
  slot->length_ns = task->phase[phase].wcet_ns;
  return agrees(of, row);
}

/* Rows of the whole plan. */
static bool read_whole(reading *of, uint8_t kind) {
  int64_t length_ns, tiles;
  if (!number(of, LENGTH, kind == ROW_HYPERPERIOD, &length_ns))
    return false;
  if (kind == ROW_HYPERPERIOD) {
    if (of->plan->hyperperiod_ns > 0)
      return refuse(of, PHASE, "a second hyperperiod");
    of->plan->hyperperiod_ns = length_ns;
    return true;
  }
  if (!number(of, TILE, 1, &tiles))
    return false;
  of->plan->warmup_tiles = (int32_t)prem_min_i64(tiles, INT32_MAX);
  of->plan->warmup_ns = length_ns;
  return true;
}

static plan_row *add_row(reading *of) {
  row_list *list = &of->list;
  if (!PREM_APPEND(list->rows, list->count, (plan_row){.line = of->csv.line})) {
    prem_csv_stop(&of->csv, PREM_ERR_MEMORY);
    return NULL;
  }
  return &list->rows[list->count - 1];
}

static bool read_row(reading *of, int32_t fields) {
  uint8_t kind = 0;
  if (of->csv.field_count != fields)
    return prem_csv_refuse(&of->csv, "%" PRId32 " fields where the header has %" PRId32,
                           of->csv.field_count, fields);
  if (!word(of, PHASE, row_names, ROW_NAMES, &kind))
    return false;
  if (kind >= PREM_PHASE_COUNT)
    return read_whole(of, kind);
  if (of->list.count >= PREM_MAX_SLOTS)
    return prem_csv_refuse(&of->csv, "more than %" PRId64 " phases", (int64_t)PREM_MAX_SLOTS);
  plan_row *row = add_row(of);
  return row && read_slot(of, kind, row);
}

/* ---- the header ----------------------------------------------------------------------------- */

static bool read_header(reading *of) {
  static const column needed[] = {TASK, JOB, TILE, PHASE, START};
  prem_csv *csv = &of->csv;
  if (!prem_csv_next(csv))
    return csv->status == PREM_OK && prem_csv_refuse(csv, "the file is empty: no plan");
  for (int c = 0; c < COLUMNS; ++c)
    of->at[c] = -1;
  if (strncmp(csv->fields[0], "\xef\xbb\xbf", 3) == 0)
    csv->fields[0] += 3;
  for (int32_t f = 0; f < csv->field_count; ++f) {
    int c = 0;
    while (c < COLUMNS && strcmp(csv->fields[f], columns[c]) != 0)
      ++c;
    if (c == COLUMNS)
      return prem_csv_refuse(csv,
                             "column %" PRId32 ": '%.40s' is none of a plan's, which are "
                             "task,job,tile,phase,block,start_ns,length_ns,release_ns,"
                             "deadline_ns,follows,head_ns,joined,mode",
                             f + 1, csv->fields[f]);
    if (of->at[c] >= 0)
      return prem_csv_refuse(csv, "column %" PRId32 ": '%s' for the second time", f + 1,
                             columns[c]);
    of->at[c] = f;
  }
  for (size_t i = 0; i < sizeof needed / sizeof needed[0]; ++i)
    if (of->at[needed[i]] < 0)
      return prem_csv_refuse(csv, "there is no column %s", columns[needed[i]]);
  return true;
}

static bool read_rows(reading *of) {
  if (!read_header(of))
    return false;
  const int32_t fields = of->csv.field_count;
  while (prem_csv_next(&of->csv))
    if (!(of->csv.field_count == 1 && !*of->csv.fields[0]) && !read_row(of, fields))
      return false;
  return of->csv.status == PREM_OK;
}

/* ---- from rows to plans --------------------------------------------------------------------- */

static int by_tile(const void *left, const void *right) {
  const plan_row *a = left, *b = right;
  return prem_by_numbers(
      (int64_t[]){a->mode, a->slot.task, a->slot.job, a->slot.tile, a->slot.phase, a->line},
      (int64_t[]){b->mode, b->slot.task, b->slot.job, b->slot.tile, b->slot.phase, b->line}, 6);
}

/* Joined ones last and in pairs; before them those that follow their job, each job with its head.
 */
static int by_kind(const void *left, const void *right) {
  const plan_row *a = left, *b = right;
  const bool a_joined = a->slot.flags & PREM_SLOT_JOINED,
             b_joined = b->slot.flags & PREM_SLOT_JOINED;
  if (a_joined != b_joined)
    return a_joined ? 1 : -1;
  if (!a_joined)
    return by_tile(left, right);
  return prem_by_numbers((int64_t[]){a->slot.block, a->slot.planned_ns, a->slot.phase, a->line},
                         (int64_t[]){b->slot.block, b->slot.planned_ns, b->slot.phase, b->line}, 4);
}

static bool is_one_tile(const plan_row *a, const plan_row *b) {
  return a->mode == b->mode && a->slot.task == b->slot.task && a->slot.job == b->slot.job &&
         a->slot.tile == b->slot.tile;
}

static bool refuse_row(reading *of, const plan_row *row, column which, const char *reason) {
  of->csv.line = row->line;
  return refuse(of, which, "%s", reason);
}

/* Sorted by tile: no phase twice, and what follows in a tile has its head there. */
static bool judge_tiles(reading *of) {
  const row_list *list = &of->list;
  for (int64_t i = 0; i < list->count; ++i) {
    const plan_row *row = &list->rows[i];
    if (i > 0 && is_one_tile(row, row - 1) && row->slot.phase == row[-1].slot.phase) {
      char reason[80];
      snprintf(reason, sizeof reason, "this phase of tile and job is in line %" PRId32 " as well",
               row[-1].line);
      return refuse_row(of, row, PHASE, reason);
    }
    if (row->follows != FOLLOWS_TILE)
      continue;
    int64_t k = i - 1;
    while (k >= 0 && is_one_tile(&list->rows[k], row) &&
           (list->rows[k].follows || list->rows[k].slot.planned_ns != row->slot.head_ns))
      --k;
    if (k < 0 || !is_one_tile(&list->rows[k], row))
      return refuse_row(of, row, HEAD, "no phase before it in its tile begins then");
  }
  return true;
}

/* ---- jobs that follow one instant ----------------------------------------------------------- */

static int by_job(const void *left, const void *right) {
  const plan_row *a = left, *b = right;
  return prem_by_numbers((int64_t[]){a->slot.task, a->slot.block, a->slot.job, a->follows,
                                     a->slot.tile, a->slot.phase},
                         (int64_t[]){b->slot.task, b->slot.block, b->slot.job, b->follows,
                                     b->slot.tile, b->slot.phase},
                         6);
}

static bool is_one_job(const plan_row *a, const plan_row *b) {
  return a->slot.task == b->slot.task && a->slot.job == b->slot.job &&
         a->slot.block == b->slot.block;
}

/* Is it the next job of the run that was added last, a period later? */
static bool is_next_job(const prem_plan *plan, const prem_affine *job) {
  const prem_affine *last = plan->affine_count ? &plan->affine[plan->affine_count - 1] : NULL;
  return last && last->task == job->task && last->first_block == job->first_block &&
         (last->chain & PREM_CHAIN_JOB) && last->job + last->jobs == job->job &&
         last->start_ns + last->jobs * last->job_step_ns == job->start_ns;
}

/* The rows of a task's job on a block: its head, and all others follow it. */
static bool add_job(reading *of, const plan_row *rows, int64_t count, prem_plan *plan) {
  const prem_task *task = &of->schedule->tasks[rows->slot.task];
  for (int64_t i = 1; i < count; ++i)
    if (rows[i].follows != FOLLOWS_JOB || rows[i].slot.head_ns != rows->slot.planned_ns)
      return refuse_row(of, &rows[i], rows[i].follows == FOLLOWS_JOB ? HEAD : FOLLOWS,
                        "all of a job on its block follow its one phase with an instant, or none");
  if (rows->follows)
    return refuse_row(of, rows, FOLLOWS, "no phase of this job on its block has an instant");
  int32_t position = 0;
  while (task->blocks[position] != rows->slot.block)
    ++position;
  const prem_affine run = {.task = rows->slot.task,
                           .phase = (prem_phase)rows->slot.phase,
                           .chain = PREM_CHAIN_JOB,
                           .first_block = position,
                           .count = 1,
                           .start_ns = rows->slot.planned_ns,
                           .repeat = 1,
                           .tile = rows->slot.tile,
                           .tile_per_block = 1,
                           .tile_per_repeat = task->block_count,
                           .job = rows->slot.job,
                           .jobs = 1,
                           .job_step_ns = task->period_ns,
                           .join_task = -1};
  if (is_next_job(plan, &run)) {
    ++plan->affine[plan->affine_count - 1].jobs;
    return true;
  }
  return prem_plan_add_affine(plan, &run) == PREM_OK || prem_csv_stop(&of->csv, PREM_ERR_MEMORY);
}

/* Jobs that follow one instant go into the plan; how many rows are left, in front. */
static bool take_jobs(reading *of, plan_row *rows, int64_t *count, prem_plan *plan) {
  int64_t kept = 0, end;
  qsort(rows, (size_t)*count, sizeof *rows, by_job);
  for (int64_t i = 0; i < *count; i = end) {
    for (end = i + 1; end < *count && is_one_job(&rows[i], &rows[end]);)
      ++end;
    if (rows[end - 1].follows != FOLLOWS_JOB) {
      memmove(&rows[kept], &rows[i], (size_t)(end - i) * sizeof *rows);
      kept += end - i;
    } else if (!add_job(of, &rows[i], end - i, plan)) {
      return false;
    }
  }
  *count = kept;
  return true;
}

/* ---- all others ----------------------------------------------------------------------------- */

/* Joined ones stand at the end. */
static bool judge_pairs(reading *of, const plan_row *rows, int64_t count) {
  int64_t i = count;
  while (i > 0 && (rows[i - 1].slot.flags & PREM_SLOT_JOINED))
    --i;
  for (; i < count; i += 2) {
    const prem_slot *a = &rows[i].slot, *b = i + 1 < count ? &rows[i + 1].slot : NULL;
    if (!b || a->phase != PREM_PREFETCH || b->phase != PREM_WRITEBACK || a->block != b->block ||
        a->planned_ns != b->planned_ns)
      return refuse_row(of, &rows[i], JOINED,
                        "there is no one prefetch and one writeback, of its block and start, to be "
                        "joined");
  }
  return true;
}

static bool add_slots(reading *of, const plan_row *rows, int64_t count, prem_plan *plan) {
  prem_slot *slots = malloc(((size_t)count + 1) * sizeof *slots);
  if (!slots)
    return prem_csv_stop(&of->csv, PREM_ERR_MEMORY);
  for (int64_t i = 0; i < count; ++i)
    slots[i] = rows[i].slot;
  const prem_status status = prem_plan_compress(of->schedule, slots, count, plan);
  free(slots);
  return status == PREM_OK || prem_csv_stop(&of->csv, status);
}

static bool fill_plan(reading *of, plan_row *rows, int64_t count, prem_plan *plan) {
  if (!take_jobs(of, rows, &count, plan))
    return false;
  qsort(rows, (size_t)count, sizeof *rows, by_kind);
  return judge_pairs(of, rows, count) && add_slots(of, rows, count, plan);
}

/* The plan of an operating mode, which the file's plan then owns. */
static prem_plan *plan_of_mode(reading *of, int32_t mode) {
  if (mode < 0)
    return of->plan;
  prem_plan *plan = prem_plan_new();
  if (!plan || prem_plan_add_mode(of->plan, plan) != PREM_OK) {
    prem_plan_free(plan);
    prem_csv_stop(&of->csv, PREM_ERR_MEMORY);
    return NULL;
  }
  memcpy(plan->mode, of->schedule->operating_modes[mode].name, sizeof plan->mode);
  plan->hyperperiod_ns = of->plan->hyperperiod_ns;
  plan->clock_step_ns = of->plan->clock_step_ns;
  return plan;
}

/* What is not said follows from the periods, or from the last phase. */
static void find_hyperperiod(reading *of) {
  prem_plan *plan = of->plan;
  if (plan->hyperperiod_ns == 0)
    plan->hyperperiod_ns = of->schedule->period_lcm_ns;
  if (plan->hyperperiod_ns > 0)
    return;
  int64_t end_ns = 1;
  for (int64_t i = 0; i < of->list.count; ++i)
    end_ns =
        prem_max_i64(end_ns, of->list.rows[i].slot.planned_ns + of->list.rows[i].slot.length_ns);
  plan->hyperperiod_ns = prem_round_up(end_ns, prem_max_i64(1, plan->clock_step_ns));
}

static bool make_plans(reading *of) {
  row_list *list = &of->list;
  of->plan->clock_step_ns = of->schedule->platform.clock_step_ns;
  find_hyperperiod(of);
  if (list->count > 0)
    qsort(list->rows, (size_t)list->count, sizeof *list->rows, by_tile);
  if (!judge_tiles(of))
    return false;
  for (int64_t i = 0, end; i < list->count; i = end) {
    for (end = i + 1; end < list->count && list->rows[end].mode == list->rows[i].mode;)
      ++end;
    prem_plan *plan = plan_of_mode(of, list->rows[i].mode);
    if (!plan || !fill_plan(of, &list->rows[i], end - i, plan))
      return false;
  }
  return true;
}

prem_status prem_plan_read_csv(const prem_schedule *schedule, FILE *file, const char *name,
                               prem_plan **out, prem_diag *diag) {
  reading of = {.schedule = schedule, .plan = prem_plan_new()};
  *out = NULL;
  if (!of.plan)
    return PREM_ERR_MEMORY;
  prem_csv_open(&of.csv, file, name, diag);
  if (read_rows(&of) && make_plans(&of))
    *out = of.plan;
  else
    prem_plan_free(of.plan);
  free(of.list.rows);
  prem_csv_close(&of.csv);
  return of.csv.status;
}
