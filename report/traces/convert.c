/* SPDX-License-Identifier: Apache-2.0 */
/* A trace from CSV to CSV, or to the form of Perfetto: one record after the other. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "prem/base/csv_quote.h"
#include "prem/base/fail.h"
#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "report/traces/csv_reader.h"
#include "report/traces/perfetto.h"
#include "ttprem/text.h"
#include "ttprem/trace.h"
#include "ttprem/trace_file.h"

static const char *const columns[] = {"run",    "task",       "block",    "tile",
                                      "phase",  "release_ns", "ready_ns", "start_ns",
                                      "end_ns", "job",        "issue_ns"};
enum {
  COLUMNS = sizeof columns / sizeof columns[0],
  JOB = 9, /* older traces end before it, or after it */
  ISSUE,
  NO_JOB = -1
};

/** A line of the trace. */
typedef struct line_record {
  int64_t run, release_ns, ready_ns, start_ns, end_ns;
  int32_t task; /* index into the names */
  int32_t tile, job;
  int32_t line;
  uint16_t block;
  uint8_t phase;
} line_record;

/** Names of tasks in the order of their first lines. */
typedef struct task_names {
  char (*names)[PREM_NAME_BYTES];
  int32_t count, capacity;
  int32_t *slots; /* hash table of indices, -1: empty; a power of two of them */
  uint32_t slot_count;
} task_names;

/** What memory phases or computes of a block run on. Two at once need two. */
enum { LANES = 64, KINDS = 2 };

typedef struct block_tracks {
  bool apart;                    /* memory phases and computes run at once */
  int64_t launch;                /* of the next */
  int64_t last_end_ns[KINDS];    /* while it is found out whether they do */
  int64_t free_ns[KINDS][LANES]; /* when the lane's last slice ended; INT64_MIN: no track yet */
} block_tracks;

typedef struct converter {
  const prem_trace_options *options;
  prem_csv csv;
  int32_t columns; /* of the file */
  FILE *out;
  task_names tasks;
  int64_t kept;
  /* Perfetto */
  line_record *ahead; /* the first records, from which blocks' tracks are chosen */
  int32_t ahead_count;
  bool begun;
  block_tracks **blocks; /* [PREM_MAX_BLOCKS + 1], each made when first seen */
  uint8_t *named;        /* [tasks.capacity]: bits of the names that were written */
  int32_t named_capacity;
  int64_t offset_ns, latest_ns; /* of this launch; end of all that was before */
  int64_t last_start_ns, last_run;
} converter;

/* ---- names of tasks ------------------------------------------------------------------------- */

/** Fowler, Noll and Vo's hash FNV-1a. */
static uint32_t hash_of(const char *text) {
  uint32_t hash = 2166136261U;
  for (; *text; ++text)
    hash = (hash ^ (uint8_t)*text) * 16777619U;
  return hash;
}

static bool grow_names(task_names *tasks) {
  int32_t capacity = tasks->capacity ? 2 * tasks->capacity : 64;
  void *names = realloc(tasks->names, (size_t)capacity * sizeof *tasks->names);
  if (names)
    tasks->names = names;
  uint32_t slot_count = 4 * (uint32_t)capacity;
  int32_t *slots = names ? malloc(slot_count * sizeof *slots) : NULL;
  if (!slots)
    return false;
  memset(slots, 0xff, slot_count * sizeof *slots);
  for (int32_t t = 0; t < tasks->count; ++t) {
    uint32_t at = hash_of(tasks->names[t]) & (slot_count - 1);
    while (slots[at] >= 0)
      at = (at + 1) & (slot_count - 1);
    slots[at] = t;
  }
  free(tasks->slots);
  tasks->slots = slots;
  tasks->slot_count = slot_count;
  tasks->capacity = capacity;
  return true;
}

/** The index of a name, added when it is new; -1 without memory. */
static int32_t find_task(task_names *tasks, const char *name) {
  if (tasks->count == tasks->capacity && !grow_names(tasks))
    return -1;
  uint32_t at = hash_of(name) & (tasks->slot_count - 1);
  for (; tasks->slots[at] >= 0; at = (at + 1) & (tasks->slot_count - 1))
    if (strcmp(tasks->names[tasks->slots[at]], name) == 0)
      return tasks->slots[at];
  tasks->slots[at] = tasks->count;
  memcpy(tasks->names[tasks->count], name, strlen(name) + 1);
  return tasks->count++;
}

/* ---- reading -------------------------------------------------------------------------------- */

static bool read_header(converter *work) {
  prem_csv *csv = &work->csv;
  if (!prem_csv_next(csv)) {
    if (csv->status == PREM_OK)
      prem_csv_refuse(csv, "the file is empty: no trace");
    return false;
  }
  bool same = csv->field_count >= JOB && csv->field_count <= COLUMNS;
  work->columns = csv->field_count;
  for (int i = 0; same && i < work->columns; ++i)
    same = strcmp(csv->fields[i], columns[i]) == 0;
  return same || prem_csv_refuse(csv, "not the header of a trace, which is "
                                      "run,task,block,tile,phase,release_ns,ready_ns,start_ns,"
                                      "end_ns,job,issue_ns, as `ttprem run --trace` writes it");
}

static bool read_limited(prem_csv *csv, int32_t field, int64_t max, int64_t *out) {
  if (!prem_csv_integer(csv, field, columns[field], out))
    return false;
  if (*out >= 0 && *out <= max)
    return true;
  return prem_csv_refuse(csv, "%s: %" PRId64 " is not from 0 to %" PRId64, columns[field], *out,
                         max);
}

static bool read_phase(prem_csv *csv, uint8_t *out) {
  const char *name = csv->fields[4];
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    if (strcmp(name, prem_phase_name((prem_phase)p)) == 0) {
      *out = (uint8_t)p;
      return true;
    }
  return prem_csv_refuse(csv, "phase: '%.40s' is none of prefetch, compute, writeback", name);
}

static bool read_times(prem_csv *csv, line_record *record) {
  record->release_ns = PREM_NO_RELEASE;
  if (*csv->fields[5] && !read_limited(csv, 5, PREM_MAX_NS, &record->release_ns))
    return false;
  if (!read_limited(csv, 6, PREM_MAX_NS, &record->ready_ns) ||
      !read_limited(csv, 7, PREM_MAX_NS, &record->start_ns) ||
      !read_limited(csv, 8, PREM_MAX_NS, &record->end_ns))
    return false;
  return record->end_ns >= record->start_ns ||
         prem_csv_refuse(csv, "end_ns %" PRId64 " is before start_ns %" PRId64, record->end_ns,
                         record->start_ns);
}

static bool read_record(converter *work, line_record *record) {
  prem_csv *csv = &work->csv;
  if (csv->field_count != work->columns)
    return prem_csv_refuse(csv, "%" PRId32 " fields where the header has %" PRId32,
                           csv->field_count, work->columns);
  int64_t block, tile, job = NO_JOB, issue_ns;
  if (!read_limited(csv, 0, PREM_MAX_NS, &record->run) ||
      !read_limited(csv, 2, PREM_MAX_BLOCKS, &block) || !read_limited(csv, 3, INT32_MAX, &tile) ||
      !read_phase(csv, &record->phase) || !read_times(csv, record) ||
      (work->columns > JOB && !read_limited(csv, JOB, INT32_MAX, &job)) ||
      (work->columns > ISSUE && !read_limited(csv, ISSUE, UINT32_MAX, &issue_ns)))
    return false;
  const char *task = csv->fields[1];
  if (!*task || strlen(task) >= PREM_NAME_BYTES)
    return prem_csv_refuse(csv, "task: '%.40s' is no name of 1 to %d bytes", task,
                           PREM_NAME_BYTES - 1);
  char fault[16];
  const size_t plain = prem_text_plain(task, fault);
  if (task[plain])
    return prem_csv_refuse(csv, "task: '%.40s' has %s at offset %zu, which no name has", task,
                           fault, plain);
  record->task = find_task(&work->tasks, task);
  if (record->task < 0)
    csv->status = PREM_ERR_MEMORY;
  record->block = (uint16_t)block;
  record->tile = (int32_t)tile;
  record->job = (int32_t)job;
  record->line = csv->line;
  return record->task >= 0;
}

static bool is_chosen(const converter *work, const line_record *record) {
  const prem_trace_options *options = work->options;
  return (options->run < 0 || record->run == options->run) &&
         (!options->task || strcmp(work->tasks.names[record->task], options->task) == 0);
}

/* ---- CSV ------------------------------------------------------------------------------------ */

static void write_csv_header(int32_t count, FILE *out) {
  for (int i = 0; i < count; ++i)
    fprintf(out, "%s%s", i ? "," : "", columns[i]);
  fputc('\n', out);
}

/** As it was read: every field has been judged. */
static void write_csv(const prem_csv *csv, FILE *out) {
  for (int i = 0; i < csv->field_count; ++i) {
    if (i > 0)
      putc_unlocked(',', out);
    if (i == 1)
      prem_csv_name(out, csv->fields[i]);
    else
      fputs_unlocked(csv->fields[i], out);
  }
  putc_unlocked('\n', out);
}

/* ---- Perfetto: names ------------------------------------------------------------------------- */

/** Of every phase of a task: its slices, its releases, its late releases. */
enum { NAMES_OF_A_PHASE = 3, NAME_SLICE = 0, NAME_RELEASE = 1, NAME_LATE = 2 };
enum { NOTE_TILE = 1, NOTE_RUN, NOTE_LATENESS, NOTE_WAITED, NOTE_BEGUN_AFTER, NOTE_JOB, NOTES };

static void name_notes(FILE *out) {
  static const char *const names[NOTES] = {[NOTE_TILE] = "tile",
                                           [NOTE_RUN] = "run",
                                           [NOTE_LATENESS] = "lateness_ns",
                                           [NOTE_WAITED] = "waited for data or buffer, ns",
                                           [NOTE_BEGUN_AFTER] = "then begun after, ns",
                                           [NOTE_JOB] = "job"};
  for (int note = NOTE_TILE; note < NOTES; ++note)
    prem_perfetto_name_note(out, (uint64_t)note, names[note]);
}

static bool make_name_marks(converter *work) {
  if (work->named_capacity >= work->tasks.capacity)
    return true;
  size_t per_task = PREM_PHASE_COUNT * NAMES_OF_A_PHASE;
  uint8_t *named = realloc(work->named, (size_t)work->tasks.capacity * per_task);
  if (!named)
    return false;
  memset(named + (size_t)work->named_capacity * per_task, 0,
         (size_t)(work->tasks.capacity - work->named_capacity) * per_task);
  work->named = named;
  work->named_capacity = work->tasks.capacity;
  return true;
}

/** The number of a name, which is written when it is used first. */
static uint64_t event_name(converter *work, const line_record *record, int which) {
  static const char *const before[] = {"", "release ", "late release "};
  int64_t index =
      ((int64_t)record->task * PREM_PHASE_COUNT + record->phase) * NAMES_OF_A_PHASE + which;
  uint64_t number = (uint64_t)index + 1;
  if (!work->named[index]) {
    char name[PREM_PERFETTO_TEXT_BYTES];
    snprintf(name, sizeof name, "%s%s %s", before[which], work->tasks.names[record->task],
             prem_phase_name((prem_phase)record->phase));
    prem_perfetto_name_event(work->out, number, name);
    work->named[index] = 1;
  }
  return number;
}

/* ---- Perfetto: tracks ------------------------------------------------------------------------ */

static int kind_of(const line_record *record) {
  return record->phase == PREM_COMPUTE;
}

static block_tracks *tracks_of(converter *work, uint16_t block) {
  if (work->blocks[block])
    return work->blocks[block];
  block_tracks *tracks = calloc(1, sizeof *tracks);
  if (!tracks)
    return NULL;
  for (int kind = 0; kind < KINDS; ++kind) {
    tracks->last_end_ns[kind] = INT64_MIN;
    for (int lane = 0; lane < LANES; ++lane)
      tracks->free_ns[kind][lane] = INT64_MIN;
  }
  return work->blocks[block] = tracks;
}

static uint64_t track_of(uint16_t block, int kind, int lane) {
  return ((uint64_t)block * KINDS + (uint64_t)kind) * LANES + (uint64_t)lane + 1;
}

static void write_track(converter *work, const block_tracks *tracks, uint16_t block, int kind,
                        int lane) {
  char name[64], number[16] = "";
  if (lane > 0)
    snprintf(number, sizeof number, " (%d)", lane + 1);
  const char *what = !tracks->apart ? "" : kind ? " compute" : " memory";
  snprintf(name, sizeof name, "block %d%s%s", block, what, number);
  uint64_t track = track_of(block, kind, lane);
  prem_perfetto_track(work->out, track, (int32_t)track, name);
}

/** The first of the block's lanes that is free at the record's start; 0 when none is. */
static uint64_t take_lane(converter *work, const line_record *record, int64_t start_ns,
                          int64_t end_ns) {
  block_tracks *tracks = work->blocks[record->block];
  int kind = tracks->apart ? kind_of(record) : 0;
  for (int lane = 0; lane < LANES; ++lane) {
    if (tracks->free_ns[kind][lane] > start_ns)
      continue;
    if (tracks->free_ns[kind][lane] == INT64_MIN)
      write_track(work, tracks, record->block, kind, lane);
    tracks->free_ns[kind][lane] = end_ns;
    return track_of(record->block, kind, lane);
  }
  return 0;
}

/* ---- Perfetto: events ------------------------------------------------------------------------ */

static void write_release(converter *work, const line_record *record, uint64_t track) {
  int64_t lateness_ns = record->start_ns - record->release_ns;
  bool late = lateness_ns > work->options->late_ns;
  int64_t ready_ns = prem_max_i64(record->ready_ns, record->release_ns);
  const prem_perfetto_note notes[] = {{NOTE_TILE, record->tile},
                                      {NOTE_LATENESS, lateness_ns},
                                      {NOTE_WAITED, ready_ns - record->release_ns},
                                      {NOTE_BEGUN_AFTER, record->start_ns - ready_ns}};
  prem_perfetto_instant(work->out, track, event_name(work, record, late ? NAME_LATE : NAME_RELEASE),
                        work->offset_ns + record->release_ns, notes, late ? 4 : 2);
}

/** A launch begins where times go back: records are in order of their starts. */
static bool place_launch(converter *work, const line_record *record) {
  if (record->start_ns < work->last_start_ns) {
    if (record->run == work->last_run) {
      work->csv.line = record->line;
      return prem_csv_refuse(&work->csv,
                             "start_ns %" PRId64 " is before that of an earlier line, %" PRId64
                             ", of the same run: the trace is not in order of start_ns",
                             record->start_ns, work->last_start_ns);
    }
    work->offset_ns = work->latest_ns;
  }
  work->last_start_ns = record->start_ns;
  work->last_run = record->run;
  return true;
}

static bool write_slice(converter *work, const line_record *record) {
  if (!tracks_of(work, record->block) || !make_name_marks(work))
    return prem_csv_stop(&work->csv, PREM_ERR_MEMORY);
  if (!place_launch(work, record))
    return false;
  int64_t start_ns = work->offset_ns + record->start_ns;
  int64_t end_ns = work->offset_ns + record->end_ns;
  uint64_t track = take_lane(work, record, start_ns, end_ns);
  if (track == 0) {
    work->csv.line = record->line;
    return prem_csv_refuse(&work->csv, "more than %d phases of block %d at once", LANES,
                           record->block);
  }
  work->latest_ns = prem_max_i64(work->latest_ns, end_ns);
  if (record->release_ns != PREM_NO_RELEASE)
    write_release(work, record, track);
  const prem_perfetto_note notes[] = {
      {NOTE_TILE, record->tile}, {NOTE_RUN, record->run}, {NOTE_JOB, record->job}};
  prem_perfetto_slice(work->out, track, event_name(work, record, NAME_SLICE), start_ns, end_ns,
                      notes, record->job == NO_JOB ? 2 : 3);
  return true;
}

/* Tracks are named before their first slice, so it has to be known by then what a block does at
 * once. The first records tell; what a block does for the first time later than that goes onto
 * further tracks of its own. */
enum { AHEAD = 1 << 16 };

static bool note_overlap(converter *work, const line_record *record, int64_t launch) {
  block_tracks *tracks = tracks_of(work, record->block);
  if (!tracks)
    return prem_csv_stop(&work->csv, PREM_ERR_MEMORY);
  int kind = kind_of(record);
  if (tracks->launch != launch)
    tracks->last_end_ns[0] = tracks->last_end_ns[1] = INT64_MIN;
  tracks->launch = launch;
  tracks->apart |=
      record->start_ns < tracks->last_end_ns[!kind] && record->end_ns > record->start_ns;
  tracks->last_end_ns[kind] = prem_max_i64(tracks->last_end_ns[kind], record->end_ns);
  return true;
}

static bool find_overlaps(converter *work) {
  int64_t launch = 0;
  for (int32_t i = 0; i < work->ahead_count; ++i) {
    launch += i > 0 && work->ahead[i].start_ns < work->ahead[i - 1].start_ns;
    if (!note_overlap(work, &work->ahead[i], launch))
      return false;
  }
  return true;
}

static bool begin_tracks(converter *work) {
  if (!find_overlaps(work))
    return false;
  work->begun = true;
  prem_perfetto_begin(work->out, "blocks");
  name_notes(work->out);
  for (int32_t i = 0; i < work->ahead_count; ++i)
    if (!write_slice(work, &work->ahead[i]))
      return false;
  return true;
}

static bool add_to_tracks(converter *work, const line_record *record) {
  if (work->begun)
    return write_slice(work, record);
  work->ahead[work->ahead_count++] = *record;
  return work->ahead_count < AHEAD || begin_tracks(work);
}

/* ---- all of it ------------------------------------------------------------------------------ */

static bool is_stopped(const prem_trace_options *options) {
  return options->stop && *options->stop;
}

static bool convert_records(converter *work) {
  const bool has_tracks = work->options->format != PREM_TRACE_CSV;
  line_record record = {0};
  while (prem_csv_next(&work->csv)) {
    if (!read_record(work, &record))
      return false;
    if (!is_chosen(work, &record))
      continue;
    ++work->kept;
    if (has_tracks && !add_to_tracks(work, &record))
      return false;
    if (!has_tracks)
      write_csv(&work->csv, work->out);
    if (is_stopped(work->options) || ferror(work->out))
      return false;
  }
  return work->csv.status == PREM_OK && (!has_tracks || work->begun || begin_tracks(work));
}

static prem_status refuse_choice(const converter *work) {
  const prem_trace_options *options = work->options;
  char run[48] = "", task[PREM_NAME_BYTES + 16] = "";
  if (options->run >= 0)
    snprintf(run, sizeof run, " of run %" PRId64, options->run);
  if (options->task)
    snprintf(task, sizeof task, " of task '%.*s'", PREM_NAME_BYTES, options->task);
  return prem_fail(work->csv.diag, PREM_ERR_INVALID, 0, (prem_place){work->csv.name, 0}, "",
                   "none of its %d phases is%s%s", work->csv.line - 2, task, run);
}

static prem_status convert(converter *work) {
  if (!read_header(work))
    return work->csv.status;
  if (work->options->format == PREM_TRACE_CSV)
    write_csv_header(work->columns, work->out);
  bool whole = convert_records(work);
  if (work->csv.status != PREM_OK)
    return work->csv.status;
  if (is_stopped(work->options))
    return PREM_ERR_INTERRUPTED;
  if (!whole || ferror(work->out))
    return PREM_ERR_IO;
  bool chose = work->options->run >= 0 || work->options->task;
  return chose && work->kept == 0 ? refuse_choice(work) : PREM_OK;
}

prem_status prem_trace_convert(FILE *in, const char *name, const prem_trace_options *options,
                               FILE *out, prem_diag *diag) {
  converter work = {
      .options = options,
      .out = out,
      .last_run = -1,
      .offset_ns = options->shift_ns,
      .ahead = malloc(AHEAD * sizeof *work.ahead),
      .blocks = (block_tracks **)calloc(PREM_MAX_BLOCKS + 1, sizeof(block_tracks *)),
  };
  prem_csv_open(&work.csv, in, name, diag);
  work.csv.stop = options->stop;
  prem_status status = work.ahead && work.blocks ? convert(&work) : PREM_ERR_MEMORY;
  for (int32_t block = 0; work.blocks && block <= PREM_MAX_BLOCKS; ++block)
    free(work.blocks[block]);
  PREM_FREE((void *)work.blocks, work.ahead, work.named, work.tasks.names, work.tasks.slots);
  prem_csv_close(&work.csv);
  return status;
}
