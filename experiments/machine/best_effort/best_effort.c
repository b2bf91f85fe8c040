/* SPDX-License-Identifier: Apache-2.0 */
/* Critical tasks beside a full load: longest response against load kept. The commands that a user
 * would give do it, one file after the other; their `points` are this one's. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "experiments/common/experiment.h"
#include "report/findings/parts.h"

enum { LOOK_NS = 20000000, PATH_BYTES = 512 };

/** A file, and so many hyperperiods of each company and mode. */
typedef struct workload {
  const char *folder, *name, *hyperperiods, *quick, *modes;
} workload;

static const char all[] = "tt,free,legacy,gated_graph,priority,partition";
static const workload of_gpu[] = {{"figures", "best_effort_300", "20000", "400", all},
                                  {"figures", "best_effort_100", "20000", "400", "tt,partition"},
                                  {"figures", "best_effort_kcf", "5000", "100", all},
                                  {"figures", "best_effort_chain", "5000", "100", all},
                                  {"figures", "best_effort_reads", "5000", "100", all},
                                  {"figures", "best_effort_computes", "5000", "100", all}};
static const workload of_cpu[] = {{"examples", "beside_a_load", "1000", "50", "tt,free"}};

/* Times are the machine's where the file names a profile. */
static const char script[] =
    "ttprem=$1 name=$3 backend=$4; exec >&2; set -e; trap 'exit 130' INT TERM\n"
    "folder=$(mktemp -d); trap 'rm -rf \"$folder\"' EXIT; cd \"$folder\"; cp \"$2\" $name.cfg\n"
    "if grep -q '^profiles:' $name.cfg; then\n"
    "  \"$ttprem\" fit $name.cfg --quiet --backend $backend --time-limit $7 -o $name.cfg "
    ">/dev/null\n"
    "else \"$ttprem\" plan $name.cfg --quiet -o $name.cfg >/dev/null; fi\n"
    "[ $backend != cuda ] || sentinel=--sentinel\n"
    "\"$ttprem\" isolate $name.cfg --quiet --backend $backend --modes $5 --repeat $6 $sentinel"
    " --json \"$8\" >/dev/null\n";

static const char *const columns[] = {
    "workload",  "load",      "company",    "mode",           "jobs",
    "p50_ns",    "p9999_ns",  "longest_ns", "alone_p9999_ns", "alone_longest_ns",
    "load_kept", "open_share"};
enum { COLUMN_COUNT = sizeof columns / sizeof *columns };

static prem_status refuse(prem_diag *diag, const char *what, const char *reason) {
  prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, what, "%s", reason);
  return PREM_ERR_MACHINE;
}

/* In a group of its own, which the user's interrupt is handed on to. */
static prem_status work(const prem_experiment_context *context, const workload *of,
                        const char *output, prem_diag *diag) {
  const struct timespec pause = {.tv_nsec = LOOK_NS};
  char file[PATH_BYTES], schedule[PATH_MAX], program[PATH_MAX];
  snprintf(file, sizeof file, "%s/%s/%s.cfg", context->schedules, of->folder, of->name);
  if (!realpath(file, schedule))
    return refuse(diag, file,
                  "it is not there; --schedules=DIR names the folder with figures/ and examples/");
  if (!context->program || !realpath(context->program, program))
    return refuse(diag, "ttprem",
                  "the command's own file is not found, which this experiment runs");
  const char *const words[] = {"sh",
                               "-c",
                               script,
                               "sh",
                               program,
                               schedule,
                               of->name,
                               prem_backend_name(context->backend),
                               of->modes,
                               context->quick ? of->quick : of->hyperperiods,
                               context->quick ? "5" : "30",
                               output,
                               NULL};
  int status = 0;
  const pid_t shell = fork();
  if (shell == 0) {
    setpgid(0, 0);
    execv("/bin/sh", (char *const *)(uintptr_t)words);
    _exit(127);
  }
  if (shell < 0)
    return refuse(diag, "sh", strerror(errno));
  pid_t ended;
  while ((ended = waitpid(shell, &status, WNOHANG)) == 0) {
    if (prem_experiment_stopped(context))
      kill(-shell, SIGINT);
    nanosleep(&pause, NULL);
  }
  if (prem_experiment_stopped(context))
    return PREM_ERR_INTERRUPTED;
  return ended == shell && status == 0 ? PREM_OK
                                       : refuse(diag, of->name, "a command failed, as it says");
}

static void add_value(prem_table *to, const prem_value *value) {
  if (value->kind == PREM_VALUE_TEXT)
    prem_table_add_text(to, value->text);
  else if (value->kind == PREM_VALUE_INT)
    prem_table_add_int(to, value->integer);
  else
    prem_table_add_real(to, value->real);
}

static double number_in(const prem_table *points, int64_t row, const char *column) {
  return prem_value_number(prem_table_value(points, row, prem_find_column(points, column)));
}

/* Of the gate, over all points: the longest response in times of alone, and the least load kept. */
static void conclude(const prem_table *points, prem_findings *findings) {
  double most = 0, kept = INFINITY;
  for (int64_t row = 0; row < prem_table_rows(points); ++row) {
    const prem_value *company = prem_table_value(points, row, prem_find_column(points, "company"));
    if (strcmp(company->text, "gate") != 0)
      continue;
    most = fmax(most,
                number_in(points, row, "longest_ns") / number_in(points, row, "alone_longest_ns"));
    kept = fmin(kept, number_in(points, row, "load_kept"));
  }
  if (most > 0)
    prem_findings_verdict(findings,
                          "With the gate the longest responses are at most %.2f x what they are "
                          "alone, and loads keep at least %.3f of what they do without it.",
                          most, kept);
}

static prem_status take_points(const workload *of, const char *path, prem_findings *findings,
                               prem_table *to, prem_diag *diag) {
  prem_findings *read = NULL;
  const prem_status status = prem_findings_read(path, &read, diag);
  const prem_table *points = status == PREM_OK ? prem_find_table(read, "points") : NULL;
  for (int64_t row = 0; points && row < prem_table_rows(points); ++row)
    for (int c = 0; c < COLUMN_COUNT; ++c)
      add_value(to, prem_table_value(points, row, prem_find_column(points, columns[c])));
  for (int64_t i = 0; read && i < read->note_count && strncmp(read->notes[i], "Left out", 8) == 0;
       ++i)
    prem_findings_note(findings, "%s: %s", of->name, read->notes[i]);
  prem_findings_free(read);
  return status;
}

static prem_status measure(const prem_experiment_context *context, const workload *of,
                           prem_findings *findings, prem_table *to, prem_diag *diag) {
  char output[] = "/tmp/ttprem-best-effort-XXXXXX";
  const int file = mkstemp(output);
  if (file < 0)
    return refuse(diag, output, strerror(errno));
  prem_status status = work(context, of, output, diag);
  if (status == PREM_OK)
    status = take_points(of, output, findings, to, diag);
  close(file);
  unlink(output);
  return status;
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  const bool is_gpu = strcmp(prem_backend_name(context->backend), "cuda") == 0;
  const workload *of = is_gpu ? of_gpu : of_cpu;
  const int64_t count = is_gpu ? sizeof of_gpu / sizeof *of_gpu : 1;
  prem_table *points =
      prem_findings_table(findings, "points", "Longest response against load kept", NULL);
  for (int c = 0; c < COLUMN_COUNT; ++c)
    prem_table_column(points, columns[c], "");
  prem_findings_chart(findings, &(prem_chart){.kind = PREM_CHART_POINTS,
                                              .title = "Longest response against load kept",
                                              .table = "points",
                                              .x = "load_kept",
                                              .y = "longest_ns",
                                              .series = "company",
                                              .log_y = true});
  prem_status status = PREM_OK;
  for (int64_t i = 0; i < count && status == PREM_OK; ++i) {
    status = measure(context, &of[i], findings, points, diag);
    prem_experiment_progress(context, i + 1, count);
  }
  conclude(points, findings);
  return status;
}

const prem_experiment prem_best_effort_experiment = {
    .name = "best_effort",
    .title = "Critical tasks beside a full load",
    .question = "What does a load do to critical tasks, and what does the load keep?",
    .backends = "cuda cpu sim",
    .run = run};
