/* SPDX-License-Identifier: Apache-2.0 */
/* Errands in the simulator: how each ends, what it leaves, and that none takes longer than the
 * bound. TTPREM_ERRANDS=1000000 sends so many in random sets. */
/* ctest: long */
#include <stdlib.h>
#include <string.h>

#include "prem/base/numbers.h"
#include "prem/base/random.h"
#include "tests/common/made_tiles.h"
#include "tests/common/rounds.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"
#include "tests/common/verdict.h"
#include "ttprem/errand.h"

/* A filter each 100 us, and a server of single tiles or whole images on two blocks. */
#define FILTER                                                                                     \
  "{ name = \"filter\"; kernel = \"conv2d\"; blocks = [ 0 ]; tile = [ 32, 64 ];"                   \
  " arrays: { in = \"image\"; out = \"new\"; }; period_ns = 100000L;"                              \
  " prefetch: { wcet_ns = 10000L; }; compute: { wcet_ns = 10000L; };"                              \
  " writeback: { wcet_ns = 10000L; }; }"
#define SERVER(name, more)                                                                         \
  "{ name = \"" name "\"; class = \"best_effort\"; kernel = \"vector_increment\";"                 \
  " blocks = [ 1, 2 ]; tile = [ 100 ]; args: { increment = 1.0; };"                                \
  " arrays: { in = \"own_" name "\"; out = \"new\"; };"                                            \
  " prefetch: { wcet_ns = 2000L; }; compute: { wcet_ns = 3000L; };"                                \
  " writeback: { wcet_ns = 1000L; }; " more " }"
#define VECTOR(name)                                                                               \
  "{ name = \"own_" name "\"; type = \"f32\"; shape = [ 1000 ]; fill = \"random\"; seed = 5; }"

static const char *file_with(const char *more, const char *servers) {
  return text("version = 1; name = \"t\"; platform: { blocks = 3; best_effort: { buffers = 2; }; };"
              "arrays = ( { name = \"image\"; type = \"f32\"; shape = [ 32, 64 ]; fill = "
              "\"random\"; seed = 7; }, " VECTOR("s") "%s ); tasks = ( " FILTER ", %s );",
              more, servers);
}

static prem_trace *trace_of(const prem_session *session, int64_t hyperperiods) {
  prem_trace *trace = NULL;
  ck_assert_int_eq(prem_session_trace_new(session, hyperperiods, 100000, &trace), PREM_OK);
  return trace;
}

/* A run with these arrivals, all of which the law holds for. */
static void run_with(prem_session *session, const prem_arrival *arrivals, int64_t count,
                     int64_t hyperperiods, uint64_t seed, prem_trace *trace) {
  OWNED(prem_diag) *diag = prem_diag_new();
  const prem_run_request request = {.mode = PREM_MODE_TT,
                                    .hyperperiods = hyperperiods,
                                    .arrivals = arrivals,
                                    .arrival_count = count,
                                    .seed = seed};
  if (prem_session_run(session, &request, trace, diag) != PREM_OK)
    abort_with("run", diag);
  for (int32_t t = 0; t < trace->best_effort->trace->task_count; ++t) {
    const prem_errand_counts *errands = &trace->best_effort->counts[t].errands;
    int64_t ended = 0;
    for (int e = 0; e < PREM_ERRAND_ENDS; ++e)
      ended += errands->ended[e];
    ck_assert_int_eq(ended, errands->sent);
  }
}

GROUP("ends");

TEST(they_are_done_and_right) {
  OWNED(prem_schedule) *schedule =
      prepared_schedule(file_with("", SERVER("s", "server: { capacity = 4; };")));
  OWNED(prem_session) *session = open_on("sim", schedule);
  OWNED(prem_trace) *trace = trace_of(session, 4);
  const prem_arrival arrivals[] = {{0, 1, 0, 10}, {50000, 1, 3, 1}, {150000, 1, 9, 1}};
  prem_verdict verdict;
  ck_assert_int_eq(prem_session_poison(session), PREM_OK);
  run_with(session, arrivals, 3, 4, 0, trace);
  const prem_best_effort_trace *beside = trace->best_effort;
  ck_assert_int_eq(beside->counts[0].errands.ended[PREM_ERRAND_DONE], 3);
  ck_assert_int_eq(beside->counts[0].jobs, 3);
  ck_assert_int_eq(beside->counts[0].tiles, 12);
  ck_assert_int_eq(beside->errand_count, 3);
  /* the filter fetches in [0, 10) us; then tiles of 6 us on two blocks, which its copies hold up */
  ck_assert_int_eq(beside->errands[0].arrival_ns, 0);
  ck_assert_int_eq(beside->errands[1].arrival_ns, 50000);
  ck_assert_int_eq(beside->errands[1].end_ns, 56000);
  ck_assert_int_eq(prem_session_verify(session, &verdict), PREM_OK);
  ck_assert(verdict.ok && !verdict.partial);
}

TEST(what_is_wrong_is_seen) {
  OWNED(prem_schedule) *schedule =
      prepared_schedule(file_with("", SERVER("s", "server: { capacity = 2; };")));
  OWNED(prem_session) *session = open_on("sim", schedule);
  OWNED(prem_trace) *trace = trace_of(session, 4);
  prem_errand errand;
  prem_errand_view view;
  prem_verdict verdict;
  ck_assert_int_eq(prem_errand_acquire(session, 1, &errand), PREM_OK);
  ck_assert_int_eq(errand.tile_count, 10);
  errand.first_tile = 7;
  errand.tile_count = 1;
  ck_assert_int_eq(prem_errand_send(session, &errand), PREM_OK);
  ck_assert_int_eq(prem_errand_send(session, &errand), PREM_ERR_ARGUMENT);
  run_with(session, NULL, 0, 4, 0, trace);
  ck_assert_int_eq(prem_errand_collect(session, 0, &errand), PREM_OK);
  ck_assert_int_eq(errand.task, 1);
  ck_assert_int_eq(errand.end, PREM_ERRAND_DONE);
  ck_assert_int_eq(prem_errand_port(session, &errand, "out", &view), PREM_OK);
  ck_assert_int_eq(prem_session_verify(session, &verdict), PREM_OK);
  ck_assert(verdict.ok);
  ((float *)view.data)[699] += 1; /* of tile 6, which nobody has made */
  ck_assert_int_eq(prem_session_verify(session, &verdict), PREM_OK);
  ck_assert(verdict.ok);
  ((float *)view.data)[700] += 1;
  ck_assert_int_eq(prem_session_verify(session, &verdict), PREM_OK);
  ck_assert(!verdict.ok);
  ck_assert_int_eq(verdict.wrong, 1);
  ck_assert_int_eq(verdict.index[3], 700);
  ck_assert_int_eq(prem_errand_release(session, &errand), PREM_OK);
  ck_assert_int_eq(prem_errand_release(session, &errand), PREM_ERR_ARGUMENT);
  ck_assert_int_eq(prem_errand_collect(session, 0, &errand), PREM_ERR_TIMEOUT);
}

/* Each errand has its own input, and its own output. */
TEST(each_has_its_own_arrays) {
  OWNED(prem_schedule) *schedule =
      prepared_schedule(file_with("", SERVER("s", "server: { capacity = 3; };")));
  OWNED(prem_session) *session = open_on("sim", schedule);
  OWNED(prem_trace) *trace = trace_of(session, 4);
  prem_errand errand;
  prem_verdict verdict;
  prem_errand_view view;
  for (int32_t i = 0; i < 3; ++i) {
    ck_assert_int_eq(prem_errand_acquire(session, 1, &errand), PREM_OK);
    ck_assert_int_eq(prem_errand_port(session, &errand, "in", &view), PREM_OK);
    ck_assert_int_eq(view.shape[3], 1000);
    for (int32_t k = 0; k < 1000; ++k)
      ((float *)view.data)[k] = (float)(1000 * i + k);
    errand.tag = (uint64_t)i;
    ck_assert_int_eq(prem_errand_send(session, &errand), PREM_OK);
  }
  ck_assert_int_eq(prem_errand_acquire(session, 1, &errand), PREM_ERR_FULL);
  ck_assert_int_eq(prem_errand_acquire(session, 0, &errand), PREM_ERR_ARGUMENT);
  run_with(session, NULL, 0, 4, 0, trace);
  for (int32_t i = 0; i < 3; ++i) {
    ck_assert_int_eq(prem_errand_collect(session, 0, &errand), PREM_OK);
    ck_assert_int_eq(errand.end, PREM_ERRAND_DONE);
    ck_assert_uint_eq(errand.number, errand.tag);
    ck_assert_int_eq(prem_errand_port(session, &errand, "out", &view), PREM_OK);
    for (int32_t k = 0; k < 1000; ++k)
      ck_assert_float_eq(((float *)view.data)[k], (float)(1000 * (int32_t)errand.tag + k + 1));
    ck_assert_int_eq(prem_errand_release(session, &errand), PREM_OK);
  }
  ck_assert_int_eq(prem_session_verify(session, &verdict), PREM_OK);
  ck_assert(verdict.ok && verdict.partial);
}

TEST(they_expire_find_no_room_or_are_aborted) {
  OWNED(prem_schedule) *schedule = prepared_schedule(
      file_with("", SERVER("s", "server: { capacity = 3; }; deadline_ns = 40000L;")));
  OWNED(prem_session) *session = open_on("sim", schedule);
  OWNED(prem_trace) *trace = trace_of(session, 2);
  prem_arrival arrivals[] = {{30000, 1, 0, 10}, {30000, 1, 0, 10}, {30000, 1, 5, 5},
                             {30000, 1, 0, 1},  {199000, 1, 0, 1}, {199999, 1, 1, 1}};
  run_with(session, arrivals, 6, 2, 0, trace);
  const prem_errand_counts *errands = &trace->best_effort->counts[0].errands;
  ck_assert_int_eq(errands->sent, 5);
  ck_assert_int_eq(errands->full, 1);
  ck_assert_int_eq(errands->ended[PREM_ERRAND_DONE], 1); /* 5 rounds of 6 us */
  ck_assert_int_eq(errands->ended[PREM_ERRAND_EXPIRED], 2);
  ck_assert_int_eq(errands->ended[PREM_ERRAND_ABORTED], 2);
  ck_assert_int_eq(errands->response_max_ns, 30000);
  arrivals[0].task = 0; /* not a server */
  OWNED(prem_diag) *diag = prem_diag_new();
  const prem_run_request request = {
      .mode = PREM_MODE_TT, .hyperperiods = 1, .arrivals = arrivals, .arrival_count = 6};
  ck_assert_int_eq(prem_session_run(session, &request, trace, diag), PREM_ERR_ARGUMENT);
  arrivals[0] = (prem_arrival){30000, 1, 1, 10};
  ck_assert_int_eq(prem_session_run(session, &request, trace, diag), PREM_ERR_ARGUMENT);
}

/* Blocks that two servers share take one tile of each in turn. */
TEST(servers_take_turns) {
  OWNED(prem_schedule) *schedule = prepared_schedule(file_with(
      ", " VECTOR("r"),
      SERVER("s", "server: { capacity = 2; };") ", " SERVER("r", "server: { capacity = 2; };")));
  OWNED(prem_session) *session = open_on("sim", schedule);
  OWNED(prem_trace) *trace = trace_of(session, 4);
  const prem_arrival arrivals[] = {{30000, 1, 0, 10}, {30000, 2, 0, 2}};
  prem_verdict verdict;
  run_with(session, arrivals, 2, 4, 0, trace);
  const prem_best_effort_trace *beside = trace->best_effort;
  ck_assert_int_eq(beside->errands[0].task, 1);
  ck_assert_int_eq(beside->errands[0].end_ns, 42000); /* the second round of both blocks */
  ck_assert_int_eq(beside->counts[0].jobs, 1);
  ck_assert_int_eq(prem_session_verify(session, &verdict), PREM_OK);
  ck_assert(verdict.ok);
}

/* Tiles of 6 us, two blocks: one of greater priority goes before what waits, and after sixteen of
 * its tiles one of the others does. */
TEST(the_greater_priority_goes_first) {
  OWNED(prem_schedule) *schedule = prepared_schedule(
      file_with(", " VECTOR("r"), SERVER("s", "server: { capacity = 9; }; ") ", " SERVER(
                                      "r", "server: { capacity = 9; priority = 1; };")));
  OWNED(prem_session) *session = open_on("sim", schedule);
  OWNED(prem_trace) *trace = trace_of(session, 20);
  prem_arrival arrivals[10] = {{30000, 1, 0, 10}, {31000, 2, 0, 4}};
  run_with(session, arrivals, 2, 20, 0, trace);
  const prem_errand *first = &trace->best_effort->errands[0];
  ck_assert_int_eq(first->task, 1); /* of the best-effort ones */
  ck_assert_int_eq(first->end_ns,
                   48000); /* one tile of the other on each block, and two of its own */
  for (int32_t i = 0; i < 10; ++i)
    arrivals[i] = (prem_arrival){30000, i < 1 ? 1 : 2, 0, i < 1 ? 2 : 10};
  run_with(session, arrivals, 10, 20, 0, trace);
  const prem_best_effort_trace *beside = trace->best_effort;
  int32_t before = 0;
  while (beside->errands[before].task == 1)
    ++before;
  ck_assert_int_eq(before, 4); /* of forty tiles: sixteen a block, and the rest of the fourth */
}

/* Its blocks and the run's length are all that there is. */
TEST(no_critical_task_is_needed) {
  OWNED(prem_schedule) *schedule =
      prepared_schedule("version = 1; name = \"t\"; platform: { blocks = 3; }; arrays = ( " VECTOR(
          "s") " ); tasks = ( " SERVER("s", "server: { capacity = 4; };") " );");
  OWNED(prem_session) *session = open_on("sim", schedule);
  OWNED(prem_trace) *trace = trace_of(session, 2);
  const prem_arrival arrivals[] = {{0, 0, 0, 10}, {1500000, 0, 0, 10}, {1999999, 0, 0, 1}};
  prem_verdict verdict;
  run_with(session, arrivals, 3, 2, 0, trace);
  const prem_errand_counts *errands = &trace->best_effort->counts[0].errands;
  ck_assert_int_eq(trace->best_effort->length_ns, 2000000);
  ck_assert_int_eq(errands->ended[PREM_ERRAND_DONE], 2);
  ck_assert_int_eq(errands->ended[PREM_ERRAND_ABORTED], 1);
  ck_assert_int_eq(errands->response_max_ns, 30000); /* 5 rounds of 6 us */
  ck_assert_int_eq(prem_session_verify(session, &verdict), PREM_OK);
  ck_assert(verdict.ok);
}

/* ---- tiles that make tiles -------------------------------------------------------------------
 */

GROUP("made");

TEST(each_tile_is_made_once) {
  make_each_tile_once("sim");
}

/* What is wrong in the file. */
TEST(a_server_that_cannot_make_tiles_is_refused) {
  OWNED(prem_diag) *diag = prem_diag_new();
  ck_assert_ptr_null(growing_server_judged(1, 2, 0, "capacity = 1; depth = 2;", diag));
  assert_says(diag, 55, "have more than one row of output `spawn`");
  ck_assert_ptr_null(growing_server_judged(1, 1, 0, "capacity = 65536; tiles = 64;", diag));
  assert_says(diag, 55, "64 is more than the 24 tiles");
  const char *source = file_with("", SERVER("s", "server: { capacity = 2; depth = 2; };"));
  OWNED(prem_schedule) *schedule = schedule_from_text(source);
  ck_assert_int_eq(prem_prepare(schedule, prem_registry_builtin(), NULL, NULL, diag),
                   PREM_ERR_INVALID);
  assert_says(diag, 55, "has no output `spawn` of type i32");
}

TEST(an_errand_has_no_more_tiles_than_it_may) {
  make_no_more_than_may_be("sim");
}

/* What a tile made has to be right as well. */
TEST(a_made_tile_that_is_wrong_is_seen) {
  OWNED(prem_schedule) *schedule = growing_server(2, 4, "capacity = 1; depth = 5;");
  OWNED(prem_session) *session = open_on("sim", schedule);
  OWNED(prem_trace) *trace = trace_of(session, 1);
  prem_errand errand;
  prem_errand_view view;
  prem_verdict verdict;
  ck_assert_int_eq(prem_errand_acquire(session, 0, &errand), PREM_OK);
  errand.tile_count = 1;
  ck_assert_int_eq(prem_errand_send(session, &errand), PREM_OK);
  run_with(session, NULL, 0, 1, 0, trace);
  ck_assert_int_eq(prem_errand_collect(session, 0, &errand), PREM_OK);
  ck_assert_int_eq(prem_errand_port(session, &errand, "out", &view), PREM_OK);
  for (int32_t tile = 5; tile >= 4; --tile) { /* 0 to 4 are there */
    ++*(int32_t *)(void *)((char *)view.data + tile * view.pitch_bytes);
    ck_assert_int_eq(prem_session_verify(session, &verdict), PREM_OK);
    ck_assert_int_eq(verdict.ok, tile == 5);
  }
}

/* ---- the bound ------------------------------------------------------------------------------- */

static uint64_t dice = 3;

static int64_t draw(int64_t least, int64_t most) {
  return least + prem_random_below(&dice, most - least + 1);
}

enum { MOST_ARRIVALS = 400 };

typedef struct server_set {
  int64_t period_ns, step_ns, distance_ns[3];
  int32_t servers, burst[3], tiles[3];
} server_set;

static const char *random_text(server_set *set) {
  char servers[2048] = "";
  size_t used = 0;
  const int32_t blocks = (int32_t)draw(1, 3);
  *set = (server_set){.period_ns = draw(400, 3000),
                      .step_ns = draw(0, 2) ? 1 : draw(2, 32),
                      .servers = (int32_t)draw(1, 3)};
  for (int32_t s = 0; s < set->servers; ++s) {
    set->tiles[s] = (int32_t)draw(1, 5);
    set->burst[s] = (int32_t)draw(1, 3);
    set->distance_ns[s] = draw(100, 2000) * set->servers;
    used += (size_t)snprintf(
        servers + used, sizeof servers - used,
        ", { name = \"s%d\"; class = \"best_effort\"; kernel = \"none\"; blocks = \"2-%d\"; tiles "
        "= 9; server: { capacity = 500; tiles = %d; distance_ns = %ldL; burst = %d; priority = "
        "%d; aging = %d; }; prefetch: { wcet_ns = %ldL; }; compute: { wcet_ns = %ldL; }; "
        "writeback: { wcet_ns = %ldL; }; }",
        s, blocks + 1, set->tiles[s], (long)set->distance_ns[s], set->burst[s], (int)draw(0, 2),
        (int)draw(16, 18), (long)draw(1, 60), (long)draw(1, 100), (long)draw(1, 60));
  }
  return text("version = 1; name = \"t\"; platform: { blocks = %d; clock_step_ns = %ldL; "
              "best_effort: { buffers = %d; }; }; tasks = ( { name = \"c\"; kernel = \"none\"; "
              "blocks = [ 0 ]; tiles = %d; period_ns = %ldL; prefetch: { wcet_ns = %ldL; }; "
              "compute: { wcet_ns = %ldL; }; writeback: { wcet_ns = %ldL; }; }%s );",
              blocks + 2, (long)set->step_ns, (int)draw(1, 2), (int)draw(1, 2),
              (long)set->period_ns, (long)draw(1, 60), (long)draw(1, 60), (long)draw(1, 60),
              servers);
}

/* As the model of a server lets them come. */
static void random_arrivals(const server_set *set, int32_t s, prem_arrival *out, int32_t count) {
  for (int32_t e = 0; e < count; ++e) {
    const int32_t tiles = (int32_t)draw(1, set->tiles[s]);
    out[e] = (prem_arrival){e ? out[e - 1].at_ns : draw(0, set->period_ns), s + 1,
                            (int32_t)draw(0, 9 - tiles), tiles};
    for (int32_t j = 0; j < e; ++j) {
      const int64_t more = e - j + 1 - set->burst[s];
      out[e].at_ns = prem_max_i64(out[e].at_ns, more > 0 ? out[j].at_ns + more * set->distance_ns[s]
                                                         : out[e].at_ns);
    }
    if (draw(0, 2) == 0)
      out[e].at_ns += draw(0, set->distance_ns[s]);
  }
}

/* The last of a burst after others each `distance_ns`, at an instant of the hyperperiod. */
static void late_arrivals(const server_set *set, prem_arrival *out, int32_t count,
                          int64_t phase_ns) {
  const int64_t span_ns = (count - set->burst[0]) * set->distance_ns[0];
  const int64_t last_ns = (span_ns / set->period_ns + 2) * set->period_ns + phase_ns;
  for (int32_t e = 0; e < count; ++e)
    out[e] =
        (prem_arrival){last_ns - prem_max_i64(0, count - set->burst[0] - e) * set->distance_ns[0],
                       1, 0, set->tiles[0]};
}

static int by_time(const void *left, const void *right) {
  const prem_arrival *a = left, *b = right;
  return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

static int64_t longest_of(prem_session *session, const server_set *set, prem_arrival *arrivals,
                          int32_t count, uint64_t seed, const int64_t *bound_ns) {
  const int64_t hyperperiods = arrivals[count - 1].at_ns / set->period_ns + 40;
  OWNED(prem_trace) *trace = trace_of(session, hyperperiods);
  run_with(session, arrivals, count, hyperperiods, seed, trace);
  for (int32_t s = 0; s < set->servers; ++s) {
    const prem_errand_counts *errands = &trace->best_effort->counts[s].errands;
    ck_assert_int_eq(errands->ended[PREM_ERRAND_DONE], errands->sent);
    ck_assert_int_eq(errands->full, 0);
    ck_assert_int_le(errands->response_max_ns, bound_ns[s]);
  }
  return trace->best_effort->counts[0].errands.response_max_ns;
}

GROUP("bound", .timeout_s = getenv("TTPREM_ERRANDS") ? 0 : 60);

TEST(no_errand_takes_longer) {
  const char *wanted = getenv("TTPREM_ERRANDS");
  const int64_t most = wanted ? atoll(wanted) : ROUNDS(20000);
  int64_t sent = 0;
  int32_t near = 0, judged = 0;
  prem_arrival *arrivals = malloc(3 * MOST_ARRIVALS * sizeof *arrivals);
  while (sent < most || judged == 0) {
    server_set set;
    int64_t bound_ns[3] = {0}, longest_ns = 0;
    const char *source = random_text(&set);
    OWNED(prem_schedule) *schedule = schedule_from_text(source);
    if (prem_prepare(schedule, prem_registry_builtin(), NULL, NULL, NULL) != PREM_OK)
      continue; /* more comes than is worked off, or a phase fits nowhere */
    for (int32_t s = 0; s < set.servers; ++s)
      ck_assert_int_eq(prem_errand_bound(schedule, s + 1, &bound_ns[s]), PREM_OK);
    OWNED(prem_session) *session = open_on("sim", schedule);
    const int32_t count = MOST_ARRIVALS / 4;
    for (int32_t run = 0; run < 4; ++run) {
      for (int32_t s = 0; s < set.servers; ++s)
        random_arrivals(&set, s, arrivals + s * count, count);
      qsort(arrivals, (size_t)(set.servers * count), sizeof *arrivals, by_time);
      longest_of(session, &set, arrivals, set.servers * count, run % 2 ? 0 : 1 + dice % 1000,
                 bound_ns);
      sent += set.servers * count;
    }
    if (set.servers > 1 || set.step_ns > 1 || judged > 30)
      continue; /* the simulator's clock goes in steps of 1 ns */
    for (int64_t phase_ns = 0; phase_ns < set.period_ns; phase_ns += 1 + set.period_ns / 200) {
      late_arrivals(&set, arrivals, 30, phase_ns);
      longest_ns = prem_max_i64(longest_ns, longest_of(session, &set, arrivals, 30, 0, bound_ns));
    }
    if (10 * bound_ns[0] > 13 * longest_ns)
      ck_abort_msg("bound %ld, longest %ld:\n%s", (long)bound_ns[0], (long)longest_ns, source);
    near += 100 * bound_ns[0] <= 105 * longest_ns;
    ++judged;
  }
  free(arrivals);
  ck_assert_int_ge(10 * near, 8 * judged);
  if (wanted)
    printf("%ld errands, %d sets at critical instants\n", (long)sent, judged);
}

/* Errands come by the model, and each room's has a graph of its own. */
TEST(none_whose_tiles_make_tiles_takes_longer) {
  static prem_arrival arrivals[MOST_ARRIVALS];
  int64_t near = 0;
  for (int64_t round = 0; round < ROUNDS(60); ++round) {
    const int32_t blocks = (int32_t)draw(1, 4), depth = (int32_t)draw(2, 8),
                  tiles = (int32_t)draw(2, GROW_TILES);
    const server_set set = {.period_ns = 1000000,
                            .distance_ns = {600 * (2 * depth + 2 * tiles) + draw(0, 20000)},
                            .burst = {(int32_t)draw(1, 3)},
                            .tiles = {1}};
    OWNED(prem_diag) *diag = prem_diag_new();
    OWNED(prem_schedule) *schedule = growing_server_judged(
        blocks, 1, 0,
        text("capacity = 60; tiles = %d; depth = %d; burst = %d; distance_ns = %ldL;", tiles, depth,
             set.burst[0], (long)set.distance_ns[0]),
        diag);
    if (!schedule) /* more comes than has a bound */
      continue;
    int64_t bound_ns, longest_ns;
    ck_assert_int_eq(prem_errand_bound(schedule, 0, &bound_ns), PREM_OK);
    OWNED(prem_session) *session = open_on("sim", schedule);
    prem_errand errands[60];
    for (int32_t i = 0; i < 60; ++i) {
      grow_graph graph;
      grow_random(&dice, depth, tiles, &graph);
      ck_assert_int_eq(prem_errand_acquire(session, 0, &errands[i]), PREM_OK);
      grow_fill(session, &errands[i], &graph);
    }
    for (int32_t i = 0; i < 60; ++i)
      ck_assert_int_eq(prem_errand_release(session, &errands[i]), PREM_OK);
    for (int32_t e = 0; e < 100; ++e)
      arrivals[e] =
          (prem_arrival){prem_max_i64(0, e + 1 - set.burst[0]) * set.distance_ns[0], 0, 0, 1};
    OWNED(prem_trace) *trace = trace_of(session, 40);
    run_with(session, arrivals, 100, 40, round % 2 ? (uint64_t)round : 0, trace);
    const prem_errand_counts *counts = &trace->best_effort->counts[0].errands;
    ck_assert_int_eq(counts->ended[PREM_ERRAND_DONE], 100);
    longest_ns = counts->response_max_ns;
    ck_assert_int_le(longest_ns, bound_ns);
    near += bound_ns <= 6 * longest_ns;
  }
  ck_assert_int_gt(near, 0);
}
