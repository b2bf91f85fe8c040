/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The cuda backend inside: what the parts of its host side share. They lie in runtime/cuda/ and:
 *
 *   backend.c             begin here: opening, closing, the members of prem_backend
 *   host/probe.c          what the GPU is, and whether it is still there
 *   host/judge.c          whether it can run a program; which variant of the executive runs it
 *   host/launch.c         a run of the executive, from its memory made ready to the trace
 *   host/beside.c         best-effort tasks: a launch of their own beside that one
 *   host/watch.c          the caller's thread during a run: the watchdog
 *   host/collect.c        after a run: records, stats and counts to the trace
 *   host/sentinel.c       a block of its own that notes when the GPU stood still
 *   host/live.c           a live session: started, watched, ended
 *   host/live_tables.c    what the executive and the courier of a live session read
 *   host/live_frames.c    large frames, on streams of their own
 *   host/servers.c        errands on their way to the blocks of servers, and back
 *   host/fault.c          what a run met, in words
 *
 *   host/load.c           the program of a session, brought to the GPU once or twice
 *   host/program.c        a program in device memory: what the executive reads
 *   host/asks.c           its words across blocks: what jobs wait for of other tasks
 *   host/tensor_map.c     its windows as boxes that the copy engine of sm_90 moves
 *   host/arrays.c         the arrays in device memory
 *   host/machine_facts.cu clocks and memory, measured
 *   host/driver_version.c which driver
 *   host/driver_function.c its functions
 *
 *   device/               what runs on the GPU; its map is in device/executive.h
 *   baselines/            the modes without phases; begin with baselines/baselines.h
 *
 * backend.c alone knows all of them: device/ knows nothing of host/, host/ nothing of baselines/.
 *
 * Who writes what of a session (prem_cuda): backend.c and judge.c at opening, one thread. Then runs
 * come one after the other, each on its caller's thread; during one, launch.c makes room, watch.c
 * writes the words that the GPU's answers go to, and whoever finds it lost writes `gpu->loss`.
 * A GPU (prem_cuda_device) is shared by sessions: probe.c writes it once, under `guard`; `loss` is
 * raised by any session and read by all. As long as a live session runs, others are refused: what
 * they call of CUDA would wait for its kernels to end.
 */
#pragma once

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <time.h>

#include "runtime/core/backend.h"
#include "runtime/cuda/host/program.h"
#include "runtime/cuda/host/sentinel.h"

/** A compute that never comes back and an error of the device take the GPU from the whole process:
 *  calls that touch the device would wait for the one for ever, and fail after the other. */
typedef enum prem_cuda_loss { PREM_CUDA_THERE, PREM_CUDA_HELD, PREM_CUDA_BROKEN } prem_cuda_loss;

/** A GPU, shared by all sessions that use it. */
typedef struct prem_cuda_device {
  int number;
  pthread_mutex_t guard;
  bool is_known; /* under guard; when set, `properties` and `machine` stay as they are */
  struct cudaDeviceProp properties;
  prem_machine machine;
  _Atomic prem_cuda_loss loss;
  _Atomic(struct prem_cuda_live *) live; /* the live session that runs there; NULL: none */
} prem_cuda_device;

struct prem_cuda;

/** How best-effort tasks run as a CUDA graph beside the executive; `cuda` has the critical ones. */
typedef struct prem_cuda_graph_load {
  /** Before a launch, with all that passes go by. */
  prem_status (*ready)(struct prem_cuda *cuda, const prem_run_request *request,
                       const prem_device_gated *gated, prem_diag *diag);
  /** The launch is under way. */
  prem_status (*begin)(struct prem_cuda *cuda, prem_diag *diag);
  /** It has ended, or does not come. */
  prem_status (*end)(struct prem_cuda *cuda, prem_best_effort_trace *out, prem_diag *diag);
} prem_cuda_graph_load;

/** A session on a GPU. */
typedef struct prem_cuda {
  prem_cuda_device *gpu;
  const prem_program *program;
  prem_arrays *host;
  prem_cuda_arrays arrays;
  prem_cuda_program device;
  const void *executive; /* the variant with the most registers of which enough blocks fit */
  int32_t threads;
  size_t scratch_bytes;
  int32_t near_bytes; /* live: of the courier's own, that the SM's scratchpad has room for */
  int32_t sm_count;
  cudaStream_t stream, control; /* the launch; the abort word */
  uint32_t *abort_word;         /* pinned: 1, and room for what the device says */
  prem_device_fault *fault;     /* pinned: what it says of a run that does not end */
  int64_t *clock_word;          /* pinned: a reading of its clock */
  void *records_room;           /* raw records in device memory */
  int64_t records_capacity;
  long long *ends_room; /* job_end_ns in device memory */
  int64_t ends_capacity;
  prem_sentinel *sentinel;          /* NULL until a run asks for it */
  struct prem_cuda_live *live;      /* NULL until a live session starts */
  struct prem_baselines *baselines; /* NULL until a run asks for a mode without phases */
  const struct prem_cuda *leader;   /* whose ways they take; NULL: nobody's */
  struct prem_cuda *beside; /* of the best-effort tasks beside these; NULL: there are none */
  const struct prem_free_part *part;      /* whose these are; NULL: they are critical */
  prem_device_gated gated;                /* theirs, in device memory but for `windows` */
  struct prem_cuda_servers *servers;      /* NULL: none of them is one */
  const prem_cuda_graph_load *graph_load; /* NULL: they run as tiles */
  cudaGraph_t attached; /* of their one task, whose work is the application's; NULL: none (yet) */
} prem_cuda;

/** After a call that may have failed: on to `fail`, with its `error`. */
#define CUDA_TRY(call)                                                                             \
  do {                                                                                             \
    if ((error = (call)) != cudaSuccess)                                                           \
      goto fail;                                                                                   \
  } while (0)

/* For all blocks to arrive; an emulated GPU on a busy machine needs more. */
#ifndef PREM_CUDA_RESIDENT_NS
#define PREM_CUDA_RESIDENT_NS 1000000000L
#endif
enum { PREM_CUDA_MIN_THREADS = PREM_MEMORY_THREADS + 32 }; /* of a block: one warp computes */

/* ---- the program (load.c) -------------------------------------------------------------------- */

/** Bring the program to the GPU, where its arrays lie there. */
prem_status prem_cuda_load(prem_cuda *cuda, prem_diag *diag);
/** The same once more: arrays of a live session lie elsewhere than when it was opened. */
prem_status prem_cuda_load_again(prem_cuda *cuda, prem_diag *diag);

/* ---- faults (fault.c) ------------------------------------------------------------------------ */

prem_status prem_cuda_report(cudaError_t error, prem_diag *diag, const char *what);
/** Something else holds the GPU. @return PREM_ERR_MACHINE */
prem_status prem_cuda_say_held(const prem_cuda *cuda, prem_diag *diag);
/** Of a run whose blocks ended by themselves. */
prem_status prem_cuda_say_fault(const prem_cuda *cuda, const prem_device_fault *fault,
                                prem_diag *diag);
/** An error of the device breaks the context: what the blocks knew cannot be read any more. */
bool prem_cuda_is_broken(const prem_cuda *cuda);
/** Say so. The GPU is lost. */
prem_status prem_cuda_say_broken(const prem_cuda *cuda, prem_mode mode, prem_engine engine,
                                 cudaError_t error, prem_diag *diag);

/* ---- watching a launch (watch.c) ------------------------------------------------------------- */

/** Watch a launch until it ends. The device ends all waits by itself; the host ends what the caller
 *  stops, and gives a compute that never returns up for lost. */
prem_status prem_cuda_watch(const prem_cuda *cuda, const prem_run_request *request,
                            prem_engine engine, prem_diag *diag);
/** Of best-effort tasks alone: until their time is over, somebody stops them, or they have left. */
prem_status prem_cuda_watch_alone(const prem_cuda *cuda, const prem_run_request *request);

/** Has a block raised a fault, or does the GPU not even answer? It takes as long as a copy of a
 *  word. */
bool prem_cuda_has_to_end(const prem_cuda *cuda);
/** Let all blocks leave. */
void prem_cuda_stop_blocks(const prem_cuda *cuda);
/** They do not: the GPU is lost. */
void prem_cuda_say_endless(const prem_cuda *cuda, prem_diag *diag);
/** So long after they were stopped; an emulated GPU on a busy machine needs more. */
#ifndef PREM_CUDA_GRACE_NS
#define PREM_CUDA_GRACE_NS 200000000
#endif
enum { PREM_CUDA_LAST_GRACE_NS = PREM_CUDA_GRACE_NS };

/* ---- after a run (collect.c) ----------------------------------------------------------------- */

/** Bring what a run recorded to the trace. @param blocks  as they were during the run
 *  @param hyperperiods  that were asked for */
cudaError_t prem_cuda_collect_trace(const prem_cuda *cuda, const prem_device_block *blocks,
                                    prem_trace *trace, int64_t hyperperiods);
/** Phases alone: records, stats, counts. */
cudaError_t prem_cuda_collect_phases(const prem_cuda *cuda, const prem_device_block *blocks,
                                     prem_trace *trace);
/** Hyperperiods that every job of every task has ended in. */
int64_t prem_cuda_hyperperiods_complete(const prem_trace *trace, int64_t hyperperiods);

/* ---- a run of the executive (launch.c) ------------------------------------------------------- */

/** As prem_session_run(); a mode with phases. */
prem_status prem_cuda_run_executive(prem_cuda *cuda, const prem_run_request *request,
                                    prem_trace *trace, prem_diag *diag);

/** Where a run asks for it. It is done when the default stream is. */
prem_status prem_cuda_sentinel_ready(prem_cuda *cuda, const prem_run_request *request, int carveout,
                                     prem_diag *diag);
/** Room in device memory for the raw records, and for the ends of jobs of so many hyperperiods. */
cudaError_t prem_cuda_make_room(prem_cuda *cuda, const prem_trace *trace, int64_t hyperperiods);
/** Divide the records among blocks and phases; `blocks` has room for all. */
cudaError_t prem_cuda_give_shares(prem_cuda *cuda, int64_t capacity, prem_device_block *blocks);
/** Everything as before the first run; `ends` ends of jobs. It is done when the default stream is.
 */
cudaError_t prem_cuda_reset_state(const prem_cuda *cuda, int64_t ends);
/** The best engine of the GPU where `*engine` names none; one that is named must be there. */
prem_status prem_cuda_choose_engine(const prem_cuda *cuda, prem_engine *engine, prem_diag *diag);
enum {
  PREM_CUDA_STALL_NS = 500000000,   /* where the caller names no timeout */
  PREM_CUDA_START_MARGIN_NS = 20000 /* from the last arrival to S */
};

/** A launch's memory made ready, and what it says of a request. */
cudaError_t prem_cuda_get_ready(prem_cuda *cuda, const prem_run_request *request,
                                prem_engine engine, const prem_trace *trace,
                                prem_device_block *blocks, prem_launch *launch);

/* ---- best-effort tasks (beside.c) ------------------------------------------------------------ */

/** One run of them. All zero: there are none, and nothing is done. */
typedef struct prem_cuda_beside {
  prem_cuda *cuda;
  prem_cuda *critical;
  prem_best_effort_trace *out;
  prem_engine engine;
  prem_device_block *blocks;
  prem_launch launch;
  prem_device_gated gated;
  bool is_launched, is_graph;
} prem_cuda_beside;

/** See prem_session_attach_graph(). */
prem_status prem_cuda_attach(prem_cuda *critical, cudaGraph_t graph, prem_diag *diag);
/** Has an application's graph all that a run needs? PREM_OK where there is no such task. */
prem_status prem_cuda_judge_attached(const prem_cuda *critical, prem_mode mode, prem_diag *diag);
/** Can the gate hold all that best-effort tasks do to the memory? */
prem_status prem_cuda_judge_beside(const struct prem_free_part *part, prem_diag *diag);
/** The list of closed windows and the counts, in device memory. Once, after the load. */
cudaError_t prem_cuda_beside_load(const prem_cuda *critical);
/** Make a run ready beside one of the critical tasks. Free it in any case. */
prem_status prem_cuda_beside_prepare(prem_cuda *critical, const prem_run_request *request,
                                     prem_engine engine, const prem_trace *trace,
                                     prem_cuda_beside *run, prem_diag *diag);
/** Launch it; its blocks wait for the critical ones, to begin with them. */
cudaError_t prem_cuda_beside_launch(prem_cuda_beside *run);
/** Are there best-effort tasks alone? Then the other executive is not launched. */
static inline bool prem_cuda_is_alone(const prem_cuda *cuda) {
  return cuda->program->schedule->task_count == 0;
}
/** What is launched after the critical ones, as ordinary kernels are. */
prem_status prem_cuda_beside_begin(prem_cuda_beside *run, prem_diag *diag);
/** The critical blocks have left, or never came: let these leave, and see it. */
prem_status prem_cuda_beside_stop(prem_cuda_beside *run, const prem_run_request *request,
                                  prem_diag *diag);
/** What they did. @param length_ns  from S to the end of what was measured */
cudaError_t prem_cuda_beside_collect(const prem_cuda_beside *run, int64_t length_ns,
                                     prem_trace *trace);
void prem_cuda_beside_free(prem_cuda_beside *run);

/* ---- servers (servers.c) ----------------------------------------------------------------------
 */

/** Of the best-effort tasks, after their load. @return PREM_OK also where there are none */
prem_status prem_cuda_servers_new(prem_cuda *beside, prem_diag *diag);
void prem_cuda_servers_free(prem_cuda *beside);
/** Around a run. `beside`: NULL: there are no best-effort tasks. End it in any case. */
prem_status prem_cuda_servers_begin(prem_cuda *beside, const prem_run_request *request,
                                    prem_best_effort_trace *trace, prem_diag *diag);
prem_status prem_cuda_servers_end(prem_cuda *beside, prem_best_effort_trace *trace,
                                  prem_status ended, prem_diag *diag);
/** Of any session, from time to time during a run. */
void prem_cuda_servers_look(const prem_cuda *cuda);

/* ---- live sessions (live.c) ------------------------------------------------------------------ */

extern const prem_live_engine prem_cuda_live_engine;
/** It is over. */
void prem_cuda_live_free(prem_cuda *cuda);

/* ---- what it can run (judge.c) --------------------------------------------------------------- */

/** Are all kernels in the executive, and can it write their outputs? */
prem_status prem_cuda_judge_tasks(const prem_schedule *schedule, bool is_live, prem_diag *diag);
/** Barriers tell a prefetch from later ones only until it is their turn again. */
prem_status prem_cuda_judge_order(const prem_program *program, prem_diag *diag);
/** Distances in a compatible interval's views are 32-bit, and here rows stand farther apart than
 *  the binding knew: by 128 bytes, and by other tasks' halos. After the arrays are made. */
prem_status prem_cuda_judge_intervals(const prem_cuda *cuda, prem_diag *diag);
/** The variant with the most registers of which every SM holds the plan's blocks. Scratchpad that
 *  the plan leaves is taken as well, so that exactly so many blocks fit and each SM gets its own.
 *  After the program is made. */
prem_status prem_cuda_choose_variant(prem_cuda *cuda, prem_diag *diag);
/** The same of both launches, where best-effort tasks run beside critical ones. */
prem_status prem_cuda_choose_two_variants(prem_cuda *cuda, prem_diag *diag);
/** The same of a live session, which leaves room for the courier on every SM. */
prem_status prem_cuda_choose_live_variant(prem_cuda *cuda, prem_diag *diag);

/* ---- the GPU (probe.c) ----------------------------------------------------------------------- */

/** The GPU that sessions open: the first that CUDA_VISIBLE_DEVICES leaves visible. */
prem_cuda_device *prem_cuda_first_gpu(void);
/** Make it the calling thread's current device: a thread's first call into CUDA, since what follows
 *  goes to the current one. */
cudaError_t prem_cuda_enter(const prem_cuda_device *gpu);
/** PREM_OK unless it is lost, or a live session runs there. */
prem_status prem_cuda_is_usable(const prem_cuda_device *gpu, prem_diag *diag);
/** Members of prem_backend: */
prem_status prem_cuda_probe(prem_machine *out, prem_diag *diag);
prem_status prem_cuda_measure(prem_machine *machine, prem_diag *diag);
