/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The model: what a schedule file says (what has to run), as plain data.
 *
 *   schedule file --prem_schedule_load()--> prem_schedule --prem_schedule_bind()--> with tiles and
 *   windows --prem_plan_make()--> with a plan --prem_check()--> judged --prem_program_new()--> runs
 *
 * A prem_schedule owns everything it points to. Readers only read it; eight calls change it:
 * prem_schedule_bind(), prem_schedule_lay_out(), prem_schedule_deal(), prem_schedule_set_plan(),
 * prem_schedule_replace(), prem_schedule_edit_policy(), prem_schedule_edit_profile() and
 * prem_schedule_hash_times(). The file format is docs/schedule-format.md.
 */
#ifndef TTPREM_SCHEDULE_H
#define TTPREM_SCHEDULE_H

#include "ttprem/diag.h"
#include "ttprem/kernel.h"
#include "ttprem/machine.h"
#include "ttprem/plan.h"

/** What phases share. The first of a schedule is always `memory`. */
typedef struct prem_resource {
  char name[PREM_NAME_BYTES];
  int32_t capacity;
  bool per_task; /* the blocks of one task count once (a gang) */
  prem_place place;
} prem_resource;

/** What blocks of best-effort tasks have; what the file leaves out is as of the other blocks. */
typedef struct prem_best_effort {
  int32_t block_threads; /* 0: not given, as in prem_platform */
  int32_t buffers;
  int64_t scratch_bytes; /* 0: not given */
  int64_t ahead_ns; /* so long before a closed window its gate closes; 0: by each phase's bound */
  bool left_out;    /* of a part of a schedule that had such tasks: their blocks stand empty */
  prem_place place;
} prem_best_effort;

/** The machine that a schedule was written for. */
typedef struct prem_platform {
  int32_t blocks;        /* executors; sms * blocks_per_sm where the file gives these */
  int32_t sms;           /* 0: not given. Block b sits on SM b % sms */
  int32_t block_threads; /* of a block, those that move memory included; 0: not given */
  int32_t buffers;       /* 1: one live tile a block; n: n input and n output buffers */
  bool buffers_open;     /* the file leaves them open; a plan keeps them */
  int32_t tile_pct;      /* tiles that are chosen are for so much of the blocks; 0: 100 */
  int64_t scratch_bytes; /* of one block; 0: not given */
  int64_t clock_step_ns; /* the grid of the plan's instants; at least 1 */
  int64_t guard_ns;      /* planned gap between phases */
  int64_t precedence_ns; /* what telling a successor costs; see prem_schedule_precedence_ns() */
  int64_t late_ns;       /* a release is late above this; default clock_step_ns */
  prem_resource *resources;
  int32_t resource_count; /* at least 1 */
  prem_best_effort best_effort;
  prem_place place;
} prem_platform;

/** One of a task's phases. */
typedef struct prem_phase_spec {
  bool exists;     /* declared in the file, or implied by the kernel's arrays */
  int64_t wcet_ns; /* until the last byte has arrived; 0: not known (no profile) */
  int64_t busy_ns; /* how long it holds its resources; <= wcet_ns */
  int64_t
      turnaround_ns; /* behind its end, until its block is ready for what comes next; 0: at once */
  int64_t unit_turnaround_ns; /* of a compute: the same, until the next compute; 0: as that */
  int32_t *demand;            /* [resource_count]; all 0 for a compute unless declared */
  prem_place place;
} prem_phase_spec;

/** Precedence. Joins jobs of equal period one by one, or with `latest`: the successor's job
 *  follows the predecessor's latest job that is released no later than itself. */
typedef struct prem_after {
  int32_t task;   /* the predecessor */
  int64_t lag_ns; /* its end to our first phase, at least; the guard and precedence_ns as well */
  bool latest;
  bool per_block; /* each block waits for its own part of the predecessor's job alone */
  bool per_open;  /* the file does not say; bind decides where blocks are open */
  prem_place place;
} prem_after;

enum { PREM_MAX_VERSIONS = 16 };

typedef enum prem_fill { PREM_FILL_ZERO, PREM_FILL_RANDOM, PREM_FILL_FILE } prem_fill;

typedef struct prem_array {
  char name[PREM_NAME_BYTES]; /* "TASK.PORT" for an output called "new" */
  prem_type type;
  int32_t rank;
  int64_t shape[4]; /* right-aligned, leading 1s; all 0 for a "new" one before bind */
  bool made;        /* a "new" one, to which bind gave type and shape */
  prem_fill fill;
  uint64_t seed;
  char
      *file; /* path of the input, relative ones already joined to the schedule's folder; or NULL */
  char *save;       /* where a run writes it, as given (relative to the working folder); or NULL */
  int32_t writer;   /* the task that writes it (the first, if several do), or -1 */
  int32_t versions; /* of a state array: that there is room for, at least 2; 0: it is none */
  bool broken;      /* in error: tasks that use it are, too */
  prem_place place;
} prem_array;

/** A setting of a task's `args`. */
struct prem_arg {
  char key[PREM_NAME_BYTES];
  bool is_int;   /* all values were written as integers */
  bool used;     /* set by prem_arg_...() */
  int32_t count; /* 1 for a scalar */
  double *values;
  int64_t *ints; /* NULL unless is_int */
  prem_place place;
};

/**
 * How the window of a port lies in its tile's input or output buffer, the same in every backend.
 * Row r begins at offset_bytes + r * row_bytes; its first element `lead` bytes further, where lead
 * is the element's address in its array modulo 16, so that whole 16-byte pieces can be copied.
 */
typedef struct prem_port_layout {
  int32_t offset_bytes; /* a multiple of 128 */
  int32_t row_bytes;    /* the most lead of a tile + extent * element, rounded up to 16 */
  int32_t rows;         /* product of the outer extents */
  int32_t element_bytes;
} prem_port_layout;

/** What becomes of a live session when a job is not over at its deadline. It is counted always. */
typedef enum prem_overrun {
  PREM_OVERRUN_RECORD, /* nothing else: it goes on, and later jobs keep their instants */
  PREM_OVERRUN_SKIP,   /* it goes on, and the task's next job is skipped */
  PREM_OVERRUN_ABORT, /* it is given up: what is left of it does nothing, its result is not shown */
  PREM_OVERRUN_STOP,  /* the session ends at the next hyperperiod behind it */
  PREM_OVERRUN_DEGRADE /* it goes on, and the session switches to its next operating mode */
} prem_overrun;

enum {
  PREM_MAX_SERVERS = 16,
  PREM_MAX_ERRANDS = 65536,
  PREM_MAX_AGING = 1024,
  PREM_MAX_TURNS = 65536,
  PREM_MAX_DEPTH = 65536
};

/** A best-effort task whose tiles come while it runs: those that *errands* ask for (errand.h). */
typedef struct prem_server {
  int32_t capacity;    /* errands that there is room for; 0: the task is no server */
  int32_t tiles;       /* of one errand, at most; 0: all of the task's */
  int32_t burst;       /* so many may come at once, */
  int64_t distance_ns; /* and one more each time that so long has passed; 0: nobody says */
  int64_t take_ns;     /* until a block has a tile, from its arrival or when the block is free */
  int32_t priority;    /* among the servers of its blocks: a greater one's tiles go first, */
  int32_t aging;       /* but for this many of them at most before one of this server */
  int32_t turns;       /* of a tile, at most: prem_turn_ports */
  int32_t depth;       /* generations of an errand's tiles, at most: prem_kernel_spawn_port() */
  prem_place place;
} prem_server;

typedef struct prem_task {
  char name[PREM_NAME_BYTES];
  char kernel[PREM_NAME_BYTES]; /* "none": abstract, no data */
  int32_t *blocks;              /* tile t runs on blocks[t % block_count] */
  int32_t block_count;          /* 0: they are open, and bind deals them */
  bool blocks_open;             /* the file leaves them open; a plan keeps them */
  bool best_effort;             /* no phase has an instant: wcet_ns is the bound of a phase. See
                                   prem_schedule_best_effort() */
  prem_server server;           /* then deadline_ns counts from an errand's arrival */
  bool together;                /* the blocks of a round start together */
  int32_t tile_count;           /* of a job; 0 until bind unless the file gives `tiles` */
  prem_phase_spec phase[PREM_PHASE_COUNT];
  prem_phase_spec joined; /* a prefetch and a writeback of this task as one; exists: given */
  int64_t period_ns;      /* 0: one-shot, once per hyperperiod */
  int64_t release_ns;     /* from the period's start */
  int64_t deadline_ns;    /* from the job's release; 0: none */
  int64_t publish_ns;     /* from the job's release; 0: none */
  prem_overrun overrun;   /* the file's policy where the task says nothing */
  uint32_t off;           /* bit m: in operating mode m it has no jobs */
  prem_after *after;      /* [after_count] */
  int32_t after_count;
  bool tile_open;    /* the file leaves it open, and the kernel needs one; a plan keeps it */
  int32_t tile_rank; /* 0: no `tile`; where it is open, bind chooses it */
  int32_t tile[PREM_MAX_RANK];
  prem_arg *args;
  int32_t arg_count;
  char (*port_names)[PREM_NAME_BYTES]; /* the keys of `arrays`, in the file's order */
  int32_t *port_arrays;                /* and the array of each (index into arrays) */
  int32_t port_count;
  char profile[PREM_NAME_BYTES]; /* "": none */
  bool broken;                   /* the file has an error in this task: judge no more of it */
  bool is_copy; /* none of the file's: the copy of a live port, while planner or checker work */
  prem_place place;
  /* made by prem_schedule_bind(): */
  const prem_kernel *definition; /* NULL when abstract, or not bound */
  int32_t grid[PREM_MAX_GRID];
  prem_window *windows;        /* one a port of the definition */
  int32_t *arrays;             /* the array of each port of the definition */
  unsigned char *params;       /* PREM_PARAMS_BYTES, aligned to 8 */
  prem_port_layout *layout;    /* one a port, and behind them that of the work area */
  int32_t work_bytes;          /* of the work area; 0: none */
  bool work_is_input;          /* it lies in the input buffer, behind the inputs, not in the
                                  output buffer */
  int32_t in_bytes, out_bytes; /* of one input and one output buffer, multiples of 128 */
} prem_task;

typedef enum prem_scenario { PREM_RELAUNCH, PREM_RESIDENT } prem_scenario;

/** The file's `policy` group. */
typedef struct prem_policy {
  char use[PREM_NAME_BYTES];       /* "auto" unless given */
  char objective[PREM_NAME_BYTES]; /* "makespan", "slack" or "response" */
  double open_share;               /* of the time that stays open at least; 0: any */
  int64_t prefetch_offset_ns;      /* 0: not given */
  int64_t writeback_offset_ns;     /* 0: not given */
  int32_t warmup_tiles;            /* the first tiles of every block of one-shot tasks */
  int64_t warmup_ns;
  prem_overrun overrun; /* of tasks that say nothing */
  bool align_exact;     /* refuse offsets off the clock grid instead of rounding up */
  prem_place place;
} prem_policy;

enum { PREM_MAX_CHAINS = 256 };

/** Tasks of which each has its data from the one before it. */
typedef struct prem_chain {
  char name[PREM_NAME_BYTES];
  int32_t *tasks; /* [task_count], 2 at least, from sensor to actuator */
  int32_t task_count;
  prem_place place;
} prem_chain;

/** How best-effort tasks run in modes with phases. */
typedef enum prem_load_form {
  PREM_LOAD_TILES, /* each memory phase passes the gate */
  PREM_LOAD_GRAPH  /* ordinary kernels in a CUDA graph, which passes it as a whole */
} prem_load_form;

/** The file's `measure` group: defaults of run and compare. */
typedef struct prem_measure {
  prem_scenario scenario;
  int64_t runs;          /* relaunches (relaunch) */
  int64_t hyperperiods;  /* of one launch (resident) */
  int64_t discard;       /* runs or hyperperiods not counted, at the start */
  int64_t partition_sms; /* mode partition beside best-effort tasks: SMs of the critical ones, which
                            these have the rest of; 0: half */
  prem_load_form load;
  prem_mode modes[PREM_MODE_COUNT];
  int32_t mode_count;
  bool given_modes;   /* the file names them */
  prem_chain *chains; /* [chain_count]: their latency is measured; none in part of a schedule */
  int32_t chain_count;
  prem_place place;
} prem_measure;

/** How a live port hands frames on (ARINC 653). */
typedef enum prem_live_kind {
  PREM_LIVE_SAMPLING, /* the newest frame */
  PREM_LIVE_QUEUING,  /* each frame exactly once, in order */
  PREM_LIVE_TRIGGER   /* input: as queuing, and the frame starts the hyperperiod */
} prem_live_kind;

/** What a job does for which no new frame came. */
typedef enum prem_missing {
  PREM_MISSING_REPEAT, /* takes the last one again */
  PREM_MISSING_SKIP,   /* is skipped, and with it what is made of its outputs */
  PREM_MISSING_WAIT    /* waits until its deadline, then it is skipped */
} prem_missing;

/** An array that a program of the user fills or reads while the plan runs: see live.h. */
typedef struct prem_live_port {
  int32_t array;
  bool is_output;
  int32_t buffers; /* frames of it that there is room for */
  prem_live_kind kind;
  prem_missing missing; /* of an input */
  bool drops;           /* of an output: a result without a buffer is dropped, not waited with */
  int64_t lead_ns;      /* of an input: so long before the release its frame is chosen */
  int64_t max_age_ns;   /* of a sampling input: older frames count as missing; 0: none does */
  int64_t publish_ns;   /* of an output: from the release of its job; 0: when it is there */
  prem_phase_spec copy; /* of each frame, between the application's memory and the device's: ends
                           lead_ns before the release, or at publish_ns */
  prem_place place;
} prem_live_port;

/** An operating mode of a live session: which tasks have jobs in it (prem_task::off). */
typedef struct prem_operating_mode {
  char name[PREM_NAME_BYTES];
  bool has_plan;      /* of its own; else it uses the file's */
  prem_policy policy; /* that makes it */
  prem_place place;
} prem_operating_mode;

/** A file of the `profiles` group. */
typedef struct prem_profile_ref {
  char name[PREM_NAME_BYTES];
  char *path; /* relative ones joined to the schedule's folder */
  prem_place place;
} prem_profile_ref;

typedef struct prem_schedule {
  char name[PREM_NAME_BYTES];
  char *path;      /* as given to load; "-" is stdin */
  char sha256[65]; /* of the file's bytes, hexadecimal */
  prem_platform platform;
  prem_array *arrays;
  int32_t array_count;
  prem_task *tasks; /* [task_count], copies already multiplied */
  int32_t task_count;
  prem_policy policy;
  prem_measure measure;
  prem_profile_ref *profiles;
  int32_t profile_count;
  prem_live_port *live; /* [live_count], inputs first; none in part of a schedule */
  int32_t live_count, live_input_count;
  prem_operating_mode *operating_modes; /* [operating_mode_count]; a session begins in the first */
  int32_t operating_mode_count;         /* 0: there is one, in which all tasks have jobs */
  char profile[PREM_NAME_BYTES]; /* whose times all tasks take, of the call or of the plan; "": each
                                    task those of its own profile, if it names one */
  bool profile_given;            /* by the call: the plan may be of another one */
  char profile_times[PREM_TIMES_BYTES]; /* a hash of what the profiles in use give; "": nothing */
  char profiled_on[128];     /* the machine that the last profile in use names; "": none does */
  int64_t dispatch_ns;       /* the largest that a profile in use gives; 0: not known */
  int64_t precedence_ns;     /* the same */
  int64_t job_turnaround_ns; /* the same: from a job's last writeback to another job's first one */
  int64_t job_prefetch_ns; /* the same: from the start of a job's last prefetch to the first one of
                              a job that waits for others */
  int64_t bandwidth_bytes_per_s; /* the least that a profile in use gives; 0: not known */
  prem_plan *plan;               /* owned; NULL when the file has none */
  int64_t period_lcm_ns;         /* of all periods; 0 when every task is one-shot. Best effort does
                                    not count beside critical tasks */
  bool bound;
  struct prem_schedule_private *private_data; /* file names, source bytes */
} prem_schedule;

PREM_EXTERN_C_BEGIN

/**
 * Load a schedule file: syntax, values and references (bind and prem_check() judge the rest).
 *
 * @param      path     libconfig file, read once; "-" reads stdin.
 * @param      profile  use this named profile for every task that can; NULL: the one that the plan
 *                      was made with, or where it names none, each task's own.
 * @param[out] out      new schedule, or NULL on error; free with prem_schedule_free().
 * @param[out] diag     every problem found; may be NULL.
 * @retval PREM_OK         loaded
 * @retval PREM_ERR_IO     unreadable file
 * @retval PREM_ERR_PARSE  bad syntax, value or reference
 *
 * Host only; allocates; reentrant.
 */
PREM_API prem_status prem_schedule_load(const char *path, const char *profile, prem_schedule **out,
                                        prem_diag *diag);

/**
 * As prem_schedule_load(), but returns PREM_OK with what could be read although `diag` holds
 * errors, so that prem_check() can judge the rest in one go (tasks in error are `broken`). Check
 * prem_diag_errors() afterwards; a schedule with errors must not be planned or run.
 * A file without usable syntax still returns PREM_ERR_PARSE.
 */
PREM_API prem_status prem_schedule_load_lenient(const char *path, const char *profile,
                                                prem_schedule **out, prem_diag *diag);

/**
 * Load a schedule from memory; everything else is as in prem_schedule_load().
 *
 * @param      name  what messages call the text. Relative paths in it count from the working
 *                   folder.
 * @param      text  of a schedule file, closed by a zero; not kept.
 * @param[out] out   new schedule, or NULL on error; free with prem_schedule_free().
 */
PREM_API prem_status prem_schedule_load_text(const char *name, const char *text,
                                             prem_schedule **out, prem_diag *diag);
PREM_API void prem_schedule_free(prem_schedule *schedule);

/**
 * Find the kernels, derive tiles, windows and parameters of every task (E024, E031, E041 are not
 * judged before). Idempotent. Tasks of kernel "none" are left alone.
 *
 * @param registry  its kernels must outlive the schedule.
 * @retval PREM_OK           every task is bound
 * @retval PREM_ERR_INVALID  see diag; the tasks in error are `broken`, the others are bound
 */
PREM_API prem_status prem_schedule_bind(prem_schedule *schedule, const prem_registry *registry,
                                        prem_diag *diag);
/** Of what a file leaves open: the tiles that prem_schedule_bind() chooses, the buffers. */
typedef struct prem_layout {
  int32_t buffers;
  int32_t tile_pct; /* as in prem_platform */
} prem_layout;

/**
 * Choose anew what the file leaves open, whatever a plan of it keeps, and bind all tasks anew. Of a
 * schedule that was bound once, while no session has it; its plan is gone.
 *
 * @param registry  with the kernels that it was bound with.
 * @return as prem_schedule_bind(); after PREM_ERR_INVALID another layout may be possible
 */
PREM_API prem_status prem_schedule_lay_out(prem_schedule *schedule, const prem_registry *registry,
                                           const prem_layout *layout, prem_diag *diag);
/**
 * Deal the blocks that the file leaves open anew, by the times that the tasks have now, or by bytes
 * where one has none. Of a bound schedule without a plan, while no session has it.
 *
 * @param[out] changed  some task has other blocks than before
 * @retval PREM_ERR_ARGUMENT  not bound, or with a plan
 * @retval PREM_ERR_INVALID   too many blocks (E020)
 */
PREM_API prem_status prem_schedule_deal(prem_schedule *schedule, bool *changed, prem_diag *diag);

/** The plan of an operating mode: its own, or the file's. NULL where there is none (yet). */
PREM_API const prem_plan *prem_schedule_plan_of(const prem_schedule *schedule, int32_t mode);
/** Has an operating mode a plan of its own? Then no plan of the file reaches into the next
 *  hyperperiod. */
PREM_API bool prem_schedule_has_mode_plans(const prem_schedule *schedule);
/** Give the schedule a plan, which it then owns; an older one is freed. `plan` may be NULL. */
PREM_API void prem_schedule_set_plan(prem_schedule *schedule, prem_plan *plan);

/**
 * Write the schedule file with its plan: the bytes before the file's `plan` group unchanged, then
 * the plan. Written beside and renamed; "-" writes to stdout.
 *
 * @retval PREM_ERR_IO       unwritable; no file is left
 * @retval PREM_ERR_INVALID  the file has settings after its `plan` group, or an included plan
 */
PREM_API prem_status prem_schedule_save(const prem_schedule *schedule, const char *path,
                                        prem_diag *diag);

/**
 * A schedule of some of the tasks, at the instants and on the blocks that the plan gives them in
 * the whole; the hyperperiod stays. Tasks that a kept one follows are kept with it, and so are the
 * arrays that any of them uses. It cannot be saved.
 *
 * @param      schedule  must outlive the subset, whose places name its files.
 * @param      keep      of each task.
 * @param[out] out       free with prem_schedule_free(); NULL on error.
 * @retval PREM_ERR_MEMORY
 */
PREM_API prem_status prem_schedule_subset(const prem_schedule *schedule, const bool *keep,
                                          prem_schedule **out);

/** Are there best-effort tasks? Then the schedule is two: its critical tasks, planned, checked and
 *  run by the clock; and the others, which run free under a gate. */
PREM_API bool prem_schedule_has_best_effort(const prem_schedule *schedule);

/**
 * The critical tasks, with the plan as far as it is there (it starts no others). An ordinary
 * schedule, without best effort.
 *
 * @param      schedule  must outlive the part, whose places name its files.
 * @param[out] out       free with prem_schedule_free(); NULL on error. May have no task.
 * @param[out] tasks     [task_count of `out` + 1], the schedule's index of each; free with free().
 *                       NULL: not wanted.
 * @retval PREM_ERR_MEMORY
 */
PREM_API prem_status prem_schedule_critical(const prem_schedule *schedule, prem_schedule **out,
                                            int32_t **tasks);

/**
 * The best-effort tasks, without a plan: an ordinary schedule too, on the same blocks of the
 * platform, with the threads, buffers and scratchpad of `best_effort`. Its tasks say no more that
 * they are of that class; its hyperperiod is that of their own periods. A plan that
 * prem_plan_make() gives it is an order for mode `free`, and no more. All else is as in
 * prem_schedule_critical().
 *
 * The gate: at an instant t of the critical hyperperiod a memory phase may begin if t lies in no
 * closed window of the whole's plan, and the next one (of the hyperperiod that follows, too)
 * begins at t + prem_ahead_ns() or later.
 */
PREM_API prem_status prem_schedule_best_effort(const prem_schedule *schedule, prem_schedule **out,
                                               int32_t **tasks);

/** How long before a closed window the last memory phase of this kind may begin: the platform's
 *  ahead_ns, or the phase's bound and a step of the clock. Of a schedule with best effort or of its
 *  best-effort part. 0: the task has no such phase, it is no memory phase, or its bound is not
 *  known. A compatible interval's compute is a memory phase. */
PREM_API int64_t prem_ahead_ns(const prem_schedule *schedule, const prem_task *task,
                               prem_phase phase);

/** Is its kernel "cuda_graph", the application's own? See prem_session_attach_graph(). */
PREM_API bool prem_task_is_cuda_graph(const prem_task *task);

/**
 * The schedule with a task more for each copy of a live frame, behind its own, and a block more for
 * each of these; its plans have the copies' instants as well. It is what the checker judges and
 * what pictures show. Writers have ended when the copies of what they write begin. It has no live
 * ports, and what it does not add it shares with `schedule`.
 *
 * @param      schedule  bound, else it has no copies; must outlive the other one.
 * @param[out] out       free with prem_copies_free() alone; NULL after an error.
 * @retval PREM_ERR_MEMORY
 */
PREM_API prem_status prem_copies_add(const prem_schedule *schedule, prem_schedule **out);
/** Does nothing to NULL. */
PREM_API void prem_copies_free(prem_schedule *with_copies);

/**
 * Put another kernel in the place of a task of a subset, over a vector of its own: its blocks,
 * tiles, instants, windows and demands stay.
 *
 * @param task      bound, with all three phases.
 * @param kernel    of the registry, with the f32 vectors `in` and `out`, such as
 * "vector_increment".
 * @param elements  of a tile.
 * @return on any error the schedule is good for prem_schedule_free() only.
 */
PREM_API prem_status prem_schedule_replace(prem_schedule *schedule, int32_t task,
                                           const char *kernel, int32_t elements,
                                           const prem_registry *registry, prem_diag *diag);

/**
 * Write a time into the file's `policy` group, in the place of what stands there or as its first
 * setting, for prem_schedule_save(): all other bytes stay. The policy of the schedule itself is not
 * changed.
 *
 * @param key  such as "prefetch_offset_ns".
 * @retval PREM_ERR_INVALID  the file itself has no such group (it may be included)
 */
PREM_API prem_status prem_schedule_edit_policy(prem_schedule *schedule, const char *key,
                                               int64_t value_ns, prem_diag *diag);

/**
 * Let the entry `name` of the file's `profiles` be `path`, for prem_schedule_save(): in the place
 * of what stands there, or as a new entry, in a group that is made where there is none. All other
 * bytes stay. The schedule's own list is not changed.
 *
 * @param path  as it is written: relative ones count from the folder of the file that is saved.
 * @retval PREM_ERR_INVALID  the group stands in an included file, or no plan could be saved
 */
PREM_API prem_status prem_schedule_edit_profile(prem_schedule *schedule, const char *name,
                                                const char *path, prem_diag *diag);

/**
 * Make profile_times of the times that the tasks have, after somebody changed them.
 *
 * @param given  a bit for each phase of each task whose times a profile gives; the last is
 * `joined`. A busy_ns that it does not give is 0 here, as where the file is read.
 * @return false: out of memory
 */
PREM_API bool prem_schedule_hash_times(prem_schedule *schedule, const uint8_t *given);

/**
 * The files that the schedule was read from, those that its profiles and arrays name included:
 * number `index`; NULL behind the last. The schedule's; "-" is stdin.
 */
PREM_API const char *prem_schedule_input(const prem_schedule *schedule, size_t index);

/**
 * Judge where the schedule would have its arrays saved, seen from the working folder: not in the
 * place of what it reads, not two in one place, and not outside the working folder.
 *
 * @param anywhere  the working folder is no limit.
 * @param severity  of the problems: warnings for somebody who saves nothing.
 * @retval PREM_ERR_INVALID  a `save` should not be followed (diag: which, why)
 */
PREM_API prem_status prem_schedule_judge_saves(const prem_schedule *schedule, bool anywhere,
                                               prem_severity severity, prem_diag *diag);

/** The task of a name, or -1. */
PREM_API int32_t prem_schedule_find_task(const prem_schedule *schedule, const char *name);
/** The machine that the platform group describes; what `ttprem plan` and `check` judge against. */
PREM_API void prem_schedule_machine(const prem_schedule *schedule, prem_machine *out);
/** What telling a task that those before it have ended takes, so the least gap between them in a
 *  plan: the larger of the platform's and of what a profile in use gives. 0: not known. */
PREM_API int64_t prem_schedule_precedence_ns(const prem_schedule *schedule);
/** From the end of a phase to the next one of its tile or its unit, or of its buffer, at least: the
 *  guard, or its turnaround if that is longer. */
PREM_API int64_t prem_phase_gap_ns(const prem_schedule *schedule, const prem_task *task,
                                   prem_phase phase);
/** The same of a tile's phase on its unit: behind a compute at least its unit_turnaround_ns, and
 *  with several buffers, behind the last writeback of a job on its block at least
 *  job_turnaround_ns, and behind the last prefetch until job_prefetch_ns after its start. */
PREM_API int64_t prem_unit_gap_ns(const prem_schedule *schedule, const prem_task *task,
                                  prem_phase phase, int32_t tile);
/** No gap that is left on a unit alone is longer: between jobs, or between computes. */
PREM_API int64_t prem_schedule_unit_gap_ns(const prem_schedule *schedule);
/** The longest prem_phase_gap_ns() of a task; NULL: of all tasks. */
PREM_API int64_t prem_schedule_gap_ns(const prem_schedule *schedule, const prem_task *task);
/** The next session keeps what the arrays should hold in the end, and later ones of this schedule
 * use that. So its files, arguments and kernels must stay as they are. State arrays and errands are
 *  worked out each time. */
PREM_API void prem_schedule_keep_references(prem_schedule *schedule);
/** Does one of two tasks follow the other by block (prem_after.per_block)? Then each block keeps
 * the order of the arrays that they share by itself. */
PREM_API bool prem_tasks_are_by_block(const prem_schedule *schedule, int32_t a, int32_t b);
/** The live port of an array, or -1. */
PREM_API int32_t prem_schedule_live_port(const prem_schedule *schedule, int32_t array);
/** Jobs of a task in one hyperperiod: 1 for one-shot tasks, and for best effort beside critical
 *  tasks. */
PREM_API int64_t prem_task_jobs(const prem_schedule *schedule, const prem_task *task);
/**
 * Of a kernel whose tiles have turns: what a tile writes to `to`, its next turn reads in place of
 * `from`; and there is one while the first number of what it writes to `more`, an output i32 of
 * that name, is not 0. From and to are the kernel's first input and its first output.
 */
typedef struct prem_turn_ports {
  int32_t from, to, more; /* more -1: its tiles have one turn */
} prem_turn_ports;
PREM_API prem_turn_ports prem_kernel_turn_ports(const prem_kernel *kernel);
/** Of a kernel whose tiles make others: the output i32 `spawn`, to which a tile writes 1 + the
 *  number of each tile that its errand is to have as well, and 0 in all other places. -1: none. */
PREM_API int32_t prem_kernel_spawn_port(const prem_kernel *kernel);

/** Tiles of one of a server's errands, at most. After bind. */
PREM_API int32_t prem_server_tiles(const prem_task *task);
/** Has the task these tiles, and may one errand have so many? After bind. */
PREM_API bool prem_errand_fits(const prem_task *task, int32_t first_tile, int32_t tile_count);
/**
 * The longest response of a server's errands, from the arrival to the end of the last tile, if they
 * come as its arrival model says, every phase keeps its bound, and the closed windows of the plan
 * last as planned. Of the waits of an application and of a machine it knows nothing.
 *
 * @param schedule  bound, with a plan whose windows prem_check() accepts.
 * @param task      one with a server.
 * @param[out] bound_ns  -1: there is no arrival model, or no bound was found.
 */
PREM_API prem_status prem_errand_bound(const prem_schedule *schedule, int32_t task,
                                       int64_t *bound_ns);
/** Does a task have all the WCETs that its phases need? */
PREM_API bool prem_task_profiled(const prem_task *task);
/** Scratchpad that a block of the platform needs: buffers x (largest input + largest output buffer
 *  of the bound tasks that use it). */
PREM_API int64_t prem_block_scratch_bytes(const prem_schedule *schedule, int32_t block);
/** Bytes that one tile moves in a phase, halo and rounding included; 0 for a compute. Exact for
 *  tile `tile` of a bound task; an abstract task gives 0. */
PREM_API int64_t prem_task_phase_bytes(const prem_schedule *schedule, const prem_task *task,
                                       prem_phase phase, int32_t tile);

PREM_EXTERN_C_END
#endif
