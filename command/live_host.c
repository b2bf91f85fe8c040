/* SPDX-License-Identifier: Apache-2.0 */
#include "command/live_host.h"

#include "prem/base/list.h"
#include "prem/base/numbers.h"

enum {
  SECOND_NS = 1000000000,
  SIM_BEGIN_NS = 1000,          /* elsewhere long ago */
  SIGNAL_NS = 50000000,         /* a signal is seen after so long at the latest */
  LEAST_DRAIN_NS = 2000000000,  /* for begun hyperperiods to end, and four of them at least */
  HURRIED_DRAIN_NS = 500000000, /* the same behind a signal */
  LAST_NS = 1000000000,         /* for blocks to leave without it */
  MIN_POLL_NS = 10000,
  MAX_POLL_NS = 1000000
};

void live_host_note(live_host *host, const prem_host_event *event) {
  enum { MAX_EVENTS = 1 << 20 }; /* 64 MiB, more than the phases that there is room for */
  if (!host->options->timeline || host->event_count == MAX_EVENTS)
    return;
  (void)PREM_APPEND(host->events, host->event_count, *event);
}

/* ---- results -------------------------------------------------------------------------------- */

static void note_result(live_host *host, const prem_frame *frame, int64_t lateness_ns) {
  const int64_t now_ns = prem_live_now_ns(host->live);
  prem_host_event event = {.deed = PREM_HOST_SHOWN,
                           .stream = frame->stream,
                           .frame = frame->number,
                           .begin_ns = frame->published_ns,
                           .end_ns = frame->published_ns,
                           .lateness_ns = lateness_ns,
                           .age_ns = INT64_MIN};
  if (frame->captured_ns > 0)
    event.age_ns = frame->published_ns - frame->captured_ns;
  live_host_note(host, &event);
  event.deed = PREM_HOST_WAITED;
  event.begin_ns = host->outputs[frame->stream].asked_ns;
  event.end_ns = now_ns;
  live_host_note(host, &event);
  event.deed = PREM_HOST_RELEASED;
  event.begin_ns = now_ns;
  live_host_note(host, &event);
  host->outputs[frame->stream].asked_ns = now_ns;
}

static void judge_result(live_host *host, const prem_frame *frame, int64_t lateness_ns,
                         int64_t hyperperiod) {
  if (host->measure->break_ns == 0 || host->broke.found || lateness_ns <= host->measure->break_ns)
    return;
  host->broke = (live_break){.found = true,
                             .stream = frame->stream,
                             .frame = frame->number,
                             .lateness_ns = lateness_ns,
                             .hyperperiod = hyperperiod,
                             .is_in_time = host->schedule->live[frame->stream].publish_ns > 0 &&
                                           !(frame->flags & PREM_FRAME_LATE)};
}

/* Wait for a result; true: there was one. */
static bool take_result(live_host *host, int32_t s, int64_t until_ns) {
  prem_frame frame;
  const prem_status status = prem_live_wait(host->live, s, until_ns, &frame, host->diag);
  host->outputs[s].has_ended |= status != PREM_OK && status != PREM_ERR_TIMEOUT;
  host->has_failed |= status == PREM_ERR_MACHINE;
  if (status != PREM_OK)
    return false;
  int64_t hyperperiod = 0;
  const int64_t lateness_ns = prem_tally_result(host->tally, &frame, &hyperperiod);
  prem_tally_inputs(host->tally, host->live, &frame);
  prem_live_release(host->live, &frame, host->diag);
  note_result(host, &frame, lateness_ns);
  judge_result(host, &frame, lateness_ns, hyperperiod);
  return true;
}

static void take_results(live_host *host) {
  for (int32_t s = host->schedule->live_input_count; s < host->schedule->live_count; ++s)
    while (take_result(host, s, 0)) {
    }
}

/* ---- time ----------------------------------------------------------------------------------- */

/* Let time pass, until a result of the only output at the longest. */
static void pause_until(live_host *host, int64_t until_ns) {
  const int32_t output = host->schedule->live_input_count;
  const bool has_one = host->schedule->live_count == output + 1;
  const int64_t now_ns = prem_live_now_ns(host->live);
  until_ns = prem_min_i64(until_ns, now_ns + SIGNAL_NS);
  if (has_one && !host->outputs[output].has_ended)
    take_result(host, output, until_ns);
  else if (host->schedule->live_count > output)
    prem_live_sleep_until(host->live, prem_min_i64(until_ns, now_ns + host->poll_ns));
  else
    prem_live_sleep_until(host->live, until_ns);
}

/* Several outputs are looked at four times in the shortest of their periods. */
static int64_t choose_poll_ns(const prem_schedule *schedule) {
  int64_t shortest_ns = schedule->plan->hyperperiod_ns;
  for (int32_t s = schedule->live_input_count; s < schedule->live_count; ++s) {
    const int32_t writer = schedule->arrays[schedule->live[s].array].writer;
    if (schedule->tasks[writer].period_ns > 0)
      shortest_ns = prem_min_i64(shortest_ns, schedule->tasks[writer].period_ns);
  }
  return prem_max_i64(MIN_POLL_NS, prem_min_i64(MAX_POLL_NS, shortest_ns / 4));
}

static int64_t next_second_ns(const live_host *host) {
  return host->tally->state.start_ns + (host->seconds + 1) * SECOND_NS;
}

static void show_seconds(live_host *host) {
  while (next_second_ns(host) <= prem_live_now_ns(host->live)) {
    ++host->seconds;
    live_show_second(host, host->seconds * SECOND_NS);
  }
}

static int64_t end_ns(const live_host *host) {
  const double seconds = host->measure->sampling.duration_s;
  return seconds > 0 ? host->tally->state.start_ns + (int64_t)(seconds * 1e9) : INT64_MAX;
}

/* ---- the session ---------------------------------------------------------------------------- */

static bool is_over(const live_host *host) {
  prem_live_state state;
  if (command_stop || host->broke.found || host->has_failed || host->has_lost_reader)
    return true;
  prem_live_look(host->live, &state);
  return state.phase != PREM_LIVE_RUNNING || live_feed_is_done(host) ||
         prem_live_now_ns(host->live) >= end_ns(host);
}

static void serve(live_host *host) {
  while (!is_over(host)) {
    live_feed(host);
    take_results(host);
    show_seconds(host);
    const int64_t next_ns = prem_min_i64(live_feed_next_ns(host), end_ns(host));
    if (!host->broke.found)
      pause_until(host, prem_min_i64(next_ns, next_second_ns(host)));
  }
}

/* What is there is worked off, and waited for; what takes too long is left. */
static prem_status stop(live_host *host) {
  const int64_t began_ns = prem_live_now_ns(host->live);
  const int64_t drain_ns = prem_max_i64(LEAST_DRAIN_NS, 4 * host->schedule->plan->hyperperiod_ns);
  prem_status status = prem_live_stop(host->live, true, 0, host->diag);
  while (status == PREM_ERR_TIMEOUT) {
    const int64_t now_ns = prem_live_now_ns(host->live);
    const int64_t until_ns =
        began_ns + (command_stop || host->has_lost_reader ? HURRIED_DRAIN_NS : drain_ns);
    if (now_ns >= until_ns)
      break;
    take_results(host);
    show_seconds(host);
    pause_until(host, now_ns + MAX_POLL_NS);
    status = prem_live_stop(host->live, true, 0, host->diag);
  }
  while (status == PREM_ERR_TIMEOUT) /* the watchdog gives up a compute that does not return */
    status = prem_live_stop(host->live, false, prem_live_now_ns(host->live) + LAST_NS, host->diag);
  take_results(host);
  prem_tally_look(host->tally, host->live);
  return status;
}

prem_status live_host_run(live_host *host) {
  const prem_live_request request = {
      .mode = host->tally->mode, .follows_host = true, .trace = host->trace, .cpu = host->cpu};
  host->poll_ns = choose_poll_ns(host->schedule);
  prem_live_sleep_until(host->live, SIM_BEGIN_NS); /* a frame of time 0 would have no age */
  host->opened_ns = prem_live_now_ns(host->live);
  live_feed_plan(host);
  live_feed_first(host);
  const prem_status status = prem_live_start(host->live, &request, host->diag);
  if (status != PREM_OK)
    return status;
  prem_tally_begin(host->tally, host->live);
  for (int32_t s = 0; s < host->schedule->live_count; ++s)
    host->outputs[s].asked_ns = prem_live_now_ns(host->live);
  serve(host);
  return stop(host);
}
