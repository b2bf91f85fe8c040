/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What live sessions of random schedules with many ports do on the simulator, call by call, and
 * the tables that their courier works by, is what it was (see tests/common/golden.h): others show
 * that it is right.
 */
#include "tests/common/longer.h"
#include "tests/common/told_program.h"

#include "prem/base/random.h"

enum { SEEDS = 800, CALLS = 70, TASKS = 5, INPUTS = 3, HELD = 4, UNIT_NS = 250 };

typedef struct told_live {
  uint64_t random;
  int32_t task_count, input_count, mode_count;
  int64_t period_ns[TASKS]; /* of tasks */
  bool is_even;             /* all periods are one */
  int32_t from[TASKS][2];   /* what a task reads: -1 - input, or a task; the second may be unused */
  bool is_read[TASKS];
  int64_t reader_ns[INPUTS]; /* the shortest period of an input's readers; 0: none */
  prem_schedule *schedule;
  prem_live *live;
  prem_diag *diag; /* of all calls */
  prem_frame held[HELD];
  int32_t held_count;
} told_live;

static int64_t pick(told_live *of, int64_t min, int64_t max) {
  return min + (int64_t)(prem_random_next(&of->random) % (uint64_t)(max - min + 1));
}

static const char *pick_word(told_live *of, const char *const *words, int count) {
  return words[pick(of, 0, count - 1)];
}

/* ---- schedules ------------------------------------------------------------------------------ */

static const char *source_name(int32_t from) {
  return from < 0 ? text("x%d", -1 - from) : text("y%d", from);
}

static int32_t pick_source(told_live *of, int32_t t) {
  const int32_t from = (int32_t)pick(of, -of->input_count, t > 0 ? t - 1 : -1);
  if (from >= 0)
    of->is_read[from] = true;
  else if (!of->reader_ns[-1 - from] || of->reader_ns[-1 - from] > of->period_ns[t])
    of->reader_ns[-1 - from] = of->period_ns[t];
  return from;
}

static const char *precedence(const told_live *of, int32_t t, int32_t from) {
  return text("{ task = \"t%d\"; %s }", from,
              of->period_ns[t] == of->period_ns[from] ? "" : "instance = \"latest\";");
}

/* In a third of all cases it comes after one that it may not read as well. */
static const char *precedences(told_live *of, int32_t t, bool blends) {
  const int32_t other = (int32_t)(pick(of, 0, 2) || t == 0 ? -1 : pick(of, 0, t - 1));
  const int32_t all[] = {of->from[t][0], blends ? of->from[t][1] : -1, other};
  const char *list = "";
  for (int i = 0; i < 3; ++i) {
    bool is_new = all[i] >= 0;
    for (int k = 0; k < i; ++k)
      is_new &= all[k] != all[i];
    if (is_new)
      list = text("%s%s%s", list, *list ? ", " : "", precedence(of, t, all[i]));
  }
  return *list ? text("after = ( %s );", list) : "";
}

static void print_phases(told_live *of, FILE *file, bool walks) {
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    if (!walks || p == PREM_COMPUTE)
      fprintf(file, " %s: { wcet_ns = %dL; };", prem_phase_name((prem_phase)p),
              (int)pick(of, 2, 9));
}

static void print_task(told_live *of, FILE *file, int32_t t) {
  static const char *const overruns[] = {"record", "degrade", "skip", "skip",
                                         "abort",  "abort",   "stop"};
  const int64_t period_ns = of->period_ns[t];
  const int32_t *from = of->from[t];
  const bool walks = pick(of, 0, 6) == 0, blends = !walks && from[1] < t && from[1] != from[0];
  const int64_t release_ns = pick(of, 0, 2) ? 0 : pick(of, 1, period_ns / 4);
  fprintf(file, "{ name = \"t%d\"; kernel = \"%s\"; blocks = [ %d ]; tile = [ %d ];", t,
          walks    ? "walk"
          : blends ? "blend"
                   : "vector_increment",
          (int)pick(of, 0, 2), pick(of, 0, 1) ? 8 : 3);
  fprintf(file, " period_ns = %" PRId64 "L; release_ns = %" PRId64 "L;", period_ns, release_ns);
  if (pick(of, 0, 2))
    fprintf(file, " deadline_ns = %" PRId64 "L; overrun = \"%s\";",
            pick(of, period_ns * 6 / 10, period_ns), pick_word(of, overruns, of->is_even ? 7 : 4));
  if (walks)
    fprintf(file, " args: { steps = 3; walkers = 8; };");
  fprintf(file, " arrays: { %s = \"%s\"; out = \"y%d\";",
          walks    ? "vector"
          : blends ? "a"
                   : "in",
          source_name(from[0]), t);
  if (blends)
    fprintf(file, " b = \"%s\";", source_name(from[1]));
  fprintf(file, " }; %s", precedences(of, t, blends));
  print_phases(of, file, walks);
  fprintf(file, " }\n");
}

static void print_input(told_live *of, FILE *file, int32_t i, bool is_first) {
  static const char *const kinds[] = {"sampling", "queuing", "trigger"}, *const missing[] = {
                                                                             "repeat", "skip",
                                                                             "wait"};
  const char *kind = pick_word(of, kinds, is_first && of->is_even ? 3 : 2);
  fprintf(file, "%s{ array = \"x%d\"; kind = \"%s\"; missing = \"%s\"; buffers = %d;",
          is_first ? "" : ", ", i, kind, pick_word(of, missing, 3), (int)pick(of, 2, 6));
  if (pick(of, 0, 1))
    fprintf(file, " lead_ns = %dL;", (int)pick(of, 1, of->reader_ns[i]));
  if (strcmp(kind, "sampling") == 0 && pick(of, 0, 1))
    fprintf(file, " max_age_ns = %dL;", (int)pick(of, 1, 8 * UNIT_NS));
  fprintf(file, " }");
}

static void print_output(told_live *of, FILE *file, int32_t t, bool is_first) {
  const bool is_queue = pick(of, 0, 2);
  const int buffers = (int)pick(of, is_queue ? 1 : 2, 4);
  fprintf(file, "%s{ array = \"y%d\"; kind = \"%s\"; buffers = %d; overflow = \"%s\";",
          is_first ? "" : ", ", t, is_queue ? "queuing" : "sampling", buffers,
          pick(of, 0, 1) ? "wait" : "drop");
  if (pick(of, 0, 2) == 0)
    fprintf(file, " publish_ns = %" PRId64 "L;",
            pick(of, of->period_ns[t] * 8 / 10, buffers * of->period_ns[t] - 1));
  fprintf(file, " }");
}

static void print_live(told_live *of, FILE *file) {
  bool is_first = true;
  fprintf(file, "live: { inputs = ( ");
  for (int32_t i = 0; i < of->input_count; ++i)
    if (of->reader_ns[i] > 0) {
      print_input(of, file, i, is_first);
      is_first = false;
    }
  fprintf(file, " ); outputs = ( ");
  is_first = true;
  for (int32_t t = 0; t < of->task_count; ++t)
    if (!of->is_read[t]) {
      print_output(of, file, t, is_first);
      is_first = false;
    }
  fprintf(file, " ); operating_modes = ( { name = \"m0\"; }");
  for (int32_t m = 1; m < of->mode_count; ++m)
    fprintf(file, ", { name = \"m%d\"; off = [ \"t%d\" ]; }", m,
            (int)pick(of, 0, of->task_count - 1));
  fprintf(file, " ); };\n");
}

static void print_schedule(told_live *of, FILE *file) {
  of->task_count = (int32_t)pick(of, 1, TASKS);
  of->input_count = (int32_t)pick(of, 1, INPUTS);
  of->mode_count = (int32_t)pick(of, 2, 4);
  of->is_even = pick(of, 0, 2) == 0;
  fprintf(file, "version = 1; name = \"lives\"; platform: { blocks = 3; resources ="
                " ( { name = \"memory\"; capacity = 3; } ); };\ntasks = ( ");
  for (int32_t t = 0; t < of->task_count; ++t) {
    of->period_ns[t] = UNIT_NS << (of->is_even ? 1 : pick(of, 0, 2));
    of->from[t][0] = pick_source(of, t);
    of->from[t][1] = pick(of, 0, 1) ? t : pick_source(of, t);
  }
  const bool is_turned = pick(of, 0, 1); /* readers before those that they read from */
  for (int32_t i = 0; i < of->task_count; ++i) {
    fputs(i ? ", " : "", file);
    print_task(of, file, is_turned ? of->task_count - 1 - i : i);
  }
  fprintf(file, ");\narrays = ( ");
  for (int32_t i = 0; i < of->input_count; ++i)
    fprintf(file, "{ name = \"x%d\"; type = \"f32\"; shape = [ 8 ]; }, ", i);
  for (int32_t t = 0; t < of->task_count; ++t)
    fprintf(file, "%s{ name = \"y%d\"; type = \"f32\"; shape = [ 8 ]; }", t ? ", " : "", t);
  fprintf(file, " );\n");
  print_live(of, file);
}

/* ---- the courier's tables ------------------------------------------------------------------- */

static void tell_stream(const prem_stream *s) {
  const int64_t all[] = {s->writer,           s->jobs,       s->period_ns,          s->release_ns,
                         s->bound_ns,         s->user_count, (int64_t)s->ring_mask, s->kept_slot,
                         s->producer.is_queue};
  for (int v = 0; v < 9; ++v)
    told_add(all[v]);
  for (int32_t j = 0; s->due_ns && j < s->jobs; ++j)
    told_add(s->due_ns[j]);
  for (int32_t u = 0; u < s->user_count; ++u) {
    told_add(s->users[u].task);
    for (int32_t j = 0; j < s->jobs; ++j)
      told_add(s->users[u].done_by[j]);
  }
}

static void tell_task(const prem_live_task *task) {
  const int64_t all[] = {task->gate_count,  task->reads,       task->writes,    task->read_phase,
                         task->write_phase, task->jobs,        task->first_job, task->period_ns,
                         task->release_ns,  task->deadline_ns, task->overrun,   task->off};
  for (int v = 0; v < 12; ++v)
    told_add(all[v]);
  for (int p = 0; p < PREM_MAX_PORTS; ++p)
    told_add(task->stream_of_port[p]);
  for (int32_t g = 0; g < task->gate_count; ++g) {
    told_add(task->gates[g].source);
    told_add(task->gates[g].reads);
    for (int32_t j = 0; j < task->jobs; ++j)
      told_add(task->gates[g].job_of[j]);
  }
  const prem_omissions *own = task->left_out;
  if (!own)
    return;
  told_add((int64_t)own->ring_mask);
  for (int32_t m = 0; m < own->maker_count; ++m)
    told_add(own->makers[m]);
  for (int32_t d = 0; d < own->dependent_count; ++d)
    told_add(own->dependents[d]);
}

static void tell_courier(const prem_schedule *schedule) {
  prem_program *program = NULL;
  prem_courier *courier = NULL;
  ck_assert_int_eq(prem_program_new(schedule, &program, NULL), PREM_OK);
  ck_assert_int_eq(prem_courier_new(program, &courier), PREM_OK);
  told_add(courier->rows);
  told_add(courier->trigger);
  told_add(courier->job_count);
  told_add(courier->max_lead_ns);
  for (int32_t s = 0; s < courier->stream_count; ++s)
    tell_stream(&courier->streams[s]);
  for (int32_t t = 0; t < courier->task_count; ++t)
    tell_task(&courier->tasks[t]);
  prem_courier_free(courier);
  prem_program_free(program);
}

/* ---- calls ---------------------------------------------------------------------------------- */

static int64_t pick_until(told_live *of) {
  return pick(of, 0, 1) ? prem_live_now_ns(of->live) + pick(of, 1, 4 * UNIT_NS) : 0;
}

/* Now and then one that is not of these. */
static int32_t pick_stream(told_live *of, int32_t first, int32_t last) {
  return (int32_t)(pick(of, 0, 19) ? pick(of, first, last)
                                   : pick(of, -1, of->schedule->live_count));
}

static void tell_frame(const prem_frame *frame) {
  const int64_t all[] = {frame->stream,         frame->buffer,        (int64_t)frame->number,
                         frame->captured_ns,    frame->published_ns,  frame->job,
                         (int64_t)frame->input, (int64_t)frame->flags};
  for (int v = 0; v < 8; ++v)
    told_add(all[v]);
  told_add(frame->operating_mode);
  for (int d = 0; d < 4; ++d)
    told_add(frame->shape[d]);
  for (int d = 0; d < 3; ++d)
    told_add(frame->pitch_bytes[d]);
}

static void call_submit(told_live *of) {
  const int32_t stream = pick_stream(of, 0, of->schedule->live_input_count - 1);
  prem_frame frame;
  const prem_status status = prem_live_acquire(of->live, stream, pick_until(of), &frame, of->diag);
  told_add((int64_t)status);
  if (status != PREM_OK)
    return;
  fill_frame(&frame, (float)pick(of, -99, 99));
  frame.captured_ns = pick(of, 0, 2) ? 0 : prem_live_now_ns(of->live) / 2;
  told_add((int64_t)(pick(of, 0, 9) ? prem_live_submit(of->live, &frame, of->diag)
                                    : prem_live_release(of->live, &frame, of->diag)));
  tell_frame(&frame);
}

static void call_wait(told_live *of) {
  const int32_t stream =
      pick_stream(of, of->schedule->live_input_count, of->schedule->live_count - 1);
  prem_frame frame;
  const prem_status status = prem_live_wait(of->live, stream, pick_until(of), &frame, of->diag);
  told_add((int64_t)status);
  if (status != PREM_OK)
    return;
  told_sum = golden_sum(told_sum, frame.data, 8 * sizeof(float)); /* all of it */
  tell_frame(&frame);
  if (of->held_count < HELD && pick(of, 0, 1))
    of->held[of->held_count++] = frame;
  else
    told_add((int64_t)prem_live_release(of->live, &frame, of->diag));
}

static void call_release(told_live *of) {
  if (of->held_count > 0)
    told_add((int64_t)prem_live_release(of->live, &of->held[--of->held_count], of->diag));
}

static void call_sleep(told_live *of) {
  prem_live_sleep_until(of->live, prem_live_now_ns(of->live) + pick(of, 0, 3 * UNIT_NS));
}

static void call_switch(told_live *of) {
  told_add((int64_t)prem_live_switch(of->live, (int32_t)pick(of, 0, of->mode_count), of->diag));
}

static void call_set(told_live *of) {
  static const char *const keys[] = {"increment", "rate", "steps", "walkers"};
  const double value = pick(of, 0, 1) ? (double)pick(of, 0, 7) / 8 : (double)pick(of, 1, 9);
  const int32_t task = (int32_t)pick(of, -1, of->task_count);
  const char *key = pick_word(of, keys, 4);
  told_add((int64_t)prem_live_set(of->live, task, key, &value, 1, of->diag));
  told_add((int64_t)prem_live_apply(of->live, of->diag));
}

static void tell_state(told_live *of) {
  prem_live_state s;
  prem_live_look(of->live, &s);
  const int64_t all[] = {s.phase,    s.end,     s.now_ns,         s.hyperperiods, s.overruns,
                         s.skipped,  s.aborted, s.operating_mode, s.mode_from,    s.snapshot,
                         s.heard_ns, s.zero_ns, s.start_ns};
  for (int v = 0; v < 13; ++v)
    told_add(all[v]);
  for (int32_t i = -1; i <= of->schedule->live_count; ++i) {
    prem_live_counts c;
    prem_live_count(of->live, i, &c);
    const uint64_t counts[] = {c.frames, c.taken,   c.repeated, c.missing,
                               c.stale,  c.dropped, c.late,     c.aborted};
    for (int v = 0; v < 8; ++v)
      told_add((int64_t)counts[v]);
  }
  for (int32_t t = -1; t <= of->task_count; ++t) {
    prem_live_task_counts c;
    prem_live_count_task(of->live, t, &c);
    const uint64_t counts[] = {c.overruns, c.skipped, c.aborted, c.off};
    for (int v = 0; v < 4; ++v)
      told_add((int64_t)counts[v]);
  }
}

static int64_t tell_events(told_live *of) {
  prem_live_event event;
  prem_status status;
  int64_t count = 0;
  for (; (status = prem_live_listen(of->live, 0, &event, of->diag)) == PREM_OK; ++count) {
    const int64_t all[] = {event.kind,  event.task,  event.stream,       event.job,
                           event.value, event.at_ns, (int64_t)event.lost};
    for (int v = 0; v < 7; ++v)
      told_add(all[v]);
  }
  told_add((int64_t)status);
  return count;
}

/* ---- sessions ------------------------------------------------------------------------------- */

static void start(told_live *of, prem_trace *trace) {
  static const prem_mode modes[] = {PREM_MODE_TT, PREM_MODE_TT, PREM_MODE_FREE, PREM_MODE_LOCK};
  prem_live_request request = {.mode = modes[pick(of, 0, 3)], .trace = trace};
  request.events = pick(of, 0, 2);
  request.submit_timeout_ns = pick(of, 0, 1) * pick(of, UNIT_NS, 9 * UNIT_NS);
  request.start_ns = pick(of, 0, 1) * (prem_live_now_ns(of->live) + pick(of, 1, 9 * UNIT_NS));
  told_add((int64_t)prem_live_start(of->live, &request, of->diag));
}

static void run(told_live *of, FILE *file) {
  static void (*const calls[])(told_live *) = {call_submit,  call_submit,  call_submit, call_wait,
                                               call_wait,    call_wait,    call_sleep,  call_sleep,
                                               call_release, call_release, call_switch, call_set};
  const int64_t rows = pick(of, 1, 9);
  int64_t events = 0;
  prem_trace *trace = NULL;
  ck_assert_int_eq(prem_trace_new(of->schedule, rows, pick(of, 0, 1) * 500, &trace), PREM_OK);
  const int begin = (int)pick(of, 0, 5);
  for (int i = 0; i < CALLS; ++i) {
    if (i == begin)
      start(of, trace);
    calls[pick(of, 0, (int64_t)(sizeof calls / sizeof *calls) - 1)](of);
    if (i % 4 == 0)
      tell_state(of);
    if (i % 8 == 0)
      events += tell_events(of);
  }
  const bool drains = pick(of, 0, 2);
  while (of->held_count > 0)
    call_release(of);
  const prem_status stopped =
      prem_live_stop(of->live, drains, prem_live_now_ns(of->live) + 90 * UNIT_NS, of->diag);
  for (int i = 0; i < 9; ++i)
    call_wait(of);
  tell_state(of);
  events += tell_events(of);
  prem_live_state s;
  prem_live_look(of->live, &s);
  prem_live_close(of->live);
  told_trace(of->schedule, trace);
  fprintf(file,
          "%s, end %d; %" PRId64 " hyperperiods, %" PRId64 " overran, %" PRId64 " skipped, %" PRId64
          " given up, %" PRId64 " events;",
          prem_status_text(stopped), s.end, s.hyperperiods, s.overruns, s.skipped, s.aborted,
          events);
  prem_trace_free(trace);
}

static void tell_session(FILE *file, uint64_t seed) {
  told_live of = {.random = seed, .diag = prem_diag_new()};
  char *source = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&source, &bytes);
  print_schedule(&of, out);
  fclose(out);
  const prem_plan_options options = {.step_limit = 100};
  fprintf(file, "session %" PRIu64 ":", seed);
  prem_status status = prem_schedule_load_text("lives", source, &of.schedule, of.diag);
  if (status == PREM_OK)
    status = prem_prepare(of.schedule, prem_registry_builtin(), NULL, &options, of.diag);
  if (status == PREM_OK) {
    tell_courier(of.schedule);
    told_end(file, "tables");
    fputs("; ", file);
    const int64_t length_ns[] = {pick(&of, 1, 40), pick(&of, 1, 300), pick(&of, 1, 40)};
    of.live =
        pick(&of, 0, 2) ? open_longer(of.schedule, length_ns) : open_live_on("sim", of.schedule);
    if (pick(&of, 0, 2) == 0)
      prem_live_count_from(of.live, 1000 + pick(&of, 0, 70), UINT64_MAX - 2);
    run(&of, file);
  } else {
    fprintf(file, " %s", prem_status_text(status));
  }
  told_add((int64_t)golden_problems(of.diag));
  told_end(file, "all");
  fputc('\n', file);
  prem_diag_free(of.diag);
  prem_schedule_free(of.schedule);
  free(source);
}

START_TEST(of_sessions) {
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  told_sum = GOLDEN_SUM;
  for (uint64_t seed = 1; seed <= SEEDS; ++seed)
    tell_session(file, seed);
  fclose(file);
  golden_judge("lives.txt", found);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("same lives");
  TCase *sessions = tcase_create("sessions");
  tcase_set_timeout(sessions, 240);
  tcase_add_test(sessions, of_sessions);
  suite_add_tcase(suite, sessions);
  return run_suite(suite);
}
