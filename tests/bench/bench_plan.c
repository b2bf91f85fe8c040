/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long does the planner take, and how near to a planted optimum does it come? Not a test.
 *
 * The curve: constructive plans from ten thousand to a million phases, of equal tiles (`equal`), of
 * another length on every block (`mixed`), and of tasks of random lengths and six tiles on random
 * blocks (`random`); how long they take to be planned, checked, written and read, and to be planned
 * anew with that plan to keep when one task takes a nanosecond longer. Then planted optima
 * (planted.h), searched for as many seconds as are given (default 10; 0: the curve alone), and 200
 * planted sets of gangs with a second resource, each searched for 40 000 schedules.
 *
 *   bench_plan [SECONDS]
 */
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/common/planted.h"
#include "ttprem/ttprem.h"

enum { BLOCKS = 132 };

static void print_equal(FILE *file, long phases) {
  fprintf(file,
          "version = 1; name = \"equal\"; platform: { blocks = %d; };\ntasks = ( { name = \"a\";"
          " kernel = \"none\"; blocks = %d; tiles = %ld; prefetch: { wcet_ns = 10L; };"
          " compute: { wcet_ns = 2000L; }; writeback: { wcet_ns = 5L; }; } );\n",
          BLOCKS, BLOCKS, phases / 3);
}

static void print_mixed(FILE *file, long phases) {
  fprintf(file, "version = 1; name = \"mixed\"; platform: { blocks = %d; };\ntasks = (\n", BLOCKS);
  for (int b = 0; b < BLOCKS; ++b)
    fprintf(file,
            "{ name = \"t%d\"; kernel = \"none\"; blocks = [ %d ]; tiles = %ld;"
            " prefetch: { wcet_ns = %dL; }; compute: { wcet_ns = %dL; };"
            " writeback: { wcet_ns = %dL; }; }%s\n",
            b, b, phases / 3 / BLOCKS + 1, 10 + b % 7, 1500 + 37 * (b % 29), 5 + b % 5,
            b + 1 < BLOCKS ? "," : "");
  fputs(");\n", file);
}

static void print_random(FILE *file, long phases) {
  enum { TILES = 6 };
  uint64_t state = 1;
  fprintf(file, "version = 1; name = \"random\"; platform: { blocks = %d; };\ntasks = (\n", BLOCKS);
  long tasks = phases / 3 / TILES + 1;
  for (long t = 0; t < tasks; ++t)
    fprintf(file,
            "{ name = \"t%ld\"; kernel = \"none\"; blocks = [ %d ]; tiles = %d;"
            " prefetch: { wcet_ns = %" PRId64 "L; }; compute: { wcet_ns = %" PRId64
            "L; }; writeback: { wcet_ns = %" PRId64 "L; }; }%s\n",
            t, (int)(planted_random(&state) % BLOCKS), TILES, planted_length(&state),
            40 * planted_length(&state), planted_length(&state), t + 1 < tasks ? "," : "");
  fputs(");\n", file);
}

static prem_schedule *load_unlinked(FILE *file, const char *path) {
  fclose(file);
  prem_schedule *schedule = NULL;
  prem_status status = prem_schedule_load(path, NULL, &schedule, NULL);
  unlink(path);
  if (status != PREM_OK)
    fprintf(stderr, "%s: %s\n", path, prem_status_text(status));
  return schedule;
}

static bool plan(prem_schedule *schedule, const prem_plan_options *options,
                 prem_plan_report *report) {
  prem_plan *made = NULL;
  prem_status status = prem_plan_make_reported(schedule, NULL, options, &made, report, NULL);
  if (status == PREM_OK) {
    prem_schedule_set_plan(schedule, made);
    status = prem_check(schedule, NULL, NULL);
  }
  if (status != PREM_OK)
    fprintf(stderr, "%s: %s\n", schedule->name, prem_status_text(status));
  return status == PREM_OK;
}

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static FILE *open_scratch(char *path) {
  int descriptor = mkstemps(path, 4);
  FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
  if (!file)
    perror(path);
  return file;
}

/* Write the plan and read it again. */
static bool write_and_read(prem_schedule *schedule, const char *path, double *write_s,
                           double *read_s, int64_t *bytes) {
  prem_schedule *read = NULL;
  struct stat facts;
  double before = seconds_now();
  bool good = prem_schedule_save(schedule, path, NULL) == PREM_OK && stat(path, &facts) == 0;
  *write_s = seconds_now() - before;
  before = seconds_now();
  good = good && prem_schedule_load(path, NULL, &read, NULL) == PREM_OK;
  *read_s = seconds_now() - before;
  *bytes = good ? facts.st_size : 0;
  unlink(path);
  prem_schedule_free(read);
  return good;
}

static int64_t peak_bytes(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (int64_t)usage.ru_maxrss * 1024;
}

/* One task takes a nanosecond longer: plan anew with the plan at hand. */
static bool plan_anew(prem_schedule *schedule, prem_plan_report *report) {
  prem_plan_options options = {.keep = schedule};
  prem_plan *made = NULL;
  ++schedule->tasks[0].phase[PREM_PREFETCH].wcet_ns;
  ++schedule->tasks[0].phase[PREM_PREFETCH].busy_ns;
  prem_status status = prem_plan_make_reported(schedule, NULL, &options, &made, report, NULL);
  if (status == PREM_OK) {
    prem_schedule_set_plan(schedule, made);
    status = prem_check(schedule, NULL, NULL);
  }
  return status == PREM_OK;
}

static int bench_curve(long phases, void (*print)(FILE *, long)) {
  char path[] = "/tmp/ttprem-bench-XXXXXX.cfg";
  FILE *file = open_scratch(path);
  if (!file)
    return EXIT_FAILURE;
  print(file, phases);
  prem_schedule *schedule = load_unlinked(file, path);
  prem_plan_report report, anew;
  double before = seconds_now(), write_s = 0, read_s = 0;
  bool good = schedule && plan(schedule, &(prem_plan_options){0}, &report);
  double check_s = good ? seconds_now() - before - report.seconds : 0;
  int64_t bytes = 0;
  good = good && write_and_read(schedule, path, &write_s, &read_s, &bytes);
  int64_t peak = peak_bytes();
  good = good && plan_anew(schedule, &anew);
  if (good)
    printf("%-8s %9" PRId64 " phases  planned %7.3f s  checked %6.3f s  written %6.3f s  read %6.3f"
           " s  %8.1f kB  peak: to plan %6.1f MiB, of all %6.1f MiB  anew %7.3f s, %" PRId64
           " moved\n",
           schedule->name, report.phases, report.seconds, check_s, write_s, read_s,
           (double)bytes * 1e-3, (double)report.peak_bytes / 0x1p20, (double)peak / 0x1p20,
           anew.seconds, anew.moved);
  prem_schedule_free(schedule);
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* In a process of its own, so that the peak is its own as well. */
static bool bench_alone(long phases, void (*print)(FILE *, long)) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0)
    exit(bench_curve(phases, print));
  int status = EXIT_FAILURE;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static bool bench_planted(int32_t tiles, int32_t blocks, double seconds) {
  char path[] = "/tmp/ttprem-bench-XXXXXX.cfg";
  planted_tile *drawn = (planted_tile *)calloc((size_t)tiles, sizeof *drawn);
  FILE *file = drawn ? open_scratch(path) : NULL;
  if (!file) {
    free(drawn);
    return false;
  }
  int64_t best_ns = planted_draw(drawn, tiles, blocks, 3);
  planted_print(file, drawn, tiles, blocks, 7);
  free(drawn);
  prem_schedule *schedule = load_unlinked(file, path);
  prem_plan_report report;
  const prem_plan_options options = {.time_limit_ns = (int64_t)(seconds * 1e9)};
  bool good = schedule && plan(schedule, &options, &report);
  if (good)
    printf("planted  %9" PRId64 " phases  %4" PRId32 " blocks  optimum %9" PRId64
           "  found %9" PRId64 "  gap %6.3f %%  %6" PRId64 " steps  %6.2f s  peak %7.1f MiB\n",
           report.phases, blocks, best_ns, report.makespan_ns,
           100.0 * (double)(report.makespan_ns - best_ns) / (double)best_ns, report.steps,
           report.seconds, (double)report.peak_bytes / 0x1p20);
  fflush(stdout);
  prem_schedule_free(schedule);
  return good && report.makespan_ns >= best_ns && report.lower_bound_ns <= best_ns;
}

enum { GANG_SETS = 200, GANG_STEPS = 40000 };

static bool bench_gang(uint64_t seed, double *gap_pct) {
  char path[] = "/tmp/ttprem-bench-XXXXXX.cfg";
  planted_gangs set = planted_gangs_draw(seed);
  FILE *file = open_scratch(path);
  if (!file)
    return false;
  planted_gangs_print(file, &set);
  prem_schedule *schedule = load_unlinked(file, path);
  prem_plan_options options = {.time_limit_ns = PREM_MAX_NS, .step_limit = GANG_STEPS};
  prem_plan_report report;
  bool good = schedule && plan(schedule, &options, &report);
  *gap_pct = 100.0 * (double)(report.makespan_ns - set.optimum_ns) / (double)set.optimum_ns;
  prem_schedule_free(schedule);
  return good && report.makespan_ns >= set.optimum_ns && report.lower_bound_ns <= set.optimum_ns;
}

static bool bench_gangs(void) {
  double sum_pct = 0, worst_pct = 0;
  int reached = 0;
  bool good = true;
  for (uint64_t seed = 0; seed < GANG_SETS && good; ++seed) {
    double gap_pct;
    good = bench_gang(seed, &gap_pct);
    sum_pct += gap_pct;
    worst_pct = gap_pct > worst_pct ? gap_pct : worst_pct;
    reached += gap_pct == 0;
  }
  printf("gangs    %9d sets, %d schedules each  optimum reached %d  gap %6.3f %% in the mean, %.2f "
         "at worst\n",
         GANG_SETS, GANG_STEPS, reached, sum_pct / GANG_SETS, worst_pct);
  return good;
}

int main(int argc, char **argv) {
  static const int32_t planted[][2] = {{50, 4},     {200, 8},    {500, 33},   {2000, 16},
                                       {5000, 132}, {20000, 66}, {50000, 16}, {50000, 132}};
  double seconds = argc > 1 ? atof(argv[1]) : 10;
  bool good = true;
  static void (*const prints[])(FILE *, long) = {print_equal, print_mixed, print_random};
  static const long sizes[] = {10000, 30000, 100000, 300000, 1000000};
  for (size_t i = 0; i < sizeof prints / sizeof prints[0]; ++i)
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; ++k)
      good = bench_alone(sizes[k], prints[i]) && good;
  for (size_t i = 0; i < sizeof planted / sizeof planted[0] && seconds > 0; ++i)
    good = bench_planted(planted[i][0], planted[i][1], seconds) && good;
  if (seconds > 0)
    good = bench_gangs() && good;
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
