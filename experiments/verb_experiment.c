/* SPDX-License-Identifier: Apache-2.0 */
/* ttprem experiment: repeat the tables and figures of the literature. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command/command.h"
#include "command/progress.h"
#include "experiments/experiment_list.h"
#include "experiments/sweep/sweep.h"
#include "prem/base/clock.h"
#include "ttprem/output.h"

/* The group that repeats a thesis, chapter by chapter. */
static const char thesis_group[] = "thesis";

/* What repeating may take of a quick look, where no group gives it a part of its own time. */
#define QUICK_NS INT64_C(1000000000)
/* From one writing of what is found so far to the next. */
#define KEEP_NS INT64_C(5000000000)

typedef struct experiment_options {
  const char *name, *backend, *folder, *picture, *schedules, *part;
  bool quick;
  uint64_t seed;
} experiment_options;

static bool is_file(const char *name) {
  const size_t length = strlen(name);
  return length > 5 && strcmp(name + length - 5, ".json") == 0;
}

static const command_store stores[] = {
    TAKE_TEXT('b', experiment_options, backend),
    TAKE_TEXT('o', experiment_options, folder),
    TAKE_PICTURE(OPTION_PICTURE, experiment_options, picture),
    TAKE_FLAG(OPTION_QUICK, experiment_options, quick),
    TAKE_INTEGER(OPTION_SEED, experiment_options, seed, 0, INT64_MAX),
    TAKE_TEXT(OPTION_SCHEDULES, experiment_options, schedules),
    TAKE_TEXT(OPTION_PART, experiment_options, part),
    {0}};

static error_t parse(int key, char *text, struct argp_state *state) {
  experiment_options *options = state->input;
  switch (key) {
  case ARGP_KEY_ARG:
    if (options->name)
      argp_error(state, "one NAME at a time, `all`, or `thesis`");
    options->name = text;
    return 0;
  case ARGP_KEY_SUCCESS:
    if (options->picture && !is_file(options->name))
      argp_error(state, "--picture draws FINDINGS.json; of an experiment --output has pictures");
    command_check_outputs(state, options->name, (const char *const[]){options->picture}, 1);
    return 0;
  case ARGP_KEY_NO_ARGS:
    argp_error(state, "no NAME; `ttprem experiment list` names them");
    return 0;
  default:
    return command_take(stores, OPTIONS_EXPERIMENT, key, text, state);
  }
}

static const struct argp argp = {
    .options = command_options[OPTIONS_EXPERIMENT],
    .parser = parse,
    .children = command_common_children,
    .args_doc = "NAME|all|thesis|list|MINE.exp|FINDINGS.json",
    .doc =
        "Repeat a table or a figure of the literature on the machine at hand, and show the "
        "original's numbers beside it; `all` of them one after the other, those left out that the "
        "backend has no use for; `thesis`, those that repeat a thesis on time-triggered tiles, in "
        "its order, each within its part of eight minutes on a GPU or five elsewhere, and with "
        "--output as one report, thesis.md. `list` tells which there are. MINE.exp is an "
        "experiment of your own, in the format of experiments/sweep/README.md. A file of findings "
        "that was written before is shown, and with --output drawn, again.\v" COMMAND_EXIT_DOC,
};

/* ---- progress ------------------------------------------------------------------------------- */

typedef struct experiment_progress {
  progress line;
  const char *name;
  int number, all;         /* of the experiments */
  prem_findings *findings; /* NULL: they are not kept */
  const prem_machine *machine;
  const char *folder;
  int64_t kept_ns; /* by the host's clock */
} experiment_progress;

static void keep_so_far(experiment_progress *shown);

static void show_progress(void *context, int64_t done, int64_t all) {
  experiment_progress *shown = context;
  if (shown->findings && done > 0)
    keep_so_far(shown);
  progress_show(&shown->line, all > 0 ? (double)done / (double)all : 0, "%d/%d %s", shown->number,
                shown->all, shown->name);
}

/* ---- outputs -------------------------------------------------------------------------------- */

static bool make_folder(const char *path) {
  struct stat facts;
  if (mkdir(path, 0777) && errno != EEXIST) {
    command_error("%s: cannot be made: %s", path, strerror(errno));
    return false;
  }
  if (stat(path, &facts) || !S_ISDIR(facts.st_mode)) {
    command_error("%s: is no folder; name one with -o", path);
    return false;
  }
  if (access(path, W_OK | X_OK)) {
    command_error("%s: nothing can be written there: %s", path, strerror(errno));
    return false;
  }
  return true;
}

/* DIR/NAME.EXTENSION; free with free(). */
static char *output_path(const char *folder, const char *name, const char *extension) {
  char *path = NULL;
  return asprintf(&path, "%s/%s.%s", folder, name, extension) < 0 ? NULL : path;
}

/* Prints what went wrong; frees `diag`. */
static int tell(prem_status status, prem_diag *diag, const char *what) {
  command_print_diag(diag);
  if (status != PREM_OK && prem_diag_errors(diag) == 0)
    command_error("%s: %s", what, prem_status_text(status));
  prem_diag_free(diag);
  return command_exit_status(status);
}

/* The worse of two: a failure counts, whatever comes after it. */
static int join_status(int first, int second) {
  return first == COMMAND_DONE ? second : first;
}

/* Without gnuplot there are no pictures, which one line says and nothing fails for. */
static int draw(const prem_findings *findings, const char *name, const char *folder) {
  static const char *const extensions[] = {"svg", "png"};
  static bool without_gnuplot;
  int status = COMMAND_DONE;
  for (int i = 0; i < 2 && !without_gnuplot; ++i) {
    char *path = output_path(folder, name, extensions[i]);
    prem_diag *diag = prem_diag_new();
    prem_status drawn =
        path ? prem_findings_draw(findings, path, &command_stop, diag) : PREM_ERR_MEMORY;
    if (drawn == PREM_ERR_UNAVAILABLE) {
      without_gnuplot = true;
      command_note("no pictures: gnuplot is not on the PATH; install gnuplot-nox");
      prem_diag_free(diag);
    } else {
      status = join_status(status, tell(drawn, diag, path ? path : name));
    }
    free(path);
  }
  return status;
}

static int write_findings(const prem_findings *findings, const char *name,
                          const prem_machine *machine, const char *folder) {
  char *path = output_path(folder, name, "json");
  prem_diag *diag = prem_diag_new();
  prem_status written =
      path ? prem_findings_write(findings, machine, command_line, path, diag) : PREM_ERR_MEMORY;
  int status = tell(written, diag, path ? path : name);
  free(path);
  return join_status(status, draw(findings, name, folder));
}

/* Whatever ends the process, what took minutes is there. The end says what could not be written. */
static void keep_so_far(experiment_progress *shown) {
  const int64_t now_ns = prem_host_clock_ns();
  if (now_ns - shown->kept_ns < KEEP_NS)
    return;
  shown->kept_ns = now_ns;
  char *path = output_path(shown->folder, shown->name, "json");
  prem_diag *diag = prem_diag_new();
  if (path)
    prem_findings_write(shown->findings, shown->machine, command_line, path, diag);
  prem_diag_free(diag);
  free(path);
}

/* ---- running -------------------------------------------------------------------------------- */

/* Prints and keeps what an experiment found. */
static int keep(const prem_findings *findings, const prem_experiment *experiment,
                const prem_machine *machine, const experiment_options *options) {
  prem_findings_print(findings, stdout);
  fputc('\n', stdout);
  fflush(stdout);
  int status = COMMAND_DONE;
  if (prem_findings_wrong(findings)) {
    command_error("%s: wrong output", experiment->name);
    status = COMMAND_INVALID;
  }
  if (options->folder)
    status =
        join_status(status, write_findings(findings, experiment->name, machine, options->folder));
  return status;
}

/* What an experiment found, as a part of a report. */
static void add_to_report(FILE *report, const prem_findings *findings,
                          const prem_experiment *experiment) {
  fprintf(report, "%s\n\n![%s](%s.svg)\n\n```\n", experiment->question, experiment->title,
          experiment->name);
  prem_findings_print(findings, report);
  fputs("```\n\n", report);
}

/* A reader has to see which numbers rest on fewer repetitions than the experiment asks for. */
static void tell_budget(const prem_budget *budget, prem_findings *findings) {
  if (budget && budget->fewer > 0)
    prem_findings_note(findings,
                       "To keep within its time %" PRId64 " of %" PRId64
                       " rows were repeated less often than asked, one only %.2g %% as often.",
                       budget->fewer, budget->rows, 100 * budget->min);
}

static int run_one(const prem_experiment *experiment, prem_experiment_context *context,
                   experiment_progress *shown, const experiment_options *options, FILE *report) {
  prem_findings *findings =
      prem_findings_new(experiment->name, experiment->title, experiment->question);
  prem_diag *diag = prem_diag_new();
  if (!findings) {
    prem_diag_free(diag);
    command_error("%s: %s", experiment->name, prem_status_text(PREM_ERR_MEMORY));
    return COMMAND_INVALID;
  }
  prem_findings_seed(findings, context->seed);
  if (context->quick)
    prem_findings_note(findings, "A quick look: fewer points and repetitions than a measurement.");
  shown->name = experiment->name;
  prem_findings_incomplete(findings); /* until it ends */
  shown->findings = options->folder && !context->part ? findings : NULL;
  shown->machine = context->machine;
  shown->folder = options->folder;
  shown->kept_ns = prem_host_clock_ns() - KEEP_NS; /* at once when there is something */
  progress_begin(&shown->line);
  show_progress(shown, 0, 0);
  prem_budget quick = {.end_ns = prem_host_clock_ns() + QUICK_NS};
  prem_experiment_context own = *context;
  if (own.quick && !own.budget)
    own.budget = &quick;
  prem_status status = prem_experiment_start(experiment, &own, findings, diag);
  progress_end(&shown->line);
  tell_budget(own.budget, findings);
  int ended = tell(status, diag, experiment->name);
  if (status != PREM_ERR_INTERRUPTED)
    prem_findings_complete(findings);
  if (!context->part && (status == PREM_OK || status == PREM_ERR_INTERRUPTED))
    ended = join_status(ended, keep(findings, experiment, context->machine, options));
  if (report && (status == PREM_OK || status == PREM_ERR_INTERRUPTED))
    add_to_report(report, findings, experiment);
  else if (report)
    fprintf(report, "%s did not run here.\n\n", experiment->name);
  prem_findings_free(findings);
  return ended;
}

/* ---- groups --------------------------------------------------------------------------------- */

/** How the parts of a group ended. */
typedef struct group_end {
  int ran, unable, failed, left_out; /* unable: the machine lacks something */
  int status;
  char names[512]; /* of those that failed */
} group_end;

static void leave_out(group_end *end, const prem_experiment *experiment, const char *backend) {
  ++end->left_out;
  command_note("%s is left out: it makes no sense on backend %s", experiment->name, backend);
}

/* What the machine cannot do is told, and is no failure of a group. */
static void count_end(group_end *end, const prem_experiment *experiment, int status) {
  if (status == COMMAND_UNAVAILABLE) {
    ++end->unable;
    return;
  }
  ++end->ran;
  if (status == COMMAND_DONE || status == COMMAND_INTERRUPTED)
    return;
  ++end->failed;
  end->status = join_status(end->status, status);
  const size_t used = strlen(end->names);
  snprintf(end->names + used, sizeof end->names - used, " %s", experiment->name);
}

/* A failure stops none but its own, and is the group's all the same; so is it when nothing ran. */
static int judge_group(const group_end *end, const char *group, const char *backend) {
  if (command_stop)
    return COMMAND_INTERRUPTED;
  if (end->failed > 0)
    command_error("%s: %d of %d experiments failed:%s", group, end->failed, end->ran, end->names);
  if (end->ran > 0)
    return end->status;
  command_error(
      "%s: nothing ran: %d experiments make no sense on backend %s, and %d need what this machine "
      "lacks; choose another one with -b, `ttprem experiment list` tells which",
      group, end->left_out, backend, end->unable);
  return COMMAND_UNAVAILABLE;
}

static int count_serving(const char *backend) {
  int count = 0;
  const prem_experiment *experiment;
  for (int32_t i = 0; (experiment = prem_experiment_at(i)) != NULL; ++i)
    count += prem_experiment_serves(experiment, backend);
  return count;
}

/* One after the other. */
static int run_all(prem_experiment_context *context, experiment_progress *shown,
                   const experiment_options *options) {
  const char *backend = prem_backend_name(context->backend);
  shown->all = count_serving(backend);
  group_end end = {0};
  const prem_experiment *experiment;
  for (int32_t i = 0; (experiment = prem_experiment_at(i)) != NULL && !command_stop; ++i) {
    if (!prem_experiment_serves(experiment, backend)) {
      leave_out(&end, experiment, backend);
      continue;
    }
    ++shown->number;
    count_end(&end, experiment, run_one(experiment, context, shown, options, NULL));
  }
  return judge_group(&end, options->name, backend);
}

/* ---- the thesis, in the order of its chapters ----------------------------------------------- */

/** The group while it runs. */
typedef struct thesis_run {
  prem_experiment_context *context;
  experiment_progress *shown;
  const experiment_options *options;
  FILE *report, *times; /* NULL: none; times: a table of what each took, for the report's end */
  int64_t end_ns;       /* of the whole group, */
  int64_t seconds_left; /* of the parts that are still to run */
  group_end end;
} thesis_run;

static int32_t seconds_of(const thesis_run *run, const prem_chapter *chapter) {
  const char *backend = prem_backend_name(run->context->backend);
  if (!prem_experiment_serves(chapter->experiment, backend))
    return 0;
  return strcmp(backend, "cuda") == 0 ? chapter->gpu_s : chapter->cpu_s;
}

/* Its part of what is left: what others did not need it may take, what they took too much it lacks,
 * but for half of its own: runs that are all cut short say nothing. */
static prem_budget budget_of(thesis_run *run, const prem_chapter *chapter) {
  const int64_t now_ns = prem_host_clock_ns(), seconds = seconds_of(run, chapter);
  const int64_t left_ns = run->end_ns > now_ns ? run->end_ns - now_ns : 0;
  const double part = seconds > 0 ? (double)seconds / (double)run->seconds_left : 0.0;
  run->seconds_left -= seconds;
  const int64_t min_ns = seconds * INT64_C(500000000);
  const int64_t own_ns = (int64_t)((double)left_ns * part);
  return (prem_budget){.end_ns = now_ns + (own_ns > min_ns ? own_ns : min_ns)};
}

static void tell_time(const thesis_run *run, const prem_chapter *chapter, double took_s,
                      const char *ended) {
  if (run->times)
    fprintf(run->times, "| %s | `%s` | %" PRId32 " | %.1f | %s |\n", chapter->title,
            chapter->experiment->name, seconds_of(run, chapter), took_s, ended);
}

static void run_chapter(thesis_run *run, const prem_chapter *chapter) {
  const char *backend = prem_backend_name(run->context->backend);
  printf("== %s\n\n", chapter->title);
  if (run->report)
    fprintf(run->report, "## %s\n", chapter->title);
  if (!prem_experiment_serves(chapter->experiment, backend)) {
    leave_out(&run->end, chapter->experiment, backend);
    if (run->report)
      fprintf(run->report, "Left out: it makes no sense on backend %s.\n\n", backend);
    tell_time(run, chapter, 0, "left out");
    return;
  }
  ++run->shown->number;
  const int64_t begin_ns = prem_host_clock_ns();
  prem_budget budget = budget_of(run, chapter);
  run->context->budget = &budget;
  const int status =
      run_one(chapter->experiment, run->context, run->shown, run->options, run->report);
  run->context->budget = NULL;
  count_end(&run->end, chapter->experiment, status);
  tell_time(run, chapter, (double)(prem_host_clock_ns() - begin_ns) * 1e-9,
            status == COMMAND_DONE          ? "done"
            : status == COMMAND_UNAVAILABLE ? "not on this machine"
            : status == COMMAND_INTERRUPTED ? "interrupted"
                                            : "failed");
}

static int run_chapters(thesis_run *run) {
  const char *backend = prem_backend_name(run->context->backend);
  const prem_chapter *chapter;
  for (int32_t i = 0; (chapter = prem_chapter_at(i)) != NULL; ++i) {
    run->seconds_left += seconds_of(run, chapter);
    run->shown->all += prem_experiment_serves(chapter->experiment, backend);
  }
  const int64_t begin_ns = prem_host_clock_ns();
  run->end_ns = begin_ns + run->seconds_left * INT64_C(1000000000);
  for (int32_t i = 0; (chapter = prem_chapter_at(i)) != NULL && !command_stop; ++i)
    run_chapter(run, chapter);
  const int status = judge_group(&run->end, thesis_group, backend);
  printf("== %d experiments in %.0f s, %d failed; %d left out, %d not on this machine\n",
         run->end.ran, (double)(prem_host_clock_ns() - begin_ns) * 1e-9, run->end.failed,
         run->end.left_out, run->end.unable);
  return status;
}

static const char report_head[] =
    "F. Kreiliger, *Time-predictable GPU execution*, CTU in Prague, 2019: its chapter 4 section by "
    "section. Its own values are grey in the pictures, and in tables that name it.\n\n";

/* What each took, kept until the end. */
static void end_report(thesis_run *run, char **times) {
  fclose(run->times);
  if (*times)
    fprintf(run->report,
            "## How long it took\n| | experiment | its share in s | took | |\n"
            "| --- | --- | --- | --- | --- |\n%s",
            *times);
  free(*times);
}

/* Written beside and renamed, like all results. */
static int run_thesis(prem_experiment_context *context, experiment_progress *shown,
                      const experiment_options *options) {
  thesis_run run = {.context = context, .shown = shown, .options = options};
  if (!options->folder)
    return run_chapters(&run);
  char *path = output_path(options->folder, thesis_group, "md"), reason[160], *times = NULL;
  size_t times_bytes = 0;
  prem_output output = {0};
  if (!path || prem_output_open(&output, path, reason, sizeof reason) != PREM_OK) {
    command_error("%s: cannot be written: %s", path ? path : thesis_group, path ? reason : "");
    free(path);
    return COMMAND_INVALID;
  }
  run.report = output.file;
  run.times = open_memstream(&times, &times_bytes);
  fprintf(run.report, "# The thesis, repeated on %s\n%s", context->machine->name, report_head);
  int status = run_chapters(&run);
  if (run.times)
    end_report(&run, &times);
  if (prem_output_commit(&output, reason, sizeof reason) != PREM_OK) {
    command_error("%s: cannot be written: %s", path, reason);
    status = join_status(status, COMMAND_INVALID);
  }
  prem_output_abandon(&output);
  free(path);
  return status;
}

static int run_named(const prem_experiment *experiment, prem_experiment_context *context,
                     experiment_progress *shown, const experiment_options *options) {
  const char *backend = prem_backend_name(context->backend);
  if (!prem_experiment_serves(experiment, backend)) {
    command_error("%s makes no sense on backend %s; it is for: %s", experiment->name, backend,
                  experiment->backends);
    return COMMAND_UNAVAILABLE;
  }
  shown->number = shown->all = 1;
  return run_one(experiment, context, shown, options, NULL);
}

/* One a line for scripts; on a terminal in lines of 80 columns. */
static void print_list(FILE *file) {
  const prem_experiment *experiment;
  for (int32_t i = 0; (experiment = prem_experiment_at(i)) != NULL; ++i) {
    char head[64];
    snprintf(head, sizeof head, "%-20s %-9s ", experiment->name, experiment->backends);
    if (file == stdout && isatty(STDOUT_FILENO))
      command_print_wrapped(head, experiment->title);
    else
      fprintf(file, "%s%s\n", head, experiment->title);
  }
}

/* Where an installed command finds its schedules, from BIN on. */
static const char *find_schedules(char *path, size_t bytes) {
  static const char *const here = "schedules";
  ssize_t length = readlink("/proc/self/exe", path, bytes - 1);
  if (access(here, R_OK) == 0 || length < 0)
    return here;
  path[length] = '\0';
  char *name = strrchr(path, '/');
  snprintf(name, bytes - (size_t)(name - path), "/../share/ttprem/schedules");
  return access(path, R_OK) == 0 ? path : here;
}

static int run_options(const experiment_options *options, const prem_experiment *experiment) {
  const prem_backend *backend = NULL;
  prem_machine machine;
  int status = command_find_backend(options->backend, &backend, &machine);
  if (status != COMMAND_DONE)
    return status;
  if (options->folder && !make_folder(options->folder))
    return COMMAND_INVALID;
  command_catch_signals();
  experiment_progress shown = {0};
  char installed[PATH_MAX];
  prem_experiment_context context = {.backend = backend,
                                     .machine = &machine,
                                     .quick = options->quick,
                                     .seed = options->seed,
                                     .schedules = options->schedules
                                                      ? options->schedules
                                                      : find_schedules(installed, sizeof installed),
                                     .program = "/proc/self/exe",
                                     .part = options->part,
                                     .stop = &command_stop,
                                     .progress = show_progress,
                                     .progress_context = &shown};
  if (experiment)
    return run_named(experiment, &context, &shown, options);
  return strcmp(options->name, thesis_group) == 0 ? run_thesis(&context, &shown, options)
                                                  : run_all(&context, &shown, options);
}

/* ---- an earlier run's findings -------------------------------------------------------------- */

/* By a link, as the extensions differ. */
static bool is_drawn_over(const experiment_options *options, const char *name) {
  char *svg = output_path(options->folder, name, "svg");
  char *png = output_path(options->folder, name, "png");
  const char *const paths[] = {svg, png};
  const bool apart =
      command_keep_from(options->name, &(command_outputs){.paths = paths, .count = 2});
  free(svg);
  free(png);
  return !apart;
}

static int draw_again(const prem_findings *findings, const experiment_options *options) {
  if (!make_folder(options->folder))
    return COMMAND_INVALID;
  const char *slash = strrchr(options->name, '/'), *file = slash ? slash + 1 : options->name;
  char *name = strndup(file, strlen(file) - strlen(".json"));
  int status = name ? COMMAND_DONE : COMMAND_INVALID;
  if (name && is_drawn_over(options, name))
    status = COMMAND_USAGE;
  if (status == COMMAND_DONE)
    status = draw(findings, name, options->folder);
  free(name);
  return status;
}

static int show_again(const experiment_options *options) {
  prem_findings *findings = NULL;
  prem_diag *diag = prem_diag_new();
  int status = tell(prem_findings_read(options->name, &findings, diag), diag, options->name);
  if (status != COMMAND_DONE)
    return status;
  command_catch_signals();
  prem_findings_print(findings, stdout);
  if (options->folder)
    status = draw_again(findings, options);
  if (options->picture) {
    prem_diag *drawing = prem_diag_new();
    const prem_status drawn =
        prem_findings_draw(findings, options->picture, &command_stop, drawing);
    status = join_status(status, tell(drawn, drawing, options->picture));
  }
  prem_findings_free(findings);
  return status;
}

/* A user's own. */
static int run_file(const experiment_options *options) {
  prem_sweep *sweep = NULL;
  prem_diag *diag = prem_diag_new();
  int status = tell(prem_sweep_read(options->name, &sweep, diag), diag, options->name);
  if (status == COMMAND_DONE)
    status = run_options(options, prem_sweep_experiment(sweep));
  prem_sweep_free(sweep);
  return status;
}

int verb_experiment(int argc, char **argv) {
  experiment_options options = {.backend = "auto", .seed = 1};
  command_parse(&argp, argc, argv, &options);
  if (strcmp(options.name, "list") == 0) {
    print_list(stdout);
    return COMMAND_DONE;
  }
  if (is_file(options.name))
    return show_again(&options);
  if (prem_sweep_is_path(options.name))
    return run_file(&options);
  const prem_experiment *experiment = NULL;
  if (strcmp(options.name, "all") != 0 && strcmp(options.name, thesis_group) != 0) {
    experiment = prem_experiment_find(options.name);
    if (!experiment) {
      command_error("unknown experiment '%s'; there are:", options.name);
      print_list(stderr);
      return COMMAND_USAGE;
    }
  }
  return run_options(&options, experiment);
}
