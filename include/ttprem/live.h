/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Live sessions: an application starts a plan that repeats, feeds frames into it, waits for
 * results, and stops it.
 *
 *   prem_live_open -> prem_live_start -> { acquire, submit | wait, release }* -> prem_live_stop
 *                  -> prem_live_close
 *
 * The live inputs and outputs are those of the schedule's `live` group (docs/schedule-format.md
 * has what they can be). A *stream* is one of them, by its number: inputs first, each as the file
 * has them.
 *
 * Times are ns on the host's CLOCK_MONOTONIC, on backend `sim` ns of its virtual clock, which
 * begins at 0 and passes in calls that wait only. Calls that can wait have an `until_ns`, an
 * instant, and come back soon after it at the latest, whatever happens; one in the past, such as
 * 0, means not to wait. All others never wait.
 *
 * Threads: on `cpu` each input may be used by one thread, each output by one, and the session
 * (start, stop) by one; look, now and sleep by any, and close by any while others still wait. On
 * `sim` all calls are from one thread. What the host does at an instant of the virtual clock comes
 * behind all that the machine does at it, so that a program is deterministic.
 *
 * Every call may return PREM_ERR_MACHINE once the session has failed (prem_live_stop() says why),
 * and PREM_ERR_ARGUMENT for a mistake of the caller, with what to do instead in `diag`, which may
 * be NULL. A call that fails has changed nothing, unless it says so.
 */
#ifndef TTPREM_LIVE_H
#define TTPREM_LIVE_H

#include "ttprem/runtime.h"

typedef struct prem_live prem_live;

typedef struct prem_live_request {
  prem_mode mode;            /* tt; free and lock to compare with */
  int64_t start_ns;          /* where the first hyperperiod begins, or with a trigger the earliest
                                instant; 0: at once */
  int64_t submit_timeout_ns; /* a trigger's frame is missing after so long; 0: 10 s */
  int64_t stall_timeout_ns;  /* no block makes progress for so long: the watchdog; 0: 5 s */
  prem_trace *trace;         /* filled when the session has ended, with counts of all and the first
                                hyperperiods and records that it has room for; must live until
                                close. May be NULL */
  prem_cpu_setup cpu;
} prem_live_request;

/** Flags of a frame. */
enum {
  PREM_FRAME_REPEATED = 1, /* no new input came: it was made of frames that were used before */
  PREM_FRAME_LATE = 2      /* output: it was there only after its `publish_ns` */
};

/** A frame of a live array, as prem_live_acquire() and prem_live_wait() give it. */
typedef struct prem_frame {
  int32_t stream;
  int32_t buffer;         /* of those that the file gives the stream */
  uint64_t number;        /* 0, 1, ... in its stream, never used twice */
  void *data;             /* its first element, aligned to 128 bytes; the session's */
  int64_t shape[4];       /* right-aligned, leading 1s */
  int64_t pitch_bytes[3]; /* from one index of dimension 0, 1, 2 to the next; elements are dense */
  int64_t captured_ns;    /* input: when it was taken, which its age counts from; 0: when it is
                             submitted. Output: that of the oldest input in it, 0 where it has none */
  int64_t published_ns;   /* output: when it could be seen first */
  int64_t job;            /* output: of its writer, counted from the session's start */
  uint64_t input;         /* output: number of the frame in it of the first input that it is made
                             from */
  uint32_t flags;         /* PREM_FRAME_... */
} prem_frame;

typedef enum prem_live_phase {
  PREM_LIVE_OPEN,     /* not started */
  PREM_LIVE_RUNNING,  /* frames are taken */
  PREM_LIVE_DRAINING, /* asked to stop: works off what is there */
  PREM_LIVE_ENDED     /* over; frames that are there can still be waited for */
} prem_live_phase;

typedef enum prem_live_end {
  PREM_LIVE_NOT_ENDED,
  PREM_LIVE_STOPPED,  /* by prem_live_stop() */
  PREM_LIVE_NO_FRAME, /* a trigger's frame did not come within submit_timeout_ns */
  PREM_LIVE_OVERRUN,  /* a job ended behind its deadline, and the file says overrun = "stop" */
  PREM_LIVE_FAILED    /* the machine failed */
} prem_live_end;

typedef struct prem_live_state {
  prem_live_phase phase;
  prem_live_end end;
  int64_t now_ns;
  int64_t hyperperiods; /* completed by every block */
  int64_t overruns;     /* jobs that ended behind their deadline */
} prem_live_state;

/** Of one stream since the session was opened. */
typedef struct prem_live_counts {
  uint64_t frames;   /* input: submitted; output: shown */
  uint64_t taken;    /* input: jobs that a new frame was chosen for. With `frames`: how many were
                        never looked at */
  uint64_t repeated; /* jobs that took a frame again; output: shown frames that are made so */
  uint64_t missing;  /* jobs skipped: input: no frame, or too old a one; output: its writer's */
  uint64_t stale;    /* input: of those missing, the ones whose frame was too old */
  uint64_t dropped;  /* output: results that found no free buffer */
  uint64_t late;     /* output: frames shown behind their publish_ns */
} prem_live_counts;

PREM_EXTERN_C_BEGIN

/**
 * Make a schedule ready to be used live: compile its plan, allocate its arrays and the buffers of
 * its streams, start what runs it. Arrays are filled as for a run; no references are computed.
 *
 * @param schedule  bound, with a plan that prem_check() accepts, must outlive the session.
 * @param[out] out  close with prem_live_close(); NULL on error.
 * @retval PREM_ERR_UNAVAILABLE  the backend has no live sessions, or is not available
 * @retval PREM_ERR_ARGUMENT     the schedule is not bound, or has no plan
 * Others as prem_session_open().
 */
PREM_API prem_status prem_live_open(const prem_backend *backend, const prem_schedule *schedule,
                                    prem_live **out, prem_diag *diag);

/**
 * Start it, once: returns when all blocks are resident. Frames submitted before are there.
 *
 * @retval PREM_ERR_ARGUMENT     it was started before; no such mode; start_ns is too soon: blocks
 *                               would not be resident, or frames not chosen, in time. The session
 *                               has then ended
 * @retval PREM_ERR_UNAVAILABLE  the machine does not allow what request->cpu asks for
 * @retval PREM_ERR_MACHINE      blocks did not become resident
 */
PREM_API prem_status prem_live_start(prem_live *live, const prem_live_request *request,
                                     prem_diag *diag);

/** The stream of an array's name, or -1. Thread-safe. */
PREM_API int32_t prem_live_find(const prem_live *live, const char *array);

/**
 * Get a free buffer of an input, to be filled and submitted. It holds what an older frame left. One
 * at a time for each input.
 *
 * @retval PREM_ERR_FULL   none became free until `until_ns`
 * @retval PREM_ERR_ENDED  the session takes no frames any more
 */
PREM_API prem_status prem_live_acquire(prem_live *live, int32_t stream, int64_t until_ns,
                                       prem_frame *out, prem_diag *diag);

/**
 * Hand a filled buffer over: from here on it is the session's. Never waits.
 *
 * @param frame  as acquired; its number and captured_ns are set.
 * @retval PREM_ERR_ENDED  the session has ended or was asked to stop; the buffer is given back
 */
PREM_API prem_status prem_live_submit(prem_live *live, prem_frame *frame, prem_diag *diag);

/**
 * Wait for a frame of an output: of a queuing one for the next in order, of a sampling one for the
 * newest, if it is newer than the last that was waited for. It is the caller's to read until
 * released.
 *
 * @retval PREM_ERR_TIMEOUT  none until `until_ns`
 * @retval PREM_ERR_ENDED    none, and none will come
 */
PREM_API prem_status prem_live_wait(prem_live *live, int32_t stream, int64_t until_ns,
                                    prem_frame *out, prem_diag *diag);

/** Give a frame back: of an output, or of an input that shall not be submitted. */
PREM_API prem_status prem_live_release(prem_live *live, const prem_frame *frame, prem_diag *diag);

/** Where the session stands. Thread-safe. */
PREM_API void prem_live_look(const prem_live *live, prem_live_state *out);
/** What a stream has counted; all zeros for one that does not exist. Thread-safe. */
PREM_API void prem_live_count(const prem_live *live, int32_t stream, prem_live_counts *out);

/** The present. Thread-safe. */
PREM_API int64_t prem_live_now_ns(const prem_live *live);
/** Sleep until an instant; on `sim` the machine runs on until then. */
PREM_API void prem_live_sleep_until(prem_live *live, int64_t host_ns);

/**
 * Stop it. No frame is taken from now on.
 *
 * @param drain  begun hyperperiods end, and new ones begin until the queues of queuing and trigger
 *               inputs are empty; results stay until they were waited for. Else all blocks leave
 *               at once, and what they had in hand is never shown.
 * @retval PREM_ERR_TIMEOUT  it is not over by `until_ns`; it is on its way, and stop can be called
 *                           again, with or without drain
 * @retval PREM_ERR_MACHINE  it had failed (diag says how)
 * PREM_OK also where it has ended, or was never started.
 */
PREM_API prem_status prem_live_stop(prem_live *live, bool drain, int64_t until_ns, prem_diag *diag);

/** End it: stop without drain, wait until calls of other threads are back, which takes them
 *  milliseconds, and free everything. */
PREM_API void prem_live_close(prem_live *live);

PREM_EXTERN_C_END
#endif
