/* SPDX-License-Identifier: Apache-2.0 */
/** A live session inside: what live.c and live_control.c share. */
#ifndef TTPREM_RUNTIME_SESSION_LIVE_PARTS_H
#define TTPREM_RUNTIME_SESSION_LIVE_PARTS_H

#include "runtime/core/backend.h"

#include <stdatomic.h>
#include <sys/types.h>

/* What the application has in hand of a stream: its own thread's. */
typedef struct hand {
  uint32_t acquired; /* input: slots */
  uint32_t held;     /* output: slots */
  uint64_t number[PREM_MAX_LIVE_BUFFERS];
} hand;

struct prem_live {
  const prem_backend *backend;
  const prem_schedule *schedule;
  prem_program *program;
  prem_arrays *arrays;
  prem_courier *courier;
  prem_machine machine;
  void *state; /* the backend's */
  hand hands[PREM_MAX_LIVE_PORTS];
  prem_frame_place places[PREM_MAX_LIVE_PORTS]; /* constant since the start */
  _Atomic bool has_started, is_refusing;        /* is_refusing: asked to stop; no frames any more */
  _Atomic bool is_asked;                        /* to stop, before it began to end by itself */
  _Atomic bool is_aborted;                      /* without drain, or nothing was ever started */
  _Atomic bool is_closing;
  _Atomic int32_t callers;     /* calls that are under way */
  pid_t process;               /* constant: the one that opened it */
  bool has_finished;           /* control thread: */
  struct prem_live_args *args; /* as they were set last; NULL: none was */
  prem_status outcome;
  bool listens; /* constant since the start, as is: */
  int64_t silence_ns;
  uint64_t next_event, lost_events; /* the thread that listens: */
  bool has_told_silence, has_told_end;
};

/** A mistake of the caller. @return PREM_ERR_ARGUMENT. */
PREM_PRINTF(3, 4)
prem_status prem_live_refuse(prem_diag *diag, const char *call, const char *format, ...);
const prem_live_engine *prem_live_engine_of(const prem_live *live);
bool prem_live_is_over(const prem_live *live);
prem_live_end prem_live_end_of(const prem_live *live);
/** PREM_ERR_ENDED, or PREM_ERR_MACHINE where it has failed. */
prem_status prem_live_ended(const prem_live *live);
void prem_live_free_args(prem_live *live);
/** When its courier was last heard of. */
int64_t prem_live_heard_ns(const prem_live *live);

/** Every call but close stands between these, so that close waits for it. False: it is closing, or
 *  another process's; the call has nothing to do here, and is not counted. */
bool prem_live_enter(const prem_live *live);
/** @return `status`, which is there before the call leaves. */
prem_status prem_live_leave(const prem_live *live, prem_status status);
/** The courier, that a word has changed at which it looks: there is one since the start. */
void prem_live_tell(const prem_live *live);
/** The present, within a call. */
int64_t prem_live_clock_ns(const prem_live *live);

#endif
