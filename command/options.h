/* SPDX-License-Identifier: Apache-2.0 */
/**
 * One table of the options of all verbs: name, argument, help, who takes it, what it may be.
 * Parsing,
 * --help (against which tests/docs/man_pages.sh holds the manual) and the completion come from it.
 */
#pragma once

#include <argp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/** Who parses an option: a verb, or what several verbs share. */
typedef enum command_group {
  OPTIONS_COMMON, /* all verbs */
  OPTIONS_PLAN,
  OPTIONS_CHECK,
  OPTIONS_MEASURING, /* run and compare */
  OPTIONS_RUN,
  OPTIONS_COMPARE,
  OPTIONS_TRACE,
  OPTIONS_REPORT,
  OPTIONS_OBSERVING, /* profile, isolate and tune */
  OPTIONS_PROFILE,
  OPTIONS_ISOLATE,
  OPTIONS_TUNE,
  OPTIONS_FIT,
  OPTIONS_EXPERIMENT,
  OPTIONS_KERNEL_TEST,
  OPTIONS_DOCTOR,
  OPTIONS_NEW,
  OPTIONS_GROUPS
} command_group;

/** A set of groups: OPTIONS_OF(RUN) | OPTIONS_OF(COMPARE). */
#define OPTIONS_OF(group) (UINT32_C(1) << OPTIONS_##group)

/** Keys of options that have no letter. One name has one key, whichever verb takes it. */
enum {
  OPTION_ANEW = 256,
  OPTION_ARG,
  OPTION_BREAK,
  OPTION_CASES,
  OPTION_COMPANIES,
  OPTION_CORES,
  OPTION_DISCARD,
  OPTION_ENGINE,
  OPTION_ERRANDS,
  OPTION_EXPORT,
  OPTION_FIFO,
  OPTION_FRAMES,
  OPTION_FROM,
  OPTION_GOAL,
  OPTION_HISTOGRAM,
  OPTION_HOSTILE,
  OPTION_IMPORT,
  OPTION_ISOLATION,
  OPTION_KEEP,
  OPTION_LATE,
  OPTION_LATENESS,
  OPTION_LATE_NS,
  OPTION_LIVE,
  OPTION_LOCK_MEMORY,
  OPTION_MARGIN,
  OPTION_METRICS,
  OPTION_LATE_LOG,
  OPTION_NO_RECORDS,
  OPTION_NO_SAVE,
  OPTION_OVERRUNS,
  OPTION_PART,
  OPTION_PICTURE,
  OPTION_PRECISION,
  OPTION_QUANTILE,
  OPTION_QUICK,
  OPTION_RAISE,
  OPTION_RATE,
  OPTION_REGULATED,
  OPTION_ROOT,
  OPTION_ROUNDS,
  OPTION_RUN,
  OPTION_SAVE_ANYWHERE,
  OPTION_SCENARIO,
  OPTION_SCHEDULE,
  OPTION_SCHEDULES,
  OPTION_SEED,
  OPTION_STEADY,
  OPTION_STRICT,
  OPTION_SVG,
  OPTION_SWEEP,
  OPTION_TASK,
  OPTION_TEMPLATE,
  OPTION_TILE,
  OPTION_TIMELINE,
  OPTION_TIMES,
  OPTION_TO,
  OPTION_TRIES,
  OPTION_VERIFY_EVERY,
  OPTION_WITH_DISTURBED,
  OPTION_SENTINEL
};

enum { OPTIONS_MAX = 32 }; /* of a group */

/** The options of each group for its `struct argp`; command_parse() fills them in from the table.
 */
extern struct argp_option command_options[OPTIONS_GROUPS][OPTIONS_MAX + 1];

/** The name of an option's key, without its dashes. */
const char *command_option_name(int key);
/** argp_parse() of a verb. */
void command_parse(const struct argp *argp, int argc, char **argv, void *input);

/** Where the value of an option goes: a member of the verb's struct. One of no bytes ends a table.
 */
typedef struct command_store {
  int key;
  enum { STORE_TEXT, STORE_PICTURE, STORE_FLAG, STORE_INTEGER, STORE_NUMBER, STORE_OPERAND } kind;
  size_t offset, bytes;
  int64_t least, most; /* usage errors below and above */
  const char *operand; /* what the only argument is called */
} command_store;

#define STORE_AT(what, type, member)                                                               \
  .kind = STORE_##what, .offset = offsetof(type, member), .bytes = sizeof(((type *)NULL)->member)
#define TAKE_TEXT(option, type, member)                                                            \
  { .key = option, STORE_AT(TEXT, type, member) }
#define TAKE_PICTURE(option, type, member)                                                         \
  { .key = option, STORE_AT(PICTURE, type, member) }
#define TAKE_FLAG(option, type, member)                                                            \
  { .key = option, STORE_AT(FLAG, type, member) }
#define TAKE_INTEGER(option, type, member, min, max)                                               \
  { .key = option, STORE_AT(INTEGER, type, member), .least = min, .most = max }
/* A double, at least 0. */
#define TAKE_NUMBER(option, type, member, max)                                                     \
  { .key = option, STORE_AT(NUMBER, type, member), .most = max }
/* The only argument that is no option. */
#define TAKE_OPERAND(name, type, member)                                                           \
  { .key = ARGP_KEY_ARG, STORE_AT(OPERAND, type, member), .operand = name }

/** Take an option that a table has; ARGP_ERR_UNKNOWN for any other. Usage error (exit 2) through
 *  argp for a value out of its limits. */
error_t command_take(const command_store *stores, command_group group, int key, char *text,
                     struct argp_state *state);

/**
 * For the completion: a line for each option of these groups, `-o --output=` (= where it needs a
 * value), a tab and what the value may be:
 *
 *   words         these; @NAME among them: those that `ttprem list` has under NAME
 *   @list NAME    some of these, with commas
 *   @files GLOB   files, all without GLOB
 *   @folders
 *   nothing       anything
 */
void command_list_options(uint32_t groups, FILE *file);
