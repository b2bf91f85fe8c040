/* SPDX-License-Identifier: Apache-2.0 */
#include "command/options.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"

#define OF OPTIONS_OF

/* By name. */
static const struct {
  uint32_t groups;
  const char *name;
  int key;
  const char *arg, *doc;
  const char *values; /* see command_list_options() */
  int flags;
} table[] = {
    {OF(PROFILE), "anew", OPTION_ANEW,
     .doc = "with --times planned: only the plan is run, and its times take the place of the "
            "schedule's, shorter ones as well"},
    {OF(KERNEL_TEST), "arg", OPTION_ARG, .arg = "KEY=VALUE",
     .doc = "an argument of the kernel, as in a task's `args`; one option for each"},
    {OF(MEASURING) | OF(OBSERVING) | OF(FIT), "backend", 'b', .arg = "NAME",
     .doc = "auto (default: the best that is available), cuda, cpu or sim",
     .values = "auto @backends"},
    {OF(EXPERIMENT), "backend", 'b', .arg = "NAME",
     .doc = "auto (default: the best that is available), cuda or cpu", .values = "auto @backends"},
    {OF(MEASURING), "break", OPTION_BREAK, .arg = "NS",
     .doc = "stop after the launch in which a release comes more than NS ns late, say which, and "
            "exit with 5; what was measured is kept and written"},
    {OF(KERNEL_TEST), "cases", OPTION_CASES, .arg = "N",
     .doc = "test so many random sets of arrays and tile that the kernel takes; default 50"},
    {OF(ISOLATE), "companies", OPTION_COMPANIES, .arg = "NAME,...",
     .doc = "of best-effort tasks: measure these alone, each longer in the same time; default: all "
            "of alone, cold, gate, no-gate, partition, gated-graph and graph"},
    {OF(MEASURING), "cores", OPTION_CORES, .arg = "LIST",
     .doc = "on cpu: the blocks with work, in their order, run on these cores: 2,3 or 4-7"},
    {OF(OBSERVING), "discard", OPTION_DISCARD, .arg = "N",
     .doc = "more runs at each start that are not counted; default: the file's"},
    {OF(MEASURING), "duration", 'd', .arg = "T",
     .doc = "stop after so long: 90, 90s, 500ms, 2min; default: no limit"},
    {OF(MEASURING) | OF(OBSERVING) | OF(FIT), "engine", OPTION_ENGINE, .arg = "NAME",
     .flags = OPTION_HIDDEN}, /* for tests: best, bulk, cp_async or vector */
    {OF(PLAN), "export", OPTION_EXPORT, .arg = "CSV",
     .doc = "write the plan as CSV, a row for each phase; `-` is stdout. Without --output no "
            "schedule is written",
     .values = "@files *.csv"},
    {OF(MEASURING), "errands", OPTION_ERRANDS, .arg = "E",
     .doc =
         "what comes to the servers in each run: a CSV file of at_ns,task,first_tile,tile_count; "
         "`random` or `dense`: as their arrival models allow, at random, or as many as may",
     .values = "@files"},
    {OF(MEASURING), "fifo", OPTION_FIFO, .arg = "PRIORITY",
     .doc = "on cpu: the blocks' threads are scheduled by SCHED_FIFO, 1 to 99"},
    {OF(TRACE), "format", 'f', .arg = "NAME",
     .doc = "perfetto (protobuf, for ui.perfetto.dev) or csv", .values = "perfetto csv"},
    {OF(RUN), "frames", OPTION_FRAMES, .arg = "N",
     .doc = "with --live: end when each input was handed so many frames"},
    {OF(TUNE), "from", OPTION_FROM, .arg = "NS",
     .doc = "least offset; default: a 4th of the file's"},
    {OF(FIT), "goal", OPTION_GOAL, .arg = "WHICH",
     .doc =
         "response (each job as soon as possible) or cycle (the shortest of all); default: the "
         "`objective` of the file's policy. Or late=PERCENT: as --late, and no plan that keeps it "
         "is too long",
     .values = "response cycle late="},
    {OF(RUN), "histogram", OPTION_HISTOGRAM, .arg = "H",
     .doc = "with --live: write ages and latenesses of results as histograms that gnuplot reads; "
            "`-` is stdout",
     .values = "@files"},
    {OF(ISOLATE), "hostile", OPTION_HOSTILE, .arg = "KERNEL",
     .doc =
         "of hostile tasks: any with an f32 vector `in` and one `out`, also of your own; default: "
         "vector_increment",
     .values = "@list kernels"},
    {OF(PLAN), "import", OPTION_IMPORT, .arg = "CSV",
     .doc = "make no plan, but take this one, as --export writes it; the checker judges it as any "
            "other. `-` is stdin",
     .values = "@files *.csv"},
    {OF(TUNE), "isolation", OPTION_ISOLATION, .arg = "RATIO",
     .doc = "p99.9 (the longest, with fewer than 10000) of memory phases, with neighbours / alone; "
            "default: no limit"},
    {OF(PLAN), "json", 'j', .arg = "R", .doc = "what came of it, as JSON; `-` is stdout",
     .values = "@files"},
    {OF(CHECK), "json", 'j', .arg = "R",
     .doc = "the verdicts as JSON as well; `-` is stdout, in place of the lines",
     .values = "@files"},
    {OF(MEASURING), "json", 'j', .arg = "R",
     .doc = "write the result as JSON, times in ns, and the raw samples beside it",
     .values = "@files"},
    {OF(OBSERVING) | OF(FIT), "json", 'j', .arg = "R",
     .doc = "write what was found as JSON, times in ns; `-` is stdout", .values = "@files"},
    {OF(PLAN), "keep", OPTION_KEEP, .arg = "OLD",
     .doc = "keep the plan of OLD wherever it still holds and move as few phases as possible; OLD "
            "may be FILE, and its plan need not be legal any more",
     .values = "@files *.cfg"},
    {OF(TUNE), "late", OPTION_LATE, .arg = "PERCENT", .doc = "of releases may be late; default 0"},
    {OF(FIT), "late", OPTION_LATE, .arg = "PERCENT",
     .doc = "of releases may be late in a plan that has settled; default 0.001. Ten times as many "
            "count as 20 % more length"},
    {OF(MEASURING), "late-log", OPTION_LATE_LOG, .arg = "L",
     .doc =
         "write every late release as CSV, however long the runs are: 65 536 of each launch; `-` "
         "is stdout",
     .values = "@files"},
    {OF(TRACE), "late-ns", OPTION_LATE_NS, .arg = "NS",
     .doc = "perfetto: show a release as late above so many ns, as the schedule's late_ns; "
            "default 0"},
    {OF(TUNE), "lateness", OPTION_LATENESS, .arg = "NS",
     .doc = "worst lateness; default: no limit"},
    {OF(RUN), "live", OPTION_LIVE,
     .doc = "open a live session: feed its inputs, wait for its outputs, count, until --duration, "
            "--frames or Ctrl-C; a line each second"},
    {OF(MEASURING), "lock-memory", OPTION_LOCK_MEMORY,
     .doc = "on cpu: keep all pages of the process in memory (mlockall)"},
    {OF(PROFILE), "margin", OPTION_MARGIN, .arg = "PERCENT",
     .doc = "room in wcet_ns above the longest time seen, or the quantile; default 0"},
    {OF(FIT), "margin", OPTION_MARGIN, .arg = "PERCENT",
     .doc = "room above the longest times; default: 5, with periods 20, with best-effort tasks 10, "
            "and twice as much each time that the plan does not settle"},
    {OF(RUN), "metrics", OPTION_METRICS, .arg = "M",
     .doc = "with --live: write all counts for Prometheus, anew each second", .values = "@files"},
    {OF(RUN), "mode", 'm', .arg = "MODE", .doc = "tt (default) or another one of `ttprem list`",
     .values = "@modes"},
    {OF(COMPARE), "modes", 'm', .arg = "MODE,...",
     .doc = "of those that `ttprem list` names; default: the file's, of these what the backend has",
     .values = "@list modes"},
    {OF(ISOLATE), "modes", 'm', .arg = "MODE,...", .doc = "any modes but copy; default: tt,free",
     .values = "@list modes"},
    {OF(MEASURING), "no-records", OPTION_NO_RECORDS,
     .doc = "record no stamps of single phases, only counts: no violations, no causes"},
    {OF(MEASURING), "no-save", OPTION_NO_SAVE, .doc = "write no array, whatever the file says"},
    {OF(PLAN), "output", 'o', .arg = "OUT", .doc = "where to write; `-`, the default: stdout",
     .values = "@files"},
    {OF(TRACE), "output", 'o', .arg = "OUT", .doc = "default, and `-`: stdout", .values = "@files"},
    {OF(REPORT), "output", 'o', .arg = "OUT.html", .doc = "the page to write; `-` is stdout",
     .values = "@files"},
    {OF(PROFILE), "output", 'o', .arg = "OUT", .doc = "the profile to write; `-` is stdout",
     .values = "@files"},
    {OF(ISOLATE), "output", 'o', .arg = "OUT", .doc = "the same as --json", .values = "@files"},
    {OF(FIT), "output", 'o', .arg = "PLANNED",
     .doc = "the schedule with its plan; its profile is written beside it. It may be FILE",
     .values = "@files *.cfg"},
    {OF(TUNE), "output", 'o', .arg = "OUT",
     .doc =
         "write the tuned schedule: the file with the offset and the plan changed; `-` is stdout",
     .values = "@files"},
    {OF(EXPERIMENT), "output", 'o', .arg = "DIR",
     .doc = "folder for NAME.json, NAME.svg and NAME.png, made if need be; default: nothing is "
            "written",
     .values = "@folders"},
    {OF(TUNE), "overruns", OPTION_OVERRUNS, .arg = "PERCENT",
     .doc = "of phases may overrun; default 0"},
    /* Experiments start the command with it themselves. */
    {OF(EXPERIMENT), "part", OPTION_PART, .arg = "WORDS", .flags = OPTION_HIDDEN},
    {OF(MEASURING), "picture", OPTION_PICTURE, .arg = "P",
     .doc = "draw scheduled against real phases: P.svg, P.png or P.pdf, several by giving it "
            "again; needs "
            "gnuplot",
     .values = "@files"},
    {OF(OBSERVING), "picture", OPTION_PICTURE, .arg = "P",
     .doc = "draw what was found: P.svg, P.png, or P.pdf for a paper's column; needs gnuplot",
     .values = "@files"},
    {OF(EXPERIMENT), "picture", OPTION_PICTURE, .arg = "P",
     .doc = "of FINDINGS.json: draw it to P.svg, P.png, or P.pdf for a paper's column",
     .values = "@files"},
    {OF(PLAN), "policy", 'P', .arg = "POLICY", .doc = "of `ttprem list`; default: the file's",
     .values = "@policies"},
    {OF(TUNE), "precision", OPTION_PRECISION, .arg = "PERCENT",
     .doc = "of the offset, where the search may end; default 1; 0: to the clock's step"},
    {OF(PLAN) | OF(CHECK) | OF(MEASURING) | OF(OBSERVING), "profile", 'p', .arg = "NAME",
     .doc = "WCETs from this profile of the file"},
    {OF(FIT), "profile", 'p', .arg = "NAME",
     .doc = "on sim: times from this profile of the file; elsewhere all times are measured"},
    {OF(PROFILE), "quantile", OPTION_QUANTILE, .arg = "PERCENT",
     .doc = "wcet_ns bounds the time that so many phases do not exceed, with 95 % confidence; or "
            "`longest`. Default: the longest time, on a disturbed machine 99.9 or 99, whichever "
            "there are samples for"},
    {OF(EXPERIMENT), "quick", OPTION_QUICK, .doc = "fewer points and repetitions: a look at it"},
    {OF(COMMON), "quiet", 'q', .doc = "no notes, warnings and progress on stderr"},
    {OF(PROFILE), "raise", OPTION_RAISE,
     .doc = "as --anew, but no wcet_ns and no hand-over gets shorter than in the schedule, so that "
            "profiling and planning by turns settle"},
    {OF(RUN), "rate", OPTION_RATE, .arg = "[STREAM=]HZ",
     .doc =
         "with --live: frames a second of all inputs, or of this one; default: as its tasks read "
         "them, a trigger's back to back"},
    {OF(PROFILE), "regulated", OPTION_REGULATED,
     .doc = "for plans whose memory phases overlap: wcet_ns in company, busy_ns from the bytes and "
            "the measured bandwidth"},
    {OF(MEASURING), "repeat", 'n', .arg = "N",
     .doc = "runs, or hyperperiods when resident; default: the file's, on sim 1"},
    {OF(OBSERVING), "repeat", 'n', .arg = "N",
     .doc = "runs, or hyperperiods when resident, of each measurement; default: the file's"},
    /* A copy of another machine's /proc and /sys. */
    {OF(DOCTOR), "root", OPTION_ROOT, .arg = "DIR", .flags = OPTION_HIDDEN},
    {OF(OBSERVING), "rounds", OPTION_ROUNDS, .arg = "N",
     .doc = "over which the runs are spread, in random order in each; default 5"},
    {OF(TRACE), "run", OPTION_RUN, .arg = "N", .doc = "this run alone"},
    {OF(MEASURING), "save-anywhere", OPTION_SAVE_ANYWHERE,
     .doc = "let the file save its arrays outside the working folder as well; only for a file that "
            "you trust"},
    {OF(MEASURING), "scenario", OPTION_SCENARIO, .arg = "NAME",
     .doc = "relaunch (a launch for each run) or resident (one launch, hyperperiod after "
            "hyperperiod); default: the file's",
     .values = "relaunch resident"},
    {OF(OBSERVING), "scenario", OPTION_SCENARIO, .arg = "NAME",
     .doc = "relaunch or resident; default: the file's", .values = "relaunch resident"},
    {OF(KERNEL_TEST), "schedule", OPTION_SCHEDULE, .arg = "FILE",
     .doc = "test the kernel in this schedule instead, with its arrays, tiles and arguments",
     .values = "@files *.cfg"},
    {OF(EXPERIMENT), "schedules", OPTION_SCHEDULES, .arg = "DIR",
     .doc = "folder with figures/ and examples/; default: schedules, or where there is none those "
            "that were installed with the command",
     .values = "@folders"},
    {OF(PLAN), "seed", 's', .arg = "N", .doc = "of the search; default 0"},
    {OF(MEASURING), "seed", OPTION_SEED, .arg = "N",
     .doc = "of the random order of the modes; default 1"},
    {OF(FIT), "seed", OPTION_SEED, .arg = "N", .doc = "of random orders and searches; default 1"},
    {OF(OBSERVING), "seed", OPTION_SEED, .arg = "N", .doc = "of the random orders; default 1"},
    {OF(EXPERIMENT) | OF(KERNEL_TEST), "seed", OPTION_SEED, .arg = "N",
     .doc = "of all that is random; default 1"},
    {OF(MEASURING) | OF(ISOLATE), "sentinel", OPTION_SENTINEL,
     .doc = "on cuda: a block of its own notes when the GPU stands still for more than 10 us; jobs "
            "with such a stall are told apart"},
    {OF(PROFILE), "steady", OPTION_STEADY,
     .doc = "leave the first tile of each block out of wcet_ns, for plans that warm up; a policy "
            "with warmup_tiles does so by itself"},
    {OF(PLAN), "steps", 'n', .arg = "N",
     .doc = "end the search after N schedules: the same plan for the same seed, however fast the "
            "machine"},
    {OF(MEASURING), "strict", OPTION_STRICT,
     .doc = "exit status 1 on a missed deadline, and on a late release or an overrun in mode tt"},
    {OF(PLAN), "svg", OPTION_SVG, .arg = "P",
     .doc = "draw the plan, blocks as rows and beneath them the use of each resource: P.svg, "
            "P.png, or P.pdf for a paper's column; needs gnuplot",
     .values = "@files"},
    {OF(CHECK), "svg", OPTION_SVG, .arg = "P",
     .doc =
         "draw the plan in the one FILE, as `ttprem plan --svg` does: P.svg, P.png or P.pdf; needs "
         "gnuplot",
     .values = "@files"},
    /* The verbs that measure call it so. */
    {OF(PLAN) | OF(CHECK), "picture", OPTION_SVG, .arg = "P", .flags = OPTION_HIDDEN},
    {OF(TUNE), "sweep", OPTION_SWEEP, .arg = "STEP_NS",
     .doc = "measure the whole range as well; default step: a 24th of it",
     .flags = OPTION_ARG_OPTIONAL},
    {OF(TRACE), "task", OPTION_TASK, .arg = "NAME", .doc = "this task alone"},
    {OF(NEW), "template", OPTION_TEMPLATE, .arg = "WHICH",
     .doc = "tasks (default: a schedule with three tasks), live (a program with a live session), "
            "kernel (a kernel of your own, and a command that has it) or python (three tasks in "
            "Python)",
     .values = "tasks live kernel python"},
    {OF(KERNEL_TEST), "tile", OPTION_TILE, .arg = "LIST",
     .doc = "a tile that the kernel needs, as in a task: '[ 8, 8 ]'; default: random ones"},
    {OF(PLAN), "time-limit", 't', .arg = "T",
     .doc = "of planning: 90, 90s, 500ms, 2min; default 10 s, or none with --steps. The first plan "
            "is made whatever it takes; 0: that one only"},
    {OF(FIT), "time-limit", 't', .arg = "T",
     .doc = "of all of it: 90, 90s, 2min; default 2 min. One plan is made whatever it takes"},
    {OF(RUN), "timeline", OPTION_TIMELINE, .arg = "P",
     .doc = "with --live: write phases, and what the host did, for ui.perfetto.dev; `-` is stdout",
     .values = "@files"},
    {OF(PROFILE), "times", OPTION_TIMES, .arg = "WHICH",
     .doc = "wcet_ns from the times alone (default), in company, or planned: of all tasks by the "
            "file's plan",
     .values = "alone company planned"},
    {OF(TUNE), "to", OPTION_TO, .arg = "NS", .doc = "largest offset; default: 4 times the file's"},
    {OF(RUN), "trace", 't', .arg = "T",
     .doc = "write every phase of every counted run as CSV, times in ns from the run's start; `-` "
            "is stdout",
     .values = "@files"},
    {OF(TUNE), "tries", OPTION_TRIES, .arg = "N",
     .doc = "measurements in a row that must keep the limits; default 3"},
    {OF(MEASURING), "verify-every", OPTION_VERIFY_EVERY, .arg = "N",
     .doc = "resident: as many launches as it takes to verify the outputs after every Nth "
            "hyperperiod that counts; default: after the last of each of 10 launches"},
    {OF(MEASURING) | OF(PROFILE), "with-disturbed", OPTION_WITH_DISTURBED,
     .doc = "on cpu: count jobs that were disturbed, as the operating system took a core away, "
            "among the others; they are told apart otherwise"},
};
enum { TABLE_COUNT = sizeof table / sizeof table[0] };

struct argp_option command_options[OPTIONS_GROUPS][OPTIONS_MAX + 1];

static void fill_group(command_group group) {
  struct argp_option *to = command_options[group], *const end = to + OPTIONS_MAX;
  for (size_t i = 0; i < TABLE_COUNT && to < end; ++i)
    if (table[i].groups >> group & 1U)
      *to++ = (struct argp_option){.name = table[i].name,
                                   .key = table[i].key,
                                   .arg = table[i].arg,
                                   .flags = table[i].flags,
                                   .doc = table[i].doc};
}

const char *command_option_name(int key) {
  for (size_t i = 0; i < TABLE_COUNT; ++i)
    if (table[i].key == key)
      return table[i].name;
  return "?";
}

static double parse_number(struct argp_state *state, const char *option, const char *text,
                           double most) {
  char *end;
  const double value = strtod(text, &end);
  if (end == text || *end || !(value >= 0) || value > most)
    argp_error(state, "%s: '%s' is not a number from 0 to %g", option, text, most);
  return value;
}

/* "--steps": a letter may stand for several names, but for one in a group. */
static void name_of(command_group group, int key, char name[64]) {
  size_t i = 0;
  while (i < TABLE_COUNT && (table[i].key != key || !(table[i].groups >> group & 1U)))
    ++i;
  snprintf(name, 64, "--%s", i < TABLE_COUNT ? table[i].name : "?");
}

static void store(const command_store *to, const char *option, char *text,
                  struct argp_state *state) {
  void *at = (char *)state->input + to->offset;
  int64_t value;
  switch (to->kind) {
  case STORE_FLAG:
    *(bool *)at = true;
    break;
  case STORE_INTEGER:
    value = command_parse_int(state, option, text, to->least, to->most);
    memcpy(at, to->bytes == 4 ? (void *)&(int32_t){(int32_t)value} : &value, to->bytes);
    break;
  case STORE_NUMBER:
    *(double *)at = parse_number(state, option, text, (double)to->most);
    break;
  case STORE_OPERAND:
    if (*(char **)at)
      argp_error(state, "one %s at a time", to->operand);
    *(char **)at = text;
    break;
  case STORE_PICTURE:
    command_check_picture(state, option, text);
    /* fall through */
  case STORE_TEXT:
    *(char **)at = text;
  }
}

error_t command_take(const command_store *stores, command_group group, int key, char *text,
                     struct argp_state *state) {
  char option[64];
  const int sought = key == ARGP_KEY_NO_ARGS ? ARGP_KEY_ARG : key;
  while (stores->bytes && stores->key != sought)
    ++stores;
  if (!stores->bytes || (key == ARGP_KEY_NO_ARGS && stores->kind != STORE_OPERAND))
    return ARGP_ERR_UNKNOWN;
  name_of(group, key, option);
  if (key == ARGP_KEY_NO_ARGS)
    argp_error(state, "no %s", stores->operand);
  else
    store(stores, option, text, state);
  return 0;
}

void command_parse(const struct argp *argp, int argc, char **argv, void *input) {
  for (int group = 0; group < OPTIONS_GROUPS; ++group)
    fill_group((command_group)group);
  argp_parse(argp, argc, argv, 0, NULL, input);
}

void command_list_options(uint32_t groups, FILE *file) {
  for (size_t i = 0; i < TABLE_COUNT; ++i) {
    if (!(table[i].groups & groups) || table[i].flags & OPTION_HIDDEN)
      continue;
    if (table[i].key < 256)
      fprintf(file, "-%c ", table[i].key);
    const bool takes_value = table[i].arg && !(table[i].flags & OPTION_ARG_OPTIONAL);
    fprintf(file, "--%s%s\t%s\n", table[i].name, takes_value ? "=" : "",
            table[i].values ? table[i].values : "");
  }
  /* those that argp adds */
  fputs("-? --help\t\n--usage\t\n-V --version\t\n", file);
}
