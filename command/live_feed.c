/* SPDX-License-Identifier: Apache-2.0 */
/* Feeding a live session: which frame of which input is due when. Frames hold what the array's fill
 * or file says, and their number in the first element. */
#include <math.h>
#include <string.h>

#include "command/live_host.h"
#include "prem/base/numbers.h"

/* ---- when ----------------------------------------------------------------------------------- */

/* Of the jobs that read an input: the shortest period, the earliest release. */
static void find_readers(const prem_schedule *schedule, int32_t array, int64_t *period_ns,
                         int64_t *release_ns) {
  *period_ns = *release_ns = INT64_MAX;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    for (int32_t p = 0; p < task->port_count; ++p)
      if (task->port_arrays[p] == array) {
        const int64_t own_ns = task->period_ns ? task->period_ns : schedule->plan->hyperperiod_ns;
        *period_ns = prem_min_i64(*period_ns, own_ns);
        *release_ns = prem_min_i64(*release_ns, task->release_ns);
      }
  }
}

/* A camera knows nothing of the plan: a frame comes half a period before a job takes it, or sooner
 * before where it would be too old. */
static void plan_periodic(const prem_schedule *schedule, const prem_live_port *port,
                          live_input *input) {
  int64_t period_ns, release_ns;
  find_readers(schedule, port->array, &period_ns, &release_ns);
  int64_t before_ns = period_ns / 2;
  if (port->max_age_ns > 0)
    before_ns = prem_min_i64(before_ns, port->max_age_ns / 2);
  input->step_ns = period_ns;
  input->offset_ns = release_ns + period_ns - port->lead_ns - port->copy.wcet_ns - before_ns;
}

static double rate_of(const live_options *options, const char *stream) {
  double hz = 0;
  for (int i = 0; i < options->rate_count; ++i) {
    const live_rate *rate = &options->rates[i];
    if (rate->stream && !strcmp(rate->stream, stream))
      return rate->hz;
    if (!rate->stream)
      hz = rate->hz;
  }
  return hz;
}

void live_feed_plan(live_host *host) {
  for (int32_t s = 0; s < host->schedule->live_input_count; ++s) {
    const prem_live_port *port = &host->schedule->live[s];
    live_input *input = &host->inputs[s];
    *input = (live_input){.hz = rate_of(host->options, host->schedule->arrays[port->array].name),
                          .asked_ns = INT64_MIN};
    input->is_back_to_back = port->kind == PREM_LIVE_TRIGGER && !(input->hz > 0);
    if (!input->is_back_to_back && !(input->hz > 0))
      plan_periodic(host->schedule, port, input);
  }
}

static int64_t due_ns(const live_host *host, const live_input *input, uint64_t frame) {
  const int64_t start_ns = host->tally->state.start_ns;
  if (frame == 0)
    return start_ns;
  if (input->hz > 0)
    return start_ns + (int64_t)llround((double)frame * 1e9 / input->hz);
  return start_ns + input->offset_ns + (int64_t)(frame - 1) * input->step_ns;
}

/* ---- what ----------------------------------------------------------------------------------- */

/* As large as the element can hold exactly, and then from 0 again. */
static void write_number(void *element, prem_type type, uint64_t number) {
  const float f32 = (float)(number % (1 << 24)), f16 = (float)(number % 2048),
              bf16 = (float)(number % 256);
  const prem_f16 half = prem_f16_from_f32(f16);
  const prem_bf16 brain = prem_bf16_from_f32(bf16);
  const uint8_t u8 = (uint8_t)number;
  const uint16_t u16 = (uint16_t)number;
  const int32_t i32 = (int32_t)(number % INT32_MAX);
  const void *from = type == PREM_U8     ? (const void *)&u8
                     : type == PREM_U16  ? (const void *)&u16
                     : type == PREM_I32  ? (const void *)&i32
                     : type == PREM_F16  ? (const void *)&half
                     : type == PREM_BF16 ? (const void *)&brain
                                         : (const void *)&f32; /* of a c64 the real part */
  const size_t bytes = type == PREM_U8                        ? 1
                       : type == PREM_U16 || type == PREM_F16 ? 2
                       : type == PREM_BF16                    ? 2
                                                              : 4;
  memcpy(element, from, bytes);
}

/* True: handed over. False: there is no buffer now, or the session has ended. */
static bool hand_over(live_host *host, int32_t s) {
  live_input *input = &host->inputs[s];
  const int64_t now_ns = prem_live_now_ns(host->live);
  prem_frame frame;
  if (input->asked_ns == INT64_MIN)
    input->asked_ns = now_ns;
  prem_status status = prem_live_acquire(host->live, s, 0, &frame, host->diag);
  if (status == PREM_OK) {
    live_host_note(host, &(prem_host_event){.deed = PREM_HOST_ACQUIRED,
                                            .stream = s,
                                            .frame = input->handed,
                                            .begin_ns = input->asked_ns,
                                            .end_ns = now_ns});
    write_number(frame.data, host->schedule->arrays[host->schedule->live[s].array].type,
                 input->next);
    status = prem_live_submit(host->live, &frame, host->diag);
  }
  host->has_failed |= status == PREM_ERR_MACHINE;
  if (status != PREM_OK)
    return false;
  live_host_note(host, &(prem_host_event){.deed = PREM_HOST_SUBMITTED,
                                          .stream = s,
                                          .frame = frame.number,
                                          .begin_ns = frame.captured_ns,
                                          .end_ns = frame.captured_ns});
  prem_tally_submitted(host->tally, &frame);
  input->asked_ns = INT64_MIN;
  ++input->handed;
  ++input->next;
  return true;
}

/* ---- both ----------------------------------------------------------------------------------- */

static bool is_done(const live_host *host, int32_t s) {
  return host->options->frames > 0 && host->inputs[s].handed >= (uint64_t)host->options->frames;
}

/* The last one is taken before the next would be due. */
bool live_feed_is_done(const live_host *host) {
  for (int32_t s = 0; s < host->schedule->live_input_count; ++s) {
    const live_input *input = &host->inputs[s];
    if (!is_done(host, s) || (!input->is_back_to_back &&
                              prem_live_now_ns(host->live) < due_ns(host, input, input->next)))
      return false;
  }
  return host->options->frames > 0;
}

void live_feed_first(live_host *host) {
  for (int32_t s = 0; s < host->schedule->live_input_count; ++s)
    hand_over(host, s);
}

static void miss_frame(live_host *host, int32_t s) {
  ++host->inputs[s].next;
  ++host->tally->streams[s].unfed;
  host->inputs[s].asked_ns = INT64_MIN;
}

/* A frame whose successor is due as well is too old to be handed over. */
static void feed_at_instants(live_host *host, int32_t s, int64_t now_ns) {
  live_input *input = &host->inputs[s];
  while (due_ns(host, input, input->next + 1) <= now_ns)
    miss_frame(host, s);
  if (due_ns(host, input, input->next) <= now_ns && !hand_over(host, s))
    miss_frame(host, s);
}

/* One frame is worked on, and one waits. */
static void feed_back_to_back(live_host *host, int32_t s) {
  prem_live_state state;
  prem_live_look(host->live, &state);
  if (host->inputs[s].handed < (uint64_t)state.hyperperiods + 2)
    hand_over(host, s);
}

void live_feed(live_host *host) {
  const int64_t now_ns = prem_live_now_ns(host->live);
  for (int32_t s = 0; s < host->schedule->live_input_count; ++s) {
    if (is_done(host, s))
      continue;
    if (host->inputs[s].is_back_to_back)
      feed_back_to_back(host, s);
    else
      feed_at_instants(host, s, now_ns);
  }
}

int64_t live_feed_next_ns(const live_host *host) {
  const int64_t now_ns = prem_live_now_ns(host->live);
  int64_t next_ns = INT64_MAX;
  for (int32_t s = 0; s < host->schedule->live_input_count; ++s) {
    const live_input *input = &host->inputs[s];
    const int64_t own_ns =
        input->is_back_to_back ? now_ns + host->poll_ns : due_ns(host, input, input->next);
    /* of one that has had all its frames, the instant by which the last is taken */
    if (!is_done(host, s) || own_ns > now_ns)
      next_ns = prem_min_i64(next_ns, own_ns);
  }
  return next_ns;
}
