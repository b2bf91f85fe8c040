/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The courier of a live session: it chooses which frame a job reads, grants buffers to results,
 * lets hyperperiods begin and shows results. docs/architecture.md, "Live sessions", has the words.
 *
 *   courier.h         begin here: the words, and what executors ask
 *   courier_ports.c   which jobs read, write and depend on which stream: made once
 *   courier.c         the decisions: prem_courier_step()
 *   channel.h         how frames pass between the host and the courier
 *
 * It has no thread and no clock. Its backend calls prem_courier_step() whenever something may have
 * changed (a job over, a frame submitted or given back, the instant that it asked for) and gives it
 * the present. Only the thread that steps writes what is the courier's.
 *
 * Time 0 is the instant at which all blocks are resident; `base_ns` is that instant on the host's
 * clock. Jobs and hyperperiods are counted with 64 bits from the session's start, which only tests
 * let begin elsewhere than at 0.
 */
#ifndef TTPREM_RUNTIME_CORE_COURIER_H
#define TTPREM_RUNTIME_CORE_COURIER_H

#include "runtime/core/channel.h"
#include "runtime/core/program.h"
#include "ttprem/live.h"

/** Flags of a ticket. */
enum {
  PREM_TICKET_REPEAT = 1, /* the frame was used before */
  PREM_TICKET_SKIP = 2,   /* the job, and what depends on it, is skipped */
  PREM_TICKET_VOID = 4    /* of a sink: what is written is never shown */
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
  PREM_COUNT_KINDS
};

/** A source or a sink. */
typedef struct prem_stream {
  prem_channel channel;
  const prem_live_port *port;
  int32_t writer; /* of a sink: the task; -1 of a source */
  int32_t jobs;   /* in a hyperperiod */
  int64_t period_ns, release_ns;
  int64_t bound_ns;          /* from a job's release: how long it may be waited with */
  int64_t *due_ns;           /* sink: when a job's first writeback is planned */
  prem_source_user *users;   /* source */
  int32_t user_count;        /* */
  _Atomic uint64_t *tickets; /* [ring_mask + 1] */
  prem_decision *decisions;  /* [ring_mask + 1], the courier's own */
  uint64_t ring_mask;        /* */
  int64_t next, oldest;      /* jobs: to be decided next; not done with yet */
  int32_t kept_slot;         /* queue that repeats: held for the next repeat; -1: none */
  prem_decision last;        /* source: the last one that had a frame */
  bool has_last;             /* */
  _Atomic uint64_t counts[PREM_COUNT_KINDS]; /* relaxed */
} prem_stream;

/** A source that a task reads, or depends on. */
typedef struct prem_gate {
  int32_t source;
  bool reads;
  int32_t *job_of; /* [job of the task]: which job of the source, in its hyperperiod */
} prem_gate;

/** What a task has to do with streams. */
typedef struct prem_live_task {
  prem_gate *gates;
  int32_t gate_count;
  bool reads, writes;                     /* any stream */
  int16_t stream_of_port[PREM_MAX_PORTS]; /* -1: none */
  uint8_t read_phase, write_phase;        /* in which it waits for their tickets */
} prem_live_task;

typedef enum prem_courier_request { PREM_COURIER_RUN, PREM_COURIER_DRAIN } prem_courier_request;

typedef struct prem_courier {
  /* words: */
  prem_live_word permitted; /* hyperperiods that may begin */
  prem_live_word last;      /* so many there will be; UINT64_MAX: not known yet */
  prem_live_word request;   /* the host's: prem_courier_request */
  prem_live_word done;      /* 1: all is over, and all results are shown */
  prem_live_word end;       /* prem_live_end: why; relaxed */
  prem_live_word completed; /* hyperperiods that are over, from the start; relaxed */
  prem_live_word overruns;  /* relaxed */
  /* constant: */
  const prem_program *program;
  prem_stream *streams; /* as schedule->live */
  int32_t stream_count, source_count;
  int32_t trigger; /* -1: hyperperiods are periodic */
  prem_live_task *tasks;
  int64_t max_lead_ns;
  int64_t rows; /* hyperperiods whose epochs and ends of jobs the trace has room for */
  /* of the session, set before it begins: */
  prem_trace *trace; /* a ring of so many hyperperiods */
  int64_t base_ns, start_ns, ahead_ns, submit_timeout_ns;
  int64_t (*jobs_over)(void *backend, int32_t task);
  void *backend;
  prem_trace *whole; /* the caller's trace, of the first hyperperiods; NULL: none */
  int64_t first_hyperperiod;
  /* the courier's own: */
  int64_t *over; /* [task]: jobs over */
  int64_t now_ns, wake_ns;
  uint64_t decided; /* counts decisions, so that who waits is woken */
} prem_courier;

/** The schedule has live ports. Its streams can be used at once, by the host; the rest from
 *  prem_courier_begin() on. */
prem_status prem_courier_new(const prem_program *program, prem_courier **out);
void prem_courier_free(prem_courier *courier);

/** For tests: let the first hyperperiod, and the first frame of each stream, be these. Before
 *  anything else. */
void prem_courier_count_from(prem_courier *courier, int64_t hyperperiod, uint64_t frame);

/** What a session begins with. */
typedef struct prem_courier_setup {
  const prem_live_request *request;
  int64_t (*jobs_over)(void *backend, int32_t task); /* on all blocks, counted as jobs are */
  void *backend;
  int64_t base_ns;  /* the host's clock at time 0 */
  int64_t start_ns; /* of the first hyperperiod, from time 0 */
  int64_t slack_ns; /* so long before it is needed a hyperperiod is permitted, beside the leads */
} prem_courier_setup;

/** Room for the trace that executors write to: courier->trace. */
prem_status prem_courier_make_room(prem_courier *courier, const prem_live_request *request);
void prem_courier_begin(prem_courier *courier, const prem_courier_setup *setup);

/** Do all that is due. Returns the next instant at which something will be due for the mere passing
 *  of time; INT64_MAX: none. */
int64_t prem_courier_step(prem_courier *courier, int64_t now_ns);

/** Streams counted for the host. */
void prem_courier_count(const prem_courier *courier, int32_t stream, prem_live_counts *out);

/* ---- what executors ask --------------------------------------------------------------------- */

typedef enum prem_begin { PREM_BEGIN_NOW, PREM_BEGIN_LATER, PREM_BEGIN_NEVER } prem_begin;

/** May a block begin this hyperperiod? Its epoch is in the trace then. */
static inline prem_begin prem_courier_may_begin(const prem_courier *courier, int64_t hyperperiod) {
  const uint64_t wanted = (uint64_t)hyperperiod;
  if (wanted < atomic_load_explicit(&courier->permitted.value, memory_order_acquire))
    return PREM_BEGIN_NOW;
  /* `last` is never below `permitted` at the time that it is written */
  if (wanted >= atomic_load_explicit(&courier->last.value, memory_order_acquire))
    return PREM_BEGIN_NEVER;
  return PREM_BEGIN_LATER;
}

/** Where a hyperperiod that may begin does. */
static inline int64_t prem_courier_epoch_ns(const prem_courier *courier, int64_t hyperperiod) {
  return courier->trace->epoch_ns[hyperperiod % courier->rows];
}

/** The ticket of a stream's job; false: it is not written yet. */
static inline bool prem_courier_ticket(const prem_courier *courier, int32_t stream, int64_t job,
                                       prem_ticket *out) {
  const prem_stream *of = &courier->streams[stream];
  const uint64_t word =
      atomic_load_explicit(&of->tickets[(uint64_t)job & of->ring_mask], memory_order_acquire);
  *out = (prem_ticket){.flags = (uint32_t)(word >> 8 & 0xFF), .slot = (int32_t)(word & 0xFF)};
  return word >> 16 == ((uint64_t)job + 1) << 16 >> 16;
}

/** Are the tickets there that a record waits for? */
bool prem_courier_allows(const prem_courier *courier, int64_t hyperperiod,
                         const prem_record *record);
/** Is a job skipped? Its record is allowed, and what it comes after is over. */
bool prem_courier_skips(const prem_courier *courier, int64_t hyperperiod,
                        const prem_record *record);
/** The slot of each port's array that a record of a job reads or writes. */
void prem_courier_slots(const prem_courier *courier, int64_t hyperperiod, const prem_record *record,
                        int32_t slots[PREM_MAX_PORTS]);

#endif
