/* SPDX-License-Identifier: Apache-2.0 */
/* The tally of a live session in Prometheus' text form, version 0.0.4: HELP and TYPE of each
 * metric, then all its samples; times in seconds; counters end in _total. */
#include "ttprem/tally.h"

#include <inttypes.h>
#include <stddef.h>

#include "report/provenance.h"

/** Where samples go, and the labels that all of them have. */
typedef struct exposition {
  const prem_tally *tally;
  FILE *file;
} exposition;

static void write_escaped(const char *text, FILE *file) {
  for (; *text; ++text)
    if (*text == '\n')
      fputs("\\n", file);
    else if (*text == '\\' || *text == '"')
      fprintf(file, "\\%c", *text);
    else
      fputc(*text, file);
}

static void write_label(const char *name, const char *value, FILE *file) {
  fprintf(file, "%s=\"", name);
  write_escaped(value, file);
  fputc('"', file);
}

/* `key` NULL: nothing but what all have. */
static void begin_sample(const exposition *to, const char *metric, const char *suffix,
                         const char *key, const char *value) {
  fprintf(to->file, "%s%s{", metric, suffix);
  write_label("schedule", to->tally->schedule->name, to->file);
  fputc(',', to->file);
  write_label("backend", to->tally->backend, to->file);
  fputc(',', to->file);
  write_label("mode", prem_mode_name(to->tally->mode), to->file);
  if (key) {
    fputc(',', to->file);
    write_label(key, value, to->file);
  }
}

static void write_head(const exposition *to, const char *metric, const char *type,
                       const char *help) {
  fprintf(to->file, "# HELP %s %s\n# TYPE %s %s\n", metric, help, metric, type);
}

static void end_count(const exposition *to, uint64_t count) {
  fprintf(to->file, "} %" PRIu64 "\n", count);
}

/* ---- counters ------------------------------------------------------------------------------- */

static void write_frames(const exposition *to) {
  static const char metric[] = "ttprem_live_frames_total";
  write_head(to, metric, "counter", "Frames handed over to inputs, and results shown by outputs.");
  for (int32_t s = 0; s < to->tally->stream_count; ++s) {
    const prem_tally_stream *stream = &to->tally->streams[s];
    begin_sample(to, metric, "", "stream", stream->name);
    fprintf(to->file, ",direction=\"%s\"", stream->is_output ? "out" : "in");
    end_count(to, stream->counts.frames);
  }
}

typedef enum sides { INPUTS = 1, OUTPUTS = 2, BOTH = 3 } sides;

/** A counter, by the place of a uint64_t. */
typedef struct counter {
  const char *metric, *help;
  size_t at;
  sides of; /* whose it is, of streams */
} counter;

#define OF_STREAM(member) offsetof(prem_tally_stream, member)
#define OF_TASK(member)   offsetof(prem_live_task_counts, member)

static void write_counter(const exposition *to, const counter *of, const char *kind,
                          const char *name, const void *counts) {
  begin_sample(to, of->metric, "", kind, name);
  end_count(to, *(const uint64_t *)(const void *)((const char *)counts + of->at));
}

static const counter stream_counters[] = {
    {"ttprem_live_taken_total", "Jobs that a new frame was chosen for.", OF_STREAM(counts.taken),
     INPUTS},
    {"ttprem_live_unfed_total", "Frames that the host did not hand over: no buffer, or no time.",
     OF_STREAM(unfed), INPUTS},
    {"ttprem_live_seen_total", "Results that the host has seen.", OF_STREAM(seen), OUTPUTS},
    {"ttprem_live_repeated_total", "Jobs that took a frame again, and results made of such.",
     OF_STREAM(counts.repeated), BOTH},
    {"ttprem_live_missing_total", "Jobs skipped for want of a frame; results not made.",
     OF_STREAM(counts.missing), BOTH},
    {"ttprem_live_stale_total", "Of those missing, frames that were too old.",
     OF_STREAM(counts.stale), INPUTS},
    {"ttprem_live_dropped_total", "Results that found no free buffer.", OF_STREAM(counts.dropped),
     OUTPUTS},
    {"ttprem_live_late_total", "Results shown after their publish_ns.", OF_STREAM(counts.late),
     OUTPUTS},
    {"ttprem_live_aborted_total", "Results of jobs that were given up.", OF_STREAM(counts.aborted),
     OUTPUTS},
};

static void write_stream_counter(const exposition *to, const counter *of) {
  const prem_tally *tally = to->tally;
  const int32_t inputs = tally->schedule->live_input_count;
  const int32_t first = of->of & INPUTS ? 0 : inputs;
  const int32_t end = of->of & OUTPUTS ? tally->stream_count : inputs;
  if (first == end)
    return;
  write_head(to, of->metric, "counter", of->help);
  for (int32_t s = first; s < end; ++s)
    write_counter(to, of, "stream", tally->streams[s].name, &tally->streams[s]);
}

static void write_task_counters(const exposition *to) {
  static const counter counters[] = {
      {"ttprem_live_task_overruns_total", "Deadline misses: jobs that were not over by then.",
       OF_TASK(overruns), BOTH},
      {"ttprem_live_task_skipped_total", "Jobs left out for an overrun.", OF_TASK(skipped), BOTH},
      {"ttprem_live_task_aborted_total", "Jobs given up at their deadline.", OF_TASK(aborted),
       BOTH},
  };
  for (size_t i = 0; i < sizeof counters / sizeof counters[0]; ++i) {
    write_head(to, counters[i].metric, "counter", counters[i].help);
    for (int32_t t = 0; t < to->tally->schedule->task_count; ++t)
      write_counter(to, &counters[i], "task", to->tally->schedule->tasks[t].name,
                    &to->tally->tasks[t]);
  }
}

/* ---- the session and its times -------------------------------------------------------------- */

static void write_session(const exposition *to) {
  const prem_live_state *state = &to->tally->state;
  write_head(to, "ttprem_build_info", "gauge", "1; the version and commit that it was built from.");
  fputs("ttprem_build_info{", to->file);
  write_label("version", prem_version(), to->file);
  fputc(',', to->file);
  write_label("commit", prem_build_commit(), to->file);
  fputs("} 1\n", to->file);
  write_head(to, "ttprem_live_running", "gauge", "1 while the session takes frames or drains.");
  begin_sample(to, "ttprem_live_running", "", NULL, NULL);
  end_count(to, state->phase == PREM_LIVE_RUNNING || state->phase == PREM_LIVE_DRAINING);
  write_head(to, "ttprem_live_hyperperiods_total", "counter", "Hyperperiods completed.");
  begin_sample(to, "ttprem_live_hyperperiods_total", "", NULL, NULL);
  end_count(to, (uint64_t)state->hyperperiods);
}

/* `input` NULL: not by one of them. */
static void begin_time(const exposition *to, const char *metric, const char *suffix,
                       const char *stream, const char *input) {
  begin_sample(to, metric, suffix, "stream", stream);
  if (input) {
    fputc(',', to->file);
    write_label("input", input, to->file);
  }
}

static void write_buckets(const exposition *to, const char *metric, const char *stream,
                          const char *input, const prem_tally_times *times) {
  int64_t sum = 0;
  for (int32_t i = 0; i < PREM_TALLY_BOUNDS; ++i) {
    sum += times->bounded[i];
    begin_time(to, metric, "_bucket", stream, input);
    fprintf(to->file, ",le=\"%g\"} %" PRId64 "\n", (double)prem_tally_bound(i) * 1e-9, sum);
  }
  begin_time(to, metric, "_bucket", stream, input);
  fprintf(to->file, ",le=\"+Inf\"} %" PRId64 "\n", times->count);
  begin_time(to, metric, "_sum", stream, input);
  fprintf(to->file, "} %.9f\n", times->sum_ns * 1e-9);
  begin_time(to, metric, "_count", stream, input);
  end_count(to, (uint64_t)times->count);
}

/* Of results that are made of several. */
static void write_input_ages(const exposition *to) {
  static const char metric[] = "ttprem_live_input_age_seconds";
  const int32_t inputs = to->tally->schedule->live_input_count;
  bool has_head = false;
  for (int32_t s = inputs; s < to->tally->stream_count; ++s)
    for (int32_t i = 0; i < inputs; ++i) {
      const prem_tally_times *age = &to->tally->streams[s].inputs[i].age;
      if (age->count == 0)
        continue;
      if (!has_head)
        write_head(to, metric, "histogram",
                   "Results of several inputs, from the capture of this one's frame until they "
                   "were shown.");
      has_head = true;
      write_buckets(to, metric, to->tally->streams[s].name, to->tally->streams[i].name, age);
    }
}

static void write_times(const exposition *to) {
  static const char age[] = "ttprem_live_age_seconds", late[] = "ttprem_live_lateness_seconds";
  const int32_t first = to->tally->schedule->live_input_count;
  if (first == to->tally->stream_count)
    return;
  write_head(to, age, "histogram",
             "Results, from the capture of the oldest input until they were shown.");
  for (int32_t s = first; s < to->tally->stream_count; ++s)
    write_buckets(to, age, to->tally->streams[s].name, NULL, &to->tally->streams[s].age);
  write_input_ages(to);
  write_head(to, late, "histogram", "Results, shown so long after they were due.");
  for (int32_t s = first; s < to->tally->stream_count; ++s)
    write_buckets(to, late, to->tally->streams[s].name, NULL, &to->tally->streams[s].lateness);
}

void prem_tally_write_metrics(const prem_tally *tally, FILE *file) {
  const exposition to = {.tally = tally, .file = file};
  write_session(&to);
  write_frames(&to);
  for (size_t i = 0; i < sizeof stream_counters / sizeof stream_counters[0]; ++i)
    write_stream_counter(&to, &stream_counters[i]);
  write_task_counters(&to);
  write_times(&to);
}
