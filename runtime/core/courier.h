/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The courier of a live session: it chooses which frame a job reads, grants buffers to results,
 * lets hyperperiods begin and shows results. docs/live-internals.md has the words.
 *
 *   courier.h           begin here: the words, and what executors ask
 *   courier_ports.c     which jobs read, write and depend on which stream: made once
 *   courier_tasks.c     which jobs are left out for which overrun: made once
 *   courier_versions.c  where the versions of state arrays lie
 *   courier_steps.h     the decisions, compiled for the host and for the GPU; those for
 *                       inputs are in courier_sources.h, for tasks in courier_omissions.h,
 *                       for outputs in courier_sinks.h
 *   courier.c           making one, beginning, the decisions on the host
 *   channel.h           how frames pass between the host and the courier
 *   live_words.h        the words of 8 bytes by which all tell each other something
 *
 * It has no thread and no clock. Its backend calls prem_courier_step() whenever something may have
 * changed (a job over, a frame submitted or given back, the instant that it asked for) and gives it
 * the present. Only the thread that steps writes what is the courier's.
 *
 * On a GPU the courier runs there, on a copy of this struct: then of the host's own struct only
 * the producers of inputs, the consumers of outputs and what `face` points to still live.
 *
 * Time 0 is the instant at which all blocks are resident; `base_ns` is that instant on the host's
 * clock. Jobs and hyperperiods are counted with 64 bits from the session's start, which only tests
 * let begin elsewhere than at 0.
 */
#ifndef TTPREM_RUNTIME_CORE_COURIER_H
#define TTPREM_RUNTIME_CORE_COURIER_H

#include "runtime/core/channel.h"
#include "runtime/core/events.h"
#include "runtime/core/program.h"
#include "ttprem/live.h"

/** Flags of a ticket. */
enum {
  PREM_TICKET_REPEAT = 1, /* the frame was used before */
  PREM_TICKET_SKIP = 2,   /* the job, and what depends on it, is skipped */
  PREM_TICKET_VOID = 4    /* of a sink: what is written is never shown; of a task: the job is given
                             up */
};

/** A ticket is (job + 1) << 16 | flags << 8 | slot; 48 bits of the job keep laps apart. */
typedef struct prem_ticket {
  uint32_t flags;
  int32_t slot;
} prem_ticket;

/** What the courier knows of a job of a stream, beside its ticket. */
typedef struct prem_decision {
  prem_ticket ticket;
  prem_note note; /* source: of its frame; sink: what its frame will carry */
} prem_decision;

/** A task whose jobs read a source's ticket, itself or for what it depends on. */
typedef struct prem_source_user {
  int32_t task;
  int32_t *done_by; /* [job of the source]: so many of its jobs are over when that ticket is used no
                       more */
} prem_source_user;

enum {
  PREM_COUNT_TAKEN,
  PREM_COUNT_REPEATED,
  PREM_COUNT_MISSING,
  PREM_COUNT_STALE,
  PREM_COUNT_DROPPED,
  PREM_COUNT_LATE,
  PREM_COUNT_ABORTED,
  PREM_COUNT_BEHIND, /* no count: the longest so far, in ns */
  PREM_COUNT_KINDS
};

/** What is counted of a task. */
enum {
  PREM_TASK_COUNT_OVERRUNS,
  PREM_TASK_COUNT_SKIPPED,
  PREM_TASK_COUNT_ABORTED,
  PREM_TASK_COUNT_OFF,
  PREM_TASK_COUNT_KINDS
};

/** What the courier and the host share of a stream. */
typedef struct prem_stream_face {
  prem_channel channel;
  alignas(PREM_LINE_BYTES) prem_word counts[PREM_COUNT_KINDS]; /* the courier's */
  /* Of a result that was handed on at an instant on a GPU, written right behind that, [slot]:
   * frames handed on << PREM_BEHIND_BITS | how long behind the instant, in ns. */
  alignas(PREM_LINE_BYTES) prem_word behind[PREM_MAX_LIVE_BUFFERS];
} prem_stream_face;

enum { PREM_BEHIND_BITS = 20, PREM_MAX_BEHIND_NS = (1 << PREM_BEHIND_BITS) - 1 };

/** What they share beside: far words. */
typedef struct prem_courier_face {
  prem_live_word request;   /* the host's: prem_courier_request */
  prem_live_word wish;      /* the host's: the operating mode that it wants: wishes << 8 | mode */
  prem_live_word mode;      /* the operating mode: the first hyperperiod in it << 8 | mode */
  prem_live_word newest;    /* the host's: arguments: the number of the newest snapshot */
  prem_live_word oldest;    /* number of the oldest that may still be used */
  prem_live_word snapshot;  /* that of the last hyperperiod that began */
  prem_live_word ending;    /* 1: it is known which hyperperiod is the last; no frames any more */
  prem_live_word done;      /* 1: all is over, and all results are shown */
  prem_live_word end;       /* prem_live_end: why */
  prem_live_word completed; /* hyperperiods that are over, from the start */
  prem_live_word overruns;  /* jobs that ended behind their deadline */
  prem_live_word kept;      /* hyperperiods that the caller's trace has */
  prem_live_word ahead;     /* on a GPU: hyperperiods that its listener has begun << 32 | results
                               that its keeper has shown */
  prem_event_ring events;   /* where somebody listens */
  prem_stream_face streams[PREM_MAX_LIVE_PORTS];
} prem_courier_face;

/** What it tells all blocks: near words. */
typedef struct prem_courier_near {
  prem_live_word permitted; /* hyperperiods that may begin */
  prem_live_word last;      /* so many there will be; UINT64_MAX: not known yet */
} prem_courier_near;

/** What a GPU's blocks have to know of a hyperperiod that begins. Each word has its number + 1 in
 *  the upper half and what it says in the lower one: so all of it is there at one look, a lane a
 *  word, and needs no order. */
enum {
  PREM_BEGIN_EPOCH,
  PREM_BEGIN_EPOCH_HIGH,
  PREM_BEGIN_SNAPSHOT,
  PREM_BEGIN_PLAN,    /* its number | a bit << 8 for each ticket that stands here */
  PREM_BEGIN_TICKETS, /* of each stream that has one job: PREM_BEGIN_TOLD | flags << 8 | slot */
  PREM_BEGIN_WORDS = 32,
  PREM_BEGIN_TOLD = 1 << 16
};
typedef struct prem_begin_line {
  prem_word words[PREM_BEGIN_WORDS];
} prem_begin_line;

PREM_SHARED_CODE uint64_t prem_begin_word(int64_t hyperperiod, uint32_t says) {
  return (uint64_t)(hyperperiod + 1) << 32 | says;
}

/** What they share of a task: far words. */
typedef struct prem_task_face {
  alignas(PREM_LINE_BYTES) prem_word counts[PREM_TASK_COUNT_KINDS]; /* the courier's */
} prem_task_face;

/** A source or a sink. */
typedef struct prem_stream {
  prem_stream_face *face;
  prem_producer producer; /* source: the host's own; sink: the courier's */
  prem_consumer consumer; /* source: the courier's own; sink: the host's */
  prem_live_port port;
  int32_t writer; /* of a sink: the task; -1 of a source */
  int32_t jobs;   /* in a hyperperiod */
  int64_t period_ns, release_ns;
  int64_t bound_ns;         /* from a job's release: how long it may be waited with */
  int64_t *due_ns;          /* sink: when a job's first writeback is planned, [plan][job] */
  prem_source_user *users;  /* source */
  int32_t user_count;       /* */
  prem_word *tickets;       /* [ring_mask + 1], near words */
  prem_decision *decisions; /* [ring_mask + 1], the courier's own */
  uint64_t ring_mask;       /* */
  int64_t next, oldest;     /* jobs: to be decided next; not done with yet */
  int32_t kept_slot;        /* queue that repeats: held for the next repeat; -1: none */
  prem_decision last;       /* source: the last one that had a frame */
  bool has_last;            /* */
  uint64_t counted[PREM_COUNT_KINDS];
  uint32_t untold;  /* a bit for each kind of count that is to be written yet */
  bool is_short;    /* sink: a job waits for a free slot */
  bool has_inputs;  /* sink: made of several sources, so a note does not say which frame of each */
  bool is_prepared; /* sink, on a GPU: its next result is with the host, but for the word that hands
                       it on at its instant */
} prem_stream;

/** A source that a task reads, or depends on. */
typedef struct prem_gate {
  int32_t source;
  bool reads;
  int32_t *job_of; /* [job of the task]: which job of the source, in its hyperperiod */
} prem_gate;

/** What the courier knows of a task whose jobs can be left out, for an overrun of its own or of one
 *  that it depends on. */
typedef struct prem_omissions {
  prem_word *tickets;  /* [ring_mask + 1], near words, written anew with more flags when the job is
                          given up */
  uint64_t ring_mask;  /* */
  int32_t *makers;     /* tasks with tickets whose same job it is made of, directly */
  int32_t maker_count; /* */
  int32_t *dependents; /* of a task that aborts: those that are made of it, directly or over others;
                          who is made of another of them comes first */
  int32_t dependent_count;
  int64_t next, judged; /* jobs: to be decided next; whose deadline is to be looked at next */
  int64_t behind;       /* the last job that overran; -1: none */
  bool skips_next;
  uint64_t skipped, aborted, off; /* counted */
} prem_omissions;

/** What a task has to do with streams, and what the courier asks of it. */
typedef struct prem_live_task {
  prem_gate *gates;
  int32_t gate_count;
  bool reads, writes;                     /* any stream */
  int16_t stream_of_port[PREM_MAX_PORTS]; /* -1: none */
  uint8_t read_phase, write_phase;        /* in which it waits for their tickets */
  int32_t jobs;                           /* in a hyperperiod */
  int64_t first_job;                      /* of all jobs of a hyperperiod */
  int64_t period_ns, release_ns, deadline_ns;
  prem_overrun overrun;
  uint32_t off;             /* bit m: left out in operating mode m, or made of what is */
  bool is_untold;           /* counts are to be written yet */
  uint64_t overruns;        /* counted */
  prem_omissions *left_out; /* NULL: its jobs never are */
} prem_live_task;

/** Where the versions of a state array lie: courier_versions.h. */
typedef struct prem_live_versions {
  int32_t writer;
  int32_t jobs;       /* of it in a hyperperiod */
  int32_t slots;      /* 1: no state array, and nothing is asked for */
  bool waits_for_end; /* a job that runs can be given up until it is over */
  prem_word *tickets; /* [ring_mask + 1], near words, one a job of the writer: (job + 1) << 16 |
                         slot that it writes << 8 | slot of the version that it finds */
  uint64_t ring_mask;
  int64_t next;   /* job: its ticket is to be written next */
  int32_t newest; /* slot of the last version that was made */
} prem_live_versions;

/** Of arguments of kernels that were changed: so many are kept. */
enum { PREM_SNAPSHOTS = 8 };

typedef enum prem_courier_request { PREM_COURIER_RUN, PREM_COURIER_DRAIN } prem_courier_request;

typedef struct prem_courier {
  /* constant: */
  prem_courier_near *near;
  prem_courier_face *face;
  prem_stream *streams; /* as schedule->live */
  int32_t stream_count, source_count;
  int32_t trigger; /* -1: hyperperiods are periodic */
  prem_live_task *tasks;
  int32_t task_count;
  int64_t hyperperiod_ns, job_count;
  uint8_t plan_of_mode[PREM_MAX_OPERATING_MODES]; /* as the program has it */
  int32_t plan_count;
  int64_t max_lead_ns;
  int64_t rows; /* hyperperiods whose epochs and ends of jobs there is room for: a power of two */
                /* of the session, set before it begins: */
  int64_t *epoch_ns; /* [rows] */
  uint8_t *mode_of; /* [rows]: operating modes of hyperperiods, written before they are permitted */
  uint64_t *snapshot_of;   /* [rows]: their snapshots, written before they are permitted */
  prem_begin_line *begins; /* [rows]: where a GPU's blocks look */
  unsigned char (*params)[PREM_PARAMS_BYTES]; /* [snapshot % PREM_SNAPSHOTS][task], the host's; of
                                               snapshot 0 the schedule has them */
  int64_t *job_end_ns;                        /* [rows][job_count] */
  int64_t base_ns, start_ns, ahead_ns, submit_timeout_ns;
  int64_t host_start_ns; /* start_ns on the host's clock, as it was known then */
  int64_t step_ns;       /* of the clock that blocks watch: hyperperiods begin at whole steps */
  bool follows_host;     /* hyperperiods keep to the host's clock */
  bool listens;          /* the host wants events */
  int64_t first_hyperperiod;
  uint32_t fold_at;  /* phases that a GPU's block counts of a kind before it hands the count on */
  int64_t kept_rows; /* of the caller's trace */
  int64_t *kept_epoch_ns; /* [kept_rows] */
  int64_t *kept_end_ns;   /* [kept_rows][job_count] */
  uint8_t *kept_mode_of;  /* [kept_rows]; NULL: one plan serves all modes */
  /* the host's, where the courier runs: */
  const prem_program *program;
  prem_trace *trace; /* the room of epoch_ns and job_end_ns */
  prem_trace *whole; /* the caller's trace, of the first hyperperiods; NULL: none */
  int64_t (*jobs_over)(void *backend, int32_t task);
  void *backend;
  /* the courier's own: */
  int64_t *over;         /* [task]: jobs over, as it has seen them */
  int64_t *over_now;     /* [task]: as they are; written before a step, by prem_courier_see() */
  int64_t completed_now; /* hyperperiods that are over, by `over_now`; likewise */
  bool has_over;         /* `over_now` has changed; likewise */
  uint64_t request;      /* the far word, read before a step */
  uint64_t came;      /* on the host: `filled` of the trigger's channel, read behind `request` and
                         before the clock, so that no hyperperiod begins before its frame */
  uint64_t wish;      /* the same */
  uint64_t newest;    /* the same */
  uint64_t snapshot;  /* of the last hyperperiod that began */
  uint64_t granted;   /* wishes that have been */
  int32_t mode;       /* operating mode of the next hyperperiod; of `mode_count` */
  int32_t mode_begun; /* of the last one that began; -1: none has */
  int32_t mode_count; /* constant */
  int64_t mode_from;  /* the first hyperperiod of those in that mode up to the last */
  int64_t begun;      /* as `permitted` */
  int64_t ready;      /* the hyperperiod whose row has been made ready */
  int64_t completed;  /* as the far word */
  int64_t kept;       /* the next that the caller's trace gets */
  bool has_last;
  prem_live_end end; /* why */
  uint64_t overruns;
  bool is_untold; /* end, completed, overruns are to be written yet */
  int64_t now_ns, wake_ns;
  uint64_t ahead;   /* as the far word */
  uint64_t events;  /* written */
  uint64_t decided; /* counts decisions, so that who waits is woken */
  /* constant: */
  prem_task_face *task_faces; /* [task], behind `face` in one piece of prem_courier_face_bytes() */
  bool leaves_out_jobs;       /* there are tickets of tasks */
  bool has_deadlines;         /* of tasks: jobs are judged by them when they are over */
  bool has_untold_tasks;      /* counts of tasks are to be written yet */
  prem_live_versions *versions; /* as program->versions.arrays */
  int32_t version_count;
} prem_courier;

/** What the courier and the host share, from `face` on. */
static inline size_t prem_courier_face_bytes(const prem_courier *courier) {
  return sizeof *courier->face + (size_t)courier->task_count * sizeof *courier->task_faces;
}

/** The schedule has live ports. Its streams can be used at once, by the host; the rest from
 *  prem_courier_begin() on. */
prem_status prem_courier_new(const prem_program *program, prem_courier **out);
void prem_courier_free(prem_courier *courier);

/** For tests: let the first hyperperiod, and the first frame of each stream, be these. Before
 *  anything else. */
void prem_courier_count_from(prem_courier *courier, int64_t hyperperiod, uint64_t frame);

/** For tests: let a GPU's blocks hand their counts of phases on when they have reached so many, not
 *  2^31. Before the start. */
void prem_courier_fold_at(prem_courier *courier, uint32_t phases);

/** What a session begins with. */
typedef struct prem_courier_setup {
  const prem_live_request *request;
  int64_t (*jobs_over)(void *backend, int32_t task); /* on all blocks, counted as jobs are */
  void *backend;
  int64_t base_ns;  /* the host's clock at time 0 */
  int64_t start_ns; /* of the first hyperperiod, from time 0 */
  int64_t slack_ns; /* so long before it is needed a hyperperiod is permitted, beside the leads */
  int64_t step_ns;  /* of the clock that blocks watch; 0: it shows every ns */
} prem_courier_setup;

/** Room for the trace that executors write to: courier->trace. */
prem_status prem_courier_make_room(prem_courier *courier, const prem_live_request *request);
void prem_courier_begin(prem_courier *courier, const prem_courier_setup *setup);

/** Before the clock is read for a step: what the host says last. On the host. */
void prem_courier_look(prem_courier *courier);
/** Do all that is due. Returns the next instant at which something will be due for the mere passing
 *  of time; INT64_MAX: none. On the host. */
int64_t prem_courier_step(prem_courier *courier, int64_t now_ns);

/** It is over: the caller's trace says how many hyperperiods it has. */
void prem_courier_finish(prem_courier *courier);

/** Before a step: so many jobs of a task are over. On a GPU by many at the same time, each with
 *  tasks of its own. @return whether there are more than were seen. */
PREM_SHARED_CODE bool prem_courier_see(const prem_courier *courier, int32_t task, int64_t over) {
  if (over == courier->over_now[task])
    return false;
  courier->over_now[task] = over;
  if (!courier->has_deadlines)
    courier->over[task] = over;
  return true;
}

/** Hyperperiods in which all jobs of a task are over. */
PREM_SHARED_CODE int64_t prem_courier_rounds(const prem_courier *courier, int32_t task) {
  return prem_quotient(courier->over_now[task], courier->tasks[task].jobs);
}

/** All is over, and all results are shown. */
PREM_SHARED_CODE bool prem_courier_is_done(const prem_courier *courier) {
  return prem_word_far(&courier->face->done.value) != 0;
}

/** Streams and tasks counted for the host. */
void prem_courier_count(const prem_courier *courier, int32_t stream, prem_live_counts *out);
void prem_courier_count_task(const prem_courier *courier, int32_t task, prem_live_task_counts *out);

/* ---- what executors ask --------------------------------------------------------------------- */

typedef enum prem_begin { PREM_BEGIN_NOW, PREM_BEGIN_LATER, PREM_BEGIN_NEVER } prem_begin;

/** May a block begin this hyperperiod? Its epoch is there then. */
PREM_SHARED_CODE prem_begin prem_courier_may_begin(const prem_courier *courier,
                                                   int64_t hyperperiod) {
  const uint64_t wanted = (uint64_t)hyperperiod;
  if (wanted < prem_word_near(&courier->near->permitted.value))
    return PREM_BEGIN_NOW;
  /* `last` is never below `permitted` at the time that it is written */
  if (wanted >= prem_word_near(&courier->near->last.value))
    return PREM_BEGIN_NEVER;
  return PREM_BEGIN_LATER;
}

/** The row of a hyperperiod. */
PREM_SHARED_CODE int64_t prem_courier_row(const prem_courier *courier, int64_t hyperperiod) {
  return hyperperiod & (courier->rows - 1);
}

/** Where a hyperperiod that may begin does. */
PREM_SHARED_CODE int64_t prem_courier_epoch_ns(const prem_courier *courier, int64_t hyperperiod) {
  return courier->epoch_ns[prem_courier_row(courier, hyperperiod)];
}

/** Number of the plan by which it is worked. */
PREM_SHARED_CODE int32_t prem_courier_plan(const prem_courier *courier, int64_t hyperperiod) {
  return courier->plan_of_mode[courier->mode_of[prem_courier_row(courier, hyperperiod)]];
}

/** The ticket of a stream's job; false: it is not written yet. */
PREM_SHARED_CODE bool prem_courier_ticket(const prem_courier *courier, int32_t stream, int64_t job,
                                          prem_ticket *out) {
  const prem_stream *of = &courier->streams[stream];
  const uint64_t word = prem_word_near(&of->tickets[(uint64_t)job & of->ring_mask]);
  out->flags = (uint32_t)(word >> 8 & 0xFF);
  out->slot = (int32_t)(word & 0xFF);
  return word >> 16 == ((uint64_t)job + 1) << 16 >> 16;
}

/** The flags of the ticket of a task's job, where the task has tickets; false: it is not written
 *  yet. Flags may be added while the job is in hand, never taken away. */
PREM_SHARED_CODE bool prem_courier_task_ticket(const prem_live_task *task, int64_t job,
                                               uint32_t *flags) {
  const uint64_t word =
      prem_word_near(&task->left_out->tickets[(uint64_t)job & task->left_out->ring_mask]);
  *flags = (uint32_t)(word >> 8 & 0xFF);
  return word >> 16 == ((uint64_t)job + 1) << 16 >> 16;
}

/** Are the tickets there that a record waits for? */
bool prem_courier_allows(const prem_courier *courier, int64_t hyperperiod,
                         const prem_record *record);
/** Is a job left out? Its record is allowed, and what it comes after is over. A job that is not can
 *  be given up later, so this is asked when a record starts, and what is found then holds for it.
 */
bool prem_courier_skips(const prem_courier *courier, int64_t hyperperiod,
                        const prem_record *record);
/** The parameters of a task's kernel in a hyperperiod that may begin; NULL: the schedule's. */
PREM_SHARED_CODE const unsigned char *prem_courier_params(const prem_courier *courier, int32_t task,
                                                          int64_t hyperperiod) {
  const uint64_t snapshot = courier->snapshot_of[prem_courier_row(courier, hyperperiod)];
  if (snapshot == 0)
    return NULL;
  return courier
      ->params[snapshot % PREM_SNAPSHOTS * (uint64_t)courier->task_count + (uint64_t)task];
}
/** The slot of each port's array that a record of a job reads or writes. */
void prem_courier_slots(const prem_courier *courier, int64_t hyperperiod, const prem_record *record,
                        int32_t slots[PREM_MAX_PORTS]);

#endif
