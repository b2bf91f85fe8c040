/* SPDX-License-Identifier: Apache-2.0 */
/* Plans as CSV: what goes out comes back, slot by slot, of every kind of plan that there is. */

#include "ttprem/kernel.h"
#include "ttprem/plan_file.h"
#include "ttprem/prepare.h"

#include "tests/common/suite.h"

static prem_diag *diag;

static void set_up(void) {
  diag = prem_diag_new();
}

static void tear_down(void) {
  prem_diag_free(diag);
}

static void print_problems(void) {
  for (size_t i = 0; i < prem_diag_count(diag); ++i) {
    char line[1024];
    prem_problem_format(prem_diag_at(diag, i), line, sizeof line);
    fprintf(stderr, "%s\n", line);
  }
}

static prem_schedule *open_text(const char *text) {
  prem_schedule *schedule = NULL;
  prem_status status = prem_schedule_load_text("set", text, &schedule, diag);
  if (status == PREM_OK)
    status = prem_schedule_bind(schedule, prem_registry_builtin(), diag);
  if (status != PREM_OK)
    print_problems();
  ck_assert_int_eq(status, PREM_OK);
  return schedule;
}

static char *csv_of(const prem_schedule *schedule) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&text, &bytes);
  ck_assert_int_eq(prem_plan_write_csv(schedule, file, diag), PREM_OK);
  fclose(file);
  return text;
}

static prem_status adopt(prem_schedule *schedule, const char *csv) {
  prem_plan *plan = NULL;
  FILE *file = fmemopen((void *)csv, strlen(csv), "r");
  prem_status status = prem_plan_read_csv(schedule, file, "plan.csv", &plan, diag);
  fclose(file);
  ck_assert((plan != NULL) == (status == PREM_OK));
  return status == PREM_OK ? prem_adopt_plan(schedule, NULL, plan, diag) : status;
}

#define ABSTRACT(more)                                                                             \
  "version = 1; name = \"set\"; platform: { blocks = 2; buffers = 2; scratch_bytes = 65536L; "     \
  "resources = ( { name = \"memory\"; capacity = 1; } ); };" more                                  \
  "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = [ 0, 1 ]; tiles = 12;"                    \
  "    prefetch: { wcet_ns = 300L; }; compute: { wcet_ns = 400L; };"                               \
  "    writeback: { wcet_ns = 300L; }; joined: { wcet_ns = 400L; }; } );"
#define PERIODIC(more, of_b)                                                                       \
  "version = 1; name = \"set\"; platform: { blocks = 2; }; " more                                  \
  "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 3; period_ns = 5000L;"     \
  "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 200L; };"                               \
  "    writeback: { wcet_ns = 100L; }; },"                                                         \
  "  { name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 2; " of_b                          \
  "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 300L; };"                               \
  "    writeback: { wcet_ns = 100L; }; } );"

static const struct {
  const char *kind, *text, *row; /* of which there is one at least */
} plans[] = {
    {"joined", ABSTRACT(""), ",1,\n"},
    {"warm-up", ABSTRACT("policy: { warmup_tiles = 2; warmup_ns = 9000L; };"), ",,2,warmup,,0,"},
    {"jobs", PERIODIC("", "period_ns = 10000L;"), "a,1,2,"},
    {"chains of jobs", PERIODIC("policy: { objective = \"response\"; };", "period_ns = 10000L;"),
     ",job,"},
    {"best effort", PERIODIC("", "class = \"best_effort\";"), "a,0,0,"},
    {"chained tiles",
     PERIODIC("plan: { hyperperiod_ns = 10000L; runs = ("
              "  { task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];"
              "    start_ns = 0L; repeat = 3; step_ns = 1000L; jobs = 2; },"
              "  { task = \"b\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];"
              "    start_ns = 500L; repeat = 2; step_ns = 1000L; } ); };",
              "period_ns = 10000L;"),
     ",tile,"},
};

GROUP("all", .set_up = set_up, .tear_down = tear_down);

TESTS(what_goes_out_comes_back, sizeof plans / sizeof plans[0]) {
  OWNED(prem_schedule) *made = open_text(plans[_i].text), *again = open_text(plans[_i].text);
  const prem_status status = prem_prepare(made, prem_registry_builtin(), NULL, NULL, diag);
  if (status != PREM_OK)
    print_problems();
  ck_assert_int_eq(status, PREM_OK);
  FREED char *out = csv_of(made);
  ck_assert_msg(strstr(out, plans[_i].row) != NULL, "%s: no '%s' in\n%s", plans[_i].kind,
                plans[_i].row, out);
  const prem_status adopted = adopt(again, out);
  if (adopted != PREM_OK)
    print_problems();
  ck_assert_int_eq(adopted, PREM_OK);
  FREED char *back = csv_of(again);
  ck_assert_str_eq(out, back);
  ck_assert_int_eq(again->plan->warmup_ns, made->plan->warmup_ns);
  ck_assert_int_eq(again->plan->closed_count, made->plan->closed_count);
  for (int32_t i = 0; i < made->plan->closed_count; ++i)
    ck_assert(memcmp(&again->plan->closed[i], &made->plan->closed[i], sizeof *made->plan->closed) ==
              0);
}

/* A plan of one's own needs no more than five columns; the hyperperiod follows. */
TEST(five_columns_are_enough) {
  OWNED(prem_schedule) *schedule =
      open_text("version = 1; name = \"set\"; platform: { blocks = 1; };"
                "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 2;"
                "    compute: { wcet_ns = 10L; }; } );");
  ck_assert_int_eq(adopt(schedule, "\xef\xbb\xbfjob,tile,phase,start_ns,task\r\n"
                                   "0,1,compute,20,a\r\n0,0,compute,5.0,a\r\n\r\n"),
                   PREM_OK);
  ck_assert_int_eq(schedule->plan->hyperperiod_ns, 30);
  ck_assert_int_eq(adopt(schedule, "job,tile,phase,start_ns,task\n"
                                   "0,1,compute,20,a\n0,0,compute,15,a\n"),
                   PREM_ERR_INVALID);
  ck_assert(prem_diag_has(diag, 36));
}
