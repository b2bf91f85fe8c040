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
 * Threads: on `cpu` and `cuda` each input may be used by one thread, each output by one, and the
 * session (start, stop) by one; look, now and sleep by any. Close is called once, by any thread,
 * while others are still in calls: see there. On `sim` all calls are from one thread. What the host
 * does at an instant of the virtual clock comes behind all that the machine does at it, so that a
 * program is deterministic.
 *
 * Every call may return PREM_ERR_MACHINE once the session has failed (prem_live_stop() says why),
 * and PREM_ERR_ARGUMENT for a mistake of the caller, with what to do instead in `diag`, which may
 * be NULL. A call that fails has changed nothing, unless it says so.
 *
 * A session belongs to the process that opened it. For a child that was forked from it it has
 * ended: calls return PREM_ERR_ENDED, and close returns at once and frees nothing.
 */
#ifndef TTPREM_LIVE_H
#define TTPREM_LIVE_H

#include "ttprem/runtime.h"

typedef struct prem_live prem_live;

typedef struct prem_live_request {
  prem_mode mode;    /* tt; free and lock to compare with */
  int64_t start_ns;  /* where the first hyperperiod begins, on a GPU at the next step of its clock,
                        or with a trigger the earliest instant; 0: at once */
  bool follows_host; /* periodic hyperperiods keep to the host's clock, where the plan runs by
                        another: each begins where the first one did plus so many periods, and is at
                        most 1/10000, or a step of that clock, shorter or longer than planned for
                        it. On cpu and sim they do anyway */
  int64_t submit_timeout_ns; /* a trigger's frame is missing after so long; 0: 10 s */
  int64_t stall_timeout_ns;  /* no block makes progress for so long: the watchdog; 0: 5 s */
  bool events;               /* for prem_live_listen() */
  int64_t silence_ns;        /* an event tells that blocks were not heard of for so long; 0: 1 s */
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
  void *data;             /* its first element, aligned to 128 bytes; the session's, or the
                           application's: prem_live_adopt() */
  int64_t shape[4];       /* right-aligned, leading 1s */
  int64_t pitch_bytes[3]; /* from one index of dimension 0, 1, 2 to the next; elements are dense */
  int64_t captured_ns;    /* input: when it was taken, which its age counts from, on the host's
                             clock and at most a second ahead of it; 0: when it is submitted. Output:
                             that of the oldest frame it is made of, 0 where there is none: of each
                             input prem_live_inputs() says it */
  int64_t published_ns;   /* output: when it was handed on, as its executor stamped it */
  int64_t job;            /* output: of its writer, counted from the session's start */
  uint64_t input;         /* output: number of the frame it is made of, of the first of the file's
                             inputs that reach it; of the others prem_live_inputs() says it */
  uint32_t flags;         /* PREM_FRAME_... */
  int32_t operating_mode; /* output: of the hyperperiod that made it */
} prem_frame;

/** A frame of an input that a result is made of. */
typedef struct prem_frame_input {
  int32_t stream;
  uint64_t number;     /* of that stream's frames */
  int64_t captured_ns; /* as it was submitted */
} prem_frame_input;

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
  PREM_LIVE_OVERRUN,  /* a job ended behind its deadline, and its task has overrun = "stop" */
  PREM_LIVE_FAILED,   /* the machine failed */
  PREM_LIVE_SILENT    /* cuda: its process was not heard of for 30 s, and it drained by itself */
} prem_live_end;

typedef enum prem_live_event_kind {
  PREM_EVENT_OVERRUN, /* task, job: not over at its deadline */
  PREM_EVENT_SKIPPED, /* task, job: left out for an overrun */
  PREM_EVENT_ABORTED, /* task, job: given up */
  PREM_EVENT_MISSING, /* stream, job: of an input no frame for it; of an output its result is not
                         shown since the job was skipped or given up */
  PREM_EVENT_STALE,   /* stream, job: the frame for it was too old; beside PREM_EVENT_MISSING */
  PREM_EVENT_DROPPED, /* stream, job: its result found no free buffer */
  PREM_EVENT_LATE,    /* stream, job: shown behind its publish_ns; value: ns */
  PREM_EVENT_MODE,    /* job: the hyperperiod from which on; value: the operating mode */
  PREM_EVENT_ARGS,    /* job: the hyperperiod from which on; value: number of the snapshot */
  PREM_EVENT_SILENT,  /* the session's courier, and with it the GPU, is not heard of; value: ns */
  PREM_EVENT_ENDED    /* value: prem_live_end; the last one */
} prem_live_event_kind;

typedef struct prem_live_event {
  prem_live_event_kind kind;
  int32_t task, stream; /* -1: it is not of one */
  int64_t job; /* of the task, of the stream's readers or writer; a hyperperiod. -1: none */
  int64_t value;
  int64_t at_ns; /* on the host's clock */
  uint64_t lost; /* events before this one that were not read in time */
} prem_live_event;

typedef struct prem_live_state {
  prem_live_phase phase;
  prem_live_end end;
  int64_t now_ns;
  int64_t hyperperiods;   /* completed by every block */
  int64_t overruns;       /* jobs that were not over at their deadline */
  int64_t skipped;        /* jobs that were left out for an overrun: the next of a task, and what
                             depends on a job that is skipped or given up; frames apart */
  int64_t aborted;        /* jobs that were given up at their deadline */
  int32_t operating_mode; /* of the last hyperperiod that began: 0 is the file's first */
  int64_t mode_from;      /* the first hyperperiod of those that are in it up to now; 0 before one
                           has begun */
  int64_t snapshot;       /* of arguments, in the last hyperperiod that began: 0 are the file's */
  int64_t heard_ns;       /* when the session's courier was last heard of */
  int64_t zero_ns;        /* where the times of its trace count from; 0 until it has started */
  int64_t start_ns; /* where the first hyperperiod began, with a trigger the earliest instant; 0
                       until it has started */
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
  uint64_t late;     /* output: frames shown after their publish_ns */
  uint64_t aborted;  /* output: results of jobs that were given up */
  int64_t behind_ns; /* output with publish_ns: of those that were ready in time, the longest from
                        its instant until it was shown, on the clock by which the plan runs */
} prem_live_counts;

/** Of one task since the session was opened: as the state's, which are the sums. `overruns` are its
 *  deadline misses: jobs that were not over at their deadline, over later or given up. */
typedef struct prem_live_task_counts {
  uint64_t overruns, skipped, aborted;
  uint64_t off; /* jobs that the operating mode left out */
} prem_live_task_counts;

PREM_EXTERN_C_BEGIN

/**
 * Make a schedule ready to be used live: compile its plan, allocate its arrays and the buffers of
 * its streams, start what runs it. Arrays are filled as for a run; no references are computed.
 *
 * @param schedule  bound, with a plan that prem_check() accepts, must outlive the session.
 * @param[out] out  close with prem_live_close(); NULL on error.
 * @retval PREM_ERR_UNAVAILABLE  the backend has no live sessions, or is not available
 * @retval PREM_ERR_ARGUMENT     the schedule is not bound, or has no plan
 * @retval PREM_ERR_MACHINE      cuda: a live session of this process runs on the GPU
 * Others as prem_session_open().
 *
 * On cuda, while a live session runs, no other session of the process is opened, begun or run
 * there. Close those that were opened before it, or their closing waits for its end.
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
 * Get a free buffer of an input, to be filled and submitted. It holds what an older frame left.
 * Several can be in hand at a time, and are submitted in any order.
 *
 * @retval PREM_ERR_FULL   none became free until `until_ns`; where the caller has them all in hand,
 *                         diag says so
 * @retval PREM_ERR_ENDED  the session takes no frames any more
 */
PREM_API prem_status prem_live_acquire(prem_live *live, int32_t stream, int64_t until_ns,
                                       prem_frame *out, prem_diag *diag);

/**
 * Hand a filled buffer over: from here on it is the session's. Never waits.
 *
 * @param frame  as acquired; its number and captured_ns are set.
 * @retval PREM_ERR_ENDED    the session has ended or was asked to stop; the buffer is given back
 * @retval PREM_ERR_MACHINE  the GPU failed (diag says how); so does the session
 */
PREM_API prem_status prem_live_submit(prem_live *live, prem_frame *frame, prem_diag *diag);

/**
 * Wait for a frame of an output: of a queuing one for the next in order, of a sampling one for the
 * newest, if it is newer than the last that was waited for. It is the caller's to read until
 * released.
 *
 * @retval PREM_ERR_TIMEOUT  none until `until_ns`; where the caller holds all buffers, diag says so
 * @retval PREM_ERR_ENDED    none, and none will come
 */
PREM_API prem_status prem_live_wait(prem_live *live, int32_t stream, int64_t until_ns,
                                    prem_frame *out, prem_diag *diag);

/**
 * Which frame of each input a result is made of, and when it was captured. That counts which the
 * job that wrote the result reads itself, and which tasks read that it comes `after`, with the same
 * job of each, directly or over others, where data passes; of an input that comes in more than one
 * way, with more than one frame, the one that was captured first. What comes with a state array, or
 * `after` a latest job (instance = "latest"), was read by other jobs, earlier, and does not count.
 * On the thread of that output.
 *
 * @param frame     of an output, waited for and not released
 * @param[out] out  the first `room` of them, in the order of streams; may be NULL without room
 * @return how many inputs there are; 0 also for a frame that is not in hand
 */
PREM_API int32_t prem_live_inputs(const prem_live *live, const prem_frame *frame,
                                  prem_frame_input *out, int32_t room);

/**
 * Let the frames of a stream lie in memory of the application, of a camera's driver, say: nothing
 * is copied on the host. Before the start, and before the first acquire. On `cuda` the memory is
 * locked until close, and frames that are not aligned to 16 bytes, or not at the same distance
 * from each other, go by the copy engines however small they are.
 *
 * Buffers on the session's GPU, another library's, say, serve as well, wherever they lie: blocks
 * fetch from them and write to them, and nothing is copied at all. As of
 * prem_live_keep_on_device() the application's own kernels have ended before it submits. They and
 * their rows begin at 16 bytes, the last row has its whole pitch as well, and no window of a task
 * hangs over an edge of the array, where the GPU needs zeros. Bytes between rows are the
 * application's, but for what fills an output's last word.
 *
 * @param buffers      as many as the file gives the stream, each a frame, with no byte in common;
 * they stay the application's, and must live until close. prem_frame::buffer counts them
 * @param pitch_bytes  from row to row; planes of arrays of more dimensions lie densely behind each
 *                     other
 * @retval PREM_ERR_UNAVAILABLE  the GPU cannot reach or use that memory, and `diag` says why: the
 *                               session can only be closed
 */
PREM_API prem_status prem_live_adopt(prem_live *live, int32_t stream, void *const *buffers,
                                     int32_t count, int64_t pitch_bytes, prem_diag *diag);

/**
 * Let the frames of a stream stay on the GPU: `data` and `pitch_bytes` of its frames are then a
 * device pointer and its strides, and nothing is copied. An input is filled there by the
 * application, whose kernels and copies have ended before it submits the frame; an output is read
 * there between wait and release. Streams for that are made with cudaStreamNonBlocking: the default
 * stream waits for the session's end. What lies between rows is the session's. `captured_ns` and
 * all else is as for other frames. Where the backend works on the host's memory nothing changes.
 * Before the start, and before the first acquire; not of a stream that lies in memory of the
 * application.
 */
PREM_API prem_status prem_live_keep_on_device(prem_live *live, int32_t stream, prem_diag *diag);

/**
 * Let the frames of an input stay on the host: blocks fetch the windows that they need over the
 * bus, and nothing is copied before. For frames of which little is read, such as a camera's picture
 * of which a tracker looks at one place: the frame is there sooner, but each window takes longer to
 * fetch. All else is as for other frames. Where the backend works on the host's memory nothing
 * changes. Before the start, and before the first acquire; behind prem_live_adopt(), whose buffers
 * and rows begin at 16 bytes then.
 *
 * @retval PREM_ERR_UNAVAILABLE  the blocks cannot fetch them there, and `diag` says why: they are
 *                               copied, as before
 */
PREM_API prem_status prem_live_keep_on_host(prem_live *live, int32_t stream, prem_diag *diag);

/** The clock that the session runs by, beside the host's: on `cuda` the GPU's, else the same. */
typedef struct prem_live_clocks {
  int64_t offset_ns;      /* the session's minus the host's, now */
  int64_t bound_ns;       /* the truth is no further from that */
  int64_t questions;      /* of the host that were answered */
  int64_t contradictions; /* answers that did not fit those before: a clock was set, or drifts by
                             more than 50 ppm */
  int64_t gaps;       /* questions that lay there for 500 us or more: something else had the GPU,
                         another program's kernels, say. One is asked every 20 ms, so that of
                         gaps this is a sample */
  int64_t gap_max_ns; /* the longest that one lay there */
} prem_live_clocks;

/** Compare the clocks. They are compared all the time, so this is a look. Thread-safe. */
PREM_API void prem_live_compare_clocks(const prem_live *live, prem_live_clocks *out);

/** International atomic time (CLOCK_TAI), which hosts that PTP disciplines share, beside the host's
 *  CLOCK_MONOTONIC. */
typedef struct prem_live_tai {
  int64_t offset_ns; /* TAI minus CLOCK_MONOTONIC, now; it changes when somebody sets the clock */
  int64_t bound_ns;  /* the truth is no further from that */
  int32_t leap_s;    /* TAI minus UTC, as the kernel was told; 0: nobody has told it, and its TAI
                        is UTC */
} prem_live_tai;

/**
 * Compare TAI with the clock of all times here: an instant of TAI minus `offset_ns` is, for
 * example, a `start_ns`. Thread-safe.
 *
 * @retval PREM_ERR_UNAVAILABLE  the host has no such clock
 */
PREM_API prem_status prem_live_compare_tai(prem_live_tai *out);

/**
 * Change an argument of a task's kernel, `args.KEY` of the file: for the snapshot that the next
 * prem_live_apply() takes. Its window and tiles have to stay what they are. Control thread.
 *
 * @param task   its number in the schedule
 * @param values as many as the argument has; for an argument of integers integers
 * @retval PREM_ERR_INVALID      the kernel refuses it (diag says why); nothing has changed
 * @retval PREM_ERR_UNAVAILABLE  the backend cannot
 */
PREM_API prem_status prem_live_set(prem_live *live, int32_t task, const char *key,
                                   const double *values, int32_t count, prem_diag *diag);

/**
 * Take a snapshot of all arguments as they were set. Hyperperiods that begin on the blocks' side
 * from now on use it, each of them one snapshot for all tasks, until the next one comes. Control
 * thread.
 *
 * @retval PREM_ERR_FULL   the last 8 may still be in use; try again after a hyperperiod
 * @retval PREM_ERR_ENDED  the session has ended
 */
PREM_API prem_status prem_live_apply(prem_live *live, prem_diag *diag);

/**
 * Wait for the next event, in the order of their instants: what a health monitor asks, on a thread
 * of its own. The session never waits for it: of events that are not read the last 256 are kept.
 * Starting with `events`; one thread.
 *
 * @param[out] out  an event
 * @retval PREM_ERR_TIMEOUT   none until `until_ns`
 * @retval PREM_ERR_ENDED     PREM_EVENT_ENDED was the last one
 * @retval PREM_ERR_ARGUMENT  the session was not started with `events`
 */
PREM_API prem_status prem_live_listen(prem_live *live, int64_t until_ns, prem_live_event *out,
                                      prem_diag *diag);
/** "overrun", "skipped", ...; "?" for a number that is none. */
PREM_API const char *prem_live_event_name(prem_live_event_kind kind);

/** The number of an operating mode of the file, for prem_live_switch(); -1: there is none of that
 *  name. Thread-safe. */
PREM_API int32_t prem_live_find_operating_mode(const prem_live *live, const char *name);

/**
 * Switch to another operating mode, and to its plan where it has one of its own: whole hyperperiods
 * are in one mode, this one is that of the next one that has not begun on the blocks' side, three
 * ahead at most. Does not wait: the state says when it came. Of several wishes between two
 * hyperperiods the last one counts; it counts more than overruns with "degrade" at the same time.
 * Before the start: the mode that it begins in. Control thread.
 *
 * @retval PREM_ERR_ARGUMENT  there is no operating mode of that number
 * @retval PREM_ERR_ENDED     the session has ended
 */
PREM_API prem_status prem_live_switch(prem_live *live, int32_t operating_mode, prem_diag *diag);

/** Give a frame back: of an output, or of an input that shall not be submitted. */
PREM_API prem_status prem_live_release(prem_live *live, const prem_frame *frame, prem_diag *diag);

/** Where the session stands. Thread-safe. */
PREM_API void prem_live_look(const prem_live *live, prem_live_state *out);
/** What a stream has counted; all zeros for one that does not exist. Thread-safe. */
PREM_API void prem_live_count(const prem_live *live, int32_t stream, prem_live_counts *out);

/** What a task has counted, by its number in the schedule; all zeros for one that does not exist.
 *  Thread-safe. */
PREM_API void prem_live_count_task(const prem_live *live, int32_t task, prem_live_task_counts *out);

/** The present. Thread-safe. */
PREM_API int64_t prem_live_now_ns(const prem_live *live);
/** Sleep until an instant; on `sim` the machine runs on until then. */
PREM_API void prem_live_sleep_until(prem_live *live, int64_t host_ns);

/**
 * Stop it. No frame is taken from now on. On `cuda` a session whose process is not heard of for 30
 * s (stopped by a signal, say) is drained as if asked to, so that the GPU is free again; its end is
 * PREM_LIVE_SILENT then.
 *
 * @param drain  begun hyperperiods end, and new ones begin until the queues of queuing and trigger
 *               inputs are empty; results stay until they were waited for. Else all blocks leave
 *               at once, and what they had in hand is never shown.
 * @retval PREM_ERR_TIMEOUT  it is not over by `until_ns`; it is on its way, and stop can be called
 *                           again, with or without drain
 * @retval PREM_ERR_MACHINE  it had failed (diag says how)
 * @retval PREM_ERR_ENDED    prem_live_close() was called meanwhile, which ends it without drain
 * PREM_OK also where it has ended, or was never started.
 */
PREM_API prem_status prem_live_stop(prem_live *live, bool drain, int64_t until_ns, prem_diag *diag);

/**
 * End it: stop without drain, and free everything.
 *
 * Calls that other threads are in at that moment, stop among them, come back first: those that wait
 * do so within milliseconds, with PREM_ERR_ENDED unless they have just got what they waited for.
 * Whoever calls close sees to it that no other call begins after it, or while it runs: the session
 * is freed. It waits for others, so it is not for a signal handler, nor for a thread that is in a
 * call of this session.
 */
PREM_API void prem_live_close(prem_live *live);

PREM_EXTERN_C_END
#endif
