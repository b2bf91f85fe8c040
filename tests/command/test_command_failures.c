/* SPDX-License-Identifier: Apache-2.0 */
/* What the command says and leaves when a run fails: the exit status, and what is not saved. Runs
 * are those of the simulator; this suite is linked so that the command's prem_compare() is the one
 * below. */
#include <sys/stat.h>

#include "command/command.h"
#include "runtime/core/backend.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

prem_status __real_prem_compare(prem_session *session, const prem_schedule *schedule,
                                const prem_backend *backend, const prem_compare_options *options,
                                prem_result **out, prem_diag *diag);
prem_status __wrap_prem_compare(prem_session *session, const prem_schedule *schedule,
                                const prem_backend *backend, const prem_compare_options *options,
                                prem_result **out, prem_diag *diag);

static prem_status failure; /* of a run that has measured something */
static bool in_the_way;     /* while it ran, a folder r.json came to be */

static int64_t away_ns; /* from each job */

static prem_status run_away(void *state, const prem_run_request *request, prem_trace *trace,
                            prem_diag *diag) {
  const prem_status status = prem_backend_sim.run(state, request, trace, diag);
  for (int64_t j = 0; j < trace->hyperperiods * trace->job_count; ++j)
    trace->away_ns[j] = away_ns;
  return status;
}

prem_status __wrap_prem_compare(prem_session *session, const prem_schedule *schedule,
                                const prem_backend *backend, const prem_compare_options *options,
                                prem_result **out, prem_diag *diag) {
  prem_backend busy = prem_backend_sim;
  prem_session *own = NULL;
  busy.run = run_away;
  if (away_ns > 0) {
    ck_assert_int_eq(prem_session_open(&busy, schedule, &own, diag), PREM_OK);
    session = own;
  }
  const prem_status status = __real_prem_compare(session, schedule, backend, options, out, diag);
  prem_session_close(own);
  if (in_the_way)
    ck_assert_int_eq(mkdir("r.json", 0700), 0);
  return failure == PREM_OK ? status : failure;
}

static char folder[] = "/tmp/ttprem-failures-XXXXXX";

static void set_up(void) {
  strcpy(folder, "/tmp/ttprem-failures-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  ck_assert_int_eq(chdir(folder), 0);
  FILE *file = fopen("increment.cfg", "w");
  ck_assert_ptr_nonnull(file);
  fputs("version = 1; name = \"increment\"; platform: { blocks = 2; };\n"
        "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 256 ]; fill = \"random\"; },\n"
        "           { name = \"y\"; type = \"f32\"; shape = [ 256 ]; save = \"y.f32\"; } );\n"
        "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = 2; tile = [ 64 ];\n"
        "  arrays: { in = \"x\"; out = \"y\"; }; prefetch: { wcet_ns = 1000L; };\n"
        "  compute: { wcet_ns = 1000L; }; writeback: { wcet_ns = 1000L; }; } );\n",
        file);
  ck_assert_int_eq(fclose(file), 0);
  failure = PREM_OK;
  in_the_way = false;
  away_ns = 0;
}

static void tear_down(void) {
  ck_assert_int_eq(chdir("/"), 0);
  ck_assert_int_eq(system(text("rm -r %s", folder)), 0);
}

static int run(const char *option, const char *value) {
  char *argv[] = {(char *)"ttprem run",    (char *)"--quiet", (char *)"--backend", (char *)"sim",
                  (char *)"increment.cfg", (char *)option,    (char *)value,       NULL};
  return verb_run(value ? 7 : option ? 6 : 5, argv);
}

static bool is_saved(void) {
  return access("y.f32", F_OK) == 0;
}

GROUP("runs", .set_up = set_up, .tear_down = tear_down);

TEST(every_status_has_its_exit_status) {
  static const struct {
    prem_status status;
    int expected;
  } cases[] = {{PREM_OK, 0},
               {PREM_ERR_UNAVAILABLE, 3},
               {PREM_ERR_MACHINE, 4},
               {PREM_ERR_INTERRUPTED, 130},
               {PREM_ERR_MEMORY, 1},
               {PREM_ERR_IO, 1},
               {PREM_ERR_PARSE, 1},
               {PREM_ERR_INVALID, 1},
               {PREM_ERR_INFEASIBLE, 1},
               {PREM_ERR_WRONG, 1},
               {PREM_ERR_ARGUMENT, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i)
    ck_assert_int_eq(command_exit_status(cases[i].status), cases[i].expected);
}

TEST(outputs_of_a_run_are_saved) {
  ck_assert_int_eq(run(NULL, NULL), COMMAND_DONE);
  ck_assert(is_saved());
}

TEST(a_machine_that_failed_has_nothing_to_save) {
  failure = PREM_ERR_MACHINE;
  ck_assert_int_eq(run(NULL, NULL), COMMAND_MACHINE);
  ck_assert(!is_saved());
}

TEST(an_interrupted_run_saves) {
  failure = PREM_ERR_INTERRUPTED;
  ck_assert_int_eq(run(NULL, NULL), COMMAND_INTERRUPTED);
  ck_assert(is_saved());
}

TEST(of_two_failures_the_first_one_counts) {
  in_the_way = true;
  ck_assert_int_eq(run("--json", "r.json"), COMMAND_INVALID);
  ck_assert_int_eq(rmdir("r.json"), 0);
  failure = PREM_ERR_MACHINE;
  ck_assert_int_eq(run("--json", "r.json"), COMMAND_MACHINE);
}

/** What a run says on stderr. */
static char *said_by(int *status, const char *option, const char *value) {
  static char said[4096];
  fflush(stderr);
  const int kept = dup(STDERR_FILENO);
  FILE *file = tmpfile();
  ck_assert(file && dup2(fileno(file), STDERR_FILENO) >= 0);
  *status = run(option, value);
  fflush(stderr);
  ck_assert_int_ge(dup2(kept, STDERR_FILENO), 0);
  close(kept);
  rewind(file);
  said[fread(said, 1, sizeof said - 1, file)] = 0;
  fclose(file);
  return said;
}

TEST(a_measurement_that_loses_everything_is_no_success) {
  int status;
  away_ns = 1500000;
  const char *said = said_by(&status, "--repeat", "100");
  ck_assert_int_eq(status, COMMAND_UNAVAILABLE);
  ck_assert_msg(strstr(said, "tt: of 100 jobs all were disturbed: the operating system took a core "
                             "away from each, for 1.500 ms at most; see docs/timing-method.md"),
                "%s", said);
  said = said_by(&status, "--with-disturbed", NULL);
  ck_assert_int_eq(status, COMMAND_DONE);
  ck_assert_ptr_null(strstr(said, "disturbed"));
}
