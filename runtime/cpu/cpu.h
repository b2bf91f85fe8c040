/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The cpu backend inside: a team of pinned threads, one a block, parked between runs. Mode legacy
 * has a team of its own, one thread a task.
 *
 *   cpu.c          opening, running, closing
 *   team.c     the threads: start, gate, common start, end
 *   setup.c    which cores, and how the threads are scheduled, where the caller says so
 *   watch.c    the caller's thread during a run: the watchdog
 *   wait.c     how threads wait, for time and for each other
 *   away.c     whether the operating system took a thread's core away
 *   block.c    a block: executing its records
 *   scratch.c  a block's scratchpad, and what was written outside of its buffers
 *   tokens.c   the tokens of mode lock
 *   untiled.c  mode legacy: a task on a thread of its own
 *   beside.c   best-effort tasks: a team that runs free beside the blocks
 *   live.c     live sessions: the thread of the courier
 *   machine.c  what the machine is; its cores
 *
 * What the atomics publish (each has one writer unless said otherwise):
 *
 * - common_start_ns: S. The thread that arrives last releases it; who has acquired it may begin.
 * - arrived: threads that are resident; each adds itself. Guards nothing: relaxed.
 * - abort: somebody wants the run to end; any thread sets it. Guards nothing: relaxed.
 * - jobs_done: jobs that a task has finished on one block. Released after the last writeback's
 *   bytes and after the job's end, acquired before a successor fetches: this word publishes arrays
 *   from block to block.
 * - the trace's job ends: the largest over the blocks of a task, each of which raises it;
 *   final, and so readable, for whom has acquired the jobs_done of all of them. Relaxed.
 * - records_done, waits_until_ns: progress, for the watchdog's eyes only. Relaxed.
 * - stage: COMPUTING is left by compare-and-swap, either by the block or by the watchdog that gives
 *   it up: exactly one of them may touch the session's memory afterwards.
 * - owners: who still may touch the team's memory; the last to leave frees it. Acquire, release.
 * - the tokens: see tokens.c.
 * - of a live session: the courier's words (runtime/core/courier.h), written by its thread alone;
 *   has_failed, then is_over, the last that it writes: live.c.
 *
 * Everything else is written before a launch or read after the run, under `mutex`.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "prem/base/clock.h"
#include "runtime/core/arrivals.h"
#include "runtime/core/backend.h"
#include "runtime/core/best_effort.h"
#include "runtime/core/recorder.h"

enum { PREM_CPU_LINE_BYTES = 64 };

/** A word alone in its cache line. */
typedef struct prem_cpu_word {
  _Alignas(PREM_CPU_LINE_BYTES) _Atomic int64_t value;
} prem_cpu_word;

/* ---- cores ---------------------------------------------------------------------------------- */

/** The hardware threads that the process may use, one of every core before the second of any. */
typedef struct prem_cpu_cores {
  struct hwloc_topology *topology; /* NULL: hwloc refused, nothing is pinned */
  unsigned *units;
  int32_t count;
} prem_cpu_cores;

prem_status prem_cpu_probe(prem_machine *out, prem_diag *diag);
void prem_cpu_cores_find(prem_cpu_cores *out);
void prem_cpu_cores_free(prem_cpu_cores *cores);
/** Pin the calling thread to a core, round-robin by `index`; left where it is if refused. */
void prem_cpu_cores_pin(const prem_cpu_cores *cores, int32_t index);

/* ---- tokens --------------------------------------------------------------------------------- */

/** The blocks of a task that are in the same phase: they hold one grant together. */
typedef struct prem_cpu_gang {
  int32_t members;
  int32_t held[PREM_MAX_RESOURCES];
} prem_cpu_gang;

typedef struct prem_cpu_tokens {
  prem_cpu_word next_ticket, serving;
  const prem_schedule *schedule;
  bool in_order;        /* first come, first served; else whoever finds what it asks for */
  prem_cpu_gang *gangs; /* [task][phase, or PREM_PHASE_COUNT for a joined pair] */
  int32_t left[PREM_MAX_RESOURCES];
  atomic_flag guard;
} prem_cpu_tokens;

/** What one execution asks for. */
typedef struct prem_cpu_claim {
  prem_cpu_gang *gang;
  int32_t demand[PREM_MAX_RESOURCES];
  bool empty;
} prem_cpu_claim;

prem_status prem_cpu_tokens_new(prem_cpu_tokens *tokens, const prem_schedule *schedule,
                                bool in_order);
void prem_cpu_tokens_free(prem_cpu_tokens *tokens);
/** Before a run: all there, nobody waits. */
void prem_cpu_tokens_reset(prem_cpu_tokens *tokens);
/** The demand of `count` (1, or 2 when joined) records from `record` on. */
void prem_cpu_tokens_claim(prem_cpu_tokens *tokens, const prem_record *record, int32_t count,
                           prem_cpu_claim *claim);
/** Stand in the queue. */
int64_t prem_cpu_tokens_queue(prem_cpu_tokens *tokens);
/** One attempt: true if it is our turn and all that the claim asks for was there. */
bool prem_cpu_tokens_take(prem_cpu_tokens *tokens, int64_t ticket, const prem_cpu_claim *claim);
void prem_cpu_tokens_give(prem_cpu_tokens *tokens, const prem_cpu_claim *claim);

/* ---- blocks --------------------------------------------------------------------------------- */

typedef enum prem_cpu_stage {
  PREM_CPU_PARKED,    /* between runs */
  PREM_CPU_RUNNING,   /* on its way to its next compute: comes to an end by itself */
  PREM_CPU_COMPUTING, /* in a kernel's compute function: nobody knows for how long */
  PREM_CPU_LOST       /* given up in there: it may touch nothing but its own memory any more */
} prem_cpu_stage;

typedef enum prem_cpu_abort {
  PREM_CPU_GO_ON,
  PREM_CPU_STOPPED, /* by the caller */
  PREM_CPU_FAULTED, /* by a block or the watchdog */
  PREM_CPU_OVER     /* of best-effort tasks: those that they run beside have ended */
} prem_cpu_abort;

/** A kernel, so that a compute that never ends outlives the schedule without harm. */
typedef struct prem_cpu_kernel {
  void (*compute)(const void *params, const prem_view *views);
  _Alignas(8) unsigned char params[PREM_PARAMS_BYTES];
} prem_cpu_kernel;

typedef struct prem_cpu prem_cpu;

/** What the system had given a thread at an instant. */
typedef struct prem_cpu_look {
  int64_t at_ns, cpu_ns; /* clock; time on a core since the thread began */
} prem_cpu_look;

/** From S: from the last look before a thread's core was taken away until the thread had caught up,
 *  and for how long it was without. */
typedef struct prem_cpu_absence {
  int64_t begin_ns, end_ns, away_ns;
} prem_cpu_absence;

/** A thread: a block, or in mode legacy a task. */
typedef struct prem_cpu_block {
  _Alignas(2 * PREM_CPU_LINE_BYTES) _Atomic int64_t records_done;
  _Atomic int64_t waits_until_ns; /* absolute: a release it waits for; in the past if none */
  _Atomic int stage;
  /* constant while the thread lives: */
  prem_cpu *cpu;
  const prem_block_program *program; /* NULL: a task. By the file's plan */
  pthread_t thread;
  int32_t index;          /* among the blocks that have work */
  int32_t number;         /* in the schedule */
  int64_t records;        /* of one hyperperiod */
  unsigned char *scratch; /* allocated and touched by the thread itself */
  /* the thread's own, from launch to park: */
  prem_recorder *recorder;
  int64_t common_start_ns;               /* S */
  int64_t epoch_ns;                      /* of the hyperperiod in hand */
  const prem_program *plan;              /* the same: by which it is worked */
  int64_t phases_done[PREM_PHASE_COUNT]; /* since S */
  uint8_t in_buffers[PREM_MAX_BUFFERS], out_buffers[PREM_MAX_BUFFERS]; /* prem_turn_buffers() */
  /* the same, of away.c: */
  bool is_watched, is_behind; /* behind: the last absence has no end yet */
  prem_cpu_look last_look;
  prem_cpu_absence *absences; /* the team's; [absence_count] */
  int64_t absence_count;
} prem_cpu_block;

/** The first wrong thing that a block sees; whoever swaps `claimed` writes the rest. */
typedef struct prem_cpu_fault {
  _Atomic bool claimed;
  const prem_cpu_block *block;
  int64_t at_ns; /* from S */
} prem_cpu_fault;

/** A team of threads and what they share. */
struct prem_cpu {
  prem_cpu_tokens tokens;
  prem_cpu_word common_start_ns; /* S; 0: not agreed yet */
  prem_cpu_word arrived;
  prem_cpu_word abort;
  const prem_program *program;
  prem_arrays *arrays;
  prem_cpu_kernel *kernels;  /* one a task; NULL in mode legacy */
  prem_cpu_word **jobs_done; /* [task][position of the block in the task's list] */
  prem_cpu_cores cores;
  int32_t first_core, core_count; /* its threads' cores, among the process's; count 0: all */
  prem_array_view *whole;         /* mode legacy: every array, dense, */
  int32_t whole_slots;            /* so many views of each */
  prem_cpu_block *blocks;         /* those that have work */
  int32_t block_count;
  void (*run_thread)(prem_cpu_block *); /* what each of them does in a run */
  int32_t thread_count;                 /* threads that were started */
  bool oversubscribed;
  bool lost; /* a block never came back */
  /* The session, and every lost block until its compute returns after all. The last one frees what
   * a compute may touch: this struct, blocks, kernels. If it never returns, these leak. */
  _Atomic int32_t owners;
  /* the gate between the caller and the parked threads: */
  pthread_mutex_t mutex;
  pthread_cond_t go, home;
  int64_t launches; /* under mutex */
  int32_t away;     /* threads that are not parked; under mutex */
  bool quit;        /* under mutex */
  bool starved;     /* a thread had no memory for its scratchpad; under mutex */
  /* of a live session on shared cores, where who waits sleeps; under mutex: */
  bool has_news;    /* for the courier, on `home` */
  uint64_t decided; /* by the courier, for blocks on `go` */
  /* of one run: */
  const prem_run_request *request;
  prem_trace *trace;
  prem_cpu_fault fault;
  prem_courier *courier; /* of a live session; NULL: a run */
  /* of best-effort tasks: */
  prem_cpu *critical; /* the team beside which this one runs, and whose S it takes; else NULL */
  prem_gatekeeper *keepers; /* [block of the platform], of a run */
  prem_recorder *recorders; /* the same */
  prem_errands *errands;    /* that its servers work off; NULL: it has none */
  prem_arrivals arrivals;   /* of the run */
};

/** A block that was caught, when, and after how many records. */
typedef struct prem_cpu_arrest {
  const prem_cpu_block *block; /* NULL: none was */
  int64_t at_ns, record;
} prem_cpu_arrest;

/** What the thread that watches a run knows of it; it owns this alone. */
typedef struct prem_cpu_watchdog {
  prem_cpu *cpu;
  int64_t timeout_ns;
  int64_t looked_at_ns;  /* the last look, */
  int64_t records_seen;  /* records done by all blocks at it, */
  int64_t moved_at_ns;   /* when that number changed or a release lay ahead, */
  int64_t aborted_at_ns; /* and when it told the blocks to stop; 0: it did not */
  int64_t patience_ns;   /* so long after that it waits for computes to return */
  prem_cpu_arrest stalled, lost;
} prem_cpu_watchdog;

/** A session on the backend. */
typedef struct prem_cpu_session {
  prem_cpu *blocks;
  prem_cpu *tasks;  /* for mode legacy; NULL until it is asked for */
  prem_cpu *beside; /* best-effort tasks; NULL: there are none */
  int32_t cores;
  struct prem_cpu_live *live; /* NULL: not live */
} prem_cpu_session;

extern const prem_live_engine prem_cpu_live_engine;
/** Free what a live session has beside its team; it has ended. */
void prem_cpu_live_free(prem_cpu_session *session);
/** Before a launch. `recorders` may be NULL: mode legacy. */
void prem_cpu_reset_run(prem_cpu *cpu, const prem_run_request *request, prem_trace *trace,
                        prem_recorder *recorders);

/* ---- team (team.c) --------------------------------------------------------------------------- */

/** Start the threads and wait until they are parked; prem_cpu_team_stop() also after an error. */
prem_status prem_cpu_team_start(prem_cpu *cpu, prem_diag *diag);
void prem_cpu_team_stop(prem_cpu *cpu);
void prem_cpu_team_launch(prem_cpu *cpu);
/** Until every block is home, or lost. Looks now and then, and sleeps between. */
void prem_cpu_watch_home(prem_cpu_watchdog *dog);
/** Put the parked threads where the caller wants them. PREM_ERR_UNAVAILABLE: not permitted. */
prem_status prem_cpu_set_up(prem_cpu *cpu, const prem_cpu_setup *setup, prem_diag *diag);
/** Give up one's ownership of what computes may touch. */
void prem_cpu_release(prem_cpu *cpu);
/** Launch, watch until every thread is home or given up, and say what came of it. */
prem_status prem_cpu_watch(prem_cpu *cpu, prem_diag *diag);
/** The pieces of it, for who does something else meanwhile. A watchdog begins; it looks, every few
 * ms and under `mutex`; and says what came of it. */
void prem_cpu_watchdog_begin(prem_cpu_watchdog *dog, prem_cpu *cpu, int64_t timeout_ns);
void prem_cpu_watchdog_look(prem_cpu_watchdog *dog, int64_t now);
prem_status prem_cpu_watchdog_judge(const prem_cpu_watchdog *dog, prem_diag *diag);

/* ---- scratchpads (scratch.c) ------------------------------------------------------------------
 */

/** By the block's thread; false: no memory. Free `scratch`. */
bool prem_cpu_scratch_new(prem_cpu_block *block);
/** Where a buffer of the block lies; nowhere where it has no scratchpad. */
unsigned char *prem_cpu_input_buffer(const prem_cpu_block *block, int32_t buffer);
unsigned char *prem_cpu_output_buffer(const prem_cpu_block *block, int32_t buffer);
/** After a run from which all blocks came home. @retval PREM_ERR_WRONG  a compute wrote outside of
 *  the buffers of its block; told by its name */
prem_status prem_cpu_judge_stores(const prem_cpu *cpu, prem_diag *diag);

/* ---- waiting (wait.c) ------------------------------------------------------------------------ */

static inline int64_t prem_cpu_now_ns(const prem_cpu_block *block) {
  return prem_host_clock_ns() - block->common_start_ns;
}

/** An instant of the host's clock, as waits with a limit take it. */
static inline struct timespec prem_cpu_limit(int64_t host_ns) {
  return (struct timespec){.tv_sec = host_ns / 1000000000, .tv_nsec = host_ns % 1000000000};
}

static inline bool prem_cpu_is_aborted(const prem_cpu *cpu) {
  return atomic_load_explicit(&cpu->abort.value, memory_order_relaxed) != PREM_CPU_GO_ON;
}

/** Between two looks at something that another thread changes. `*turns` starts at 0. */
void prem_cpu_take_a_turn(const prem_cpu *cpu, int32_t *turns);
/** Wait until an instant (from S); `*out_ns` is the reading that ended it. False: aborted. */
bool prem_cpu_wait_until(prem_cpu_block *block, int64_t instant_ns, int64_t *out_ns);
/** The same where nothing is done then: where cores are shared it comes back before, so that no
 *  core is kept busy for the instant's sake. `*out_ns` is the instant. */
bool prem_cpu_keep_place(prem_cpu_block *block, int64_t instant_ns, int64_t *out_ns);
/** Wait for the predecessors of a record's job, those that its phases from `first_phase` to the
 * record's wait for; `*earliest_ns` rises to their last end plus the lag. False: aborted. */
bool prem_cpu_wait_for_predecessors(const prem_cpu_block *block, int64_t hyperperiod,
                                    const prem_record *record, int first_phase,
                                    int64_t *earliest_ns);
/** Wait until the courier lets a block's hyperperiod begin, and learn where it does and by which
 * plan. False: it never will, or aborted. */
bool prem_cpu_wait_for_hyperperiod(prem_cpu_block *block, int64_t hyperperiod);
/** Wait for the tickets of a record. False: aborted. */
bool prem_cpu_wait_for_tickets(const prem_cpu_block *block, int64_t hyperperiod,
                               const prem_record *record);
/** Something has changed that the courier looks at: wake it, where it sleeps. */
void prem_cpu_tell_courier(prem_cpu *cpu);
/** A server's prefetch: wait until there is a tile for the block, or its phases are to be left out.
 *  False: aborted. */
bool prem_cpu_wait_for_tile(prem_cpu_block *block, const prem_record *record);
/** Jobs of a task of the prem_cpu `of` that have ended on all its blocks. */
int64_t prem_cpu_jobs_over(void *of, int32_t task);
/** A record's job has ended on the block at `position` of its task's list. */
void prem_cpu_publish_job(prem_cpu *cpu, int64_t hyperperiod, const prem_record *record,
                          int32_t position, int64_t end_ns);

/* ---- best effort (beside.c) ------------------------------------------------------------------ */

/** Let a team of best-effort tasks start with the run of the team that it is beside, which is
 *  launched next. */
prem_status prem_cpu_beside_begin(prem_cpu *beside, const prem_run_request *request,
                                  const prem_run_request *own, prem_best_effort_trace *trace,
                                  prem_diag *diag);
/** And end it, after that run ended with `ended`. */
prem_status prem_cpu_beside_end(prem_cpu *beside, prem_status ended, prem_best_effort_trace *trace,
                                prem_diag *diag);
/** Wait until the gate lets a memory phase in. False: aborted. */
bool prem_cpu_wait_at_gate(prem_cpu_block *block, const prem_record *record, int64_t *start_ns);

/* ---- away (away.c) ---------------------------------------------------------------------- */

/** Room for what a thread may note. False: out of memory. */
bool prem_cpu_away_new(prem_cpu_block *block);
/** From here on the thread looks whether its core is taken away. Not where threads share cores:
 * they hand them on themselves; nor in a live session. */
void prem_cpu_away_begin(prem_cpu_block *block);
/** A job has ended on the block at an instant (from S): was the core taken away meanwhile? */
void prem_cpu_away_job_over(prem_cpu_block *block, int64_t now_ns);
/** The block waits for an instant that is still to come, so it is behind no more. It looks now and
 * then, unless there is too little time left. */
void prem_cpu_away_wait(prem_cpu_block *block, int64_t now_ns, int64_t instant_ns);
/**
 * Which jobs may the absences have disturbed? Those that were under way, on whichever block, and,
 * since they may have waited for one of these, those during which one of them ended.
 *
 * @param[in,out] absences  of all blocks; sorted
 * @param[in,out] trace     its away_ns are set for the first `hyperperiods`
 */
prem_status prem_cpu_away_judge(const prem_program *program, int64_t hyperperiods,
                                prem_cpu_absence *absences, int64_t count, prem_trace *trace);
/** The same, of what the team's blocks noted. */
prem_status prem_cpu_away_collect(const prem_cpu *cpu);

/* ---- what threads do ------------------------------------------------------------------------ */

/** A block's part of a run. */
void prem_cpu_run_block(prem_cpu_block *block);
/** The record that a block executes after `done` others, as number `*index` of its hyperperiod. */
const prem_record *prem_cpu_block_record(const prem_cpu_block *block, int64_t done,
                                         int64_t *hyperperiod, int64_t *index);

/** A task's part of a run in mode legacy. */
void prem_cpu_run_task(prem_cpu_block *thread);
/** The arrays as references want them: made, freed, loaded from and stored to the session's. */
prem_status prem_cpu_whole_new(prem_cpu *cpu);
void prem_cpu_whole_free(prem_cpu *cpu);
void prem_cpu_whole_load(prem_cpu *cpu);
void prem_cpu_whole_store(prem_cpu *cpu);
