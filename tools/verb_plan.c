/* ttprem plan: decide when every phase starts. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "command.h"

typedef struct plan_options {
  const char *file, *output, *policy, *profile, *json;
} plan_options;

static error_t parse(int key, char *text, struct argp_state *state) {
  plan_options *options = state->input;
  switch (key) {
  case 'o':
    options->output = text;
    return 0;
  case 'P':
    options->policy = text;
    return 0;
  case 'p':
    options->profile = text;
    return 0;
  case 'j':
    options->json = text;
    return 0;
  case ARGP_KEY_ARG:
    if (options->file)
      argp_error(state, "one FILE at a time");
    options->file = text;
    return 0;
  case ARGP_KEY_NO_ARGS:
    argp_error(state, "no FILE");
    return 0;
  case ARGP_KEY_SUCCESS:
    if (options->json && !strcmp(options->json, "-") && !strcmp(options->output, "-"))
      argp_error(state, "the plan and --json cannot both go to stdout; name one with -o OUT");
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option options_list[] = {
    {.name = "output", .key = 'o', .arg = "OUT", .doc = "where to write; `-`, the default: stdout"},
    {.name = "policy", .key = 'P', .arg = "POLICY", .doc = "of `ttprem list`; default: the file's"},
    {.name = "profile", .key = 'p', .arg = "NAME", .doc = "WCETs from this profile of the file"},
    {.name = "json", .key = 'j', .arg = "R", .doc = "what came of it, as JSON; `-` is stdout"},
    {0}};
static const struct argp_child children[] = {{.argp = &command_common_argp}, {0}};
static const struct argp argp = {
    .options = options_list,
    .parser = parse,
    .children = children,
    .args_doc = "FILE",
    .doc =
        "Plan a schedule (`-` is stdin) for the machine of its `platform`, let the checker judge "
        "the plan, and write the file with its plan as the last group; all bytes before it stay "
        "as they are. Times are nanoseconds from the start of the hyperperiod.\v"
        "JSON: verdict (feasible, infeasible, unknown), makespan_ns (all tasks one-shot) or "
        "hyperperiod_ns, phases, seconds, peak_bytes, method. A file that is refused leaves no "
        "output.\n\n" COMMAND_EXIT_DOC,
};

static bool policy_exists(const char *name) {
  for (const prem_policy_info *policy = prem_policy_list(); policy->name; ++policy)
    if (!strcmp(policy->name, name))
      return true;
  return false;
}

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Demand above supply proves that no plan exists; otherwise none was found. */
static const char *verdict_word(int status, const prem_diag *diag) {
  if (status == COMMAND_DONE)
    return "feasible";
  return prem_diag_has(diag, 43) ? "infeasible" : "unknown";
}

static bool write_json(const char *path, const prem_schedule *schedule, const char *verdict,
                       double seconds) {
  json_t *root = json_pack("{s:s, s:s, s:s, s:s}", "schema", "ttprem.plan/1", "name",
                           schedule->name, "sha256", schedule->sha256, "verdict", verdict);
  const prem_plan *plan = schedule->plan;
  if (plan) {
    const char *key = schedule->period_lcm_ns ? "hyperperiod_ns" : "makespan_ns";
    json_object_set_new(root, key, json_integer(plan->hyperperiod_ns));
    json_object_set_new(root, "phases", json_integer(command_phase_count(schedule)));
    json_object_set_new(root, "method", json_string(plan->policy));
  }
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  json_object_set_new(root, "seconds", json_real(seconds));
  json_object_set_new(root, "peak_bytes", json_integer((json_int_t)usage.ru_maxrss * 1024));
  command_output output;
  bool written = command_output_open(&output, path);
  if (written) {
    json_dumpf(root, output.file, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    fputc('\n', output.file);
    written = command_output_commit(&output);
  }
  json_decref(root);
  return written;
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

static int plan(prem_schedule *schedule, const plan_options *options) {
  prem_diag *diag = prem_diag_new();
  double begin = seconds_now();
  int status = command_plan_schedule(schedule, NULL, options->policy, diag);
  double seconds = seconds_now() - begin;
  const char *verdict = verdict_word(status, diag);
  prem_diag_free(diag);
  if (status == COMMAND_DONE)
    status = save(schedule, options->output);
  else
    prem_schedule_set_plan(schedule, NULL);
  if (options->json && !write_json(options->json, schedule, verdict, seconds))
    status = COMMAND_INVALID;
  if (status == COMMAND_DONE)
    command_note("%s: policy %s, %" PRId64 " phases, hyperperiod %" PRId64 " ns, planned in %.3f s",
                 schedule->name, schedule->plan->policy, command_phase_count(schedule),
                 schedule->plan->hyperperiod_ns, seconds);
  return status;
}

int verb_plan(int argc, char **argv) {
  plan_options options = {.output = "-"};
  argp_parse(&argp, argc, argv, 0, NULL, &options);
  if (options.policy && !policy_exists(options.policy)) {
    command_error("unknown policy '%s'; `ttprem list` shows them", options.policy);
    return COMMAND_USAGE;
  }
  if (!command_output_check(options.output) || !command_output_check(options.json))
    return COMMAND_INVALID;
  prem_schedule *schedule = NULL;
  int status = command_open_schedule(options.file, options.profile, NULL, false, &schedule);
  if (status == COMMAND_DONE)
    status = plan(schedule, &options);
  prem_schedule_free(schedule);
  return status;
}
