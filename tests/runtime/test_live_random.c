/* SPDX-License-Identifier: Apache-2.0 */
/* Random ports and random calls on the simulator, against a model that works ns by ns. */
#include "tests/common/live.h"
#include "tests/common/live_model.h"
#include "tests/common/longer.h"
#include "tests/common/rounds.h"
#include "tests/common/suite.h"

#include "prem/base/random.h"

enum { SEQUENCES = 2000, CALLS = 60, LONGEST_NS = 2500 };

typedef struct pair {
  model m;
  prem_live *live;
  prem_schedule *schedule;
  int32_t x, y;
  prem_frame held[MODEL_MAX]; /* of each result */
  uint64_t random;
  int sequence;
} pair;

static int64_t overran, skipped, aborted, aborted_late; /* over all sequences */

static int64_t pick(pair *p, int64_t min, int64_t max) {
  return min + (int64_t)(prem_random_next(&p->random) % (uint64_t)(max - min + 1));
}

/* ---- ports ---------------------------------------------------------------------------------- */

static void pick_ports(pair *p) {
  model_setup *s = &p->m.setup;
  static const int64_t periods[] = {40, 50, 70, 100};
  s->period_ns = periods[pick(p, 0, 3)];
  s->release_ns = pick(p, 0, 1) * pick(p, 0, s->period_ns - 40);
  s->planned_ns[0] = 10, s->planned_ns[1] = 20, s->planned_ns[2] = 10;
  memcpy(s->length_ns, s->planned_ns, sizeof s->length_ns);
  if (pick(p, 0, 2) == 0)
    s->length_ns[pick(p, 0, 2)] += pick(p, 1, 150);
  s->overrun = (prem_overrun)pick(p, 0, 3);
  s->deadline_ns = pick(p, 0, 3) ? pick(p, 40, s->period_ns + 20) : 0;
  s->submit_timeout_ns = pick(p, 0, 1) ? 1000000 : pick(p, 1, 300);
  s->in.kind = (prem_live_kind)pick(p, 0, 2);
  s->in.missing = (prem_missing)pick(p, 0, 2);
  const bool keeps = s->in.kind == PREM_LIVE_SAMPLING || s->in.missing == PREM_MISSING_REPEAT;
  s->in.buffers = (int32_t)pick(p, keeps ? 2 : 1, 4);
  s->in.lead_ns = pick(p, 0, 1) * pick(p, 0, s->period_ns);
  if (s->in.kind == PREM_LIVE_SAMPLING)
    s->in.max_age_ns = pick(p, 0, 1) * pick(p, 1, 3 * s->period_ns);
  s->out.is_output = true;
  s->out.kind = (prem_live_kind)pick(p, 0, 1);
  s->out.buffers = (int32_t)pick(p, s->out.kind == PREM_LIVE_SAMPLING ? 2 : 1, 4);
  s->out.drops = pick(p, 0, 1);
  const int64_t latest_ns = s->out.buffers * s->period_ns - 1;
  if (latest_ns >= 40 && pick(p, 0, 1))
    s->out.publish_ns = pick(p, 40, latest_ns);
}

static const char *kinds[] = {"sampling", "queuing", "trigger"};
static const char *words[] = {"repeat", "skip", "wait"};

static const char *overruns[] = {"record", "skip", "abort", "stop"};

static const char *optional(const char *key, int64_t value) {
  return value > 0 ? text("%s = %lldL;", key, (long long)value) : "";
}

static const char *write_file(const model_setup *s) {
  const long long period = s->period_ns, at = s->release_ns;
  return text("version = 1; name = \"random\"; platform: { blocks = 1; };"
              "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 8 ]; },"
              "  { name = \"y\"; type = \"f32\"; shape = [ 8 ]; } );"
              "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = 1; tile = [ 8 ];"
              "    period_ns = %lldL; release_ns = %lldL; arrays: { in = \"x\"; out = \"y\"; };"
              "    %s prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 20L; };"
              "    writeback: { wcet_ns = 10L; }; } );"
              "live: { inputs = ( { array = \"x\"; kind = \"%s\"; missing = \"%s\"; buffers = %d;"
              "      lead_ns = %lldL; %s } );"
              "  outputs = ( { array = \"y\"; kind = \"%s\"; buffers = %d; overflow = \"%s\"; %s } "
              "); };"
              "plan: { hyperperiod_ns = %lldL; runs = ("
              "  { task = \"a\"; phase = \"prefetch\"; start_ns = %lldL; },"
              "  { task = \"a\"; phase = \"compute\"; start_ns = %lldL; },"
              "  { task = \"a\"; phase = \"writeback\"; start_ns = %lldL; } ); };"
              "policy: { overrun = \"%s\"; };",
              period, at, optional("deadline_ns", s->deadline_ns), kinds[s->in.kind],
              words[s->in.missing], s->in.buffers, (long long)s->in.lead_ns,
              optional("max_age_ns", s->in.max_age_ns), kinds[s->out.kind], s->out.buffers,
              s->out.drops ? "drop" : "wait", optional("publish_ns", s->out.publish_ns), period, at,
              at + 10, at + 30, overruns[s->overrun]);
}

/* ---- calls ---------------------------------------------------------------------------------- */

#define SAME(p, found, expected)                                                                   \
  do {                                                                                             \
    const long long same_found = (long long)(found), same_expected = (long long)(expected);        \
    ck_assert_msg(same_found == same_expected,                                                     \
                  "sequence %d, at %lld: " #found " is %lld, not %lld", (p)->sequence,             \
                  (long long)(p)->m.t, same_found, same_expected);                                 \
  } while (0)

static int64_t pick_until(pair *p) {
  return pick(p, 0, 2) ? p->m.t + pick(p, 1, 250) : 0;
}

static void call_submit(pair *p) {
  const int64_t until_ns = pick_until(p);
  prem_frame frame;
  const prem_status status = prem_live_acquire(p->live, p->x, until_ns, &frame, NULL);
  SAME(p, status, model_acquire(&p->m, until_ns));
  SAME(p, prem_live_now_ns(p->live), p->m.t);
  if (status != PREM_OK)
    return;
  if (pick(p, 0, 9) == 0) {
    SAME(p, prem_live_release(p->live, &frame, NULL), PREM_OK);
    p->m.in_hand = false;
    return;
  }
  fill_frame(&frame, -1); /* time may pass while it is filled */
  if (pick(p, 0, 4) == 0) {
    const int64_t later_ns = p->m.t + pick(p, 1, 60);
    prem_live_sleep_until(p->live, later_ns);
    model_sleep(&p->m, later_ns);
  }
  fill_frame(&frame, (float)p->m.frames);
  const int64_t before_ns = pick(p, 0, 3) ? 0 : pick(p, 0, 60);
  frame.captured_ns = before_ns ? p->m.t - before_ns : 0;
  if (frame.captured_ns < 0)
    frame.captured_ns = 0;
  const int64_t captured_ns = frame.captured_ns ? frame.captured_ns : p->m.t;
  SAME(p, prem_live_submit(p->live, &frame, NULL), model_submit(&p->m, captured_ns));
}

static void call_wait(pair *p) {
  const int64_t until_ns = pick_until(p);
  prem_frame frame;
  int result = -1;
  const prem_status status = prem_live_wait(p->live, p->y, until_ns, &frame, NULL);
  SAME(p, status, model_wait(&p->m, until_ns, &result));
  SAME(p, prem_live_now_ns(p->live), p->m.t);
  if (status != PREM_OK)
    return;
  const model_result *expected = &p->m.results[result];
  const int input = p->m.jobs[expected->job].frame;
  SAME(p, frame.number, result);
  SAME(p, frame.published_ns, expected->published_ns);
  SAME(p, frame.job, expected->job);
  SAME(p, frame.flags, expected->flags);
  SAME(p, frame.input, input);
  SAME(p, frame.captured_ns, p->m.captured_ns[input]);
  SAME(p, frame_value(&frame), input + 1);
  p->held[result] = frame;
}

/* One of those in hand; what it holds has not changed meanwhile. */
static void call_release(pair *p) {
  for (int r = 0; r < p->m.result_count; ++r) {
    if (!p->m.results[r].is_held || pick(p, 0, 2) == 0)
      continue;
    SAME(p, frame_value(&p->held[r]), p->m.jobs[p->m.results[r].job].frame + 1);
    SAME(p, prem_live_release(p->live, &p->held[r], NULL), PREM_OK);
    model_release_result(&p->m, r);
    return;
  }
}

static void call_sleep(pair *p) {
  const int64_t until_ns = p->m.t + pick(p, 0, 150);
  prem_live_sleep_until(p->live, until_ns);
  model_sleep(&p->m, until_ns);
}

static void call_start(pair *p) {
  if (p->m.was_started)
    return;
  const bool is_trigger = p->m.setup.in.kind == PREM_LIVE_TRIGGER;
  const int64_t soonest_ns = p->m.t + (is_trigger ? 0 : p->m.setup.in.lead_ns);
  const int64_t start_ns = pick(p, 0, 1) ? 0 : soonest_ns + pick(p, 1, 99);
  start_live(p->live, &(prem_live_request){.start_ns = start_ns,
                                           .submit_timeout_ns = p->m.setup.submit_timeout_ns});
  p->m.was_started = true;
  p->m.begin_ns = start_ns ? start_ns : soonest_ns;
  model_settle(&p->m);
}

static void call_stop(pair *p) {
  if (!p->m.was_started || pick(p, 0, 9))
    return;
  const bool drain = pick(p, 0, 3);
  const int64_t until_ns = pick_until(p);
  SAME(p, prem_live_stop(p->live, drain, until_ns, NULL), model_stop(&p->m, drain, until_ns));
  SAME(p, prem_live_now_ns(p->live), p->m.t);
}

/* ---- comparing ------------------------------------------------------------------------------ */

static void compare_counts(pair *p, int32_t stream, const prem_live_counts *expected) {
  prem_live_counts found;
  prem_live_count(p->live, stream, &found);
  SAME(p, found.frames, expected->frames);
  SAME(p, found.taken, expected->taken);
  SAME(p, found.repeated, expected->repeated);
  SAME(p, found.missing, expected->missing);
  SAME(p, found.stale, expected->stale);
  SAME(p, found.dropped, expected->dropped);
  SAME(p, found.late, expected->late);
  SAME(p, found.aborted, expected->aborted);
}

static void compare(pair *p) {
  prem_live_state state;
  prem_live_look(p->live, &state);
  SAME(p, state.now_ns, p->m.t);
  SAME(p, state.hyperperiods, p->m.completed);
  SAME(p, state.overruns, p->m.overruns);
  SAME(p, state.skipped, p->m.skipped);
  SAME(p, state.aborted, p->m.aborted);
  SAME(p, state.phase,
       !p->m.was_started      ? PREM_LIVE_OPEN
       : model_is_over(&p->m) ? PREM_LIVE_ENDED
       : model_refuses(&p->m) ? PREM_LIVE_DRAINING
                              : PREM_LIVE_RUNNING);
  if (model_is_over(&p->m))
    SAME(p, state.end, p->m.end == PREM_LIVE_NOT_ENDED ? PREM_LIVE_STOPPED : p->m.end);
  compare_counts(p, p->x, &p->m.of_in);
  compare_counts(p, p->y, &p->m.of_out);
}

static void run_sequence(int sequence) {
  static pair p;
  static void (*const calls[])(pair *) = {call_submit, call_submit, call_submit,  call_wait,
                                          call_wait,   call_sleep,  call_release, call_release,
                                          call_stop,   call_start};
  p = (pair){.random = (uint64_t)sequence, .sequence = sequence};
  p.m.last_frame = p.m.last = p.m.behind = -1;
  pick_ports(&p);
  if (prem_schedule_load_text("random", write_file(&p.m.setup), &p.schedule, NULL) != PREM_OK ||
      prem_schedule_bind(p.schedule, prem_registry_builtin(), NULL) != PREM_OK)
    ck_abort_msg("sequence %d: %s", sequence, write_file(&p.m.setup));
  p.live = open_longer(p.schedule, p.m.setup.length_ns);
  p.x = prem_live_find(p.live, "x");
  p.y = prem_live_find(p.live, "y");
  for (int i = 0; i < CALLS && p.m.t < LONGEST_NS; ++i) {
    calls[pick(&p, 0, (int64_t)(sizeof calls / sizeof *calls) - 1)](&p);
    compare(&p);
  }
  overran += p.m.overruns, skipped += p.m.skipped, aborted += p.m.aborted;
  for (int j = 0; j < p.m.permitted; ++j)
    aborted_late += p.m.jobs[j].is_given_up && p.m.jobs[j].has_place;
  prem_live_close(p.live);
  prem_schedule_free(p.schedule);
}

GROUP("live_random", .timeout_s = 600);

TESTS(sessions_do_as_the_model_says,
      getenv("TTPREM_LIVE_ROUNDS") ? atoi(getenv("TTPREM_LIVE_ROUNDS")) : 1) {
  for (int i = 0; i < ROUNDS(SEQUENCES); ++i)
    run_sequence(_i * SEQUENCES + i);
  ck_assert_int_gt(overran, ROUNDS(SEQUENCES) / 10);
  ck_assert_int_gt(skipped, ROUNDS(SEQUENCES) / 40);
  ck_assert_int_gt(aborted, ROUNDS(SEQUENCES) / 40);
  ck_assert_int_gt(aborted_late, ROUNDS(SEQUENCES) / 80);
}
