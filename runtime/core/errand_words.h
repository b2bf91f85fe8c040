/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Messages between a host and its GPU, in places that are used in turn. A message is a few words of
 * 8 bytes. Each has 48 bits of it and above them which lap it is of, so that every word says by
 * itself whether it has been written: there is no order among them, and no count beside them.
 *
 * Who writes draws a ticket; place and lap follow from it. Who reads goes from ticket to ticket. A
 * message is about an errand's room, of which one message at most is on its way in a direction, and
 * there are as many places as rooms: so a place has been read before it is written again, and
 * nobody asks for room. What lies behind a message is written before it with release, or a fence,
 * and read after it behind a fence.
 *
 * Tiles are given out by one word as well: of the errand in work the next tile, the end, the room.
 * Who adds to `next`, and finds what was there below the end, has those tiles. A word whose tiles
 * are out is replaced by who looks for the next errand, one block at a time.
 */
#ifndef TTPREM_RUNTIME_CORE_ERRAND_WORDS_H
#define TTPREM_RUNTIME_CORE_ERRAND_WORDS_H

#include <stdint.h>

#ifdef __CUDACC__
#define PREM_ERRAND_CODE static __host__ __device__ __forceinline__
#else
#define PREM_ERRAND_CODE static inline
#endif

enum {
  PREM_MESSAGE_BITS = 48, /* of a message in a word; the lap is above them */
  PREM_MESSAGE_WORDS = 4, /* of a place: as many as one look at the host brings anyway */
  PREM_TILE_BITS = 24,    /* of a tile's number */
  PREM_ROOM_BITS = 16
};

/** `places` is a power of two. Never 0: that is what a place holds at first. */
PREM_ERRAND_CODE uint64_t prem_lap_of(uint64_t ticket, uint64_t places) {
  return ticket / places % UINT16_MAX + 1;
}
PREM_ERRAND_CODE uint64_t prem_message_word(uint64_t ticket, uint64_t places, uint64_t value) {
  return prem_lap_of(ticket, places) << PREM_MESSAGE_BITS |
         (value & ((UINT64_C(1) << PREM_MESSAGE_BITS) - 1));
}
PREM_ERRAND_CODE bool prem_message_is(uint64_t word, uint64_t ticket, uint64_t places) {
  return word >> PREM_MESSAGE_BITS == prem_lap_of(ticket, places);
}
PREM_ERRAND_CODE uint64_t prem_message_value(uint64_t word) {
  return word & ((UINT64_C(1) << PREM_MESSAGE_BITS) - 1);
}
/** An instant of which a message has the low bits: the one that is nearest to another. */
PREM_ERRAND_CODE int64_t prem_message_ns(uint64_t word, int64_t near_ns) {
  const int64_t away = (int64_t)((word - (uint64_t)near_ns) << (64 - PREM_MESSAGE_BITS));
  return near_ns + away / (INT64_C(1) << (64 - PREM_MESSAGE_BITS));
}

/* To the GPU: [0] room, [1] tiles, [2] when it came, [3] its number. */
PREM_ERRAND_CODE uint64_t prem_asked_tiles(int32_t first, int32_t count) {
  return (uint64_t)first << PREM_TILE_BITS | (uint64_t)count;
}
PREM_ERRAND_CODE int32_t prem_asked_first(uint64_t word) {
  return (int32_t)(word >> PREM_TILE_BITS & ((1u << PREM_TILE_BITS) - 1));
}
PREM_ERRAND_CODE int32_t prem_asked_count(uint64_t word) {
  return (int32_t)(word & ((1u << PREM_TILE_BITS) - 1));
}

/* To the host: [0] what, [1] when it ended, [2] when it began. */
PREM_ERRAND_CODE uint64_t prem_ended_what(int32_t task, int32_t room, int32_t has_expired) {
  return (uint64_t)task << (PREM_ROOM_BITS + 1) | (uint64_t)room << 1 | (uint64_t)has_expired;
}

/* The errand in work. `next` may run over the end, by what those add who come too late: not so far
 * that it reaches other bits. */
PREM_ERRAND_CODE uint64_t prem_open_word(int32_t room, int32_t next, int32_t end) {
  return (uint64_t)room << (2 * PREM_TILE_BITS) | (uint64_t)end << PREM_TILE_BITS | (uint64_t)next;
}
PREM_ERRAND_CODE int32_t prem_open_next(uint64_t word) {
  return (int32_t)(word & ((1u << PREM_TILE_BITS) - 1));
}
PREM_ERRAND_CODE int32_t prem_open_end(uint64_t word) {
  return (int32_t)(word >> PREM_TILE_BITS & ((1u << PREM_TILE_BITS) - 1));
}
PREM_ERRAND_CODE int32_t prem_open_room(uint64_t word) {
  return (int32_t)(word >> (2 * PREM_TILE_BITS));
}

/** How many tiles at once, of so many that are left: one part of `parts`, twice as many as there
 * are blocks, so that nobody is long behind the others and not every tile costs a look. 1: all. */
PREM_ERRAND_CODE int32_t prem_claim_of(int32_t left, int32_t parts) {
  enum { MOST = 32 };
  const int32_t share = left / parts;
  if (parts == 1)
    return left;
  return share < 1 ? 1 : share < MOST ? share : MOST;
}

#endif
