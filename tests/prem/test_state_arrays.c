/* SPDX-License-Identifier: Apache-2.0 */
/* State arrays: what the file says of them, which version each job sees, and what is refused. */
#include "tests/common/running.h"
#include "tests/common/suite.h"

#include "prem/model/versions.h"

/* m is 2 versions of 8 numbers, x an input, y and z outputs. */
static prem_diag *load(const char *array, const char *tasks, const char *more,
                       prem_schedule **schedule) {
  prem_diag *diag = prem_diag_new();
  *schedule = NULL;
  if (prem_schedule_load_text(
          "state.cfg",
          text("version = 1; name = \"state\"; platform: { blocks = 4; };\n"
               "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 8 ]; },\n"
               "  { name = \"m\"; type = \"f32\"; shape = [ 8 ]; fill = \"random\"; %s },\n"
               "  { name = \"y\"; type = \"f32\"; shape = [ 8 ]; },\n"
               "  { name = \"z\"; type = \"f32\"; shape = [ 8 ]; } );\n"
               "tasks = ( %s );\n%s\n",
               array, tasks, more),
          schedule, diag) == PREM_OK)
    prem_schedule_bind(*schedule, prem_registry_builtin(), diag);
  return diag;
}

/* A task that makes `out` of `a` and `b`; `more` are further settings. */
static const char *task(const char *name, const char *a, const char *b, const char *out,
                        const char *more) {
  return text("{ name = \"%s\"; kernel = \"blend\"; blocks = [ 0 ]; tile = [ 8 ];"
              "  arrays: { a = \"%s\"; b = \"%s\"; out = \"%s\"; }; %s }",
              name, a, b, out, more);
}

static const char *after(const char *before, const char *instance) {
  return text("after = ( { task = \"%s\"; instance = \"%s\"; } );", before, instance);
}

static void assert_good(const char *array, const char *tasks, const char *more) {
  OWNED(prem_schedule) *schedule = NULL;
  OWNED(prem_diag) *diag = load(array, tasks, more, &schedule);
  if (prem_diag_errors(diag) > 0)
    abort_with(tasks, diag);
  ck_assert(schedule->bound);
}

static void assert_refused(int code, const char *key, const char *reason, const char *array,
                           const char *tasks, const char *more) {
  OWNED(prem_schedule) *schedule = NULL;
  OWNED(prem_diag) *diag = load(array, tasks, more, &schedule);
  bool is_said = false;
  for (size_t i = 0; i < prem_diag_count(diag); ++i) {
    const prem_problem *problem = prem_diag_at(diag, i);
    is_said |= problem->code == code && problem->line > 0 && strcmp(problem->key, key) == 0 &&
               strstr(problem->reason, reason);
  }
  if (!is_said)
    abort_with(text("expected E%03d %s: %s", code, key, reason), diag);
  ck_assert(!schedule || !schedule->bound);
}

#define TWO   "versions = 2;"
#define LEARN task("w", "m", "x", "m", "")

/* ---- reading --------------------------------------------------------------------------------- */

TEST(versions_are_a_number_of_places) {
  OWNED(prem_schedule) *schedule = NULL;
  OWNED(prem_diag) *diag = load("versions = 5;", LEARN, "", &schedule);
  ck_assert_uint_eq(prem_diag_errors(diag), 0);
  ck_assert_int_eq(schedule->arrays[1].versions, 5);
  ck_assert_int_eq(schedule->arrays[0].versions, 0);
  assert_good("versions = 16;", LEARN, "");
  assert_refused(17, "arrays.m.versions", "2", "versions = 1;", LEARN, "");
  assert_refused(20, "arrays.m.versions", "16", "versions = 17;", LEARN, "");
  assert_refused(8, "arrays.m.versions", "", "versions = \"two\";", LEARN, "");
}

/* ---- which version each job sees ------------------------------------------------------------- */

static const prem_version_use *use_of(const prem_versions *versions, const char *name,
                                      bool writes) {
  for (int32_t i = 0; i < versions->use_count; ++i) {
    const prem_version_use *use = &versions->uses[i];
    if (use->writes == writes && strcmp(versions->schedule->tasks[use->task].name, name) == 0)
      return use;
  }
  ck_abort_msg("no use by '%s'", name);
  return NULL;
}

static void assert_versions(const prem_version_use *use, const int32_t *expected, int32_t jobs) {
  ck_assert(use->is_ordered);
  for (int32_t q = 0; q < jobs; ++q)
    ck_assert_msg(use->version[q] == expected[q], "job %d: version %d, not %d", q, use->version[q],
                  expected[q]);
}

TEST(who_comes_after_sees_the_new_version) {
  OWNED(prem_schedule) *schedule = NULL;
  OWNED(prem_diag) *diag =
      load(TWO,
           text("%s, %s, %s, %s, %s", task("b", "m", "x", "new", "period_ns = 100L;"),
                task("w", "m", "x", "m", text("period_ns = 100L; %s", after("b", "same"))),
                task("i", "x", "x", "new", text("period_ns = 100L; %s", after("w", "same"))),
                task("a", "m", "x", "new", text("period_ns = 100L; %s", after("i", "same"))),
                task("s", "m", "x", "new",
                     text("period_ns = 400L; release_ns = 250L; %s", after("w", "latest")))),
           "", &schedule);
  if (prem_diag_errors(diag) > 0)
    abort_with("load", diag);
  prem_versions versions;
  ck_assert_int_eq(prem_versions_new(schedule, &versions), PREM_OK);
  ck_assert_int_eq(versions.array_count, 1);
  assert_versions(use_of(&versions, "w", true), (int32_t[]){1, 2, 3, 4}, 4);
  assert_versions(use_of(&versions, "w", false), (int32_t[]){0, 1, 2, 3}, 4);
  assert_versions(use_of(&versions, "b", false), (int32_t[]){0, 1, 2, 3}, 4);
  assert_versions(use_of(&versions, "a", false), (int32_t[]){1, 2, 3, 4}, 4); /* over i */
  assert_versions(use_of(&versions, "s", false), (int32_t[]){3}, 1);
  const prem_version_use *slow = use_of(&versions, "s", false);
  ck_assert_int_eq(prem_version_of(&versions, slow, 2, 0, 0), 11);
  prem_versions_free(&versions);
}

TEST(a_reader_before_the_first_job_sees_the_fill) {
  OWNED(prem_schedule) *schedule = NULL;
  OWNED(prem_diag) *diag =
      load(TWO,
           text("%s, %s", task("w", "m", "x", "m", "period_ns = 100L; release_ns = 50L;"),
                task("r", "m", "x", "y", text("period_ns = 200L; %s", after("w", "latest")))),
           "", &schedule);
  prem_versions versions;
  ck_assert_uint_eq(prem_diag_errors(diag), 0);
  ck_assert_int_eq(prem_versions_new(schedule, &versions), PREM_OK);
  const prem_version_use *use = use_of(&versions, "r", false);
  ck_assert_int_eq(prem_version_of(&versions, use, 0, 0, 0), 0);
  ck_assert_int_eq(prem_version_of(&versions, use, 1, 0, 0), 2);
  prem_versions_free(&versions);
}

TEST(without_state_arrays_nothing_is_made) {
  OWNED(prem_schedule) *schedule = NULL;
  OWNED(prem_diag) *diag = load("", task("w", "m", "x", "y", ""), "", &schedule);
  prem_versions versions;
  ck_assert_int_eq(prem_versions_new(schedule, &versions), PREM_OK);
  ck_assert(versions.array_count == 0 && !versions.number && !versions.changes);
  ck_assert(!prem_is_versioned(&versions, 1));
  prem_versions_free(&versions);
}

/* ---- what is refused ------------------------------------------------------------------------- */

TEST(readers_without_an_order_are_refused) {
  assert_good(TWO, text("%s, %s", LEARN, task("r", "m", "x", "y", after("w", "same"))), "");
  assert_refused(49, "tasks.r.arrays",
                 "reads state array 'm', but comes neither after task 'w', which writes it, nor "
                 "before its same job, so that nothing says which version it would see: let 'r' "
                 "come `after` 'w' to see its new one, or 'w' come `after` the same job of 'r'",
                 TWO, text("%s, %s", LEARN, task("r", "m", "x", "y", "")), "");
  /* the writer comes after its latest job: the ones between have no order */
  assert_refused(49, "tasks.r.arrays", "comes neither after", TWO,
                 text("%s, %s", task("r", "m", "x", "y", "period_ns = 50L;"),
                      task("w", "m", "x", "m", text("period_ns = 100L; %s", after("r", "latest")))),
                 "");
}

TEST(a_version_is_made_by_one_job) {
  assert_refused(49, "tasks.v.arrays", "writes state array 'm', which task 'w' writes as well", TWO,
                 text("%s, %s", LEARN, task("v", "m", "x", "m", after("w", "same"))), "");
}

TEST(what_is_made_of_a_state_is_passed_on_job_by_job) {
  const char *learn = task("w", "m", "x", "m", "period_ns = 100L;");
  const char *make = task("a", "m", "x", "y", text("period_ns = 100L; %s", after("w", "same")));
  const char *slow = task("s", "y", "x", "z", text("period_ns = 200L; %s", after("a", "latest")));
  assert_good(TWO,
              text("%s, %s, %s", learn, make,
                   task("s", "y", "x", "z", text("period_ns = 100L; %s", after("a", "same")))),
              "");
  assert_refused(49, "tasks.s.arrays",
                 "reads array 'y', which is made of a state array and so changes from job to job, "
                 "but does not come after the same job of task 'a', which writes it: let it, or "
                 "give 'y' `versions`",
                 TWO, text("%s, %s, %s", learn, make, slow), "");
  assert_refused(49, "tasks.v.arrays",
                 "writes array 'y', which task 'a' writes as well, and which is made of a state "
                 "array: give each an array of its own",
                 TWO,
                 text("%s, %s, %s, %s", learn, make,
                      task("v", "x", "x", "y", text("period_ns = 100L; %s", after("a", "same"))),
                      task("s", "y", "x", "z", text("period_ns = 100L; %s", after("v", "same")))),
                 "");
}

TEST(live_ports_take_no_state_arrays) {
  assert_refused(47, "live.outputs.m.array", "it is a state array, whose versions", TWO, LEARN,
                 "live: { outputs = ( { array = \"m\"; } ); };");
  assert_refused(47, "live.inputs.m.array", "give the frames an array without `versions`", TWO,
                 task("w", "m", "x", "y", ""), "live: { inputs = ( { array = \"m\"; } ); };");
}

TEST(a_job_that_is_given_up_leaves_the_state_whole) {
  const char *learn =
      task("w", "m", "x", "m", "period_ns = 100L; deadline_ns = 90L; overrun = \"abort\";");
  assert_good(TWO,
              text("%s, %s", learn,
                   task("s", "m", "x", "y", text("period_ns = 200L; %s", after("w", "latest")))),
              "");
  assert_refused(
      48, "tasks.w.overrun", "can leave array 'y' half written", "",
      text("%s, %s",
           task("w", "x", "x", "y", "period_ns = 100L; deadline_ns = 90L; overrun = \"abort\";"),
           task("s", "y", "x", "z", text("period_ns = 200L; %s", after("w", "latest")))),
      "");
}
