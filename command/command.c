/* SPDX-License-Identifier: Apache-2.0 */
#include "command/command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "prem/base/clock.h"
#include "prem/base/suggest.h"

const char *command_line = "";
bool command_quiet;

/* ---- messages ------------------------------------------------------------------------------- */

/* On a terminal in lines of 80 columns, broken between words; else as one line, for scripts. */
static void print_message(const char *head, char *text) {
  enum { COLUMNS = 80, MARGIN = 2 };
  const bool wraps = isatty(STDERR_FILENO);
  size_t column = strlen(head);
  fputs(head, stderr);
  for (char *word = text, *blank; word; word = blank) {
    blank = wraps ? strchr(word, ' ') : NULL;
    if (blank)
      *blank++ = '\0';
    const size_t length = strlen(word);
    const bool begins = word != text;
    if (begins && column > MARGIN && column + 1 + length > COLUMNS)
      column = (size_t)fprintf(stderr, "\n%*s", MARGIN, "") - 1;
    else if (begins)
      column += (size_t)fprintf(stderr, " ");
    command_show(word, stderr);
    column += length;
  }
  fputc('\n', stderr);
}

static void say(const char *format, va_list arguments) {
  fflush(stdout);
  char *said = NULL;
  if (vasprintf(&said, format, arguments) < 0)
    return;
  print_message("ttprem: ", said);
  free(said);
}

void command_show(const char *text, FILE *file) {
  const int length = prem_text_show(text, NULL, 0);
  char *shown = malloc((size_t)length + 1);
  if (!shown)
    return;
  prem_text_show(text, shown, (size_t)length + 1);
  fputs(shown, file);
  free(shown);
}

void command_error(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  say(format, arguments);
  va_end(arguments);
}

int command_fail(int status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  say(format, arguments);
  va_end(arguments);
  return status;
}

void command_note(const char *format, ...) {
  if (command_quiet)
    return;
  va_list arguments;
  va_start(arguments, format);
  say(format, arguments);
  va_end(arguments);
}

static const char *word_at(const void *words, int32_t index) {
  return ((const char *const *)words)[index];
}

void command_unknown_verb(const char *verb, const char *const *verbs) {
  int32_t count = 0;
  while (verbs[count])
    ++count;
  const prem_shown nearest = prem_suggest(verb, word_at, verbs, count);
  command_error("unknown verb '%s'%s there are:", verb, nearest.text[0] ? nearest.text : ";");
}

prem_diag *command_diag(void) {
  prem_diag *diag = prem_diag_new();
  if (!diag) {
    command_error("%s", prem_status_text(PREM_ERR_MEMORY));
    exit(COMMAND_INVALID);
  }
  return diag;
}

void command_print_wrapped(const char *head, const char *text) {
  const size_t margin = strlen(head);
  size_t column = margin;
  fputs(head, stdout);
  while (*text) {
    const size_t length = strcspn(text, " ");
    if (column > margin && column + 1 + length > 80) {
      printf("\n%*s", (int)margin, "");
      column = margin;
    }
    column += (size_t)printf("%s%.*s", column > margin ? " " : "", (int)length, text);
    text += length + strspn(text + length, " ");
  }
  putchar('\n');
}

static void print_problem(const prem_problem *problem) {
  if (command_quiet && problem->severity != PREM_ERROR)
    return;
  int length = prem_problem_format(problem, NULL, 0);
  char *line = length < 0 ? NULL : malloc((size_t)length + 1);
  if (!line)
    return;
  prem_problem_format(problem, line, (size_t)length + 1);
  print_message("", line);
  free(line);
}

void command_print_diag(const prem_diag *diag) {
  for (size_t i = 0; i < prem_diag_count(diag); ++i)
    print_problem(prem_diag_at(diag, i));
  if (prem_diag_dropped(diag))
    fprintf(stderr, "... and %zu more of the same kinds\n", prem_diag_dropped(diag));
}

int command_exit_status(prem_status status) {
  switch (status) {
  case PREM_OK:
    return COMMAND_DONE;
  case PREM_ERR_UNAVAILABLE:
    return COMMAND_UNAVAILABLE;
  case PREM_ERR_INTERRUPTED:
    return COMMAND_INTERRUPTED;
  case PREM_ERR_MACHINE:
    return COMMAND_MACHINE;
  case PREM_ERR_MEMORY:
  case PREM_ERR_IO:
  case PREM_ERR_PARSE:
  case PREM_ERR_INVALID:
  case PREM_ERR_INFEASIBLE:
  case PREM_ERR_WRONG:
  case PREM_ERR_ARGUMENT:
  case PREM_ERR_TIMEOUT:
  case PREM_ERR_FULL:
  case PREM_ERR_ENDED:
    break;
  }
  return COMMAND_INVALID;
}

/* ---- options -------------------------------------------------------------------------------- */

static error_t parse_common(int key, char *text, struct argp_state *state) {
  (void)text, (void)state;
  if (key != 'q')
    return ARGP_ERR_UNKNOWN;
  command_quiet = true;
  return 0;
}

const struct argp command_common_argp = {.options = command_options[OPTIONS_COMMON],
                                         .parser = parse_common};
const struct argp_child command_common_children[] = {{.argp = &command_common_argp}, {0}};

int64_t command_parse_int(struct argp_state *state, const char *option, const char *text,
                          int64_t min, int64_t max) {
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (errno || end == text || *end || value < min || value > max)
    argp_error(state, "%s: '%s' is not an integer from %" PRId64 " to %" PRId64, option, text, min,
               max);
  return value;
}

double command_parse_seconds(struct argp_state *state, const char *option, const char *text) {
  static const struct {
    const char *unit;
    double seconds;
  } units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"min", 60}, {"h", 3600}};
  char *end;
  double value = strtod(text, &end);
  for (size_t i = 0; end != text && i < sizeof units / sizeof units[0]; ++i)
    if (!strcmp(end, units[i].unit) && value > 0 && value * units[i].seconds < 1e9)
      return value * units[i].seconds;
  argp_error(state, "%s: '%s' is not a time such as 90, 90s, 500ms, 2min or 1h", option, text);
  return 0;
}

/* Append ", NAME" to a list of names; what finds no room is left out. */
static void append_name(char *list, size_t list_bytes, const char *name) {
  size_t used = strlen(list);
  snprintf(list + used, list_bytes - used, "%s%s", used ? ", " : "", name);
}

prem_mode command_parse_mode(struct argp_state *state, const char *text) {
  prem_mode mode = PREM_MODE_TT;
  if (!prem_mode_parse(text, &mode)) {
    char names[128] = "";
    for (int i = 0; i < PREM_MODE_COUNT; ++i)
      append_name(names, sizeof names, prem_mode_name((prem_mode)i));
    argp_error(state, "unknown mode '%s'; there are: %s", text, names);
  }
  return mode;
}

/* ---- schedules ------------------------------------------------------------------------------ */

/* Of a file that could not be read as a whole, the problems name the parts. */
static bool are_apart(const prem_schedule *schedule, const prem_diag *diag,
                      const command_outputs *outputs) {
  if (schedule)
    return command_keep_apart(schedule, outputs);
  for (size_t i = 0; i < prem_diag_count(diag); ++i)
    if (!command_keep_from(prem_diag_at(diag, i)->file, outputs))
      return false;
  return true;
}

int command_judge_schedule(const char *path, const char *profile, const prem_machine *machine,
                           bool keep_plan, const command_outputs *outputs, prem_schedule **out,
                           prem_diag *diag) {
  *out = NULL;
  prem_schedule *schedule = NULL;
  prem_status status = prem_schedule_load_lenient(path, profile, &schedule, diag);
  if (outputs && !are_apart(schedule, diag, outputs)) {
    prem_schedule_free(schedule);
    return COMMAND_USAGE;
  }
  if (status == PREM_OK) {
    /* Go on after the first error: the user sees all problems of the file in one go. */
    if (!keep_plan)
      prem_schedule_set_plan(schedule, NULL);
    status = prem_schedule_bind(schedule, prem_registry_builtin(), diag);
    prem_status judged = prem_check(schedule, machine, diag);
    if (status == PREM_OK)
      status = judged;
  }
  command_print_diag(diag);
  if (status == PREM_OK && prem_diag_errors(diag) == 0) {
    *out = schedule;
    return COMMAND_DONE;
  }
  if (prem_diag_errors(diag) == 0)
    command_error("%s: %s", path, prem_status_text(status));
  prem_schedule_free(schedule);
  return COMMAND_INVALID;
}

int command_open_schedule(const char *path, const char *profile, const prem_machine *machine,
                          bool keep_plan, prem_schedule **out) {
  prem_diag *diag = command_diag();
  int status = command_judge_schedule(path, profile, machine, keep_plan, NULL, out, diag);
  prem_diag_free(diag);
  return status;
}

/* A formula starts tiles where it says, whatever the resources allow: the user mends that in the
 * file, so the first of the checker's errors is enough. */
static void refuse_formula(const prem_schedule *schedule, const prem_diag *diag) {
  size_t i = 0;
  while (i + 1 < prem_diag_count(diag) && prem_diag_at(diag, i)->severity != PREM_ERROR)
    print_problem(prem_diag_at(diag, i++));
  print_problem(prem_diag_at(diag, i));
  const bool has_offsets =
      schedule->policy.prefetch_offset_ns > 0 || schedule->policy.writeback_offset_ns > 0;
  command_error("%s: the plan of the policy's formula breaks rules (%zu in all): use policy "
                "\"auto\", %sgive the resource more capacity or `per = \"task\"`",
                schedule->path, prem_diag_errors(diag),
                has_offsets ? "give `policy` longer offsets or none, or " : "or ");
}

int command_take_plan(prem_schedule *schedule, const prem_machine *machine, prem_status status,
                      prem_plan *plan, prem_diag *diag) {
  bool refused = false;
  const bool is_formula = plan && strcmp(plan->policy, "auto") != 0;
  if (status == PREM_OK) {
    status = prem_adopt_plan(schedule, machine, plan, diag);
    refused = status != PREM_OK && prem_diag_errors(diag) > 0;
  }
  if (refused && is_formula)
    refuse_formula(schedule, diag);
  else
    command_print_diag(diag);
  if (refused && !is_formula)
    command_error("%s: the checker refuses the plan that the planner made: please report this",
                  schedule->path);
  else if (status != PREM_OK && prem_diag_errors(diag) == 0)
    command_error("%s: %s", schedule->path, prem_status_text(status));
  return command_exit_status(status);
}

void command_tell_size(const prem_schedule *schedule) {
  const double told_gib = 0.5, job_bytes = 400;
  double phases = 0, bytes = 0;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    int kinds = 0;
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      kinds += task->phase[p].exists;
    const double jobs = (double)prem_task_jobs(schedule, task);
    const double of_job = (double)task->tile_count * kinds;
    phases += jobs * of_job;
    bytes += jobs * (of_job * PREM_PLANNING_BYTES + job_bytes);
  }
  if (bytes > told_gib * 0x1p30)
    command_note("%s: to plan %.0f phases takes some %.1f GiB of memory", schedule->name, phases,
                 bytes / 0x1p30);
}

static void tell_time(void *context, const prem_plan_progress *now) {
  const prem_schedule *schedule = context;
  if (now->first_s > 0)
    command_note("%s: the plan takes some %.3g s or more", schedule->name, now->first_s);
}

int command_plan_schedule(prem_schedule *schedule, const prem_machine *machine, const char *policy,
                          prem_diag *diag) {
  prem_plan *plan = NULL;
  prem_plan_options options = {
      .policy = policy, .stop = &command_stop, .progress = tell_time, .progress_context = schedule};
  command_tell_size(schedule);
  prem_status status = prem_plan_make(schedule, machine, &options, &plan, diag);
  return command_take_plan(schedule, machine, status, plan, diag);
}

int64_t command_plan_phases(const prem_schedule *schedule, const prem_plan *plan) {
  prem_slot *slots = NULL;
  int64_t count = 0;
  if (prem_plan_expand(schedule, plan, &slots, &count, NULL) != PREM_OK)
    return -1;
  free(slots);
  return count;
}

command_closed_text command_closed(const prem_plan *plan) {
  command_closed_text closed = {""};
  int64_t closed_ns = 0;
  if (!plan->gates)
    return closed;
  for (int32_t i = 0; i < plan->closed_count; ++i)
    closed_ns += plan->closed[i].end_ns - plan->closed[i].start_ns;
  snprintf(closed.text, sizeof closed.text,
           "best effort: memory closed in %d window%s for %" PRId64
           " ns, with the time ahead %" PRId64 " ns; open share %.4f",
           plan->closed_count, plan->closed_count == 1 ? "" : "s", closed_ns,
           plan->hyperperiod_ns - plan->open_ns,
           (double)plan->open_ns / (double)plan->hyperperiod_ns);
  return closed;
}

command_server_text command_server(const prem_schedule *schedule, int32_t task) {
  const prem_task *server = &schedule->tasks[task];
  command_server_text said = {""};
  int64_t bound_ns = -1;
  if (server->server.capacity == 0)
    return said;
  if (prem_errand_bound(schedule, task, &bound_ns) != PREM_OK || bound_ns < 0)
    snprintf(said.text, sizeof said.text,
             "server '%s': no bound for its errands, since it has no distance_ns", server->name);
  else
    snprintf(said.text, sizeof said.text,
             "server '%s': an errand takes %" PRId64 " ns at most, from its arrival to its end",
             server->name, bound_ns);
  return said;
}

int64_t command_phase_count(const prem_schedule *schedule) {
  return command_plan_phases(schedule, schedule->plan);
}

/* ---- backends ------------------------------------------------------------------------------- */

const char *const command_backends[] = {"cuda", "cpu", "sim", NULL};

static bool is_known(const char *name) {
  for (const char *const *known = command_backends; *known; ++known)
    if (!strcmp(*known, name))
      return true;
  return false;
}

static int refuse_unknown(const char *name) {
  char names[128] = "auto";
  for (const char *const *known = command_backends; *known; ++known)
    append_name(names, sizeof names, *known);
  return command_fail(COMMAND_USAGE, "unknown backend '%s'; there are: %s", name, names);
}

prem_status command_probe_backend(const char *name, const prem_backend **out, prem_machine *machine,
                                  char *why, size_t why_bytes) {
  *out = prem_backend_find(name);
  if (!*out) {
    snprintf(why, why_bytes, "not in this build");
    return PREM_ERR_UNAVAILABLE;
  }
  prem_diag *diag = prem_diag_new();
  *machine = (prem_machine){0};
  prem_status status = prem_backend_probe(*out, machine, diag);
  snprintf(why, why_bytes, "%s",
           prem_diag_count(diag) ? prem_diag_at(diag, 0)->reason : prem_status_text(status));
  prem_diag_free(diag);
  return status;
}

static int find_best(const prem_backend **out, prem_machine *machine) {
  char passed_over[1024] = "";
  size_t used = 0;
  for (const char *const *known = command_backends; *known; ++known) {
    char why[256];
    if (command_probe_backend(*known, out, machine, why, sizeof why) == PREM_OK) {
      command_note("backend %s: %s%s", *known, machine->name, passed_over);
      return COMMAND_DONE;
    }
    if (used < sizeof passed_over)
      used +=
          (size_t)snprintf(passed_over + used, sizeof passed_over - used, "; %s: %s", *known, why);
  }
  return command_fail(COMMAND_UNAVAILABLE, "no backend is available%s", passed_over);
}

int command_find_backend(const char *name, const prem_backend **out, prem_machine *machine) {
  *out = NULL;
  if (!strcmp(name, "auto"))
    return find_best(out, machine);
  if (!is_known(name) && !prem_backend_find(name))
    return refuse_unknown(name);
  char why[256];
  prem_status status = command_probe_backend(name, out, machine, why, sizeof why);
  if (status == PREM_OK)
    return COMMAND_DONE;
  command_error("backend %s is not available: %s", name, why);
  return command_exit_status(status);
}

/* ---- interruption --------------------------------------------------------------------------- */

enum { SAME_SIGNAL_MS = 500 };

volatile sig_atomic_t command_stop;
static int64_t first_signal_ns;

static int64_t since_first_signal_ms(void) {
  return (prem_host_clock_ns() - first_signal_ns) / 1000000;
}

/* One chance to end in order; a second signal kills. timeout(1) and others signal a process and its
 * group: what comes at once is the first signal again. */
static void on_signal(int signal_number) {
  if (!command_stop) {
    first_signal_ns = prem_host_clock_ns();
    command_stop = 1;
  } else if (since_first_signal_ms() >= SAME_SIGNAL_MS) {
    signal(signal_number, SIG_DFL);
    raise(signal_number);
  }
}

void command_catch_signals(void) {
  /* No SA_RESTART: a blocking write to a full pipe must not hold up the end. Each signal is handled
   * with the others blocked, so that first_signal_ns is whole when it is read. */
  struct sigaction action = {.sa_handler = on_signal};
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, SIGINT);
  sigaddset(&action.sa_mask, SIGTERM);
  sigaddset(&action.sa_mask, SIGHUP);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  /* The terminal has gone, unless nohup(1) said that it may. */
  struct sigaction before;
  if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
    sigaction(SIGHUP, &action, NULL);
  /* A reader of stdout that has gone, as head(1) does, must not take along what else is written. */
  signal(SIGPIPE, SIG_IGN);
}

void command_release_signals(void) {
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction now;
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && !command_stop; ++i)
    if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler == on_signal)
      signal(numbers[i], SIG_DFL);
}
