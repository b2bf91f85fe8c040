/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces that are known beforehand: small schedules byte for byte as text (tests/golden), the
 * thesis's schedules to the nanosecond by its formulas.
 *
 * After a wanted change of the simulator's traces run this program with TTPREM_GOLDEN=write, and
 * read the difference before it is committed.
 */
#include "tests/common/golden.h"
#include "tests/common/suite.h"

#include <glob.h>

/* ---- golden text ---------------------------------------------------------------------------- */

typedef struct golden_case {
  const char *name; /* tests/golden/NAME.cfg and NAME.MODE.csv */
  prem_mode mode;
  int64_t hyperperiods;
} golden_case;

static const golden_case cases[] = {
    {"mixed", PREM_MODE_TT, 2},       {"mixed", PREM_MODE_FREE, 2},  {"mixed", PREM_MODE_LOCK, 2},
    {"rounds", PREM_MODE_TT, 1},      {"rounds", PREM_MODE_FREE, 1}, {"regulated", PREM_MODE_TT, 1},
    {"regulated", PREM_MODE_FREE, 1}, {"turning", PREM_MODE_TT, 4},  {"told", PREM_MODE_TT, 2},
    {"told", PREM_MODE_FREE, 2},      {"told", PREM_MODE_LOCK, 2},
};

enum { CASE_COUNT = sizeof cases / sizeof cases[0] };

static char *simulated_text(const golden_case *golden) {
  char path[512];
  snprintf(path, sizeof path, SOURCE_DIR "/tests/golden/%s.cfg", golden->name);
  OWNED(prem_schedule) *schedule = planned_schedule(path);
  OWNED(prem_trace) *trace = simulate(schedule, golden->mode, golden->hyperperiods);
  char *text = NULL;
  size_t bytes = 0;
  FILE *stream = open_memstream(&text, &bytes);
  ck_assert_int_eq(prem_trace_write_csv(trace, schedule, 0, true, stream), PREM_OK);
  fclose(stream);
  return text;
}

GROUP("text");

TESTS(trace_equals_the_golden_text, CASE_COUNT) {
  const golden_case *golden = &cases[_i];
  golden_judge(text("%s.%s.csv", golden->name, prem_mode_name(golden->mode)),
               simulated_text(golden));
}

/* ---- the thesis ----------------------------------------------------------------------------- */

/* Four equal kernels of two blocks, 512 tiles a block, of which the first is warm-up. */
enum { KERNELS = 4, BLOCKS = 2, TILES = 512, PF = 1781, C = 506, WB = 421, WU = 10000 };

typedef struct thesis_formula {
  bool blockwise, phases;
  int64_t prefetch_offset_ns, writeback_offset_ns;
} thesis_formula;

static thesis_formula formula_of(const prem_policy *policy) {
  return (thesis_formula){.blockwise = strstr(policy->use, "blockwise"),
                          .phases = strstr(policy->use, "phase"),
                          .prefetch_offset_ns = policy->prefetch_offset_ns,
                          .writeback_offset_ns = policy->writeback_offset_ns};
}

/* When tile n of block b of kernel k prefetches, computes and writes back. Tile 0 begins at once.
 */
static void formula(const thesis_formula *f, int64_t k, int64_t b, int64_t n,
                    int64_t start_ns[PREM_PHASE_COUNT]) {
  int64_t place = f->blockwise ? k * BLOCKS + b : k;
  int64_t places = f->blockwise ? KERNELS * BLOCKS : KERNELS;
  int64_t writeback_ns = (places - 1) * f->prefetch_offset_ns + PF + C;
  int64_t cycle_ns = f->phases ? writeback_ns + (places - 1) * f->writeback_offset_ns + WB
                               : places * f->prefetch_offset_ns;
  bool chained = n == 0 || !f->phases;
  start_ns[PREM_PREFETCH] = n == 0 ? 0 : WU + (n - 1) * cycle_ns + place * f->prefetch_offset_ns;
  start_ns[PREM_COMPUTE] = start_ns[PREM_PREFETCH] + PF;
  start_ns[PREM_WRITEBACK] =
      chained ? start_ns[PREM_COMPUTE] + C
              : WU + (n - 1) * cycle_ns + writeback_ns + place * f->writeback_offset_ns;
}

static void assert_thesis(const prem_trace *trace, const prem_schedule *schedule) {
  const int64_t length_ns[] = {PF, C, WB};
  thesis_formula f = formula_of(&schedule->policy);
  ck_assert_int_eq(trace->record_count, KERNELS * BLOCKS * TILES * PREM_PHASE_COUNT);
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *r = &trace->records[i];
    int64_t n = r->tile / BLOCKS, b = r->tile % BLOCKS, expected_ns[PREM_PHASE_COUNT];
    formula(&f, r->task, b, n, expected_ns);
    ck_assert_msg(r->start_ns == expected_ns[r->phase] &&
                      r->end_ns == expected_ns[r->phase] + length_ns[r->phase],
                  "%s: kernel %d, block %lld, tile %lld: %s in [%lld, %lld), formula %lld",
                  schedule->name, r->task, (long long)b, (long long)n,
                  prem_phase_name((prem_phase)r->phase), (long long)r->start_ns,
                  (long long)r->end_ns, (long long)expected_ns[r->phase]);
    bool released =
        n > 0 && (r->phase == PREM_PREFETCH || (f.phases && r->phase == PREM_WRITEBACK));
    ck_assert_int_eq(!!(r->flags & PREM_SLOT_WARMUP), n == 0);
    ck_assert_int_eq(r->release_ns, released ? r->start_ns : PREM_NO_RELEASE);
  }
}

static void simulate_thesis(const char *path) {
  OWNED(prem_schedule) *schedule = planned_schedule(path);
  OWNED(prem_session) *session = open_on("sim", schedule);
  ck_assert_int_eq(prem_session_poison(session), PREM_OK);
  OWNED(prem_trace) *trace = run_in(session, schedule, PREM_MODE_TT, 1);
  assert_thesis(trace, schedule);
  prem_verdict verdict;
  ck_assert_int_eq(prem_session_verify(session, &verdict), PREM_OK);
  ck_assert(verdict.ok);
}

GROUP("thesis");

TEST(thesis_schedules_equal_the_formulas) {
  glob_t files;
  ck_assert_int_eq(glob(SOURCE_DIR "/schedules/figures/thesis_*.cfg", 0, NULL, &files), 0);
  const char *policies[] = {"tile_kernelwise", "tile_blockwise", "phase_kernelwise",
                            "phase_blockwise"};
  for (int p = 0; p < 4; ++p) {
    bool found = false;
    for (size_t i = 0; i < files.gl_pathc; ++i)
      if (strstr(files.gl_pathv[i], policies[p])) {
        simulate_thesis(files.gl_pathv[i]);
        found = true;
      }
    ck_assert_msg(found, "no schedules/figures/thesis_*%s*.cfg", policies[p]);
  }
  globfree(&files);
}
