/* SPDX-License-Identifier: Apache-2.0 */
/** What the verbs of the ttprem command share. One file a verb: verb_NAME.c. */
#pragma once

#include <argp.h>
#include <stdio.h>

#include "command/options.h"
#include "ttprem/ttprem.h"
#include "ttprem/ttprem_measure.h"

/** Exit statuses, the same for every verb. */
enum {
  COMMAND_DONE = 0,
  COMMAND_INVALID = 1,     /* bad schedule or input, unwritable output, wrong result */
  COMMAND_USAGE = 2,       /* bad command line, unknown verb, backend, mode or policy */
  COMMAND_UNAVAILABLE = 3, /* the backend, or the mode on it, is not available here */
  COMMAND_MACHINE = 4,     /* the machine failed */
  COMMAND_BROKE = 5,       /* run and compare: a release came later than `--break` */
  COMMAND_INTERRUPTED = 130
};

/** For the end of every --help. */
#define COMMAND_EXIT_DOC                                                                           \
  "Exit status: 0 done; 1 bad schedule or input, unwritable output, wrong result; 2 usage, "       \
  "unknown backend, mode or policy; 3 backend not available; 4 the machine failed; 130 "           \
  "interrupted, what was measured is written."

/** A verb. argv[0] is "ttprem VERB". Returns an exit status. */
typedef int command_verb(int argc, char **argv);
command_verb verb_check, verb_compare, verb_doctor, verb_experiment, verb_explain, verb_fit,
    verb_info, verb_isolate, verb_kernel_test, verb_list, verb_new, verb_plan, verb_profile,
    verb_report, verb_run, verb_tune, verb_trace;

/** The whole command line, for the provenance of results. */
extern const char *command_line;
/** Set by --quiet: notes, warnings and progress are not shown; errors are. */
extern bool command_quiet;
/** Child parser of every verb: --quiet. */
extern const struct argp command_common_argp;
/** Of a verb that shares no other options. */
extern const struct argp_child command_common_children[];

/* ---- messages, on stderr -------------------------------------------------------------------- */

/** "ttprem: ..." */
void command_error(const char *format, ...) PREM_PRINTF(1, 2);
/** The same; returns the exit status. */
int command_fail(int status, const char *format, ...) PREM_PRINTF(2, 3);
/** As command_error(), unless --quiet. */
void command_note(const char *format, ...) PREM_PRINTF(1, 2);
/** A list of all verbs, NULL at its end, gives the one that may have been meant. */
void command_unknown_verb(const char *verb, const char *const *verbs);
/** A text that may come from a stranger, such as the name of a file. */
void command_show(const char *text, FILE *file);
/** On stdout, `text` after `head`, cut into lines of 80 columns; all but the first begin where the
 *  first one's text does. */
void command_print_wrapped(const char *head, const char *text);
/** All problems, one line each; notes and warnings unless --quiet. */
void command_print_diag(const prem_diag *diag);
/** The first of two exit statuses that says something. */
static inline int command_join_status(int first, int second) {
  return first == COMMAND_DONE ? second : first;
}
/** The exit status that a library status stands for. */
int command_exit_status(prem_status status);

/* ---- parsing values of options -------------------------------------------------------------- */

/** Usage error (exit 2) through argp unless `text` is an integer in [least, most]. */
int64_t command_parse_int(struct argp_state *state, const char *option, const char *text,
                          int64_t min, int64_t max);
/** Seconds from "90", "90s", "500ms" or "2min". */
double command_parse_seconds(struct argp_state *state, const char *option, const char *text);
prem_mode command_parse_mode(struct argp_state *state, const char *text);

/* ---- schedules ------------------------------------------------------------------------------ */

/**
 * Load, bind and check a file; every problem is printed at once.
 *
 * @param machine    judge against this machine; NULL: the file's platform.
 * @param keep_plan  false: the file's plan is about to be replaced and not judged.
 * @return COMMAND_DONE and a schedule fit to be planned or run, or an exit status and NULL.
 */
int command_open_schedule(const char *path, const char *profile, const prem_machine *machine,
                          bool keep_plan, prem_schedule **out);
/** What is going to be written; a path of NULL stands for nothing. */
typedef struct command_outputs {
  const char *const *paths;
  int count;
  const char *spared; /* of what is read, the file that may be written over; NULL: none may */
} command_outputs;

/** The same for somebody who wants the problems as well. `diag` is empty, and not NULL.
 * COMMAND_USAGE when one of `outputs`, which may be NULL, would be written over what was read:
 * write none. */
int command_judge_schedule(const char *path, const char *profile, const prem_machine *machine,
                           bool keep_plan, const command_outputs *outputs, prem_schedule **out,
                           prem_diag *diag);
/** Prints and returns false where one of `outputs` is a file that the schedule was read from or
 *  names, or where two are one. */
bool command_keep_apart(const prem_schedule *schedule, const command_outputs *outputs);
/** A list of problems; where there is no memory for it the command ends (exit 1). */
prem_diag *command_diag(void);
/** Plan a schedule and check the plan; problems are printed. `policy` NULL: the file's. */
/** Say what memory it takes to plan a large schedule. */
void command_tell_size(const prem_schedule *schedule);
int command_plan_schedule(prem_schedule *schedule, const prem_machine *machine, const char *policy,
                          prem_diag *diag);
/** The second half of it: with PREM_OK give the schedule its plan and check that. */
int command_take_plan(prem_schedule *schedule, const prem_machine *machine, prem_status status,
                      prem_plan *plan, prem_diag *diag);
/** Phases of one hyperperiod of a plan; -1 when they cannot be counted. */
int64_t command_plan_phases(const prem_schedule *schedule, const prem_plan *plan);
/** What a plan leaves to best-effort tasks, in words; "" where there are none. */
typedef struct command_closed_text {
  char text[160];
} command_closed_text;
command_closed_text command_closed(const prem_plan *plan);
/** How long an errand of a server may take by the schedule's plan, in words; "": no server. */
typedef struct command_server_text {
  char text[PREM_NAME_BYTES + 160];
} command_server_text;
command_server_text command_server(const prem_schedule *schedule, int32_t task);
/** Phases of one hyperperiod of the schedule's plan; -1 when they cannot be counted. */
int64_t command_phase_count(const prem_schedule *schedule);

/* ---- backends ------------------------------------------------------------------------------- */

/** The backends that ttprem knows, best first, whether or not they are in this build; NULL ends. */
extern const char *const command_backends[];
/** Find and probe a known backend; when it is not available, why not. */
prem_status command_probe_backend(const char *name, const prem_backend **out, prem_machine *machine,
                                  char *why, size_t why_bytes);

/**
 * The backend of a name, or with "auto" the best one that is available, and its machine.
 * Prints why there is none; says which one "auto" took, and why not a better one.
 */
int command_find_backend(const char *name, const prem_backend **out, prem_machine *machine);

/* ---- outputs -------------------------------------------------------------------------------- */

/** A prem_output that prints what goes wrong. */
typedef struct command_output {
  prem_output output;
  const char *path;
  FILE *file;
} command_output;

/** Prints why not and returns false when `path` cannot be written. */
bool command_output_open(command_output *output, const char *path);
/** Complete: rename. Prints why not and returns false when it could not be written. */
bool command_output_commit(command_output *output);
/** Leave no trace. Nothing happens when it is not open. */
void command_output_abandon(command_output *output);
/** Could `path` be written? Asked before a run starts; prints why not. NULL and "-" can. */
bool command_output_check(const char *path);
/** Prints and returns false where one of `outputs` is the file `input`; "" and "-" are none. */
bool command_keep_from(const char *input, const command_outputs *outputs);
/** Usage error (exit 2) through argp where two of `outputs` are one file, or one is `input`. NULL
 * stands for none, "-" for stdin as input and stdout as output. */
void command_check_outputs(struct argp_state *state, const char *input, const char *const outputs[],
                           int count);
/** Usage error (exit 2) through argp unless `path` ends in .svg, .png or .pdf. */
void command_check_picture(struct argp_state *state, const char *option, const char *path);
/** Draw the schedule's plan to `path`; problems are printed. NULL: nothing to do. */
int command_draw_plan(const prem_schedule *schedule, const char *path);

/* ---- interruption --------------------------------------------------------------------------- */

/** Non-zero after SIGINT or SIGTERM; another one half a second later kills. */
extern volatile sig_atomic_t command_stop;
void command_catch_signals(void);
/** From now on there is nothing that would be lost: signals end the command at once, as before
 *  command_catch_signals(). Nothing happens after one was caught. */
void command_release_signals(void);
