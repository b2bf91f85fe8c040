/* SPDX-License-Identifier: Apache-2.0 */
/* Turns of a live session: a frame starts a hyperperiod, whose result is waited for. */
#include <stdlib.h>
#include <string.h>

#include "experiments/common/cores.h"
#include "experiments/live/ways/live_schedule.h"
#include "ttprem/live.h"

#define TURN_NS  INT64_C(1000000000)
#define AWAKE_NS INT64_C(500000)

enum { MAX_INPUTS = 3 };

/* Streams of a command; -1: none. */
typedef struct live_command {
  int32_t in[MAX_INPUTS]; /* the first one's frames start hyperperiods */
  int32_t out;
  int32_t besides; /* an output of every turn that nobody waits for */
} live_command;

typedef struct live_way {
  const prem_way_setup *setup;
  const prem_work_data *data;
  prem_schedule *schedule;
  prem_live *live;
  prem_trace *trace;
  live_command commands[PREM_WORK_COUNT];
  float *loaded, *sent; /* sent: of a turn without work, and what starts a chosen command */
  int64_t floats;       /* of such a frame */
  uint64_t turn;
  bool is_virtual; /* time passes in waits only */
} live_way;

/* ---- frames --------------------------------------------------------------------------------- */

static int64_t rows_of(const prem_frame *frame) {
  return frame->shape[0] * frame->shape[1] * frame->shape[2];
}

static void store(const prem_frame *frame, const float *from) {
  const size_t bytes = (size_t)frame->shape[3] * sizeof *from;
  for (int64_t row = 0; row < rows_of(frame); ++row)
    memcpy((char *)frame->data + row * frame->pitch_bytes[2], from + row * frame->shape[3], bytes);
}

static void load(const prem_frame *frame, float *to) {
  const size_t bytes = (size_t)frame->shape[3] * sizeof *to;
  for (int64_t row = 0; row < rows_of(frame); ++row)
    memcpy(to + row * frame->shape[3], (const char *)frame->data + row * frame->pitch_bytes[2],
           bytes);
}

/* ---- a turn ---------------------------------------------------------------------------------- */

typedef struct live_turn {
  const live_command *streams;
  int32_t inputs;
  const float *in[MAX_INPUTS], *expected;
  int64_t count;  /* of `expected` */
  uint64_t frame; /* of the first input that the output is made from */
} live_turn;

static bool is_mixed(const live_way *way) {
  return way->setup->work == PREM_WORK_MIXED;
}

static prem_work command_of(const live_way *way) {
  return way->data->command[way->turn % PREM_WORK_VARIANTS];
}

static live_turn turn_of(live_way *way) {
  const int variant = (int)(way->turn % PREM_WORK_VARIANTS);
  const prem_work command = command_of(way);
  live_turn turn = {.streams = &way->commands[command],
                    .expected = way->data->out[variant],
                    .count = way->data->used_out[variant],
                    .frame = way->turn};
  for (int64_t i = 0; i < way->floats; ++i)
    way->sent[i] = (float)((way->turn + (uint64_t)i) % 1024);
  if (way->floats > 0)
    turn.in[turn.inputs++] = way->sent;
  for (int i = 0; i < 2 && command != PREM_WORK_EMPTY; ++i)
    if (way->data->used_in[variant][i] > 0)
      turn.in[turn.inputs++] = way->data->in[variant][i];
  if (is_mixed(way) && command != PREM_WORK_EMPTY) /* each command has a frame in four turns */
    turn.frame = way->turn / PREM_WORK_VARIANTS;
  return turn;
}

static bool is_right(const live_way *way, const live_turn *turn, const prem_frame *result) {
  if (result->input != turn->frame || result->flags != 0)
    return false;
  if (command_of(way) != PREM_WORK_EMPTY)
    return memcmp(way->loaded, turn->expected, (size_t)turn->count * sizeof(float)) == 0;
  for (int64_t i = 0; i < way->floats; ++i)
    if (way->loaded[i] != way->sent[i] + 1.0F)
      return false;
  return true;
}

/* The frame that starts the hyperperiod comes last. */
static prem_status hand_over(live_way *way, const live_turn *turn, prem_frame *frames,
                             prem_diag *diag) {
  prem_status status = PREM_OK;
  for (int i = turn->inputs - 1; i >= 0 && status == PREM_OK; --i)
    status = prem_live_submit(way->live, &frames[i], diag);
  return status;
}

static int64_t store_inputs(const live_way *way, const live_turn *turn, const prem_frame *frames) {
  const int64_t begin_ns = prem_live_now_ns(way->live);
  for (int i = 0; i < turn->inputs; ++i)
    store(&frames[i], turn->in[i]);
  return prem_live_now_ns(way->live) - begin_ns;
}

static int64_t load_outputs(const live_way *way, const prem_frame *result) {
  const int64_t begin_ns = prem_live_now_ns(way->live);
  load(result, way->loaded);
  __asm__ volatile("" ::"r"(way->loaded) : "memory"); /* the second time as well */
  return prem_live_now_ns(way->live) - begin_ns;
}

static prem_status acquire_all(const live_way *way, const live_turn *turn, prem_frame *frames,
                               int64_t until_ns, prem_diag *diag) {
  prem_status status = PREM_OK;
  for (int i = 0; i < turn->inputs && status == PREM_OK; ++i)
    status = prem_live_acquire(way->live, turn->streams->in[i], until_ns, &frames[i], diag);
  return status;
}

/* Give back what is read, and what every turn brings besides. */
static prem_status release_all(const live_way *way, const live_turn *turn, const prem_frame *result,
                               int64_t until_ns, prem_diag *diag) {
  prem_frame besides;
  prem_status status = prem_live_release(way->live, result, diag);
  if (turn->streams->besides < 0 || status != PREM_OK)
    return status;
  status = prem_live_wait(way->live, turn->streams->besides, until_ns, &besides, diag);
  return status == PREM_OK ? prem_live_release(way->live, &besides, diag) : status;
}

static prem_status take_turn(live_way *way, const live_turn *turn, bool twice, prem_way_times *out,
                             prem_diag *diag) {
  prem_frame frames[MAX_INPUTS], result;
  const int64_t begin_ns = prem_live_now_ns(way->live), until_ns = begin_ns + TURN_NS;
  prem_status status = acquire_all(way, turn, frames, until_ns, diag);
  if (status != PREM_OK)
    return status;
  out->store_ns = store_inputs(way, turn, frames);
  if (twice)
    out->store_again_ns = store_inputs(way, turn, frames);
  const int64_t started_ns = prem_live_now_ns(way->live);
  status = hand_over(way, turn, frames, diag);
  if (status == PREM_OK)
    status = prem_live_wait(way->live, turn->streams->out, until_ns, &result, diag);
  out->response_ns = prem_live_now_ns(way->live) - started_ns;
  if (status != PREM_OK)
    return status;
  out->load_ns = load_outputs(way, &result);
  if (twice)
    out->load_again_ns = load_outputs(way, &result);
  out->whole_ns = prem_live_now_ns(way->live) - begin_ns;
  out->wrong = !is_right(way, turn, &result);
  return release_all(way, turn, &result, until_ns, diag);
}

/* Waking up takes longer than most turns, so that the last part of a pause is waited through. */
static void pause_until(const live_way *way, int64_t next_ns) {
  if (way->is_virtual || next_ns - prem_live_now_ns(way->live) > 2 * AWAKE_NS)
    prem_live_sleep_until(way->live, way->is_virtual ? next_ns : next_ns - AWAKE_NS);
  while (prem_live_now_ns(way->live) < next_ns)
    prem_host_relax();
}

static prem_status take_turns(live_way *way, const prem_way_turns *turns, prem_way_samples *samples,
                              prem_diag *diag) {
  prem_status status = PREM_OK;
  for (int64_t turn = 0; turn < turns->warm_up + turns->count && status == PREM_OK; ++turn) {
    if (*turns->stop != 0 || (turn > turns->warm_up && prem_host_clock_ns() > turns->end_ns))
      break;
    const live_turn next = turn_of(way);
    prem_way_times times = {0};
    const int64_t next_ns = prem_live_now_ns(way->live) + way->setup->pace_ns;
    status = take_turn(way, &next, turns->twice, &times, diag);
    if (status == PREM_OK && turn >= turns->warm_up)
      prem_way_keep(samples, &times);
    ++way->turn;
    pause_until(way, next_ns);
  }
  return status;
}

/* ---- the session ----------------------------------------------------------------------------- */

/* From a hyperperiod's begin, which is the frame's, to the last end in it. With several commands
 * that is the end of jobs that are skipped. */
static void keep_device_times(const live_way *way, int64_t warm_up, prem_way_samples *samples) {
  const prem_trace *trace = way->trace;
  for (int64_t h = warm_up; h < trace->hyperperiods && h < trace->hyperperiod_capacity; ++h) {
    int64_t last_ns = -1;
    for (int64_t job = 0; job < trace->job_count; ++job) {
      const int64_t end_ns = trace->job_end_ns[h * trace->job_count + job];
      last_ns = end_ns > last_ns ? end_ns : last_ns;
    }
    if (last_ns >= 0 && trace->epoch_ns[h] >= 0 && samples->device_count < samples->room)
      samples->device_ns[samples->device_count++] = last_ns - trace->epoch_ns[h];
  }
}

/* Of a session with several commands each has arrays with its number, and `x` starts them all. */
static void find_streams(live_way *way) {
  const prem_live *live = way->live;
  const int32_t x = prem_live_find(live, "x"), y = prem_live_find(live, "y"),
                z = prem_live_find(live, "z");
  for (int command = 0; command < PREM_WORK_COUNT; ++command) {
    char in[] = "x0", second[] = "y0", out[] = "z0";
    in[1] = second[1] = out[1] = (char)('0' + command);
    way->commands[command] =
        is_mixed(way) && command != PREM_WORK_EMPTY
            ? (live_command){{x, prem_live_find(live, in), prem_live_find(live, second)},
                             prem_live_find(live, out),
                             z}
            : (live_command){{x, y, -1}, z, -1};
  }
}

static prem_status open_way(live_way *way, const prem_experiment_context *context,
                            const prem_way_turns *turns, prem_diag *diag) {
  prem_status status = prem_live_schedule_make(way->setup, context->machine, &way->schedule, diag);
  if (status == PREM_OK)
    status = prem_trace_new(way->schedule, turns->warm_up + turns->count, 0, &way->trace);
  if (status == PREM_OK)
    status = prem_live_open(context->backend, way->schedule, &way->live, diag);
  if (status != PREM_OK)
    return status;
  const int64_t count = way->floats > way->data->out_count ? way->floats : way->data->out_count;
  way->loaded = calloc((size_t)count + 1, sizeof(float));
  way->sent = calloc((size_t)way->floats + 1, sizeof(float));
  find_streams(way);
  return way->loaded && way->sent ? PREM_OK : PREM_ERR_MEMORY;
}

static prem_status run_way(live_way *way, const prem_way_turns *turns, prem_way_samples *samples,
                           prem_diag *diag) {
  const prem_live_request request = {.mode = way->setup->mode, .trace = way->trace};
  prem_status status = prem_live_start(way->live, &request, diag);
  if (status != PREM_OK)
    return status;
  status = take_turns(way, turns, samples, diag);
  const prem_status stopped =
      prem_live_stop(way->live, true, prem_live_now_ns(way->live) + 2 * TURN_NS, diag);
  return status == PREM_OK ? stopped : status;
}

prem_status prem_live_way_run(const prem_experiment_context *context, const prem_way_setup *setup,
                              const prem_way_turns *turns, const prem_work_data *data,
                              prem_way_samples *samples, prem_diag *diag) {
  live_way way = {.setup = setup, .data = data};
  way.is_virtual = prem_is_sim(context->backend);
  if (setup->work == PREM_WORK_EMPTY)
    way.floats = (int64_t)setup->blocks * PREM_EMPTY_FLOATS;
  else if (setup->work == PREM_WORK_MIXED) /* all commands are one block's */
    way.floats = PREM_EMPTY_FLOATS;
  prem_status status = open_way(&way, context, turns, diag);
  if (status == PREM_OK)
    status = run_way(&way, turns, samples, diag);
  prem_live_close(way.live); /* the trace is whole now */
  if (status == PREM_OK && !is_mixed(&way))
    keep_device_times(&way, turns->warm_up, samples);
  prem_trace_free(way.trace);
  prem_schedule_free(way.schedule);
  free(way.loaded);
  free(way.sent);
  return status;
}
