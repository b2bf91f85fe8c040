/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who disturbs a measurement, at each limit: the operating system, the hypervisor and NVML say what
 * this suite makes up.
 */
#include "measure/disturbance.h"

#include <dlfcn.h>
#include <sys/resource.h>

#include "runtime/core/backend.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"
#include "tests/measure/made_up_nvml.h"

/* ---- what the system says -------------------------------------------------------------------- */

static int64_t switches;
static const char *proc_stat; /* NULL: there is none */

/* The one that the library calls. */
int getrusage(int who, struct rusage *usage) {
  *usage = (struct rusage){.ru_nivcsw = switches};
  return who == RUSAGE_SELF ? 0 : -1;
}

FILE *fopen(const char *path, const char *mode) {
  if (strcmp(path, "/proc/stat") != 0)
    return fopen64(path, mode);
  return proc_stat ? fmemopen((void *)(uintptr_t)proc_stat, strlen(proc_stat), mode) : NULL;
}

static prem_variant variants[2];
static prem_disturbance *watched;
static char said[512];

static void watch(const char *backend) {
  watched = prem_disturbance_new(backend, variants, 2);
  ck_assert_ptr_nonnull(watched);
}

static void set_up(void) {
  memset(variants, 0, sizeof variants);
  watched = NULL;
  switches = 0;
  proc_stat = "cpu 1 2 3 4 5 6 7 100 9\n";
}

static void tear_down(void) {
  prem_disturbance_free(watched);
  for (int i = 0; i < 2; ++i)
    for (int m = 0; m < PREM_MODE_COUNT; ++m)
      for (int warm = 0; warm < 2; ++warm)
        prem_times_free(warm ? &variants[i].observed[m].warm : &variants[i].observed[m].makespan);
}

static void assert_calm(int64_t runs) {
  ck_assert(prem_disturbance_none(watched, runs, said, sizeof said));
  ck_assert_str_eq(said, "");
}

static void assert_said(int64_t runs, const char *expected) {
  ck_assert(!prem_disturbance_none(watched, runs, said, sizeof said));
  ck_assert_str_eq(said, expected);
}

static void add_cold(int variant, prem_mode mode, int64_t count, int64_t ns) {
  for (int64_t i = 0; i < count; ++i)
    ck_assert(prem_times_add(&variants[variant].observed[mode].makespan, ns));
}

static void add(int variant, prem_mode mode, int64_t count, int64_t ns) {
  add_cold(variant, mode, count, ns);
  for (int64_t i = 0; i < count; ++i)
    ck_assert(prem_times_add(&variants[variant].observed[mode].warm, ns));
}

/* So many times in a round. */
static void round_of(int variant, prem_mode mode, int64_t count, int64_t ns) {
  prem_disturbance_round(watched, 0, true);
  add(variant, mode, count, ns);
  prem_disturbance_round(watched, 0, false);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

GROUP("host", .set_up = set_up, .tear_down = tear_down);

TEST(rounds_that_are_alike_are_calm) {
  watch("sim");
  assert_calm(0);
  round_of(0, PREM_MODE_TT, 10, 1000);
  assert_calm(0);
  round_of(0, PREM_MODE_TT, 10, 1099);
  assert_calm(0);
}

/* Whoever moves, in whatever mode and direction. */
TESTS(a_round_that_differs_is_told, 8) {
  watch("sim");
  round_of(_i / 2 % 2, _i / 4 ? PREM_MODE_LOCK : PREM_MODE_TT, 10, _i % 2 ? 1125 : 1000);
  assert_calm(0);
  round_of(_i / 2 % 2, _i / 4 ? PREM_MODE_LOCK : PREM_MODE_TT, 10, _i % 2 ? 1000 : 1125);
  assert_said(0, _i / 4 ? "the rounds' mean times differ by 12.5 %, most in mode lock"
                        : "the rounds' mean times differ by 12.5 %, most in mode tt");
}

TEST(a_tenth_more_is_told) {
  watch("sim");
  round_of(0, PREM_MODE_TT, 10, 1000);
  round_of(0, PREM_MODE_TT, 10, 1101);
  assert_said(0, "the rounds' mean times differ by 10.1 %, most in mode tt");
}

/* Each is compared with itself. */
TEST(others_may_take_longer) {
  watch("sim");
  round_of(0, PREM_MODE_TT, 10, 1000);
  round_of(1, PREM_MODE_TT, 10, 2000);
  round_of(1, PREM_MODE_FREE, 10, 4000);
  assert_calm(0);
  round_of(1, PREM_MODE_TT, 10, 2500);
  round_of(0, PREM_MODE_TT, 10, 1200);
  assert_said(0, "the rounds' mean times differ by 25.0 %, most in mode tt");
}

TEST(the_furthest_rounds_count) {
  watch("sim");
  round_of(0, PREM_MODE_FREE, 10, 1000);
  round_of(0, PREM_MODE_FREE, 12, 800);
  round_of(0, PREM_MODE_FREE, 10, 1600);
  round_of(0, PREM_MODE_FREE, 20, 1200);
  assert_said(0, "the rounds' mean times differ by 100.0 %, most in mode free");
}

TEST(nine_samples_say_nothing) {
  watch("sim");
  round_of(0, PREM_MODE_TT, 10, 1000);
  round_of(0, PREM_MODE_TT, 9, 5000);
  assert_calm(0);
  round_of(0, PREM_MODE_TT, 10, 1000); /* nor do they count for this one */
  assert_calm(0);
  round_of(0, PREM_MODE_TT, 10, 2000);
  assert_said(0, "the rounds' mean times differ by 100.0 %, most in mode tt");
}

/* A session's first hyperperiods, three times as long. */
TEST(cold_ones_are_no_drift) {
  watch("cuda");
  prem_disturbance_round(watched, 0, true);
  add_cold(0, PREM_MODE_TT, 3, 3000000);
  add(0, PREM_MODE_TT, 10, 1000000);
  prem_disturbance_round(watched, 0, false);
  round_of(0, PREM_MODE_TT, 10, 1000000);
  assert_calm(0);
  round_of(0, PREM_MODE_TT, 10, 1120000);
  assert_said(0, "the rounds' mean times differ by 12.0 %, most in mode tt");
}

/* Of few the warm ones say too little. */
TESTS(half_of_a_round_is_warm, 2) {
  watch("sim");
  round_of(0, PREM_MODE_TT, 10, 1000);
  prem_disturbance_round(watched, 1, true);
  add_cold(0, PREM_MODE_TT, 6 - _i, 1000);
  add(0, PREM_MODE_TT, 4 + _i, 2000);
  prem_disturbance_round(watched, 1, false);
  if (_i)
    assert_said(0, "the rounds' mean times differ by 100.0 %, most in mode tt");
  else
    assert_calm(0);
}

/* ---- the host -------------------------------------------------------------------------------- */

/* Before a round and between two of them nothing is measured. */
static void round_with(int64_t between, int64_t within) {
  switches += between;
  prem_disturbance_round(watched, 0, true);
  switches += within;
  prem_disturbance_round(watched, 0, false);
}

TEST(one_switch_in_a_hundred_runs_is_calm) {
  watch("cpu");
  assert_calm(0);
  round_with(1000, 3);
  round_with(700, 2);
  assert_calm(599);
  assert_calm(500);
  assert_said(499, "other processes took a core 5 times in 499 runs");
  assert_said(0, "other processes took a core 5 times in 0 runs");
}

TESTS(only_the_cpu_has_switches, 2) {
  watch(_i ? "sim" : "cuda");
  round_with(0, 100);
  proc_stat = "cpu 1 2 3 4 5 6 7 200 9\n";
  round_with(0, 100);
  assert_calm(1);
}

TEST(what_the_hypervisor_takes_is_told) {
  watch("cpu");
  prem_disturbance_round(watched, 0, true);
  prem_disturbance_round(watched, 0, false);
  proc_stat = "cpu 1 2 3 4 5 6 7 150 9\n"; /* between the rounds */
  assert_calm(100);
  prem_disturbance_round(watched, 1, true);
  proc_stat = "cpu 1 2 3 4 5 6 7 151 9\n";
  prem_disturbance_round(watched, 1, false);
  prem_disturbance_round(watched, 2, true);
  proc_stat = "cpu 9 9 9 9 9 9 9 2153 0\n";
  prem_disturbance_round(watched, 2, false);
  const long tick_ms = 1000 / sysconf(_SC_CLK_TCK);
  assert_said(100, text("the hypervisor took %ld ms", (1 + 2002) * tick_ms));
}

TESTS(a_system_that_does_not_tell_is_calm, 4) {
  static const char *const none[] = {NULL, "cpu 1 2 3 4 5 6 7", "cpu", "intr 1 2 3 4 5 6 7 8 9"};
  watch("cpu");
  proc_stat = none[_i];
  prem_disturbance_round(watched, 0, true);
  prem_disturbance_round(watched, 0, false);
  assert_calm(0);
}

TEST(reasons_are_put_together) {
  watch("cpu");
  prem_disturbance_round(watched, 0, true);
  switches = 7;
  proc_stat = "cpu 1 2 3 4 5 6 7 101 9\n";
  add(0, PREM_MODE_TT, 10, 1000);
  prem_disturbance_round(watched, 0, false);
  round_of(0, PREM_MODE_TT, 10, 1125);
  const long tick_ms = 1000 / sysconf(_SC_CLK_TCK);
  assert_said(9, text("other processes took a core 7 times in 9 runs; the hypervisor took %ld ms; "
                      "the rounds' mean times differ by 12.5 %%, most in mode tt",
                      tick_ms));
}

/* As much as there is room for, never more. */
TEST(what_has_no_room_is_cut) {
  watch("cpu");
  round_with(0, 7);
  round_of(0, PREM_MODE_TT, 10, 1000);
  round_of(0, PREM_MODE_TT, 10, 1125);
  const char *whole = "other processes took a core 7 times in 9 runs; the rounds' mean times";
  for (size_t bytes = 2; bytes < 60; ++bytes) {
    FREED char *cut = malloc(bytes); /* sanitizers see a step too far */
    ck_assert(!prem_disturbance_none(watched, 9, cut, bytes));
    ck_assert_uint_lt(strlen(cut), bytes);
    ck_assert_uint_ge(strlen(cut) + 3, bytes);
    ck_assert_int_eq(strncmp(cut, whole, strlen(cut)), 0);
  }
}

/* ---- the GPU --------------------------------------------------------------------------------- */

static made_up_nvml *nvml;
static prem_schedule *schedule;
static void *library;
static prem_backend with_uuid;

static prem_status probe_with_uuid(prem_machine *machine, prem_diag *diag) {
  const prem_status status = prem_backend_sim.probe(machine, diag);
  snprintf(machine->uuid, sizeof machine->uuid, "GPU-made-up");
  return status;
}

/* Loaded by its path, it is the one of its name. */
static void set_up_gpu(void) {
  set_up();
  library = dlopen(MADE_UP_NVML, RTLD_NOW | RTLD_LOCAL);
  ck_assert_msg(library != NULL, "%s", dlerror());
  nvml = dlsym(library, "made_up");
  ck_assert_ptr_nonnull(nvml);
  *nvml = (made_up_nvml){.mhz = {0, 1000, 2000}, .processes = 1};
  schedule = prepared_schedule("version = 1; name = \"t\"; platform: { blocks = 1; };"
                               "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 1;"
                               "  compute: { wcet_ns = 5L; }; } );");
  with_uuid = prem_backend_sim;
  with_uuid.probe = probe_with_uuid;
  OWNED(prem_diag) *diag = prem_diag_new();
  variants[1].schedule = schedule;
  if (prem_variant_open(&variants[1], &with_uuid, diag) != PREM_OK)
    abort_with("open", diag);
}

static void tear_down_gpu(void) {
  prem_disturbance_free(watched);
  watched = NULL;
  prem_variant_close(&variants[1]);
  prem_times_free(&variants[0].observed[PREM_MODE_TT].makespan);
  prem_times_free(&variants[0].observed[PREM_MODE_TT].warm);
  prem_schedule_free(schedule);
  dlclose(library);
}

GROUP("gpu", .set_up = set_up_gpu, .tear_down = tear_down_gpu);

TEST(the_gpu_of_the_variants_is_asked) {
  watch("cuda");
  ck_assert_int_eq(nvml->inits, 0);
  for (int i = 0; i < 3; ++i)
    prem_disturbance_look(watched);
  ck_assert_int_eq(nvml->inits, 1);
  ck_assert_str_eq(nvml->uuid, "GPU-made-up");
  ck_assert_int_eq(nvml->shutdowns, 0);
  assert_calm(1);
  prem_disturbance_free(watched);
  watched = NULL;
  ck_assert_int_eq(nvml->shutdowns, 1);
}

TEST(without_a_session_there_is_no_gpu_yet) {
  prem_session *session = variants[1].session;
  watch("cuda");
  variants[1].session = NULL;
  prem_disturbance_look(watched);
  ck_assert_int_eq(nvml->inits, 0);
  variants[1].session = session;
  prem_disturbance_look(watched);
  ck_assert_int_eq(nvml->inits, 1);
}

TESTS(others_have_no_gpu, 2) {
  watch(_i ? "cpu" : "sim");
  prem_disturbance_look(watched);
  ck_assert_int_eq(nvml->inits, 0);
}

/* It is asked once: whoever does not find it stays without. */
TESTS(a_gpu_that_nvml_does_not_find_is_calm, 2) {
  nvml->init_says = _i ? 0 : 9;
  nvml->find_says = _i ? 6 : 0;
  nvml->reasons = 0x8;
  nvml->processes = 4;
  watch("cuda");
  prem_disturbance_look(watched);
  ck_assert_int_eq(nvml->inits, 1);
  ck_assert_int_eq(nvml->shutdowns, _i);
  nvml->init_says = nvml->find_says = 0;
  prem_disturbance_look(watched);
  ck_assert_int_eq(nvml->inits, 1);
  assert_calm(1);
  prem_disturbance_free(watched);
  watched = NULL;
  ck_assert_int_eq(nvml->shutdowns, _i);
}

static void look_at(unsigned sm_mhz, unsigned memory_mhz) {
  nvml->mhz[1] = sm_mhz;
  nvml->mhz[2] = memory_mhz;
  prem_disturbance_look(watched);
}

/* Two per cent are a step of the boost clock. */
TESTS(clocks_are_judged_at_their_limits, 8) {
  static const struct {
    unsigned sm_mhz, memory_mhz;
    const char *said;
  } cases[] = {{1961, 2941, ""},
               {1959, 2941, "the SM clock moved from 1959 to 2000 MHz"},
               {1961, 2939, "the memory clock moved from 2939 to 3000 MHz"},
               {1000, 1000,
                "the SM clock moved from 1000 to 2000 MHz; the memory clock moved from 1000 to "
                "3000 MHz"}};
  watch("cuda");
  if (_i % 2) /* whichever comes first */
    look_at(2000, 3000);
  look_at(cases[_i / 2].sm_mhz, cases[_i / 2].memory_mhz);
  look_at(2000, 3000);
  if (cases[_i / 2].said[0])
    assert_said(1, cases[_i / 2].said);
  else
    assert_calm(1);
}

TEST(a_clock_that_is_not_told_does_not_count) {
  watch("cuda");
  look_at(2000, 3000);
  nvml->clock_says = 3;
  look_at(10, 10);
  nvml->clock_says = 0;
  assert_calm(1);
  look_at(2000, 3000);
  assert_calm(1);
}

/* Idle, an application's own clock and whatever else holds it back on purpose are no disturbance.
 */
TESTS(throttled_clocks_are_told, 10) {
  watch("cuda");
  nvml->reasons = 1ULL << _i;
  prem_disturbance_look(watched);
  nvml->reasons = 0; /* what was seen stays */
  prem_disturbance_look(watched);
  if ((1 << _i) & (0x4 | 0x8 | 0x20 | 0x40 | 0x80))
    assert_said(1, text("the GPU throttled its clocks (NVML reasons 0x%x)", 1U << _i));
  else
    assert_calm(1);
}

TEST(reasons_to_throttle_add_up) {
  watch("cuda");
  nvml->reasons = 0x4;
  prem_disturbance_look(watched);
  nvml->reasons = 0x61;
  prem_disturbance_look(watched);
  nvml->reasons = 0x88;
  nvml->reasons_say = 3;
  prem_disturbance_look(watched);
  assert_said(1, "the GPU throttled its clocks (NVML reasons 0x64)");
}

/* NVML says 7 where its list has no room: the count is right all the same. */
TESTS(other_processes_are_counted, 8) {
  static const struct {
    unsigned first, second;
    int says;
    unsigned others;
  } cases[] = {{1, 1, 0, 0}, {0, 0, 0, 0}, {2, 1, 0, 1}, {1, 2, 7, 1},
               {3, 4, 7, 3}, {4, 3, 0, 3}, {9, 9, 3, 0}, {5, 9, 6, 0}};
  watch("cuda");
  nvml->processes_say = cases[_i].says;
  nvml->processes = cases[_i].first;
  prem_disturbance_look(watched);
  nvml->processes = cases[_i].second;
  prem_disturbance_look(watched);
  if (cases[_i].others > 0)
    assert_said(1, text("%u other processes on the GPU", cases[_i].others));
  else
    assert_calm(1);
}

/* ---- away ------------------------------------------------------------------------------------ */

enum { USUAL_NS = 1 << 20 };

GROUP("host");

TEST(half_a_millisecond_more_is_calm) {
  watch("cuda");
  add(0, PREM_MODE_TT, 3, USUAL_NS);
  add(0, PREM_MODE_TT, 1, USUAL_NS + 500000);
  assert_calm(1);
  add(0, PREM_MODE_TT, 1, USUAL_NS + 500001);
  assert_said(1, "something had the GPU for 0.5 ms (a hyperperiod took 1.549 ms, half of them at "
                 "most 1.049)");
}

/* On time and free; of all of them the one that was furthest away. */
TESTS(the_furthest_away_is_told, 4) {
  watch("cuda");
  add(0, PREM_MODE_LOCK, 3, USUAL_NS);
  add(0, PREM_MODE_LOCK, 1, 90000000);
  assert_calm(1);
  add(_i % 2, PREM_MODE_FREE, 3, USUAL_NS);
  add(_i % 2, PREM_MODE_FREE, 1, USUAL_NS + 2000000);
  add(_i / 2, PREM_MODE_TT, 3, 4 * USUAL_NS);
  add(_i / 2, PREM_MODE_TT, 1, 4 * USUAL_NS + 1000000);
  assert_said(1, "something had the GPU for 2.0 ms (a hyperperiod took 3.049 ms, half of them at "
                 "most 1.049)");
}

TESTS(only_a_gpu_can_be_taken_away, 2) {
  watch(_i ? "cpu" : "sim");
  add(0, PREM_MODE_TT, 3, USUAL_NS);
  add(0, PREM_MODE_TT, 1, 90000000);
  assert_calm(1);
}

GROUP("gpu");

TEST(all_of_a_gpu_is_told_in_order) {
  watch("cuda");
  look_at(2000, 3000);
  nvml->reasons = 0x8;
  nvml->processes = 3;
  look_at(1000, 3000);
  round_of(0, PREM_MODE_TT, 10, USUAL_NS);
  round_of(0, PREM_MODE_TT, 10, 2 * USUAL_NS);
  assert_said(1, "the GPU throttled its clocks (NVML reasons 0x8); the SM clock moved from 1000 to "
                 "2000 MHz; 2 other processes on the GPU; something had the GPU for 1.0 ms (a "
                 "hyperperiod took 2.097 ms, half of them at most 1.049); the rounds' mean times "
                 "differ by 100.0 %, most in mode tt");
}
