/* SPDX-License-Identifier: Apache-2.0 */
/* Live sessions as their host sees them: when each result was due, how old and how late it is. */
#include "ttprem/tally.h"

#include <stdlib.h>
#include <string.h>

#include "measure/times.h"
#include "prem/base/list.h"
#include "prem/base/numbers.h"

enum { LATENESS_WIDTH_NS = 1000 };

/* ---- times ---------------------------------------------------------------------------------- */

int64_t prem_tally_bound(int32_t index) {
  static const int64_t steps[] = {1000, 2000, 5000};
  int64_t bound_ns = steps[index % 3];
  for (int32_t decades = index / 3; decades > 0; --decades)
    bound_ns *= 10;
  return bound_ns;
}

static void add_time(prem_tally_times *to, int64_t ns) {
  const int64_t bucket = ns < 0 ? 0 : ns / to->width_ns;
  if (bucket < PREM_TALLY_BUCKETS)
    ++to->buckets[bucket];
  else
    ++to->over;
  int32_t bound = 0;
  while (bound < PREM_TALLY_BOUNDS && ns > prem_tally_bound(bound))
    ++bound;
  if (bound < PREM_TALLY_BOUNDS)
    ++to->bounded[bound];
  to->min_ns = to->count == 0 ? ns : prem_min_i64(to->min_ns, ns);
  to->max_ns = to->count == 0 ? ns : prem_max_i64(to->max_ns, ns);
  ++to->count;
  to->sum_ns += (double)ns;
}

/* The least of 1, 2, 5, 10, 20 ... us with which the buckets reach so far. */
static int64_t width_for(int64_t span_ns) {
  int32_t bound = 0;
  while (bound < PREM_TALLY_BOUNDS - 1 && prem_tally_bound(bound) < span_ns / PREM_TALLY_BUCKETS)
    ++bound;
  return prem_tally_bound(bound);
}

/* ---- when results are due ------------------------------------------------------------------- */

/* The planned end of each of the writer's jobs: when a result without publish_ns is due. */
static prem_status find_planned_ends(const prem_schedule *schedule, int32_t mode, int32_t writer,
                                     int32_t jobs, int64_t *due_ns) {
  prem_slot *slots = NULL;
  int64_t count = 0;
  const prem_plan *plan = prem_schedule_plan_of(schedule, mode);
  if (!plan)
    return PREM_ERR_ARGUMENT;
  const prem_status status = prem_plan_expand(schedule, plan, &slots, &count, NULL);
  for (int64_t i = 0; i < count; ++i)
    if (slots[i].task == writer && slots[i].job < jobs)
      due_ns[slots[i].job] =
          prem_max_i64(due_ns[slots[i].job], slots[i].planned_ns + slots[i].length_ns);
  free(slots);
  return status;
}

static prem_status find_due(const prem_schedule *schedule, const prem_live_port *port,
                            prem_tally_stream *stream) {
  const int32_t writer = schedule->arrays[port->array].writer;
  const prem_task *task = &schedule->tasks[writer];
  const int64_t round_ns = schedule->plan->hyperperiod_ns;
  const int64_t period_ns = task->period_ns ? task->period_ns : round_ns;
  stream->jobs = (int32_t)(round_ns / period_ns);
  const int32_t modes = prem_max_i32(schedule->operating_mode_count, 1);
  stream->due_ns = calloc((size_t)stream->jobs * (size_t)modes, sizeof *stream->due_ns);
  prem_status status = stream->due_ns ? PREM_OK : PREM_ERR_MEMORY;
  for (int32_t m = 0; m < modes && !status; ++m) {
    int64_t *due_ns = stream->due_ns + m * stream->jobs;
    if (port->publish_ns == 0)
      status = find_planned_ends(schedule, m, writer, stream->jobs, due_ns);
    for (int32_t j = 0; j < stream->jobs && port->publish_ns > 0; ++j)
      due_ns[j] = j * period_ns + task->release_ns + port->publish_ns;
  }
  return status;
}

/* Four hyperperiods and intervals, and results that are shown in later ones; the same for all. */
static int64_t span_of(const prem_schedule *schedule, int64_t interval_ns) {
  enum { ROUNDS = 4 };
  int64_t publish_ns = 0;
  for (int32_t s = 0; s < schedule->live_count; ++s)
    publish_ns = prem_max_i64(publish_ns, schedule->live[s].publish_ns);
  return ROUNDS * (schedule->plan->hyperperiod_ns + publish_ns + interval_ns);
}

static prem_status make_stream(const prem_schedule *schedule, int32_t s, int64_t span_ns,
                               prem_tally_stream *stream) {
  const prem_live_port *port = &schedule->live[s];
  *stream =
      (prem_tally_stream){.name = schedule->arrays[port->array].name, .is_output = port->is_output};
  if (!port->is_output)
    return PREM_OK;
  stream->age.width_ns = width_for(span_ns);
  stream->lateness.width_ns = LATENESS_WIDTH_NS;
  stream->times = calloc(1, sizeof *stream->times);
  stream->inputs = calloc((size_t)schedule->live_input_count + 1, sizeof *stream->inputs);
  bool is_whole = stream->times && stream->inputs;
  for (int32_t i = 0; is_whole && i < schedule->live_input_count; ++i) {
    stream->inputs[i].age.width_ns = stream->age.width_ns;
    stream->inputs[i].times = calloc(1, sizeof *stream->inputs[i].times);
    is_whole = stream->inputs[i].times != NULL;
  }
  return is_whole ? find_due(schedule, port, stream) : PREM_ERR_MEMORY;
}

/* Which of its frames a hyperperiod began with; those that began without one are told apart. */
static int64_t frame_of(const prem_tally *tally, int64_t hyperperiod) {
  const prem_live_counts *counts = &tally->streams[tally->trigger].counts;
  return hyperperiod - (int64_t)counts->repeated - (int64_t)counts->missing;
}

/* At the frame's capture and lead, but not before the hyperperiod before it is over. */
static void find_next_epoch(prem_tally *tally) {
  const int64_t next = tally->epoch_count++;
  int64_t epoch_ns = tally->state.start_ns;
  if (next > 0)
    epoch_ns =
        tally->epochs_ns[(next - 1) % PREM_TALLY_TRIGGERS] + tally->schedule->plan->hyperperiod_ns;
  if (tally->trigger >= 0) {
    const int64_t frame = prem_max_i64(frame_of(tally, next), 0);
    epoch_ns = prem_max_i64(epoch_ns, tally->captured_ns[frame % PREM_TALLY_TRIGGERS] +
                                          tally->schedule->live[tally->trigger].lead_ns);
  }
  tally->epochs_ns[next % PREM_TALLY_TRIGGERS] = epoch_ns;
}

/* A result's job counts from the session's first. */
static int64_t due_at(prem_tally *tally, const prem_tally_stream *stream, const prem_frame *frame,
                      int64_t hyperperiod) {
  while (tally->epoch_count <= hyperperiod)
    find_next_epoch(tally);
  return tally->epochs_ns[hyperperiod % PREM_TALLY_TRIGGERS] +
         stream->due_ns[frame->operating_mode * stream->jobs + frame->job % stream->jobs];
}

void prem_tally_submitted(prem_tally *tally, const prem_frame *frame) {
  if (frame->stream == tally->trigger)
    tally->captured_ns[frame->number % PREM_TALLY_TRIGGERS] = frame->captured_ns;
}

/* ---- its life ------------------------------------------------------------------------------- */

static prem_status make_streams(prem_tally *tally, int64_t interval_ns) {
  const prem_schedule *schedule = tally->schedule;
  prem_status status = PREM_OK;
  for (int32_t s = 0; s < schedule->live_count && !status; ++s) {
    status = make_stream(schedule, s, span_of(schedule, interval_ns), &tally->streams[s]);
    if (schedule->live[s].kind == PREM_LIVE_TRIGGER)
      tally->trigger = s;
  }
  return status;
}

prem_status prem_tally_new(const prem_schedule *schedule, const char *backend, prem_mode mode,
                           int64_t interval_ns, prem_tally **out) {
  *out = NULL;
  if (!schedule->plan)
    return PREM_ERR_ARGUMENT;
  prem_tally *tally = calloc(1, sizeof *tally);
  if (!tally)
    return PREM_ERR_MEMORY;
  tally->schedule = schedule;
  tally->mode = mode;
  tally->trigger = -1;
  tally->age_max_ns = tally->lateness_max_ns = INT64_MIN;
  strncpy(tally->backend, backend, sizeof tally->backend - 1);
  tally->stream_count = schedule->live_count;
  tally->streams = calloc((size_t)schedule->live_count + 1, sizeof *tally->streams);
  tally->tasks = calloc((size_t)schedule->task_count + 1, sizeof *tally->tasks);
  tally->second = calloc(1, sizeof *tally->second);
  const bool is_whole = tally->streams && tally->tasks && tally->second;
  const prem_status status = is_whole ? make_streams(tally, interval_ns) : PREM_ERR_MEMORY;
  if (status)
    prem_tally_free(tally);
  else
    *out = tally;
  return status;
}

static void free_times(struct prem_times *times) {
  if (times)
    prem_times_free(times);
  free(times);
}

void prem_tally_free(prem_tally *tally) {
  if (!tally)
    return;
  for (int32_t s = 0; s < tally->stream_count && tally->streams; ++s) {
    prem_tally_stream *stream = &tally->streams[s];
    for (int32_t i = 0; stream->inputs && i < tally->schedule->live_input_count; ++i)
      free_times(stream->inputs[i].times);
    free(stream->inputs);
    free_times(stream->times);
    free(stream->due_ns);
  }
  free_times(tally->second);
  PREM_FREE(tally->streams, tally->tasks, tally);
}

void prem_tally_begin(prem_tally *tally, const prem_live *live) {
  prem_live_look(live, &tally->state);
}

/* ---- while it runs -------------------------------------------------------------------------- */

static void add_age(prem_tally *tally, prem_tally_stream *stream, int64_t age_ns) {
  add_time(&stream->age, age_ns);
  /* out of memory: a percentile lacks one of many */
  (void)prem_times_add(stream->times, prem_max_i64(age_ns, 0));
  (void)prem_times_add(tally->second, prem_max_i64(age_ns, 0));
  tally->age_max_ns = prem_max_i64(tally->age_max_ns, age_ns);
}

int64_t prem_tally_result(prem_tally *tally, const prem_frame *frame, int64_t *hyperperiod) {
  prem_tally_stream *stream = &tally->streams[frame->stream];
  const int64_t in = frame->job / stream->jobs;
  const int64_t lateness_ns = frame->published_ns - due_at(tally, stream, frame, in);
  ++stream->seen;
  if (frame->captured_ns > 0)
    add_age(tally, stream, frame->published_ns - frame->captured_ns);
  add_time(&stream->lateness, lateness_ns);
  tally->lateness_max_ns = prem_max_i64(tally->lateness_max_ns, lateness_ns);
  if (hyperperiod)
    *hyperperiod = in;
  return lateness_ns;
}

void prem_tally_inputs(prem_tally *tally, const prem_live *live, const prem_frame *frame) {
  prem_frame_input made_of[PREM_MAX_LIVE_PORTS];
  const int32_t count = prem_live_inputs(live, frame, made_of, PREM_MAX_LIVE_PORTS);
  for (int32_t i = 0; count > 1 && i < count; ++i) {
    prem_tally_input *input = &tally->streams[frame->stream].inputs[made_of[i].stream];
    const int64_t age_ns = frame->published_ns - made_of[i].captured_ns;
    add_time(&input->age, age_ns);
    (void)prem_times_add(input->times, prem_max_i64(age_ns, 0));
  }
}

void prem_tally_look(prem_tally *tally, const prem_live *live) {
  prem_live_look(live, &tally->state);
  for (int32_t s = 0; s < tally->stream_count; ++s) {
    prem_tally_stream *stream = &tally->streams[s];
    prem_live_count(live, s, &stream->counts);
    if (!stream->is_output)
      continue;
    prem_times_summarise(stream->times, &stream->ages);
    for (int32_t i = 0; i < tally->schedule->live_input_count; ++i)
      prem_times_summarise(stream->inputs[i].times, &stream->inputs[i].ages);
  }
  for (int32_t t = 0; t < tally->schedule->task_count; ++t)
    prem_live_count_task(live, t, &tally->tasks[t]);
}

void prem_tally_second(prem_tally *tally, prem_tally_second_ages *out) {
  prem_times *times = tally->second;
  *out = (prem_tally_second_ages){.count = times->count};
  if (times->count > 0) {
    out->min_ns = times->min_ns;
    out->max_ns = times->max_ns;
    out->mean_ns = times->sum_ns / (double)times->count;
    out->p99_ns = prem_times_percentile(times, 990);
  }
  prem_times_free(times);
}

uint64_t prem_tally_frames(const prem_tally *tally, bool of_outputs) {
  uint64_t frames = 0;
  for (int32_t s = 0; s < tally->stream_count; ++s)
    if (tally->streams[s].is_output == of_outputs)
      frames += tally->streams[s].counts.frames;
  return frames;
}
