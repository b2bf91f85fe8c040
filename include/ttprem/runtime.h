/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Executing a plan: backends and sessions.
 *
 *   prem_backend_find() -> prem_session_open() -> { poison, run, verify }* -> prem_session_close()
 *
 * A session holds the arrays, their references and whatever the backend keeps resident; it is used
 * from one thread. No call here waits without an end.
 */
#ifndef TTPREM_RUNTIME_H
#define TTPREM_RUNTIME_H

#include <signal.h>

#include "ttprem/trace.h"

typedef struct prem_backend prem_backend; /* "sim", "cpu", ... */
typedef struct prem_session prem_session;

/** How the GPU moves windows; other backends take no notice. */
typedef enum prem_engine {
  PREM_ENGINE_BEST,     /* the best that the GPU has */
  PREM_ENGINE_BULK,     /* bulk asynchronous copies, from sm_90 on */
  PREM_ENGINE_CP_ASYNC, /* 16-byte asynchronous copies, from sm_80 on */
  PREM_ENGINE_VECTOR,   /* ordinary 16-byte loads and stores */
  PREM_ENGINE_COUNT
} prem_engine;

enum { PREM_MODE_NOTE_BYTES = 192 }; /* see prem_session_mode_note() */

/** How the threads of the cpu backend run. All zeros: one of every core before the second of any,
 * and scheduled as the caller is. Other backends take no notice. */
typedef struct prem_cpu_setup {
  const int32_t *cores; /* [core_count] different ones, by the system's numbers, at least one a
                           thread; NULL: as above */
  int32_t core_count;
  int32_t fifo_priority; /* SCHED_FIFO, 1 to 99; 0: as the caller */
} prem_cpu_setup;

/** An errand that comes in a run. */
typedef struct prem_arrival {
  int64_t at_ns; /* from S */
  int32_t task;  /* of the session's schedule, one with a server */
  int32_t first_tile, tile_count;
} prem_arrival;

typedef struct prem_run_request {
  prem_mode mode;
  int64_t hyperperiods;              /* back to back, at least 1 */
  int64_t discard;                   /* hyperperiods at the start that the stats leave out */
  const volatile sig_atomic_t *stop; /* non-zero ends the run within a second; may be NULL */
  int64_t timeout_ns;                /* no block makes progress for so long: the watchdog; 0: 5 s */
  prem_engine engine;
  prem_cpu_setup cpu;
  uint64_t seed; /* sim: phases of best-effort tasks take random times, their bounds at most; 0:
                    they take their bounds. Other backends take no notice */
  const prem_arrival *arrivals; /* [arrival_count], in the order of their times: errands that come
                                   by themselves, and that nobody collects */
  int64_t arrival_count;
  bool sentinel; /* cuda: a block of its own notes when the GPU stood still, for prem_trace.stalls
                    and away_ns. Other backends take no notice */
} prem_run_request;

/** What prem_session_verify() found. */
typedef struct prem_verdict {
  bool ok;
  int64_t wrong;          /* elements that differ, over all outputs */
  int32_t array;          /* the first array with one, of the whole schedule; -1 when ok */
  int64_t index[4];       /* its first wrong element */
  double expected, found; /* there; of a c64 the part that differs */
  bool partial; /* outputs of best-effort tasks were not compared: the run ended before each of
                   their blocks had done all of its tiles once; or an application has filled
                   inputs of errands */
} prem_verdict;

/** One way to launch a task's ordinary kernel, as it was tried. */
typedef struct prem_launch_candidate {
  int32_t task; /* tasks of the same kernel and shapes share the candidates of the first of them */
  char way[96]; /* "float4 x 4 rows, 32 x 8 threads, full grid of 1122 blocks" */
  int64_t alone_ns;    /* median of its jobs alone on the machine */
  int64_t together_ns; /* median makespan of all tasks' first jobs; -1: not tried so */
  bool chosen;
  bool wrong; /* its output differed: never chosen */
} prem_launch_candidate;

/** What a session tried before its first run in a mode of ordinary kernels: legacy, launched,
 * graph, gated_graph, priority, partition. */
typedef struct prem_launch_search {
  prem_launch_candidate *candidates;
  int32_t candidate_count;
} prem_launch_search;

enum { PREM_MAX_PREDECESSORS = 16 };

/** A task that follows others on the same blocks, whose tiles compute nothing. */
typedef struct prem_precedence_setup {
  prem_mode mode;
  int32_t blocks;                    /* of every task, one tile each */
  int32_t predecessors;              /* 1 to PREM_MAX_PREDECESSORS */
  int64_t hyperperiods;              /* that count; 64 more come before them */
  const volatile sig_atomic_t *stop; /* as in prem_run_request */
} prem_precedence_setup;

typedef struct prem_latencies {
  int64_t p50_ns, p99_ns, max_ns;
} prem_latencies;

/** From the last end of the predecessors, hyperperiod by hyperperiod. */
typedef struct prem_precedence_times {
  int64_t count;
  prem_latencies first; /* until the first block of the successor begins */
  prem_latencies last;  /* until all of them have begun */
} prem_precedence_times;

PREM_EXTERN_C_BEGIN

/** The backend of a name: one in this build, or NULL. */
PREM_API const prem_backend *prem_backend_find(const char *name);
/** Backend number `index` of this build, best first; NULL behind the last. */
PREM_API const prem_backend *prem_backend_at(int32_t index);
PREM_API const char *prem_backend_name(const prem_backend *backend);
PREM_API const char *prem_backend_summary(const prem_backend *backend);
PREM_API bool prem_backend_has_mode(const prem_backend *backend, prem_mode mode);
/** "best", "bulk", "cp_async", "vector". Thread-safe. */
PREM_API const char *prem_engine_name(prem_engine engine);
/** The engine of a name; false if there is none. Thread-safe. */
PREM_API bool prem_engine_parse(const char *name, prem_engine *out);
/** Is it there, and what can it do? PREM_ERR_UNAVAILABLE: `diag` says why in one note. */
PREM_API prem_status prem_backend_probe(const prem_backend *backend, prem_machine *out,
                                        prem_diag *diag);
/** Add the facts that take too long to measure before every run: bandwidth, cost of a dispatch and
 * of telling a successor.
 * What the backend cannot measure stays as it is. Errors: PREM_ERR_UNAVAILABLE, the reason a note
 * in `diag`; those of prem_session_run(). */
PREM_API prem_status prem_backend_measure(const prem_backend *backend, prem_machine *machine,
                                          prem_diag *diag);

/**
 * How soon does a successor begin? About 65 us a hyperperiod.
 *
 * @retval PREM_ERR_ARGUMENT  a number of `setup` is out of range; those of prem_session_open() and
 *                            prem_session_run()
 */
PREM_API prem_status prem_measure_precedence(const prem_backend *backend,
                                             const prem_precedence_setup *setup,
                                             prem_precedence_times *out, prem_diag *diag);

/**
 * Make a schedule ready to run: compile its plan into records, allocate and fill the arrays,
 * compute the references (untiled, on the host).
 *
 * @param schedule  bound, with a plan that prem_check() accepts for the backend's machine;
 *                  must outlive the session. Best-effort tasks run again and again beside the
 *                  others, for as long as these run: in mode tt held back by a gate while a window
 *                  of the plan is closed, in mode free without one. No other mode runs them.
 * @param[out] out  close with prem_session_close(); NULL on error.
 * @retval PREM_ERR_ARGUMENT     the schedule is not bound, or has no plan
 * @retval PREM_ERR_INVALID      the plan cannot be executed (diag says why)
 * @retval PREM_ERR_IO           an input file is missing, broken or of another shape (diag: E024)
 * @retval PREM_ERR_UNAVAILABLE  the backend is not available (diag says why)
 */
PREM_API prem_status prem_session_open(const prem_backend *backend, const prem_schedule *schedule,
                                       prem_session **out, prem_diag *diag);
/** What the session was opened with. */
PREM_API const prem_schedule *prem_session_schedule(const prem_session *session);
/** The tasks that run by the plan, as a schedule: what traces, rows and verdicts of times are
 * about. Without best-effort tasks the one that the session was opened with. The session's. */
PREM_API const prem_schedule *prem_session_critical(const prem_session *session);
/** The best-effort tasks, as a schedule; NULL: there are none. The session's. */
PREM_API const prem_schedule *prem_session_best_effort(const prem_session *session);
/** prem_trace_new() for the critical tasks, with room for the others: for as many records again. */
PREM_API prem_status prem_session_trace_new(const prem_session *session, int64_t hyperperiods,
                                            int64_t max_records, prem_trace **out);
/**
 * Give a best-effort task of kernel "cuda_graph" its work; without it no run begins on cuda. In
 * mode tt each launch of the graph begins whole, where its bound `wcet_ns` ends before the next
 * closed window; in mode free the launches follow each other. Other modes do not run it. An
 * overrun is counted where a window opens before the launch has ended.
 *
 * Once a session, before its first run, which launches it some 40 times alone: its code is then
 * loaded, and it is seen to keep its bound.
 *
 * @param task   its name in the file
 * @param graph  a cudaGraph_t of kernels, copies and sets of memory, which the session clones; it
 *               stays the caller's, who may destroy it. What its nodes point to stays there until
 *               the session is closed. It is the runtime API's, of the first GPU that
 *               CUDA_VISIBLE_DEVICES leaves visible; that is the calling thread's device then.
 * @retval PREM_ERR_ARGUMENT     there is no such task, no graph, or it has one
 * @retval PREM_ERR_INVALID      it has nodes of other kinds, or is no graph of this GPU (diag: why)
 * @retval PREM_ERR_UNAVAILABLE  the backend runs no graph: sim takes its bound for it
 */
PREM_API prem_status prem_session_attach_graph(prem_session *session, const char *task, void *graph,
                                               prem_diag *diag);
/** End it; its arrays, references, launch searches and notes go with it. In a process that was
 * forked from the one that opened it: nothing, it is the parent's. */
PREM_API void prem_session_close(prem_session *session);

/**
 * Overwrite all outputs with a pattern that no kernel writes, so that a stale result is seen.
 *
 * @retval PREM_ERR_ARGUMENT  an earlier run failed (PREM_ERR_MACHINE); so do verify and save then
 * @retval PREM_ERR_MACHINE   of a backend with memory of its own
 */
PREM_API prem_status prem_session_poison(prem_session *session);

/**
 * One launch: all blocks become resident, agree on a start S, run the plan and stop. State arrays
 * hold their first version at its begin.
 *
 * @param trace  cleared and filled; room for request->hyperperiods. What was measured is kept when
 *               the run is interrupted or fails.
 * @retval PREM_ERR_INTERRUPTED  the stop flag was seen
 * @retval PREM_ERR_UNAVAILABLE  the backend has no such mode or cannot run this schedule in it, or
 *                               the GPU no such engine (diag: why); other runs can follow
 * @retval PREM_ERR_MACHINE      watchdog or device fault; diag names block, record, instant; the
 *                               session is good for prem_session_close() only
 */
PREM_API prem_status prem_session_run(prem_session *session, const prem_run_request *request,
                                      prem_trace *trace, prem_diag *diag);

/** Compare every output with its reference; of a state array the version that the last run made
 *  last. A wrong one is a verdict, not a status; errors as prem_session_poison(). Where there are
 *  state arrays references are computed job by job, which may take as long as the run. */
PREM_API prem_status prem_session_verify(prem_session *session, prem_verdict *out);

/**
 * Write every array that has a `save` path; written beside and renamed.
 *
 * @param anywhere  outside the working folder as well: for schedules that are trusted.
 * @retval PREM_ERR_INVALID  a path is refused (prem_schedule_judge_saves()); nothing is written
 * @retval PREM_ERR_IO       one could not be written (diag: place and reason), the others are
 * Other errors as prem_session_poison().
 */
PREM_API prem_status prem_session_save(prem_session *session, bool anywhere, prem_diag *diag);

/**
 * Launch ordinary kernels as another session does: before its first run in a mode without phases, a
 * task takes the way that `from` chose for its task of the same name and work, and in `partition`
 * the same share of the SMs. So a part of a schedule differs from the whole in its co-runners
 * alone.
 *
 * @param from  of the same backend, has run in that mode, and is closed later than `session`.
 */
PREM_API void prem_session_follow(prem_session *session, const prem_session *from);

/** The ways of launching that the session has tried; the session's. NULL: none were. */
PREM_API const prem_launch_search *prem_session_launch_search(const prem_session *session);

/** How the session runs a mode, in a few words, where that depends on the machine or was measured:
 *  "32 SMs for each task, 4 of 132 for none". The session's, shorter than PREM_MODE_NOTE_BYTES.
 * NULL: nothing to say, or no run in this mode yet. */
PREM_API const char *prem_session_mode_note(const prem_session *session, prem_mode mode);

/** The machine that the session runs on. */
PREM_API const prem_machine *prem_session_machine(const prem_session *session);

PREM_EXTERN_C_END
#endif
