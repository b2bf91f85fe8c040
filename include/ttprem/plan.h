/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A plan: when each phase of one hyperperiod starts. Compact where it is regular.
 *
 * A *slot* is one phase of one tile of one job at its planned instant. A plan is stored as affine
 * runs and arrays of starts; prem_plan_expand() gives the slots.
 */
#ifndef TTPREM_PLAN_H
#define TTPREM_PLAN_H

#include "ttprem/diag.h"

struct prem_schedule;

/* What follows by itself: phases of the tile; or, of a run, all that the job does on the block
 * after its first phase. */
enum { PREM_CHAIN_COMPUTE = 1, PREM_CHAIN_WRITEBACK = 2, PREM_CHAIN_JOB = 4 };
/* 16 hexadecimal digits and a zero */
enum { PREM_KERNELS_BYTES = 17, PREM_TIMES_BYTES = 17 };

/**
 * count x repeat x jobs slots:
 *   start(j, r, q) = start_ns + j * block_step_ns + r * step_ns + q * job_step_ns
 *   tile(j, r)     = tile + j * tile_per_block + r * tile_per_repeat
 *   block(j)       = the task's block number first_block + j (position in its list)
 *   job(q)         = job + q
 * Tiles outside [0, tile_count) are left out. In a joined run the prefetch of tile(j, r) and the
 * writeback of join_tile + j * tile_per_block + r * tile_per_repeat share one start; where only one
 * of them exists it is an ordinary phase.
 *
 * With PREM_CHAIN_JOB it is count x jobs: start(j, q) is the instant of the job's first phase on
 * the block, all others are chained to it. Repeats, tiles and joins do not count.
 */
typedef struct prem_affine {
  int32_t task;
  prem_phase phase;
  uint32_t chain; /* PREM_CHAIN_...: later phases of the tile that follow by themselves */
  int32_t first_block, count;
  int64_t start_ns, block_step_ns; /* starts count from the hyperperiod's start */
  int64_t repeat, step_ns;
  int64_t tile, tile_per_block, tile_per_repeat;
  int64_t job, jobs, job_step_ns;
  int32_t join_task; /* -1: not joined. May be another task that shares the blocks */
  int64_t join_tile;
  int64_t join_job; /* job of the writeback when the prefetch's is `job` */
  prem_place place;
} prem_affine;

/** Starts of the tiles that task `task` runs on one of its blocks, jobs one after the other and
 *  tiles ascending in each (warm-up tiles left out). -1: this tile's start is elsewhere. */
typedef struct prem_starts {
  int32_t task;
  prem_phase phase;
  uint32_t chain;    /* PREM_CHAIN_... */
  int32_t block;     /* position in the task's list */
  int64_t *start_ns; /* [count], from the hyperperiod's start */
  int64_t count;
  prem_place place;
} prem_starts;

/** While critical memory phases run: no best-effort memory phase begins in [start_ns, end_ns), or
 * so late before that it could reach into it. Counted from the hyperperiod's start; one that wraps
 *  round the end is two. */
typedef struct prem_closed_window {
  int64_t start_ns, end_ns;
} prem_closed_window;

typedef struct prem_plan {
  char policy[PREM_NAME_BYTES];     /* that made it; "" for a hand-written one */
  char generator[PREM_NAME_BYTES];  /* "ttprem 0.1.0"; "" for a hand-written one */
  char machine[128];                /* on which its times were measured; "": not known */
  char kernels[PREM_KERNELS_BYTES]; /* prem_schedule_kernels() when it was made; "": not known */
  char profile[PREM_NAME_BYTES];    /* prem_schedule::profile when it was made */
  char times[PREM_TIMES_BYTES];     /* prem_schedule::profile_times when it was made; "": not known,
                                       or no time came from a profile */
  int64_t hyperperiod_ns;
  int64_t clock_step_ns; /* the grid it was made for; 0: not given */
  int32_t warmup_tiles;  /* the first tiles of each block of every task */
  int64_t warmup_ns;
  prem_affine *affine; /* [affine_count] */
  int32_t affine_count;
  prem_starts *starts; /* [starts_count] */
  int32_t starts_count;
  bool gates;                 /* the closed windows are given: there are best-effort tasks */
  prem_closed_window *closed; /* [closed_count], sorted, disjoint, in the hyperperiod */
  int32_t closed_count;
  int64_t open_ns; /* of the hyperperiod: when the longest best-effort memory phase may begin */
  char mode[PREM_NAME_BYTES]; /* of a plan in `modes`: the operating mode whose it is; else "" */
  struct prem_plan **modes;   /* [mode_count], owned: plans that operating modes have of their own,
                                 of the same hyperperiod. See prem_schedule_plan_of() */
  int32_t mode_count;
  prem_place place;
} prem_plan;

/** Flags of a slot. */
enum {
  PREM_SLOT_CHAINED = 1, /* no release: planned_ns is the latest start, head_ns its chain's */
  PREM_SLOT_JOINED = 2,  /* a prefetch or writeback that shares start and length with another */
  PREM_SLOT_WARMUP = 4   /* no release, no rule; runs as soon as it can from the start */
};

/** One phase of one tile. 48 bytes: a million of them are 48 MB. */
typedef struct prem_slot {
  int64_t planned_ns; /* start by the plan, from the hyperperiod's */
  int64_t length_ns;  /* its window's length: wcet, or that of the joined phase */
  int64_t
      head_ns; /* planned start of the chain that it belongs to; = planned_ns when not chained */
  int32_t task;
  int32_t job; /* in the hyperperiod */
  int32_t tile;
  int32_t block; /* of the platform */
  uint8_t phase; /* prem_phase */
  uint8_t flags;
  uint16_t reserved;
  int32_t place; /* index into affine, or affine_count + index into starts; -1 for warm-up */
} prem_slot;

#if defined(__cplusplus)
static_assert(sizeof(prem_slot) == 48, "prem_slot is 48 bytes");
#else
_Static_assert(sizeof(prem_slot) == 48, "prem_slot is 48 bytes");
#endif

PREM_EXTERN_C_BEGIN

/** An empty plan; NULL when out of memory. Free with prem_plan_free(). */
PREM_API prem_plan *prem_plan_new(void);
PREM_API void prem_plan_free(prem_plan *plan);
/** Append a copy; PREM_ERR_MEMORY leaves the plan as it was. Starts are copied as well. */
PREM_API prem_status prem_plan_add_affine(prem_plan *plan, const prem_affine *affine);
PREM_API prem_status prem_plan_add_starts(prem_plan *plan, const prem_starts *starts);
/** Append a closed window; PREM_ERR_MEMORY leaves the plan as it was. */
PREM_API prem_status prem_plan_add_closed(prem_plan *plan, int64_t start_ns, int64_t end_ns);

/** Append the plan of an operating mode, which then is the other plan's; PREM_ERR_MEMORY: it is
 * not.
 */
PREM_API prem_status prem_plan_add_mode(prem_plan *plan, prem_plan *of_mode);

/**
 * All slots of one hyperperiod, in the order: warm-up, affine runs, starts; within them as stored,
 * a phase's chained followers directly behind it, the writeback of a joined pair directly behind
 * its prefetch. Not sorted by time; nothing is judged.
 *
 * @param      schedule  bound, every task with its WCETs; lengths come from it.
 * @param[out] slots     free with free(); NULL on error.
 * @retval PREM_ERR_INVALID  more than PREM_MAX_SLOTS, a sum overflows, or a slot names no block
 *                           of its task (diag: E013, E018, E025)
 */
PREM_API prem_status prem_plan_expand(const struct prem_schedule *schedule, const prem_plan *plan,
                                      prem_slot **slots, int64_t *count, prem_diag *diag);

/**
 * The same slots as a plan: equal steps become affine runs, the rest arrays of starts. Warm-up
 * slots are dropped (set warmup_tiles and warmup_ns of the plan before). Joined slots must stand in
 * pairs as prem_plan_expand() gives them.
 *
 * @retval PREM_ERR_ARGUMENT  a phase stands twice, on a block that is not its tile's, or in a job
 *                            that does not exist, or a chained one without the head of its chain
 */
PREM_API prem_status prem_plan_compress(const struct prem_schedule *schedule,
                                        const prem_slot *slots, int64_t count, prem_plan *plan);

/** A hash of the kernels, their versions, tiles and parameters of a bound schedule, as 16
 *  hexadecimal digits; "" when no task has a kernel. */
PREM_API void prem_schedule_kernels(const struct prem_schedule *schedule,
                                    char out[PREM_KERNELS_BYTES]);
/** Write into a plan what it was made for: the schedule's kernels, its profile and that one's
 * times, and the machine that they were measured on. prem_check() refuses it elsewhere (E044). */
PREM_API void prem_plan_sign(const struct prem_schedule *schedule, prem_plan *plan);

/** The largest time of which all starts, counted from the end of the warm-up, and all steps are
 *  multiples; 0 where everything starts at once. */
PREM_API int64_t prem_plan_offset_ns(const prem_plan *plan);

/**
 * The same plan with another offset: every start and step as many times `to_ns` as it is of
 * prem_plan_offset_ns(), the windows as long as they are. Nothing is judged.
 *
 * @param      schedule  of one-shot tasks.
 * @param[out] out       free with prem_plan_free(); NULL on error.
 * @retval PREM_ERR_ARGUMENT  there is no offset, or a time would be too large
 */
PREM_API prem_status prem_plan_stretch(const struct prem_schedule *schedule, const prem_plan *plan,
                                       int64_t to_ns, prem_plan **out, prem_diag *diag);

PREM_EXTERN_C_END
#endif
