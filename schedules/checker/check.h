/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Inside the checker: what its parts share.
 *
 * The plan is expanded into slots once. Each part makes one sorted pass over them, so a check costs
 * O(n log n). The two halves of a joined pair stand side by side and are judged as one phase, the
 * prefetch's; a chained phase is judged at its latest start, except for its use of resources.
 */
#pragma once

#include "ttprem/check.h"

/** The slot of each phase of one tile of one job; -1: not in the plan. */
typedef struct check_tile {
  int32_t slot[PREM_PHASE_COUNT];
} check_tile;

/** When one job begins and ends in the plan; the slots are -1 when it is not there. */
typedef struct check_job {
  int64_t first_ns, end_ns;
  int32_t first, last;
} check_job;

typedef struct prem_checker {
  const prem_schedule *schedule;
  const prem_machine *machine;
  const prem_plan *plan;
  char prefix[PREM_NAME_BYTES + 24]; /* of the plan's keys in messages */
  prem_diag *diag;
  int64_t hyperperiod_ns;
  int64_t guard_ns;
  int64_t precedence_ns; /* the larger of what the schedule and the machine say */
  bool periodic;         /* the last phases of a hyperperiod may reach into the next one, */
  bool switches;         /* but not where operating modes have plans of their own */
  prem_slot *slots;
  int32_t slot_count;
  bool *judged;        /* [task]: whole, bound, with all its WCETs, and with jobs in the mode */
  const uint32_t *off; /* [task], a bit for each operating mode: prem_tasks_off() */
  int32_t mode;        /* whose plan it is; -1: the file's */
  int64_t *first_tile; /* [task + 1]: where a task's tiles begin, jobs one after the other */
  int64_t *first_job;  /* [task + 1] */
  check_tile *tiles;
  check_job *jobs;
} prem_checker;

/** A slot in words, for a message. */
typedef struct check_name {
  char text[320];
} check_name;
check_name prem_checker_name(const prem_checker *checker, int32_t slot);

/** The gap that telling a successor asks for, in words: whose it is, and how much. */
check_name prem_checker_precedence(const prem_checker *checker);

/** Add an error at a slot's line of the plan. */
void prem_checker_refuse(const prem_checker *checker, int code, int32_t slot, const char *format,
                         ...) PREM_PRINTF(4, 5);

/** Has a task no jobs in the operating mode whose plan is judged? */
bool prem_checker_is_off(const prem_checker *checker, int32_t task);

/** Is this slot judged by the rules of time and resources? Not a warm-up, not one of a broken task,
 *  and not one that is refused by itself (before the hyperperiod, a phase that does not exist). */
bool prem_checker_counts(const prem_checker *checker, int32_t slot);
/** The other half of a joined pair, or -1. */
int32_t prem_checker_partner(const prem_checker *checker, int32_t slot);
/** Is it the half of a pair that is judged with its prefetch? */
bool prem_checker_second_half(const prem_checker *checker, int32_t slot);
/** Have two slots (with their other halves) a tile in common? */
bool prem_checker_same_tile(const prem_checker *checker, int32_t a, int32_t b);
/** The gap that the slot (with its other half) asks for behind its end. */
int64_t prem_checker_gap_ns(const prem_checker *checker, int32_t slot);
/** The same in words: whose it is, and how much. */
check_name prem_checker_gap(const prem_checker *checker, int32_t slot);
/** The executor of a slot: a block's memory unit or its compute unit. */
int32_t prem_checker_unit(const prem_checker *checker, int32_t slot);
int64_t prem_slot_end_ns(const prem_slot *slot);
/** Jobs of a task in the hyperperiod that is judged. */
int64_t prem_checker_jobs(const prem_checker *checker, int32_t task);
/** The job that job `number` of a task follows by `after`, on the time line of `number`'s
 *  hyperperiod; false: not planned. */
bool prem_checker_predecessor(const prem_checker *checker, int32_t task, const prem_after *after,
                              int64_t number, check_job *out);
/** Does the file say by `after` that job `number` of a task follows one of `before` that ends at
 *  `until_ns` or later? Then that is judged there, with the gap that it asks for. */
bool prem_checker_is_said(const prem_checker *checker, int32_t task, int64_t number, int32_t before,
                          int64_t until_ns);

/* The parts, in the order of the report. They add errors; PREM_ERR_MEMORY is their only failure. */
prem_status prem_check_model(const prem_checker *checker); /* what needs no plan */
void prem_check_bandwidth(const prem_checker *checker);    /* E043 of busy_ns */
void prem_check_origin(const prem_checker *checker);       /* E044 of machine and kernels */
/** Judge a plan by the times that it was made with. By others: one error, E044, for all that does
 *  not hold. */
prem_status prem_check_by_times(prem_checker *checker, prem_status (*judge)(prem_checker *checker));
void prem_check_grid(const prem_checker *checker);            /* E022 */
prem_status prem_check_cover(const prem_checker *checker);    /* E028, E029, E030 */
void prem_check_hyperperiod(const prem_checker *checker);     /* E021 */
void prem_check_ends(const prem_checker *checker);            /* E051 */
void prem_check_releases(const prem_checker *checker);        /* E032 */
void prem_check_deadlines(const prem_checker *checker);       /* E033 */
void prem_check_order(const prem_checker *checker);           /* E034, E035, E040 */
void prem_check_precedence(const prem_checker *checker);      /* E035, E040 */
prem_status prem_check_data(const prem_checker *checker);     /* E040 of who shares an array */
prem_status prem_check_versions(const prem_checker *checker); /* E050, E040 of state arrays */
prem_status prem_check_units(const prem_checker *checker);    /* E036, E038, E040 */
prem_status prem_check_shares(const prem_checker *checker);   /* E037, E038, E040 of resources */
prem_status prem_check_buffers(const prem_checker *checker);  /* E039, E038, E040 */

/* Of a schedule with best effort: */
prem_status prem_check_classes(const prem_checker *checker); /* E045, E052, E055 */
prem_status prem_check_servers(const prem_checker *checker); /* E045, E055 of servers */
prem_status prem_check_closed(const prem_checker *checker);  /* E016, E052, E053, E054 */
prem_status
prem_check_responses(const prem_checker *checker); /* E056, E057; the windows are right */
