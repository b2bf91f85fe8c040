/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How near to the best known makespan does the planner come? Reads a folder of instances: index.csv
 * with the lines FILE,CLASS,OPTIMUM,PROVEN, and the files. One line for each instance, then the
 * means of each class. Not a test.
 *
 *   bench_instances FOLDER [SECONDS [SEED [WORD]]]    WORD: only classes that contain it
 *
 * Seconds are those of one core (processor time), so that a machine with other work to do tells the
 * same.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "ttprem/ttprem.h"

enum { MAX_CLASSES = 64, LINE_BYTES = 512 };

/** Means over the instances of a class. */
typedef struct class_sum {
  char name[64];
  int count, reached;
  double gap_pct, worst_pct, seconds;
} class_sum;

static class_sum classes[MAX_CLASSES];

/* ---- time of the processor ------------------------------------------------------------------ */

static volatile sig_atomic_t over;

static void end_time(int signal_number) {
  (void)signal_number;
  over = 1;
}

static void begin_time(double seconds) {
  const struct timeval limit = {.tv_sec = (time_t)seconds,
                                .tv_usec = (suseconds_t)(seconds * 1e6) % 1000000};
  over = 0;
  setitimer(ITIMER_PROF, &(struct itimerval){.it_value = limit}, NULL);
}

static double processor_s(void) {
  return (double)clock() / CLOCKS_PER_SEC;
}

/* ---- instances ------------------------------------------------------------------------------ */

static class_sum *class_of(const char *name) {
  for (int i = 0; i < MAX_CLASSES; ++i) {
    if (classes[i].count == 0)
      snprintf(classes[i].name, sizeof classes[i].name, "%s", name);
    if (strcmp(classes[i].name, name) == 0)
      return &classes[i];
  }
  fprintf(stderr, "more than %d classes\n", MAX_CLASSES);
  exit(EXIT_FAILURE);
}

static void print_problems(const prem_diag *diag) {
  for (size_t i = 0; i < prem_diag_count(diag); ++i) {
    char line[4096];
    prem_problem_format(prem_diag_at(diag, i), line, sizeof line);
    fprintf(stderr, "%s\n", line);
  }
}

/* Plan, and let the checker judge the plan. */
static bool plan(const char *path, const prem_plan_options *options, prem_plan_report *report) {
  prem_schedule *schedule = NULL;
  prem_plan *made = NULL;
  prem_diag *diag = prem_diag_new();
  prem_status status = prem_schedule_load(path, NULL, &schedule, diag);
  if (status == PREM_OK)
    status = prem_plan_make_reported(schedule, NULL, options, &made, report, diag);
  if (status == PREM_OK) {
    prem_schedule_set_plan(schedule, made);
    status = prem_check(schedule, NULL, diag);
  }
  if (status != PREM_OK) {
    print_problems(diag);
    fprintf(stderr, "%s: %s\n", path, prem_status_text(status));
  }
  prem_diag_free(diag);
  prem_schedule_free(schedule);
  return status == PREM_OK;
}

static bool bench(const char *folder, const char *file, const char *name, int64_t best_ns,
                  double limit_s, const prem_plan_options *options) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", folder, file);
  prem_plan_report report;
  double began_s = processor_s();
  begin_time(limit_s);
  if (!plan(path, options, &report))
    return false;
  double took_s = processor_s() - began_s;
  if (report.lower_bound_ns > best_ns) {
    fprintf(stderr, "%s: the lower bound %" PRId64 " is above the makespan %" PRId64 "\n", path,
            report.lower_bound_ns, best_ns);
    return false;
  }
  double gap_pct = 100.0 * (double)(report.makespan_ns - best_ns) / (double)best_ns;
  printf("%-20s best %8" PRId64 "  found %8" PRId64 "  gap %6.2f %%  bound %8" PRId64 "  %8" PRId64
         " steps  %6.2f s%s\n",
         file, best_ns, report.makespan_ns, gap_pct, report.lower_bound_ns, report.steps, took_s,
         report.optimal ? "  optimal" : "");
  fflush(stdout);
  class_sum *sum = class_of(name);
  ++sum->count;
  sum->reached += report.makespan_ns <= best_ns;
  sum->gap_pct += gap_pct;
  sum->worst_pct = gap_pct > sum->worst_pct ? gap_pct : sum->worst_pct;
  sum->seconds += took_s;
  return true;
}

static bool bench_all(const char *folder, const char *word, double limit_s,
                      const prem_plan_options *options) {
  char path[1024], line[LINE_BYTES];
  snprintf(path, sizeof path, "%s/index.csv", folder);
  FILE *index = fopen(path, "r");
  if (!index) {
    perror(path);
    return false;
  }
  bool good = true;
  while (fgets(line, sizeof line, index)) {
    char file[256], name[64];
    int64_t best_ns;
    if (sscanf(line, "%255[^,],%63[^,],%" SCNd64, file, name, &best_ns) != 3)
      continue; /* the header */
    if (!word || strstr(name, word))
      good = bench(folder, file, name, best_ns, limit_s, options) && good;
  }
  fclose(index);
  return good;
}

int main(int argc, char **argv) {
  const char *folder = argc > 1 ? argv[1] : getenv("TTPREM_INSTANCES");
  if (!folder) {
    fprintf(stderr, "bench_instances FOLDER [SECONDS [SEED [WORD]]]\n");
    return EXIT_FAILURE;
  }
  double seconds = argc > 2 ? atof(argv[2]) : 10;
  signal(SIGPROF, end_time);
  prem_plan_options options = {.time_limit_ns = INT64_C(1000000000) * 86400,
                               .seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 0,
                               .stop = &over};
  bool good = bench_all(folder, argc > 4 ? argv[4] : NULL, seconds, &options);
  for (int i = 0; i < MAX_CLASSES && classes[i].count; ++i)
    printf("%-28s %4d instances  gap %6.3f %% in the mean, %5.2f at worst  best reached %4d  "
           "mean %6.2f s\n",
           classes[i].name, classes[i].count, classes[i].gap_pct / classes[i].count,
           classes[i].worst_pct, classes[i].reached, classes[i].seconds / classes[i].count);
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
