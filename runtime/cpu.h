/**
 * The cpu backend inside: one pinned thread a block, parked between runs.
 *
 *   cpu.c          opening, closing, one run with its watchdog
 *   cpu_block.c    what a block's thread does
 *   cpu_tokens.c   the tokens of mode lock
 *   cpu_machine.c  what the machine is; its cores
 *
 * What the atomics publish (every word has one writer unless said otherwise):
 *
 *   start_ns         S. Released by the block that arrives last; who has acquired it may begin.
 *   arrived          blocks that are resident; every block adds itself.
 *   abort            somebody wants the run to end. Guards no data: relaxed.
 *   jobs_done        jobs that a task has finished on one block. Released after the writeback's
 *                    bytes and after the job's end were stored, acquired before a successor
 * fetches: it publishes arrays from block to block. trace job ends   maximum over the blocks of a
 * task, any of them writes; complete, and so readable, for whom has acquired the jobs_done of all
 * of them. Relaxed. records_done,    progress, for the watchdog's eyes only. Relaxed.
 *   waits_until_ns
 *   stage            COMPUTING is left by compare-and-swap, by the block or by the watchdog that
 *                    gives the block up: exactly one of them owns what the block may touch next.
 *   tokens           see cpu_tokens.c.
 *
 * Everything else is written before a launch or read after the run, under `mutex`.
 */
#ifndef TTPREM_CPU_H
#define TTPREM_CPU_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "backend.h"
#include "recorder.h"

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

static inline int64_t prem_cpu_clock_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- tokens --------------------------------------------------------------------------------- */

/** The blocks of a task that are in the same phase: they hold one grant together. */
typedef struct prem_cpu_gang {
  int32_t members;
  int32_t held[PREM_MAX_RESOURCES];
} prem_cpu_gang;

typedef struct prem_cpu_tokens {
  const prem_schedule *schedule;
  prem_cpu_gang *gangs; /* [task][phase, or PREM_PHASE_COUNT for a joined pair] */
  int32_t left[PREM_MAX_RESOURCES];
  prem_cpu_word next_ticket, serving;
  atomic_flag guard;
} prem_cpu_tokens;

/** What one execution asks for. */
typedef struct prem_cpu_claim {
  prem_cpu_gang *gang;
  int32_t demand[PREM_MAX_RESOURCES];
  bool empty;
} prem_cpu_claim;

prem_status prem_cpu_tokens_new(prem_cpu_tokens *tokens, const prem_schedule *schedule);
void prem_cpu_tokens_free(prem_cpu_tokens *tokens);
/** Before a run: all there, nobody waits. */
void prem_cpu_tokens_reset(prem_cpu_tokens *tokens);
/** The demand of `count` (1, or 2 when joined) records from `record` on. */
void prem_cpu_tokens_claim(prem_cpu_tokens *tokens, const prem_record *record, int32_t count,
                           prem_cpu_claim *claim);
/** Stand in the queue. */
int64_t prem_cpu_tokens_queue(prem_cpu_tokens *tokens);
/** One attempt: true once it is our turn and all that the claim asks for is there. */
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
} prem_cpu_abort;

/** A kernel, so that a compute that never ends outlives the schedule without harm. */
typedef struct prem_cpu_kernel {
  void (*compute)(const void *params, const prem_view *views);
  _Alignas(8) unsigned char params[PREM_PARAMS_BYTES];
} prem_cpu_kernel;

typedef struct prem_cpu prem_cpu;

typedef struct prem_cpu_block {
  _Alignas(2 * PREM_CPU_LINE_BYTES) _Atomic int64_t records_done;
  _Atomic int64_t waits_until_ns; /* absolute: a release it waits for; in the past if none */
  _Atomic int stage;
  /* constant while the thread lives: */
  prem_cpu *cpu;
  const prem_block_program *program;
  pthread_t thread;
  int32_t index;          /* among the blocks that have work */
  int32_t number;         /* in the schedule */
  int64_t records;        /* of one hyperperiod */
  unsigned char *scratch; /* allocated and touched by the thread itself */
  /* the thread's own, from launch to park: */
  prem_recorder *recorder;
  int64_t origin_ns;                                                   /* S */
  int64_t phases_done[PREM_PHASE_COUNT];                               /* since S */
  uint8_t in_buffers[PREM_MAX_BUFFERS], out_buffers[PREM_MAX_BUFFERS]; /* prem_turn_buffers() */
} prem_cpu_block;

/** The first wrong thing that a block sees; whoever swaps `claimed` writes the rest. */
typedef struct prem_cpu_fault {
  _Atomic bool claimed;
  const prem_cpu_block *block;
  int64_t at_ns; /* from S */
} prem_cpu_fault;

struct prem_cpu {
  const prem_program *program;
  prem_arrays *arrays;
  prem_cpu_kernel *kernels;  /* one a task */
  prem_cpu_word **jobs_done; /* [task][position of the block in the task's list] */
  prem_cpu_tokens tokens;
  prem_cpu_cores cores;
  prem_cpu_block *blocks; /* those that have work */
  int32_t block_count;
  int32_t thread_count; /* threads that were started */
  bool oversubscribed;
  bool lost; /* a block never came back: what it may touch is never freed */
  /* the gate between the caller and the parked threads: */
  pthread_mutex_t mutex;
  pthread_cond_t go, home;
  int64_t launches; /* under mutex */
  int32_t away;     /* threads that are not parked; under mutex */
  bool quit;        /* under mutex */
  bool starved;     /* a thread had no memory for its scratchpad; under mutex */
  /* of one run: */
  const prem_run_request *request;
  prem_trace *trace;
  prem_cpu_fault fault;
  prem_cpu_word start_ns; /* 0: not agreed yet */
  prem_cpu_word arrived;
  prem_cpu_word abort;
};

/** A block's thread: `argument` is its prem_cpu_block. */
void *prem_cpu_block_main(void *argument);

/** The record that a block executes after `done` others, as number `*index` of its hyperperiod. */
const prem_record *prem_cpu_block_record(const prem_cpu_block *block, int64_t done,
                                         int64_t *hyperperiod, int64_t *index);

#endif
