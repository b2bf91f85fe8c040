/* SPDX-License-Identifier: Apache-2.0 */
/** Servers as the GPU reads them: shared by the host part (C) and the executive (CUDA C++). */
#ifndef TTPREM_RUNTIME_CUDA_DEVICE_SERVER_H
#define TTPREM_RUNTIME_CUDA_DEVICE_SERVER_H

#include "runtime/core/errand_made.h"
#include "runtime/core/errand_words.h"
#include "runtime/cuda/device/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An errand on the GPU. Written by the block that has found it, before it lets others claim. */
typedef struct prem_device_room {
  int64_t came_ns;
  int64_t begin_ns; /* by the block that begins its first tile */
  uint64_t number;
  prem_word left;   /* tiles that have not ended, where several blocks work it */
  prem_word all;    /* where tiles make tiles: so many it has had, */
  uint64_t asked;   /* of which it asked for these: prem_asked_tiles() */
  uint32_t expired; /* 1: its deadline was over before a tile began, or it may not have a tile */
  uint32_t reserved;
} prem_device_room;

/** A word that many blocks use, alone in its line. */
typedef struct prem_device_line {
  alignas(128) uint64_t word;
} prem_device_line;

/** Of a server whose tiles make tiles: as the host fills it in, before each run. */
typedef struct prem_device_making {
  prem_ring ring;       /* tiles that were made and not taken: prem_tile_item() */
  prem_word *had;       /* [capacity][tiles]: prem_making */
  int32_t spawn, depth; /* the port that names them; as in prem_server */
  int32_t tiles, most;  /* of the task; of an errand */
} prem_device_making;

/** Of a server, what changes: zeroed before each run. */
typedef struct prem_device_server_state {
  prem_device_line open;              /* tiles of the errand in work: prem_open_word() */
  prem_device_line looks;             /* 1: a block looks for the next errand */
  uint64_t asked;                     /* ticket of the next message: of the block that looks */
  alignas(128) uint64_t tiles, bytes; /* that count */
} prem_device_server_state;

/** Of a server, what stays. A tile's entry: a record, which has in job_release_ns how many bytes
 * the tile moves, then the moves of its prefetch, then those of its writeback, then, where tiles
 * have turns, the move that takes the first one's place in a later turn; 16 bytes a lane. */
typedef struct prem_device_server {
  prem_device_server_state *state;
  const uint64_t *asked; /* [places][PREM_MESSAGE_WORDS], the host's */
  uint64_t *ended;       /* [ended_places][PREM_MESSAGE_WORDS], the host's: of all servers */
  uint64_t *ended_ticket;
  uint64_t places, ended_places;
  prem_device_room *rooms;                /* [capacity] */
  const unsigned char *entries;           /* [tile][entry_bytes] */
  int64_t slot_bytes[PREM_MAX_PORTS + 1]; /* of each move: from an errand's array to the next one's;
                                             0: all have one */
  int64_t ahead_ns[PREM_PHASE_COUNT];
  int64_t deadline_ns; /* 0: none */
  int32_t entry_bytes, in_moves, out_moves;
  int32_t blocks;             /* that work for it */
  int32_t task;               /* its number */
  int32_t parts;              /* prem_claim_of() */
  int32_t priority, aging;    /* as in prem_server */
  int32_t more, turns;        /* the port that asks for another turn, -1: none; as in prem_server */
  prem_device_making *making; /* NULL: tiles make none */
} prem_device_server;

static_assert(sizeof(prem_device_server) % 8 == 0, "servers are brought 8 bytes at a time");

/** Between the host and one block of servers, in the host's memory. */
typedef struct prem_server_talk {
  alignas(128) uint64_t ping; /* counts the host's questions after the time */
  alignas(128) uint64_t pong; /* message words of ticket `ping`, one place: the GPU's clock */
  int64_t s_ns;               /* S on the GPU's clock; 0: not known yet */
} prem_server_talk;

#ifdef __cplusplus
}
#endif

#endif
