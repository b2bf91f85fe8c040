/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Errands on their way: from who sends them, over a queue of tiles, to the blocks of a server, and
 * back. All queues are rings (ring.h), so any number of threads may send, work and collect.
 *
 * A server has rooms, one for each errand that it has capacity for. A room is
 *
 *   in `free`          nobody's
 *   PREM_ROOM_HELD     of who acquired it, or collected it
 *   PREM_ROOM_SENT     its tiles stand in `queue`, or are at work; `left` of them have not ended
 *   PREM_ROOM_ENDED    in `ended`, to be collected. One that nobody collects is free at once
 *
 * The block that ends an errand's last tile ends the errand: one, since it alone brings `left` to
 * 0. When all blocks have left, prem_errands_finish() ends what is left; it has shut the
 * door of senders then (door.h).
 *
 * A block works one tile at a time, from its prefetch to its writeback. So the program of a server
 * has one tile for each block, whose number is that of the tile in the block's hand. A tile that
 * wants another turn stays with its block, which may work tiles of other servers before that. Tiles
 * that a tile makes are its errand's: they are in `queue` before it ends.
 */
#ifndef TTPREM_RUNTIME_CORE_ERRANDS_H
#define TTPREM_RUNTIME_CORE_ERRANDS_H

#include "runtime/core/arrays.h"
#include "runtime/core/door.h"
#include "runtime/core/errand_made.h"
#include "runtime/core/program.h"
#include "ttprem/errand.h"

typedef enum prem_room_state {
  PREM_ROOM_FREE,
  PREM_ROOM_HELD,
  PREM_ROOM_SENT,
  PREM_ROOM_ENDED
} prem_room_state;

typedef struct prem_errand_room {
  prem_errand errand; /* arrival_ns on the senders' clock until the errand ends */
  _Atomic int32_t state;
  prem_word left;       /* tiles that have not ended */
  prem_word all;        /* where tiles make tiles: so many it has had */
  _Atomic uint64_t out; /* its number << 32 | tiles that no block has taken */
  _Atomic int64_t begin_ns;
  _Atomic bool has_expired;
  _Atomic int64_t done_in; /* the run in which it was done last: then its outputs are there */
  bool is_own;             /* of the run's arrivals: nobody collects it */
} prem_errand_room;

/** A ring with its slots. */
typedef struct prem_errand_queue {
  prem_ring ring;
  prem_ring_slot *slots;
} prem_errand_queue;

typedef struct prem_errand_server {
  const prem_task *task;
  prem_errand_queue free, queue; /* rooms; tiles: prem_tile_item() */
  prem_errand_room *rooms;       /* [capacity] */
  bool has_own[PREM_MAX_PORTS];  /* each room has an array of its own */
  prem_turn_ports ports;
  int32_t spawn;  /* the port that says which tiles a tile makes; -1: none */
  prem_word *had; /* [capacity][tile of the task]: prem_making; NULL: tiles make none */
  _Atomic int64_t number, sent, full, ended[PREM_ERRAND_ENDS], late, response_sum_ns,
      response_max_ns;
} prem_errand_server;

/** A tile in a block's hand; room -1: none. */
typedef struct prem_errand_tile {
  int32_t room, tile, turn;
  int32_t generation; /* 0: one that was asked for */
} prem_errand_tile;

/** What a block of servers has in hand. */
typedef struct prem_errand_block {
  prem_ring_hand *hands;  /* [task]: of each server's queue */
  prem_errand_tile *kept; /* [task]: one that wants another turn, before all in the queue */
  int32_t *passed;        /* [task]: tiles of other servers since the last one of this */
  int32_t task;
  prem_errand_tile now;
  int32_t last_task, last_room; /* the tile before it, and its errand; -1: none in this run */
  uint64_t last_number;
} prem_errand_block;

/** Blocks that do not share the host's memory: how errands come to them and back. Any thread, but
 *  while prem_errands_finish() is there: then that one alone. Without it (of: NULL) blocks take
 *  tiles from `queue` themselves. */
typedef struct prem_errands_far {
  void *of;
  void (*post)(void *of, int32_t task, int32_t room); /* its errand is filled: take it there */
  void (*fetch)(void *of);                            /* prem_errands_end() those that have ended */
  void (*renew)(void *of);       /* no errand is on its way any more, and no block is there */
  int64_t (*clock_ns)(void *of); /* theirs, on which all their times are */
} prem_errands_far;

typedef struct prem_errands {
  const prem_schedule *schedule; /* of the best-effort tasks */
  const prem_arrays *arrays;
  prem_errand_server **servers; /* [task]; NULL: it is none */
  prem_errand_block **blocks;   /* [block]; NULL: it is none of a server */
  prem_errand_queue ended;      /* task << 32 | room */
  prem_errands_far far;
  prem_door senders;         /* shut while errands are counted */
  _Atomic int64_t start_ns;  /* S on the senders' clock */
  _Atomic int64_t log_count; /* of the run's trace */
  prem_best_effort_trace *trace;
  int64_t run;         /* the last one, from 1 */
  _Atomic bool is_fed; /* an application has its own inputs: what comes of them is not known */
} prem_errands;

/** What comes of a look for a tile. */
typedef enum prem_errand_look {
  PREM_TILE_TAKEN,  /* it is in the block's hand */
  PREM_TILE_NONE,   /* another server of the block has one: leave this one out */
  PREM_TILE_AWAITED /* no server of the block has one: look again */
} prem_errand_look;

/** @param[out] out  NULL where no task is a server */
prem_status prem_errands_new(const prem_schedule *part, const prem_arrays *arrays,
                             prem_errands **out);
void prem_errands_free(prem_errands *errands);

static inline bool prem_is_server(const prem_errands *errands, int32_t task) {
  return errands && errands->servers[task];
}

/** Do tiles of a server make tiles? */
bool prem_errands_make(const prem_errands *errands);

/* Who sends and collects: any thread. Tasks are those of the part. */

/** The clock that says when an errand comes, where time passes. */
int64_t prem_errands_clock_ns(const prem_errands *errands);
bool prem_errands_acquire(prem_errands *errands, int32_t task, prem_errand *out);
/** False: a run is just ending. */
bool prem_errands_send(prem_errands *errands, const prem_errand *errand, int64_t now_ns);
bool prem_errands_collect(prem_errands *errands, prem_errand *out);
void prem_errands_release(prem_errands *errands, const prem_errand *errand);
/** One that nobody collects. */
void prem_errands_arrive(prem_errands *errands, const prem_arrival *arrival, int64_t now_ns);

/* Blocks. Times from S. */

prem_errand_look prem_errands_take(prem_errands *errands, int32_t block, int32_t task,
                                   int64_t now_ns);
/** A record as the block works it: of a server, with the number of the tile in hand. NULL: there is
 *  none, and the record is left out. */
const prem_record *prem_errands_record(const prem_errands *errands, int32_t block,
                                       const prem_record *record, prem_record *room);
/** The slots of the arrays of the errand in hand. */
const int32_t *prem_errands_slots(const prem_errands *errands, int32_t block,
                                  int32_t room[PREM_MAX_PORTS]);
/** A phase of the tile in hand has been recorded: it was released when its errand came, and its job
 *  is the errand. */
void prem_errands_note(const prem_errands *errands, int32_t block, prem_trace_record *record);
/** The tile in hand has ended. True: it has made others, which blocks may look for. */
bool prem_errands_put_down(prem_errands *errands, int32_t block, int64_t now_ns);

/** Of blocks far away: an errand has ended. Times from S; begin_ns -1: none of its tiles began. */
void prem_errands_end(prem_errands *errands, int32_t task, int32_t room, int64_t begin_ns,
                      int64_t end_ns, prem_errand_end end);

/* Runs. */

/** Before a run, whose S is not known yet. */
void prem_errands_begin(prem_errands *errands, int64_t now_ns, prem_best_effort_trace *trace);
/** All blocks have left: end what is left, and count.
 *  @param end_ns  from S
 *  @retval PREM_ERR_MACHINE  not as many have ended as were sent: a defect (diag) */
prem_status prem_errands_finish(prem_errands *errands, int64_t end_ns, bool has_failed,
                                prem_diag *diag);
/** Compare what is there of errands that are done with the references. False: an application has
 *  filled their inputs, and nobody knows what should be there. */
bool prem_errands_verify(prem_errands *errands, prem_verdict *verdict);

#endif
