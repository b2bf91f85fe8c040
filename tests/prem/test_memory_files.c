/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wherever memory runs out while a file is read, bound, made ready and run, that is what is said,
 * and what is not refused is as it is with enough of it: the examples, which have something of
 * everything, and the sets that the checker's fuzzing begins with. See tests/common/memory_sweep.h.
 */
#include "tests/common/memory_sweep.h"

#include "runtime/core/backend.h"
#include "tests/common/golden.h"
#include "tests/common/suite.h"

#include <dirent.h>

enum { MOST_READ = 260, MOST_RUN = 70, HYPERPERIODS = 2 };

static const char *path;        /* of what is read */
static prem_schedule *schedule; /* what is run */
static bool was_run;
static int64_t most; /* tries */

static prem_status read_and_bind(FILE *told) {
  OWNED(prem_schedule) *read = UNSET;
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_status status = prem_schedule_load(path, NULL, &read, diag);
  if (status == PREM_OK)
    status = prem_schedule_bind(read, prem_registry_builtin(), diag);
  failing.armed = false;
  if (status == PREM_OK) {
    FREED char *saved = golden_saved(read);
    fputs(saved, told);
    for (int32_t a = 0; a < read->array_count; ++a)
      fprintf(told, " %s %s", read->arrays[a].file ? read->arrays[a].file : "",
              read->arrays[a].save ? read->arrays[a].save : "");
    for (int32_t t = 0; t < read->task_count; ++t)
      fprintf(told, " %" PRId32 " %" PRId32, read->tasks[t].tile_count, read->tasks[t].after_count);
  }
  return status;
}

static prem_status make_ready(FILE *told) {
  OWNED(prem_schedule) *read = NULL;
  failing.armed = false;
  const int64_t fail_at = failing.fail_at;
  ck_assert_int_eq(prem_schedule_load(path, NULL, &read, NULL), PREM_OK);
  failing_arm(fail_at);
  const prem_status status = prem_prepare(read, prem_registry_builtin(), NULL, NULL, NULL);
  failing.armed = false;
  if (status == PREM_OK) {
    ck_assert_int_eq(prem_check(read, NULL, NULL), PREM_OK);
    fputs("legal", told); /* a plan that is tried beside, as pipelines are, may be missed */
  }
  return status;
}

static void tell_trace(FILE *told, const prem_trace *trace) {
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *r = &trace->records[i];
    fprintf(told, " %" PRId32 ".%" PRId32 ".%" PRId32 " %" PRId64 " %" PRId64, r->task, r->tile,
            (int32_t)r->phase, r->start_ns, r->end_ns);
  }
}

static prem_status run(FILE *told) {
  OWNED(prem_session) *session = UNSET;
  OWNED(prem_trace) *trace = NULL;
  prem_status status = prem_session_open(&prem_backend_sim, schedule, &session, NULL);
  if (status == PREM_OK)
    status = prem_session_trace_new(session, HYPERPERIODS, 100000, &trace);
  for (int mode = 0; mode < 2 && status == PREM_OK; ++mode) {
    const prem_run_request request = {.mode = mode ? PREM_MODE_FREE : PREM_MODE_TT,
                                      .hyperperiods = HYPERPERIODS};
    status = prem_session_run(session, &request, trace, NULL);
    if (status == PREM_OK)
      prem_trace_sort(trace);
    if (status == PREM_OK)
      tell_trace(told, trace);
  }
  failing.armed = false;
  return status;
}

/* All tasks, in a schedule of their own: what is copied is all there. */
static prem_status take_part(FILE *told) {
  failing.armed = false;
  FREED bool *keep = calloc((size_t)schedule->task_count, sizeof *keep);
  for (int32_t t = 0; t < schedule->task_count; ++t)
    keep[t] = true;
  OWNED(prem_schedule) *some = NULL;
  failing_arm(failing.fail_at);
  const prem_status status = prem_schedule_subset(schedule, keep, &some);
  failing.armed = false;
  for (int32_t t = 0; status == PREM_OK && t < some->task_count; ++t)
    for (int32_t a = 0; a < some->tasks[t].arg_count; ++a) {
      const prem_arg *arg = &some->tasks[t].args[a];
      fprintf(told, ",");
      for (int32_t i = 0; i < arg->count; ++i)
        fprintf(told, " %g", arg->values ? arg->values[i] : -99);
    }
  return status;
}

/* ---- the files ------------------------------------------------------------------------------- */

static int is_schedule(const struct dirent *entry) {
  const char *end = strstr(entry->d_name, ".cfg");
  return end && !end[4];
}

static void with_all_of(const char *folder, void (*work)(const char *name)) {
  struct dirent **names = NULL;
  const int count = scandir(folder, &names, is_schedule, alphasort);
  ck_assert_int_gt(count, 0);
  for (int i = 0; i < count; ++i) {
    char name[512];
    snprintf(name, sizeof name, "%s/%s", folder, names[i]->d_name);
    path = name;
    work(names[i]->d_name);
    free(names[i]);
  }
  free(names);
}

static void read_one(const char *name) {
  /* that a file beside it cannot be read is a problem of the file's */
  memory_sweep_all(name, read_and_bind,
                   (memory_sweep){.or_else = PREM_ERR_PARSE, .most = MOST_READ});
}

static void run_one(const char *name) {
  schedule = NULL;
  was_run = false;
  if (prem_schedule_load(path, NULL, &schedule, NULL) == PREM_OK &&
      prem_prepare(schedule, prem_registry_builtin(), NULL, NULL, NULL) == PREM_OK) {
    memory_sweep_all(name, make_ready, (memory_sweep){.most = most});
    memory_sweep_all(name, run, (memory_sweep){.most = most});
    was_run = true;
  }
  prem_schedule_free(schedule);
}

static void part_one(const char *name) {
  schedule = NULL;
  ck_assert_int_eq(prem_schedule_load(path, NULL, &schedule, NULL), PREM_OK);
  ck_assert_int_eq(prem_schedule_bind(schedule, prem_registry_builtin(), NULL), PREM_OK);
  memory_sweep_all(name, take_part, (memory_sweep){.most = MOST_READ});
  prem_schedule_free(schedule);
}

GROUP("read");

TEST(of_examples_in_part) {
  with_all_of(SOURCE_DIR "/schedules/examples", part_one);
}

TEST(of_examples_that_are_read) {
  with_all_of(SOURCE_DIR "/schedules/examples", read_one);
}

/* Files that the schedule names by their whole path, or beside the working folder's. */
TEST(of_named_files_that_are_read) {
  char name[] = "/tmp/ttprem-test-XXXXXX.cfg";
  const int file = mkstemps(name, 4);
  ck_assert_int_ge(file, 0);
  const char *source =
      text("version = 1; name = \"t\"; platform: { blocks = 1; };\n"
           "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 512, 512 ];"
           " file = \"" SOURCE_DIR "/schedules/examples/scene.png\"; save = \"/tmp/x.f32\"; } );\n"
           "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 1;\n"
           "    compute: { wcet_ns = 1L; }; } );\n"
           "profiles: { p = \"%s\"; };\n",
           name);
  ck_assert_int_eq(write(file, source, strlen(source)), (ssize_t)strlen(source));
  close(file);
  path = name;
  memory_sweep_all("named files", read_and_bind,
                   (memory_sweep){.or_else = PREM_ERR_PARSE, .most = MOST_READ});
  unlink(name);
}

TEST(of_sets_that_are_read) {
  with_all_of(SOURCE_DIR "/tests/fuzz/corpus/check", read_one);
}

GROUP("run");

TEST(of_sets_that_are_run) {
  most = MOST_RUN;
  with_all_of(SOURCE_DIR "/tests/fuzz/corpus/check", run_one);
}

/* With copies, plans of modes, gangs, two buffers, several periods. */
TESTS(of_examples_that_are_run, 6) {
  static const char *const names[] = {"copies",  "modes",     "gang",
                                      "buffers", "two_rates", "abstract"};
  path = text(SOURCE_DIR "/schedules/examples/%s.cfg", names[_i]);
  most = 10 * MOST_RUN;
  run_one(names[_i]);
  ck_assert(was_run);
}
