/* SPDX-License-Identifier: Apache-2.0 */
/** What a prem_schedule keeps to itself: file names, the file's bytes, lookup tables. */
#pragma once

#include "ttprem/schedule.h"

struct prem_schedule_private {
  char **files; /* names that prem_place points to */
  size_t file_count;
  char *source; /* the file's bytes, closed by a zero; for prem_schedule_save() */
  size_t source_bytes;
  size_t plan_offset;    /* where the top-level `plan` begins in the source; SIZE_MAX: nowhere */
  bool settings_follow;  /* the source has settings after its plan */
  bool plan_is_included; /* the plan comes from an included file */
  int32_t *by_name;      /* tasks in the order of their names */
  int32_t *tile_blocks;  /* [task] while bind works: of the blocks, those for which it has tiles */
  int32_t *block_in;     /* made by bind: the largest input buffer of the tasks on a block */
  int32_t *block_out;
  bool keeps_references;
  void *references; /* of the first session, one array's after the other; NULL: none yet */
  size_t references_bytes;
};

/** The schedule's own copy of a file name; NULL when out of memory. */
const char *prem_schedule_intern(prem_schedule *schedule, const char *file);
/** An empty schedule with the defaults of the format; NULL when out of memory. */
prem_schedule *prem_schedule_new(void);
/** The entry of `profiles` of this name; NULL: there is none. */
const prem_profile_ref *prem_schedule_find_profile(const prem_schedule *schedule, const char *name);
/** What bind gave a task: its kernel, parameters, windows, arrays. */
void prem_task_forget_binding(prem_task *task);
/** Does one of its bound kernel's ports read or write the array? */
bool prem_task_uses(const prem_task *task, int32_t array, prem_access access);
/** Does a task read an array at a port, in its tiles' first turn or a later one? After bind. */
bool prem_port_reads(const prem_task *task, int32_t port, int32_t array);
/** Of each array the server that alone uses it, so that each of its errands has one of its own;
 *  below 0: none. After bind. */
void prem_array_servers(const prem_schedule *schedule, int32_t *servers);
/** Build the lookup table behind prem_schedule_find_task(). */
prem_status prem_schedule_index(prem_schedule *schedule);

/** The least common multiple of the periods of one class; 0: all are one-shot. `*above` is the task
 *  with which it is above 2^62 ns, then that of those before it; may be NULL: it is not. */
int64_t prem_periods_lcm_ns(const prem_schedule *schedule, bool best_effort,
                            const prem_task **above);

/**
 * Phases of one hyperperiod over all tasks whose number of tiles is known; adds E013 to `diag` and
 * returns false when they are more than PREM_MAX_SLOTS.
 */
bool prem_schedule_fits(const prem_schedule *schedule, prem_diag *diag);

/** Do the live ports fit the tasks (E047)? Of a bound schedule; gives writers their publish_ns. */
bool prem_judge_live(prem_schedule *schedule, prem_diag *diag);
/** May a task give its jobs up (E048)? Of a bound schedule. `*status`: memory. */
bool prem_judge_overruns(const prem_schedule *schedule, prem_status *status, prem_diag *diag);
/** Does everybody know which version of a state array he sees (E049)? Of a bound schedule.
 * `*status`: memory. */
bool prem_judge_versions(const prem_schedule *schedule, prem_status *status, prem_diag *diag);
void prem_chains_free(prem_measure *measure);
/** Does each task of a chain have its data from the one before it (E026)? Of a bound schedule. */
bool prem_judge_chains(const prem_schedule *schedule, prem_diag *diag);
