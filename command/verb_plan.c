/* SPDX-License-Identifier: Apache-2.0 */
/* ttprem plan: decide when every phase starts. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "command/command_json.h"
#include "command/progress.h"
#include "prem/base/clock.h"
#include "report/json_pieces.h"
#include "ttprem/plan_file.h"

/* Long enough for small sets to come near their optimum. */
enum { DEFAULT_SECONDS = 10, TOLD_AFTER_S = 1 };

typedef struct plan_options {
  const char *file, *output, *profile, *json, *picture, *keep, *from, *csv;
  bool limited;  /* --time-limit is given */
  bool searches; /* another option of the search is */
  prem_plan_options search;
} plan_options;

/* As other times, but 0 is one. */
static int64_t parse_limit(struct argp_state *state, const char *text) {
  if (strcmp(text, "0") == 0)
    return 0;
  return (int64_t)(command_parse_seconds(state, "--time-limit", text) * 1e9);
}

enum { OUTPUTS = 4 };

static void judge_import(const plan_options *options, struct argp_state *state) {
  if (options->from && (options->keep || options->limited || options->searches))
    argp_error(state, "--import takes the plan as it is: leave --keep, --policy, --time-limit, "
                      "--steps and --seed out");
  if (options->from && !strcmp(options->from, "-") && !strcmp(options->file, "-"))
    argp_error(state, "FILE and --import cannot both be stdin");
}

static const command_store stores[] = {
    TAKE_OPERAND("FILE", plan_options, file),
    TAKE_TEXT('o', plan_options, output),
    TAKE_TEXT('P', plan_options, search.policy),
    TAKE_INTEGER('n', plan_options, search.step_limit, 1, INT64_MAX),
    TAKE_INTEGER('s', plan_options, search.seed, 0, INT64_MAX),
    TAKE_TEXT('p', plan_options, profile),
    TAKE_TEXT('j', plan_options, json),
    TAKE_TEXT(OPTION_EXPORT, plan_options, csv),
    TAKE_TEXT(OPTION_IMPORT, plan_options, from),
    TAKE_TEXT(OPTION_KEEP, plan_options, keep),
    TAKE_PICTURE(OPTION_SVG, plan_options, picture),
    {0}};

static error_t parse(int key, char *text, struct argp_state *state) {
  plan_options *options = state->input;
  options->searches |= key == 'P' || key == 'n' || key == 's';
  switch (key) {
  case 't':
    options->search.time_limit_ns = parse_limit(state, text);
    options->limited = true;
    return 0;
  case ARGP_KEY_SUCCESS:
    if (!options->output && !options->csv)
      options->output = "-";
    /* FILE may be planned in its place. */
    const char *const outputs[OUTPUTS] = {options->json, options->picture, options->csv,
                                          options->output};
    command_check_outputs(state, options->file, outputs, OUTPUTS - 1);
    command_check_outputs(state, options->from, outputs, OUTPUTS);
    judge_import(options, state);
    if (options->keep && options->search.policy && strcmp(options->search.policy, "auto"))
      argp_error(state,
                 "--keep moves single phases, which policy auto alone can; leave --policy out");
    if (options->keep && !strcmp(options->keep, "-"))
      argp_error(state, "--keep takes a file, not stdin");
    if (!options->limited) /* a number of steps alone is to be worked off */
      options->search.time_limit_ns =
          options->search.step_limit ? PREM_MAX_NS : DEFAULT_SECONDS * INT64_C(1000000000);
    return 0;
  default:
    return command_take(stores, OPTIONS_PLAN, key, text, state);
  }
}

static const struct argp argp = {
    .options = command_options[OPTIONS_PLAN],
    .parser = parse,
    .children = command_common_children,
    .args_doc = "FILE",
    .doc =
        "Plan a schedule (`-` is stdin) for the machine of its `platform`, let the checker judge "
        "the plan, and write the file with its plan as the last group; all bytes before it stay "
        "as they are. Times are nanoseconds from the start of the hyperperiod.\v"
        "Policy auto searches for a better plan until the time limit, or until nothing can be "
        "better; Ctrl-C ends the search and writes the best plan found.\n\n"
        "JSON: verdict (feasible, infeasible, unknown; refused: not fit to be planned), optimal "
        "(proven), makespan_ns, lower_bound_ns and gap_pct (all tasks one-shot) or "
        "hyperperiod_ns, min_slack_ns (jobs are due), phases, steps, seconds, peak_bytes, method, "
        "seed, problems, unsearched (why nothing was searched); with --keep kept, moved, added and "
        "removed phases; with best-effort tasks closed: windows, closed_ns (the time ahead of "
        "them included) and open_share. A file that is refused "
        "leaves no plan.\n\n" COMMAND_EXIT_DOC,
};

static bool policy_exists(const char *name) {
  for (const prem_policy_info *policy = prem_policy_list(); policy->name; ++policy)
    if (!strcmp(policy->name, name))
      return true;
  return false;
}

/* ---- while it searches, on a terminal ------------------------------------------------------- */

typedef struct search_progress {
  progress line;
  const char *name;
  bool late; /* the first plan, and it was told */
  bool told; /* that it searches, where no line shows it */
  const prem_plan_options *search;
} search_progress;

/* Of the steps or of the time, whichever is further. */
static double searched(const prem_plan_options *search, const prem_plan_progress *now) {
  double part = -1;
  if (search->step_limit > 0)
    part = (double)now->steps / (double)search->step_limit;
  if (search->time_limit_ns > 0 && search->time_limit_ns < PREM_MAX_NS &&
      now->seconds * 1e9 > part * (double)search->time_limit_ns)
    part = now->seconds * 1e9 / (double)search->time_limit_ns;
  return part;
}

static void show_progress(void *context, const prem_plan_progress *now) {
  search_progress *shown = context;
  if (now->first_s > 0) {
    if (!shown->late &&
        now->first_s * 1e9 > (double)shown->search->time_limit_ns) { /* no mode's share */
      command_note(shown->search->time_limit_ns > 0
                       ? "%s: the first plan takes longer than --time-limit, some %.3g s or more; "
                         "no search follows"
                       : "%s: the plan takes some %.3g s or more",
                   shown->name, now->first_s);
      command_release_signals(); /* there will be no better plan: Ctrl-C ends at once */
    }
    shown->late = true;
    return;
  }
  char best[96] = "none feasible", bound[48] = "";
  if (now->feasible)
    snprintf(best, sizeof best, "%s %" PRId64 " ns", now->slack ? "slack" : "makespan",
             now->value_ns);
  if (!shown->line.wanted && !shown->told && now->seconds > TOLD_AFTER_S) {
    shown->told = true;
    command_note(
        "%s: %s so far, searching on; Ctrl-C takes the best plan, --time-limit says how long",
        shown->name, best);
  }
  if (now->lower_bound_ns > 0)
    snprintf(bound, sizeof bound, ", at least %" PRId64, now->lower_bound_ns);
  progress_show(&shown->line, searched(shown->search, now), "%" PRId64 " schedules: %s%s",
                now->steps, best, bound);
}

/* ---- what came of it ------------------------------------------------------------------------ */

static bool add_makespan(json_t *root, const prem_plan_report *report) {
  bool whole = put(root, "makespan_ns", integer(report->makespan_ns));
  if (report->lower_bound_ns <= 0)
    return whole;
  whole &= put(root, "lower_bound_ns", integer(report->lower_bound_ns));
  return whole && put(root, "gap_pct", json_real(report->gap_pct));
}

static bool add_changes(json_t *root, const prem_plan_report *report) {
  return put(root, "kept", integer(report->kept)) && put(root, "moved", integer(report->moved)) &&
         put(root, "added", integer(report->added)) &&
         put(root, "removed", integer(report->removed));
}

static json_t *report_json(const prem_schedule *schedule, const prem_plan_report *report,
                           const prem_diag *diag) {
  json_t *root = json_object();
  bool whole = put(root, "schema", text("ttprem.plan/1"));
  whole &= put(root, "name", text(schedule->name));
  whole &= put(root, "sha256", text(schedule->sha256));
  whole &= put(root, "verdict", text(prem_plan_verdict_name(report->verdict)));
  whole &= put(root, "optimal", json_boolean(report->optimal));
  if (schedule->plan && report->periodic)
    whole &= put(root, "hyperperiod_ns", integer(report->hyperperiod_ns));
  else if (schedule->plan)
    whole &= add_makespan(root, report);
  if (schedule->plan && report->due)
    whole &= put(root, "min_slack_ns", integer(report->min_slack_ns));
  whole &= put(root, "phases", integer(report->phases));
  if (schedule->plan && schedule->plan->gates)
    whole &= put(root, "closed", command_closed_json(schedule));
  if (report->keeps)
    whole &= add_changes(root, report);
  whole &= put(root, "method", text(report->method));
  whole &= put(root, "seed", integer((int64_t)report->seed));
  whole &= put(root, "steps", integer(report->steps));
  if (report->unsearched)
    whole &= put(root, "unsearched", text(report->unsearched));
  whole &= put(root, "seconds", json_real(report->seconds));
  whole &= put(root, "peak_bytes", integer(report->peak_bytes));
  whole &= put(root, "problems", command_problems_json(diag));
  return finished(root, whole);
}

/* More is asked for than there is, whatever the order (E043), and nothing else is wrong. */
static bool is_infeasible(const prem_diag *diag) {
  bool all = prem_diag_has(diag, 43);
  for (size_t i = 0; i < prem_diag_count(diag); ++i)
    all &= prem_diag_at(diag, i)->severity != PREM_ERROR || prem_diag_at(diag, i)->code == 43;
  return all;
}

/* Before there is anything to plan. */
static json_t *refusal_json(const prem_diag *diag) {
  json_t *root = json_object();
  bool whole = put(root, "schema", text("ttprem.plan/1"));
  whole &= put(root, "verdict", text(is_infeasible(diag) ? "infeasible" : "refused"));
  whole &= put(root, "optimal", json_false());
  whole &= put(root, "problems", command_problems_json(diag));
  return finished(root, whole);
}

static int save(const prem_schedule *schedule, const char *path) {
  prem_diag *diag = prem_diag_new();
  prem_status status = prem_schedule_save(schedule, path, diag);
  command_print_diag(diag);
  if (status != PREM_OK && prem_diag_errors(diag) == 0)
    command_error("cannot write %s: %s", path, prem_status_text(status));
  prem_diag_free(diag);
  return command_exit_status(status);
}

/* The plan as CSV. */
static int export_plan(const prem_schedule *schedule, const char *path) {
  command_output output;
  if (!path)
    return COMMAND_DONE;
  if (!command_output_open(&output, path))
    return COMMAND_INVALID;
  prem_diag *diag = prem_diag_new();
  const prem_status status = prem_plan_write_csv(schedule, output.file, diag);
  command_print_diag(diag);
  prem_diag_free(diag);
  if (status == PREM_OK || status == PREM_ERR_IO) /* which is seen at the commit */
    return command_output_commit(&output) ? COMMAND_DONE : COMMAND_INVALID;
  command_output_abandon(&output);
  return command_exit_status(status);
}

/* A plan that somebody else made. */
static int import_plan(prem_schedule *schedule, const char *path, prem_plan_report *report,
                       prem_diag *diag) {
  const bool is_stdin = strcmp(path, "-") == 0;
  FILE *file = is_stdin ? stdin : fopen(path, "re");
  prem_plan *plan = NULL;
  *report = (prem_plan_report){.verdict = PREM_PLAN_UNKNOWN, .method = "import"};
  if (!file)
    return command_fail(COMMAND_INVALID, "cannot read %s: %s", path, strerror(errno));
  const double began_s = prem_host_clock_s();
  prem_status status = prem_plan_read_csv(schedule, file, is_stdin ? "stdin" : path, &plan, diag);
  if (!is_stdin)
    fclose(file);
  const bool is_read = status == PREM_OK;
  if (is_read)
    status = prem_adopt_plan(schedule, NULL, plan, diag);
  command_print_diag(diag);
  if (is_read && status == PREM_ERR_INVALID)
    command_error("%s: the checker refuses the plan of %s", schedule->path, path);
  else if (status != PREM_OK && prem_diag_errors(diag) == 0)
    command_error("%s: %s", path, prem_status_text(status));
  report->periodic = schedule->period_lcm_ns > 0;
  report->seconds = prem_host_clock_s() - began_s;
  if (status != PREM_OK)
    return command_exit_status(status);
  report->verdict = PREM_PLAN_FEASIBLE;
  report->hyperperiod_ns = report->makespan_ns = plan->hyperperiod_ns;
  report->phases = command_plan_phases(schedule, plan);
  return COMMAND_DONE;
}

static void note_plan(const prem_schedule *schedule, const prem_plan_report *report) {
  char known[96] = "", slack[64] = "";
  if (report->optimal)
    snprintf(known, sizeof known, " (optimal)");
  else if (!report->periodic && report->lower_bound_ns > 0)
    snprintf(known, sizeof known, " (at most %.2f %% above the optimum)", report->gap_pct);
  if (report->due && strcmp(schedule->policy.objective, "slack") == 0)
    snprintf(slack, sizeof slack, ", smallest slack %" PRId64 " ns", report->min_slack_ns);
  const bool is_made = schedule->plan->policy[0];
  command_note("%s: %s%s, %" PRId64 " phases, hyperperiod %" PRId64 " ns%s%s, %s in %.3f s",
               schedule->name, is_made ? "policy " : "imported", schedule->plan->policy,
               report->phases, schedule->plan->hyperperiod_ns, slack, known,
               is_made ? "planned" : "judged", report->seconds);
  if (schedule->plan->gates)
    command_note("%s: %s", schedule->name, command_closed(schedule->plan).text);
  for (int32_t t = 0; t < schedule->task_count; ++t)
    if (schedule->tasks[t].server.capacity > 0)
      command_note("%s: %s", schedule->name, command_server(schedule, t).text);
  if (report->unsearched)
    command_note("%s: nothing was searched: %s", schedule->name, report->unsearched);
  for (int32_t m = 0; m < schedule->plan->mode_count; ++m)
    command_note("%s: operating mode '%s' has a plan of its own, %" PRId64 " phases",
                 schedule->name, schedule->plan->modes[m]->mode,
                 command_plan_phases(schedule, schedule->plan->modes[m]));
  if (report->keeps)
    command_note("%s: %" PRId64 " phases kept, %" PRId64 " moved, %" PRId64 " added, %" PRId64
                 " removed",
                 schedule->name, report->kept, report->moved, report->added, report->removed);
}

/* The longest time of a machine that was disturbed leaves no room for a plan. */
static void advise_on_times(const plan_options *options, const prem_diag *diag) {
  prem_schedule *schedule = NULL;
  if (!prem_diag_has(diag, 43) || !strcmp(options->file, "-"))
    return;
  prem_schedule_load(options->file, options->profile, &schedule, NULL);
  if (schedule && schedule->profile_times[0])
    command_note("some times come from a profile: where a wcet_ns of it is far above the usual "
                 "times, since the machine was disturbed, measure it again with `ttprem profile "
                 "--quantile 99.9`, or on cores that nobody else uses");
  prem_schedule_free(schedule);
}

static int make_plan(prem_schedule *schedule, const plan_options *options, prem_plan_report *report,
                     prem_diag *diag) {
  prem_plan_options search = options->search;
  search_progress shown = {.search = &search, .name = schedule->name};
  progress_begin(&shown.line);
  search.stop = &command_stop;
  search.progress = show_progress;
  search.progress_context = &shown;
  prem_plan *made = NULL;
  command_tell_size(schedule);
  command_catch_signals();
  prem_status result = prem_plan_make_reported(schedule, NULL, &search, &made, report, diag);
  progress_end(&shown.line);
  command_release_signals();
  return command_take_plan(schedule, NULL, result, made, diag);
}

static int plan(prem_schedule *schedule, const plan_options *options) {
  prem_plan_report report;
  prem_diag *diag = command_diag();
  int status = options->from ? import_plan(schedule, options->from, &report, diag)
                             : make_plan(schedule, options, &report, diag);
  if (status != COMMAND_DONE) {
    advise_on_times(options, diag);
    prem_schedule_set_plan(schedule, NULL);
  }
  if (status == COMMAND_DONE && options->output)
    status = save(schedule, options->output);
  if (status == COMMAND_DONE)
    status = export_plan(schedule, options->csv);
  int drawn = status == COMMAND_DONE ? command_draw_plan(schedule, options->picture) : status;
  if (options->json && !command_write_json(options->json, report_json(schedule, &report, diag)))
    status = COMMAND_INVALID;
  prem_diag_free(diag);
  if (status == COMMAND_DONE)
    note_plan(schedule, &report);
  if (status == COMMAND_DONE)
    status = drawn;
  return status == COMMAND_DONE && command_stop ? COMMAND_INTERRUPTED : status;
}

/* Its plan need not be legal, so it is not checked. */
static int open_kept(const plan_options *options, prem_schedule **out, prem_diag *diag) {
  prem_status status = prem_schedule_load(options->keep, options->profile, out, diag);
  if (status == PREM_OK)
    status = prem_schedule_bind(*out, prem_registry_builtin(), diag);
  if (status == PREM_OK && !(*out)->plan)
    prem_diag_add(diag, PREM_ERROR, 0, (prem_place){options->keep, 0}, "plan",
                  "is missing, there is none to keep; `ttprem plan` makes one");
  command_print_diag(diag);
  if (status == PREM_OK && (*out)->plan)
    return COMMAND_DONE;
  if (status != PREM_OK)
    command_error("--keep %s: %s", options->keep, prem_status_text(status));
  return COMMAND_INVALID;
}

/* A file without a plan of its own has its times from where those of the kept plan came. */
static void take_kept_profile(plan_options *options, const prem_schedule *kept) {
  prem_schedule *schedule = NULL;
  if (options->profile || !kept->plan->profile[0] || !strcmp(options->file, "-"))
    return;
  prem_schedule_load_lenient(options->file, NULL, &schedule, NULL);
  for (int32_t i = 0; schedule && !schedule->profile[0] && i < schedule->profile_count; ++i)
    if (!strcmp(schedule->profiles[i].name, kept->plan->profile))
      options->profile = kept->plan->profile;
  prem_schedule_free(schedule);
}

static int plan_file(plan_options *options) {
  prem_schedule *schedule = NULL, *kept = NULL;
  prem_diag *diag = command_diag();
  const char *const paths[OUTPUTS] = {options->json, options->picture, options->csv,
                                      options->output};
  const command_outputs outputs = {paths, OUTPUTS,
                                   options->file}; /* it may be planned in its place */
  int status = COMMAND_DONE;
  if (options->keep) {
    status = open_kept(options, &kept, diag);
    if (status == COMMAND_DONE && !command_keep_apart(kept, &outputs))
      status = COMMAND_USAGE;
    if (status == COMMAND_DONE)
      take_kept_profile(options, kept);
  }
  if (status == COMMAND_DONE) {
    prem_diag_free(diag);
    status = command_judge_schedule(options->file, options->profile, NULL, false, &outputs,
                                    &schedule, diag = command_diag());
  }
  if (status != COMMAND_DONE)
    advise_on_times(options, diag);
  if (status != COMMAND_DONE && status != COMMAND_USAGE && options->json)
    command_write_json(options->json, refusal_json(diag));
  prem_diag_free(diag);
  options->search.keep = kept;
  if (status == COMMAND_DONE)
    status = plan(schedule, options);
  prem_schedule_free(kept);
  prem_schedule_free(schedule);
  return status;
}

int verb_plan(int argc, char **argv) {
  plan_options options = {0};
  command_parse(&argp, argc, argv, &options);
  if (options.search.policy && !policy_exists(options.search.policy))
    return command_fail(COMMAND_USAGE, "unknown policy '%s'; `ttprem list` shows them",
                        options.search.policy);
  const char *const outputs[OUTPUTS] = {options.output, options.json, options.picture, options.csv};
  for (int i = 0; i < OUTPUTS; ++i)
    if (!command_output_check(outputs[i]))
      return COMMAND_INVALID;
  return plan_file(&options);
}
