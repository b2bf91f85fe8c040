/* SPDX-License-Identifier: Apache-2.0 */
/* State arrays: what the file says of them, which version each job sees, and what is refused. */
#include "tests/common/cases.h"
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

#define TWO   "versions = 2;"
#define LEARN task("w", "m", "x", "m", "")

/* ---- reading --------------------------------------------------------------------------------- */

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

/* How many there may be, and what is refused. */
TEST(state_arrays_are_refused_and_their_twins_are_legal) {
  cases_judge("prem/state_cases.txt");
}
