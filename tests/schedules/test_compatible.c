/* SPDX-License-Identifier: Apache-2.0 */
/* Compatible intervals: code that gets the arrays themselves, and is at the memory from its start
 * to its end. */
#include "tests/common/running.h"
#include "tests/common/suite.h"

#define PARTS                                                                                      \
  "version = 1; name = \"t\"; platform: { blocks = 2; clock_step_ns = 1L; };"                      \
  "arrays = ( { name = \"maze\"; type = \"f32\"; shape = [ 1000 ]; fill = \"random\"; } );"        \
  "tasks = ( { name = \"walk\"; kernel = \"walk\"; blocks = [ 0 ]; tile = [ 4 ];"                  \
  "  args: { walkers = 16; steps = 20; }; arrays: { vector = \"maze\"; out = \"new\"; };"          \
  "  compute: { wcet_ns = 4000L; %s }; %s },"                                                      \
  "  { name = \"inc\"; kernel = \"vector_increment\"; blocks = [ 1 ]; tile = [ 300 ];"             \
  "  arrays: { in = \"maze\"; out = \"new\"; }; prefetch: { wcet_ns = 1500L; };"                   \
  "  compute: { wcet_ns = 1000L; }; writeback: { wcet_ns = 1500L; }; } ); %s"

static const char *parts(const char *of_compute, const char *of_walk, const char *more) {
  return text(PARTS, of_compute, of_walk, more);
}

TEST(it_is_one_compute_that_takes_memory) {
  OWNED(prem_schedule) *schedule = schedule_from_text(parts("", "", ""));
  const prem_task *walk = &schedule->tasks[0];
  ck_assert(!walk->phase[PREM_PREFETCH].exists && !walk->phase[PREM_WRITEBACK].exists);
  ck_assert(walk->phase[PREM_COMPUTE].exists);
  ck_assert_int_eq(walk->phase[PREM_COMPUTE].demand[0], 1);
  ck_assert_int_eq(schedule->tasks[1].phase[PREM_COMPUTE].demand[0], 0);
  ck_assert_int_eq(walk->tile_count, 4);
  ck_assert_int_eq(prem_block_scratch_bytes(schedule, 0), 0);
}

static const struct {
  const char *more, *reason;
} refusals[] = {
    {"prefetch: { wcet_ns = 100L; };", "it has no prefetch; leave it out"},
    {"writeback: { wcet_ns = 100L; };", "it has no writeback; leave it out"},
};

TESTS(it_has_no_memory_phases, sizeof refusals / sizeof *refusals) {
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_schedule) *schedule =
      schedule_from_text_lenient(parts("", refusals[_i].more, ""), diag);
  ck_assert_uint_eq(prem_diag_errors(diag), 1);
  ck_assert_int_eq(prem_diag_at(diag, 0)->code, 29);
  ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 0)->reason, refusals[_i].reason));
}

/* ---- a kernel whose windows leave its array -------------------------------------------------- */

static prem_status bind_beyond(prem_bind *bind) {
  prem_status status = prem_bind_tile(bind, 1, bind->shape[0], &bind->window[0]);
  bind->window[0].base[3] = -1; /* a halo */
  bind->window[0].extent[3] += 2;
  return status;
}

/* From the last tile of the array to the first, or beyond it. */
static prem_status bind_backwards(prem_bind *bind, int32_t base) {
  prem_status status = prem_bind_tile(bind, 1, bind->shape[0], &bind->window[0]);
  bind->window[0].base[3] = base;
  for (int k = 0; k < PREM_MAX_GRID; ++k)
    bind->window[0].step[3][k] *= -1;
  return status;
}

static prem_status bind_back(prem_bind *bind) {
  return bind_backwards(bind, 5);
}

static prem_status bind_back_too_far(prem_bind *bind) {
  return bind_backwards(bind, 4);
}

static prem_status bind_one_tile(prem_bind *bind) {
  return prem_bind_tile(bind, bind->rank[0], bind->shape[0], &bind->window[0]);
}

static void compute_nothing(const void *params, const prem_view *views) {
  (void)params;
  (void)views;
}

static void reference_nothing(const void *params, const prem_array_view *arrays) {
  (void)params;
  (void)arrays;
}

/* Bind one compatible interval that reads an array; the reason of a refusal, or "". */
static const char *reason_of(prem_status (*bind)(prem_bind *), const char *shape,
                             const char *tile) {
  static const prem_port ports[] = {{"in", PREM_IN, PREM_F32}};
  static char reason[256];
  const prem_kernel kernel = {.name = "reader",
                              .summary = "reads",
                              .ports = ports,
                              .port_count = 1,
                              .bind = bind,
                              .compute = compute_nothing,
                              .reference = reference_nothing,
                              .compatible = true};
  const prem_kernel *const kernels[] = {&kernel};
  const prem_registry registry = {kernels, 1};
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_schedule) *schedule = NULL;
  ck_assert_int_eq(
      prem_schedule_load_text(
          "t",
          text("version = 1; name = \"t\"; platform: { blocks = 1; };"
               "arrays = ( { name = \"a\"; type = \"f32\"; shape = [ %s ]; } );"
               "tasks = ( { name = \"k\"; kernel = \"reader\"; blocks = 1; tile = [ %s ];"
               "  arrays: { in = \"a\"; }; compute: { wcet_ns = 5L; }; } );",
               shape, tile),
          &schedule, diag),
      PREM_OK);
  const prem_status status = prem_schedule_bind(schedule, &registry, diag);
  ck_assert_int_eq(status, prem_diag_errors(diag) > 0 ? PREM_ERR_INVALID : PREM_OK);
  snprintf(reason, sizeof reason, "%s", status ? prem_diag_at(diag, 0)->reason : "");
  return reason;
}

TEST(its_windows_stay_in_their_arrays) {
  ck_assert_ptr_nonnull(strstr(reason_of(bind_beyond, "10", "5"), "reads beyond 'a'"));
}

TEST(windows_that_go_backwards_stay_in_their_arrays_as_well) {
  ck_assert_str_eq(reason_of(bind_back, "10", "5"), "");
  ck_assert_ptr_nonnull(strstr(reason_of(bind_back_too_far, "10", "5"), "reads beyond 'a'"));
}

/* Whichever dimension they are in: what counts is their product. */
TEST(its_arrays_have_no_more_elements_than_32_bits_count) {
  static const char *const large[] = {"65536, 1, 1, 32768", "1, 65536, 1, 32768",
                                      "1, 1, 65536, 32768"};
  static const char *const tiles[] = {"32768, 1, 1, 32768", "1, 32768, 1, 32768",
                                      "1, 1, 32768, 32768"};
  for (size_t i = 0; i < sizeof large / sizeof *large; ++i) {
    ck_assert_ptr_nonnull(strstr(reason_of(bind_one_tile, large[i], tiles[i]),
                                 "too many elements for a compatible interval"));
    ck_assert_str_eq(reason_of(bind_one_tile, tiles[i], tiles[i]), "");
  }
}

/* ---- the arrays themselves, of any rank ------------------------------------------------------ */

static prem_status bind_hypercube(prem_bind *bind) {
  prem_status status = prem_bind_tile(bind, 4, bind->shape[0], &bind->window[1]);
  bind->window[0] = bind->window[1];
  bind->new_rank[1] = 4;
  for (int d = 0; d < 4; ++d)
    bind->new_shape[1][d] = bind->shape[0][d];
  return status;
}

/* Each element of a tile, found by pitches alone. */
static void negate_tile(const void *params, const prem_view *views) {
  (void)params;
  const prem_view in = views[0], out = views[1];
  for (int32_t i = 0; i < out.extent[0]; ++i)
    for (int32_t j = 0; j < out.extent[1]; ++j)
      for (int32_t k = 0; k < out.extent[2]; ++k)
        for (int32_t l = 0; l < out.extent[3]; ++l)
          ((float *)out.data)[i * out.pitch[0] + j * out.pitch[1] + k * out.pitch[2] + l] =
              -((const float *)in.data)[i * in.pitch[0] + j * in.pitch[1] + k * in.pitch[2] + l];
}

static void negate_all(const void *params, const prem_array_view *arrays) {
  (void)params;
  const int64_t *shape = arrays[0].shape;
  for (int64_t i = 0; i < shape[0] * shape[1] * shape[2] * shape[3]; ++i)
    ((float *)arrays[1].data)[i] = -((const float *)arrays[0].data)[i];
}

/* Tiles cut two of four dimensions; rows of 5 have room for more in memory. */
TEST(pitches_lead_through_four_dimensions) {
  static const prem_port ports[] = {{"in", PREM_IN, PREM_F32}, {"out", PREM_OUT, PREM_F32}};
  static const prem_kernel hypercube = {.name = "hypercube",
                                        .summary = "negates",
                                        .ports = ports,
                                        .port_count = 2,
                                        .bind = bind_hypercube,
                                        .compute = negate_tile,
                                        .reference = negate_all,
                                        .compatible = true};
  static const prem_kernel *const kernels[] = {&hypercube};
  static const prem_registry registry = {kernels, 1};
  OWNED(prem_schedule) *schedule = NULL;
  prem_verdict verdict;
  OWNED(prem_diag) *diag = prem_diag_new();
  if (prem_schedule_load_text(
          "t",
          "version = 1; name = \"t\"; platform: { blocks = 1; };"
          "arrays = ( { name = \"a\"; type = \"f32\"; shape = [ 4, 6, 2, 5 ]; fill = \"random\"; } "
          ");"
          "tasks = ( { name = \"k\"; kernel = \"hypercube\"; blocks = 1; tile = [ 2, 3, 2, 5 ];"
          "  arrays: { in = \"a\"; out = \"new\"; }; compute: { wcet_ns = 1000L; }; } );",
          &schedule, diag) != PREM_OK ||
      prem_prepare(schedule, &registry, NULL, NULL, diag) != PREM_OK)
    abort_with("prepare", diag);
  OWNED(prem_session) *session = open_on("sim", schedule);
  ck_assert_int_eq(prem_session_poison(session), PREM_OK);
  prem_trace_free(run_in(session, schedule, PREM_MODE_TT, 1));
  ck_assert_int_eq(prem_session_verify(session, &verdict), PREM_OK);
  ck_assert(verdict.ok);
}

/* ---- plans and runs -------------------------------------------------------------------------- */

/* Four walks of 4000 ns, one after the other, and increments whose first prefetch begins at the
 * given instant: how many problems are there? All are of the same kind. */
static size_t problems_beside(int64_t prefetch_ns) {
  const char *plan = text(
      "plan: { hyperperiod_ns = 100000L; clock_step_ns = 1L; runs = ("
      "{ task = \"walk\"; phase = \"compute\"; start_ns = 0L; repeat = 4; step_ns = 4000L; },"
      "{ task = \"inc\"; phase = \"prefetch\"; start_ns = %lldL; repeat = 4; step_ns = 10000L; },"
      "{ task = \"inc\"; phase = \"compute\"; start_ns = %lldL; repeat = 4; step_ns = 10000L; },"
      "{ task = \"inc\"; phase = \"writeback\"; start_ns = %lldL; repeat = 4;"
      "  step_ns = 10000L; } ); };",
      (long long)prefetch_ns, (long long)prefetch_ns + 1500, (long long)prefetch_ns + 2500);
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_schedule) *schedule = schedule_from_text_lenient(parts("", "", plan), diag);
  prem_check(schedule, NULL, diag);
  const size_t problems = prem_diag_errors(diag);
  if (problems > 0)
    ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 0)->reason, "memory"));
  return problems;
}

TEST(the_checker_counts_it_as_a_memory_phase) {
  ck_assert_uint_eq(problems_beside(16000), 0);
  ck_assert_uint_gt(problems_beside(15999), 0);
}

/* How often something else was at the memory while somebody walked. */
static int32_t met(const prem_trace *trace) {
  int32_t count = 0;
  for (int64_t i = 0; i < trace->record_count; ++i)
    for (int64_t j = 0; j < trace->record_count; ++j) {
      const prem_trace_record *walk = &trace->records[i], *other = &trace->records[j];
      count += walk->task == 0 && other->task == 1 && other->phase != PREM_COMPUTE &&
               walk->start_ns < other->end_ns && other->start_ns < walk->end_ns;
    }
  return count;
}

static prem_schedule *planned_text(const char *source) {
  prem_schedule *schedule = schedule_from_text(source);
  prem_plan *plan = NULL;
  const prem_plan_options options = {.seed = 1};
  ck_assert_int_eq(prem_plan_make(schedule, NULL, &options, &plan, NULL), PREM_OK);
  prem_schedule_set_plan(schedule, plan);
  assert_checked(schedule);
  return schedule;
}

TEST(nobody_is_at_the_memory_beside_it) {
  static const struct {
    prem_mode mode;
    bool meets;
  } modes[] = {{PREM_MODE_TT, false}, {PREM_MODE_LOCK, false}, {PREM_MODE_FREE, true}};
  OWNED(prem_schedule) *schedule = planned_text(parts("", "", ""));
  for (size_t m = 0; m < sizeof modes / sizeof *modes; ++m) {
    OWNED(prem_trace) *trace = simulate(schedule, modes[m].mode, 1);
    int64_t certain, possible;
    ck_assert_int_eq(met(trace) > 0, modes[m].meets);
    ck_assert_int_eq(prem_violations(schedule, trace, 0, 0, &certain, &possible), PREM_OK);
    ck_assert_int_eq(certain > 0, modes[m].meets);
  }
}

TEST(a_core_gets_the_arrays_themselves) {
  OWNED(prem_schedule) *schedule = planned_text(parts("", "", ""));
  static const prem_mode modes[] = {PREM_MODE_TT, PREM_MODE_LOCK, PREM_MODE_FREE, PREM_MODE_LEGACY};
  static const char *const backends[] = {"sim", "cpu"};
  for (int b = 0; b < 2; ++b) {
    OWNED(prem_session) *session = open_on(backends[b], schedule);
    for (size_t m = 0; m < sizeof modes / sizeof *modes - (b == 0); ++m) {
      prem_verdict verdict;
      ck_assert_int_eq(prem_session_poison(session), PREM_OK);
      OWNED(prem_trace) *trace = run_in(session, schedule, modes[m], 2);
      if (modes[m] == PREM_MODE_LOCK)
        ck_assert_int_eq(met(trace), 0);
      ck_assert_int_eq(prem_session_verify(session, &verdict), PREM_OK);
      ck_assert_msg(verdict.ok, "%s, %s", backends[b], prem_mode_name(modes[m]));
    }
  }
}
