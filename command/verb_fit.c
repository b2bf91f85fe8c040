/* SPDX-License-Identifier: Apache-2.0 */
/* ttprem fit: from a file, with times or without, to a plan that holds on this machine. */
#include "command/command_study.h"
#include "ttprem/check.h"
#include "ttprem/fit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct fit_options {
  study_options common; /* of it file, backend, profile, json and engine */
  const char *output;
  char *profile; /* written beside the output */
  prem_fit_options fit;
} fit_options;

/* ---- options -------------------------------------------------------------------------------- */

/* A part of one, from a percentage. */
static double parse_percent(struct argp_state *state, const char *option, const char *text,
                            double most) {
  char *end;
  const double percent = strtod(text, &end);
  if (end == text || *end || !(percent >= 0) || percent > most)
    argp_error(state, "%s: '%s' is no percentage from 0 to %g", option, text, most);
  return percent / 100;
}

static void parse_goal(struct argp_state *state, prem_fit_options *fit, const char *text) {
  static const char late[] = "late=";
  fit->keeps_late = !strncmp(text, late, strlen(late));
  if (fit->keeps_late)
    fit->late = parse_percent(state, "--goal late", text + strlen(late), 100);
  else if (strcmp(text, "response") && strcmp(text, "cycle"))
    argp_error(state, "--goal: '%s' is neither response nor cycle nor late=PERCENT", text);
  else
    fit->objective = strcmp(text, "cycle") ? "response" : "makespan";
}

/* planned.cfg: planned.profile.cfg */
static char *profile_beside(const char *output) {
  static const char end[] = ".cfg";
  const size_t length = strlen(output), tail = sizeof end - 1;
  const bool has_end = length > tail && !strcmp(output + length - tail, end);
  char *path = NULL;
  return asprintf(&path, "%.*s.profile.cfg", (int)(has_end ? length - tail : length), output) < 0
             ? NULL
             : path;
}

static void judge_options(fit_options *options, struct argp_state *state) {
  if (!options->common.file || !options->output) {
    argp_error(state, "FILE and -o PLANNED are needed");
    return;
  }
  if (!strcmp(options->output, "-") || !strcmp(options->common.file, "-"))
    argp_error(state, "FILE and PLANNED are files, since the profile is written beside PLANNED");
  options->profile = profile_beside(options->output);
  if (!options->profile)
    argp_failure(state, COMMAND_INVALID, 0, "%s", prem_status_text(PREM_ERR_MEMORY));
  command_check_outputs(state, options->common.file, &options->common.json, 1);
  command_check_outputs(
      state, NULL, (const char *const[]){options->output, options->profile, options->common.json},
      3);
}

static const command_store stores[] = {
    TAKE_TEXT('o', fit_options, output),
    TAKE_TEXT('b', fit_options, common.backend),
    TAKE_TEXT('p', fit_options, common.profile),
    TAKE_TEXT('j', fit_options, common.json),
    TAKE_INTEGER(OPTION_SEED, fit_options, fit.seed, 0, INT64_MAX),
    {0}};

static error_t parse(int key, char *text, struct argp_state *state) {
  fit_options *options = state->input;
  switch (key) {
  case 't':
    options->fit.time_limit_s = command_parse_seconds(state, "--time-limit", text);
    return 0;
  case OPTION_ENGINE:
    options->fit.engine = sampling_parse_engine(state, text);
    return 0;
  case OPTION_GOAL:
    parse_goal(state, &options->fit, text);
    return 0;
  case OPTION_LATE:
    options->fit.late = parse_percent(state, "--late", text, 100);
    return 0;
  case OPTION_MARGIN:
    options->fit.margin = parse_percent(state, "--margin", text, 10000);
    return 0;
  case ARGP_KEY_ARG:
    if (options->common.file)
      argp_error(state, "one FILE at a time");
    options->common.file = text;
    return 0;
  case ARGP_KEY_END:
    judge_options(options, state);
    return 0;
  default:
    return command_take(stores, OPTIONS_FIT, key, text, state);
  }
}

static const struct argp argp = {
    .options = command_options[OPTIONS_FIT],
    .parser = parse,
    .children = command_common_children,
    .args_doc = "FILE -o PLANNED",
    .doc =
        "Measure the times of a file's tasks, whether it has any or not, plan, let the checker "
        "judge the plan, run it, and go round until it settles: until few enough releases are "
        "late, no time is longer than its window, or time is up. Writes PLANNED, which is FILE "
        "with its plan, and beside it the profile that the plan was made with: PLANNED.cfg names "
        "PLANNED.profile.cfg as `fit`. On sim the file's times are kept, and no profile is "
        "written.\v"
        "The plans, and what the one that was taken costs, and what other modes do, go to stdout. "
        "Ctrl-C "
        "writes the best plan so far.\n\n" COMMAND_EXIT_DOC,
};

/* ---- before --------------------------------------------------------------------------------- */

/* The length of a path's folder, without the slash behind it; 0: the working folder. */
static size_t folder_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? (size_t)(slash - path) : 0;
}

static bool are_in_one_folder(const char *a, const char *b) {
  char *folders[2] = {NULL, NULL};
  const char *const paths[2] = {a, b};
  for (int i = 0; i < 2; ++i) {
    char *folder = strndup(paths[i], folder_length(paths[i]));
    folders[i] = folder ? realpath(*folder ? folder : paths[i][0] == '/' ? "/" : ".", NULL) : NULL;
    free(folder);
  }
  const bool same = folders[0] && folders[1] && !strcmp(folders[0], folders[1]);
  free(folders[0]);
  free(folders[1]);
  return same;
}

/* What the file reads counts from its folder, and would count from another one in PLANNED. */
static bool keeps_inputs(const fit_options *options, const prem_schedule *schedule, bool is_sim) {
  const char *file = options->common.file, *input;
  const size_t folder = folder_length(file);
  if (are_in_one_folder(file, options->output))
    return true;
  for (size_t i = 1; (input = prem_schedule_input(schedule, i)) != NULL; ++i) {
    bool is_profile = false; /* which PLANNED does not need any more */
    for (int32_t p = 0; p < schedule->profile_count && !is_sim; ++p)
      is_profile |= prem_output_same(schedule->profiles[p].path, input);
    const bool is_relative = input[0] != '/' || (folder > 0 && !strncmp(input, file, folder));
    if (is_profile || !is_relative)
      continue;
    command_error("-o %s: %s reads %s, which counts from its own folder: write PLANNED into that "
                  "folder, `%.*s%s`",
                  options->output, file, input, folder > 0 ? (int)folder : 1,
                  folder > 0 ? file : ".", folder > 0 ? "/" : "");
    return false;
  }
  return true;
}

/* PLANNED may take the place of FILE, the profile that of one which FILE names. */
static bool may_write(const fit_options *options, const prem_schedule *schedule) {
  command_outputs profile = {.paths = (const char *const *)&options->profile, .count = 1};
  for (int32_t i = 0; i < schedule->profile_count; ++i)
    if (prem_output_same(options->profile, schedule->profiles[i].path))
      profile.spared = schedule->profiles[i].path;
  return command_keep_apart(schedule,
                            &(command_outputs){&options->output, 1, options->common.file}) &&
         command_keep_apart(schedule, &profile) &&
         command_keep_apart(schedule, &(command_outputs){&options->common.json, 1, NULL});
}

static prem_status load_schedule(const fit_options *options, bool is_sim,
                                 const prem_machine *machine, prem_schedule **out,
                                 prem_diag *diag) {
  prem_status status = prem_schedule_load_lenient(
      options->common.file, is_sim ? options->common.profile : NULL, out, diag);
  if (status == PREM_OK) {
    prem_schedule_set_plan(*out, NULL);
    if (!is_sim) {
      /* Times that are going to be measured are not judged. */
      for (int32_t t = 0; t < (*out)->task_count; ++t)
        for (int p = 0; p < PREM_PHASE_COUNT; ++p)
          (*out)->tasks[t].phase[p].wcet_ns = (*out)->tasks[t].phase[p].busy_ns = 0;
      study_serve_always(*out);
    }
    status = prem_schedule_bind(*out, prem_registry_builtin(), diag);
    const prem_status judged = prem_check(*out, machine, diag);
    status = status == PREM_OK ? judged : status;
  }
  if (status == PREM_OK && prem_diag_errors(diag) > 0)
    status = PREM_ERR_INVALID;
  if (status != PREM_OK) {
    prem_schedule_free(*out);
    *out = NULL;
  }
  return status;
}

static int open_schedule(const fit_options *options, bool is_sim, const prem_machine *machine,
                         prem_schedule **out) {
  prem_diag *diag = command_diag();
  const prem_status status = load_schedule(options, is_sim, machine, out, diag);
  return sampling_failed(status, diag, options->common.file);
}

/* Where that is not possible, it is known before anything is measured. */
static int name_profile(const fit_options *options, prem_schedule *schedule) {
  const char *slash = strrchr(options->profile, '/');
  prem_diag *diag = command_diag();
  const prem_status status = prem_schedule_edit_profile(schedule, PREM_FIT_PROFILE,
                                                        slash ? slash + 1 : options->profile, diag);
  return sampling_failed(status, diag, options->common.file);
}

/* ---- during and after ----------------------------------------------------------------------- */

static void show(void *context, double part, const char *what) {
  progress_show(context, part, "%s", what);
}

static void tell(void *context, const char *sentence) {
  progress_end(context);
  command_note("%s", sentence);
}

/* Each is put in place as a whole, the profile first: a plan without its times is refused. */
static int write_files(const fit_options *options, const prem_schedule *schedule,
                       const prem_fit *fit) {
  prem_diag *diag = command_diag();
  prem_status status = PREM_OK;
  if (fit->profile)
    status = prem_profile_write(fit->profile, options->profile, diag);
  if (status == PREM_OK)
    status = prem_schedule_save(schedule, options->output, diag);
  return sampling_failed(status, diag, options->output);
}

static int finish(const fit_options *options, const prem_schedule *schedule,
                  const prem_machine *machine, const prem_fit *fit) {
  int status = write_files(options, schedule, fit);
  if (status == COMMAND_DONE) {
    command_note("%s%s%s written", options->output, fit->profile ? " and " : "",
                 fit->profile ? options->profile : "");
    status = study_report(&options->common, fit->findings, machine, false);
  }
  if (status == COMMAND_DONE && prem_findings_wrong(fit->findings)) {
    command_error("%s: wrong output in a mode other than the plan's", options->common.file);
    status = COMMAND_INVALID;
  }
  if (status == COMMAND_DONE && !fit->is_settled && !fit->interrupted) {
    const prem_fit_turn *best = &fit->turns[fit->best];
    command_note("plan %d is the best of %d, and late in %" PRId64 " of %" PRId64
                 " releases; the last one: %s. Late is what begins more than %" PRId64
                 " ns after its release: `late_ns` of the platform. `ttprem run %s` says what is "
                 "late, and why; `ttprem doctor`, --time-limit or --margin may help",
                 fit->best + 1, fit->count, best->late, best->releases, fit->why,
                 schedule->platform.late_ns, options->output);
  }
  if (fit->interrupted)
    return command_fail(COMMAND_INTERRUPTED, "%s: interrupted; the best plan so far is written",
                        options->common.file);
  return status;
}

static int fit_schedule(fit_options *options, prem_schedule *schedule, const prem_backend *backend,
                        const prem_machine *machine) {
  progress line;
  prem_fit *fit = NULL;
  prem_diag *diag = command_diag();
  options->fit.stop = &command_stop;
  options->fit.progress = show;
  options->fit.tell = tell;
  options->fit.context = &line;
  progress_begin(&line);
  command_tell_size(schedule);
  command_catch_signals();
  const prem_status status =
      prem_fit_schedule(schedule, backend, machine, &options->fit, &fit, diag);
  progress_end(&line);
  if (!fit && status == PREM_ERR_INTERRUPTED)
    command_error("%s: there was no plan yet; nothing is written", options->common.file);
  if (!fit)
    return sampling_failed(status, diag, options->common.file);
  command_print_diag(diag);
  prem_diag_free(diag);
  const int ended = finish(options, schedule, machine, fit);
  prem_fit_free(fit);
  return ended;
}

int verb_fit(int argc, char **argv) {
  fit_options options = {.common = {.backend = "auto"},
                         .fit = {.late = 1e-5, .margin = -1, .time_limit_s = 120, .seed = 1}};
  const prem_backend *backend = NULL;
  prem_machine machine;
  prem_schedule *schedule = NULL;
  command_parse(&argp, argc, argv, &options);
  int status = command_find_backend(options.common.backend, &backend, &machine);
  const bool is_sim = status == COMMAND_DONE && !strcmp(prem_backend_name(backend), "sim");
  if (status == COMMAND_DONE && options.common.profile && !is_sim) {
    command_error("--profile: all times are measured on %s; on sim it says whose to take",
                  prem_backend_name(backend));
    status = COMMAND_USAGE;
  }
  if (status == COMMAND_DONE &&
      !(command_output_check(options.output) && command_output_check(options.common.json) &&
        (is_sim || command_output_check(options.profile))))
    status = COMMAND_INVALID;
  if (status == COMMAND_DONE)
    status = open_schedule(&options, is_sim, &machine, &schedule);
  if (status == COMMAND_DONE &&
      !(may_write(&options, schedule) && keeps_inputs(&options, schedule, is_sim)))
    status = COMMAND_USAGE;
  if (status == COMMAND_DONE && !is_sim)
    status = name_profile(&options, schedule);
  if (status == COMMAND_DONE)
    status = fit_schedule(&options, schedule, backend, &machine);
  prem_schedule_free(schedule);
  free(options.profile);
  return status;
}
