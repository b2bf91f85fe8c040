/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of the executive of best-effort tasks: blocks of servers, which work errands off
 * (runtime/core/errands.h) in place of a table.
 *
 * Warp 0, the server, does all but computing, one tile after the other: it takes a tile, fetches
 * it, lets the compute warps work it, writes it back, and tells the host of an errand whose last
 * tile has ended. A tile that wants another turn stays in hand. Memory phases pass the gate. The
 * watcher of one block answers the host's questions after the time. The other warps have nothing to
 * do.
 *
 * A tile is one of those that the block has claimed, or it claims some of the errand in work
 * (`open`). When these are out, one block of the server *looks*: it alone reads the next message in
 * the host's memory, again and again until it is there, and then lets the others claim what it does
 * not take itself. So an errand of one tile goes straight from the host to the block that works it.
 * Before a block works a tile it lets others look.
 *
 * In an executive of its own (PREM_MAKES) tiles make tiles (runtime/core/errand_made.h), which go
 * by a ring of the server. They are taken before those that were asked for.
 */
#ifndef TTPREM_RUNTIME_CUDA_DEVICE_SERVE_CUH
#define TTPREM_RUNTIME_CUDA_DEVICE_SERVE_CUH

#include "runtime/cuda/device/best_effort.cuh"
#include "runtime/cuda/device/compute.cuh"
#include "runtime/cuda/device/starter.cuh"
#include "runtime/cuda/device/writer.cuh"

#if PREM_SERVES

#include "runtime/core/errand_claim.h"

namespace {

/** Barriers that a block of servers has no orders for: the server has begun a tile; its compute has
 *  ended. Counted by tiles. */
enum { TILE_BEGUN, TILE_COMPUTED };

constexpr uint32_t REST_NS = 500; /* between two looks of a block that others look for */
constexpr uint32_t SLOT_NS = 32;  /* between two looks at a slot of a ring */

#if PREM_MAKES
/** Do its tiles make tiles? */
__device__ __forceinline__ bool makes_tiles(const prem_device_server *server) {
  return server->making != nullptr;
}
/** Nothing is on the way. One thread. */
__device__ __forceinline__ void made_open(block_state *own) {
  own->made.kept = 0;
}
#else
__device__ __forceinline__ constexpr bool makes_tiles(const prem_device_server *) {
  return false;
}
__device__ __forceinline__ void made_open(block_state *) {}
#endif

/** Each server's facts in the scratchpad. All threads. */
__device__ void servers_furnish(const prem_launch &launch, const prem_device_block *block) {
  block_state *own = shared();
  constexpr int32_t WORDS = (int32_t)(sizeof(prem_device_server) / 8);
  const prem_device_server *servers = own->gated.servers;
  for (int32_t t = 0; t < block->task_count && t < PREM_MAX_SERVERS; ++t)
    for (int32_t word = (int32_t)threadIdx.x; word < WORDS; word += (int32_t)blockDim.x)
      ((int64_t *)&own->servers[t])[word] = ((const int64_t *)&servers[block->tasks[t]])[word];
  if (threadIdx.x == 0) {
    own->serves =
        block->task_count > 0 && servers[block->tasks[0]].state != nullptr ? block->task_count : 0;
    own->served = own->serves - 1; /* the first one is next */
    made_open(own);
    for (int32_t t = 0; t < PREM_MAX_SERVERS; ++t)
      own->hands[t] = serve_hand{};
  }
  __syncthreads();
}

/* ---- taking a tile --------------------------------------------------------------------------- */

/** Tiles of an errand, that lane 0 has found. The whole warp knows then. */
__device__ __forceinline__ bool hand_fill(serve_hand *hand, bool is_there,
                                          const serve_hand &found) {
  is_there = __shfl_sync(FULL_WARP, (int32_t)is_there, 0) != 0;
  if (is_there && lane_number() == 0) {
    const serve_hand before = *hand;
    *hand = found;
    hand->looks = before.looks;
    hand->asked = before.asked;
    hand->tiles = before.tiles;
    hand->bytes = before.bytes;
    hand->passed = before.passed;
  }
  __syncwarp();
  return is_there;
}

/** So many tiles of the errand in a room, for one lane. */
__device__ __forceinline__ serve_hand tiles_of(const prem_device_server *server, int32_t number,
                                               int32_t next, int32_t count) {
  const prem_device_room *room = &server->rooms[number];
  serve_hand found = {};
  found.room = number;
  found.next = next;
  found.end = next + count;
  found.number = *(const volatile uint64_t *)&room->number;
  found.came_ns = *(const volatile int64_t *)&room->came_ns;
  return found;
}

/** Claim tiles of the errand in work. One warp. */
__device__ __forceinline__ bool tiles_claim(const prem_device_server *server, serve_hand *hand) {
  serve_hand found = {};
  uint64_t word = 0;
  int32_t count = 0;
  bool is_there = false;
  if (lane_number() == 0)
    is_there = prem_open_claim(&server->state->open.word, server->parts, &word, &count);
  if (is_there)
    found = tiles_of(server, prem_open_room(word), prem_open_next(word), count);
  return hand_fill(hand, is_there, found);
}

#if PREM_MAKES
/** Take a tile that another one has made. One warp. */
__device__ __forceinline__ bool made_take(block_state *own, const prem_device_server *server,
                                          serve_hand *hand) {
  prem_ring_answer answer;
  while ((answer = prem_ring_take(&server->making->ring, &own->made, 1)) == PREM_RING_BUSY)
    __nanosleep(SLOT_NS);
  if (answer != PREM_RING_OK)
    return false;
  const uint64_t item = *(const volatile uint64_t *)&own->made.items[0];
  serve_hand found = tiles_of(server, prem_item_room(item), prem_item_tile(item), 1);
  found.generation = prem_item_generation(item);
  return hand_fill(hand, true, found);
}
#else
__device__ __forceinline__ bool made_take(block_state *, const prem_device_server *, serve_hand *) {
  return false;
}
#endif

/** The errand of a message, whose words lanes 0 to 3 have: some of it is this block's, the rest may
 *  be claimed. */
__device__ __forceinline__ serve_hand errand_open(const prem_device_server *server, uint64_t what,
                                                  uint64_t tiles, uint64_t came, uint64_t number) {
  const int32_t first = prem_asked_first(tiles), count = prem_asked_count(tiles);
  const int32_t claim = prem_claim_of(count, server->parts);
  serve_hand found = {};
  found.room = (int32_t)prem_message_value(what);
  found.next = first;
  found.end = first + claim;
  found.number = prem_message_value(number);
  const int64_t now_ns = prem_clock_ns(); /* the clocks are matched to less than a microsecond */
  found.came_ns = min((long long)prem_message_ns(came, now_ns), (long long)now_ns);
  found.begins = 1;
  found.begin_ns = INT64_MAX;
  found.is_whole = claim == count && !makes_tiles(server);
  prem_device_room *room = &server->rooms[found.room];
  *(volatile uint64_t *)&room->number = found.number;
  *(volatile int64_t *)&room->begin_ns = INT64_MAX;
  if (!found.is_whole) {
    *(volatile int64_t *)&room->came_ns = found.came_ns;
    *(volatile uint64_t *)&room->left = (uint64_t)count;
    *(volatile uint32_t *)&room->expired = 0;
    if (makes_tiles(server)) {
      *(volatile uint64_t *)&room->all = (uint64_t)count;
      *(volatile uint64_t *)&room->asked = tiles;
    }
    prem_open_set(&server->state->open.word, found.room, found.end, first + count);
  }
  return found;
}

/** Let another block look, if there is one. */
__device__ __forceinline__ void look_give_up(const prem_device_server *server, serve_hand *hand) {
  if (hand->looks && server->blocks > 1) {
    hand->looks = 0;
    prem_look_end(&server->state->looks.word);
  }
}

/** May this block look from now on? One warp. */
__device__ __forceinline__ bool look_begin(const prem_device_server *server, serve_hand *hand) {
  bool looks = false;
  if (lane_number() == 0)
    looks = prem_look_begin(&server->state->looks.word, &server->state->open.word);
  if (looks) {
    hand->looks = 1;
    hand->asked = *(const volatile uint64_t *)&server->state->asked;
  }
  return __shfl_sync(FULL_WARP, (int32_t)looks, 0) != 0;
}

/** This block looks for the host's next message. One warp. */
__device__ __forceinline__ bool errand_look(const prem_device_server *server, serve_hand *hand) {
  const int32_t lane = lane_number();
  const uint64_t ticket = __shfl_sync(FULL_WARP, *(const volatile uint64_t *)&hand->asked, 0);
  const uint64_t *place = server->asked + ticket % server->places * PREM_MESSAGE_WORDS;
  uint64_t word = 0;
  if (lane < PREM_MESSAGE_WORDS)
    word = prem_system_load_relaxed(place + lane);
  const bool is_there = lane >= PREM_MESSAGE_WORDS || prem_message_is(word, ticket, server->places);
  if (!__all_sync(FULL_WARP, is_there))
    return false;
  prem_system_fence(); /* what the host filled before it sent */
  const uint64_t what = __shfl_sync(FULL_WARP, word, 0), tiles = __shfl_sync(FULL_WARP, word, 1),
                 came = __shfl_sync(FULL_WARP, word, 2), number = __shfl_sync(FULL_WARP, word, 3);
  serve_hand found = {};
  if (lane == 0) {
    hand->asked = ticket + 1;
    *(volatile uint64_t *)&server->state->asked = ticket + 1;
    found = errand_open(server, what, tiles, came, number);
  }
  return hand_fill(hand, true, found);
}

/** One tile less to do of the errand in hand. Whoever has the last one tells the host. Times are on
 *  the clock; the arrays hold what was written. One warp.
 *  @param ticket  of the message, of an errand that is this block's as a whole */
__device__ __forceinline__ void tile_end(const prem_device_server *server, serve_hand *hand,
                                         uint64_t ticket, int64_t end_ns) {
  const int32_t lane = lane_number();
  int64_t begin_ns = hand->begin_ns;
  bool is_last = hand->is_whole && hand->next == hand->end;
  uint64_t what = prem_ended_what(server->task, hand->room, (int32_t)hand->expired);
  if (!hand->is_whole) {
    prem_device_room *room = &server->rooms[hand->room];
    if (lane == 0) {
      is_last = prem_tile_is_last(&room->left);
      begin_ns = *(const volatile int64_t *)&room->begin_ns;
      what = prem_ended_what(server->task, hand->room,
                             (int32_t) * (const volatile uint32_t *)&room->expired);
      if (is_last)
        ticket = prem_add_relaxed(server->ended_ticket, 1);
    }
    is_last = __shfl_sync(FULL_WARP, (int32_t)is_last, 0) != 0;
    ticket = __shfl_sync(FULL_WARP, ticket, 0);
    begin_ns = __shfl_sync(FULL_WARP, (long long)begin_ns, 0);
    what = __shfl_sync(FULL_WARP, what, 0);
  }
  if (!is_last)
    return;
  const uint64_t value = lane == 0 ? what : (uint64_t)(lane == 1 ? end_ns : begin_ns);
  prem_system_fence(); /* what was written of all tiles comes before */
  if (lane < PREM_MESSAGE_WORDS)
    prem_system_store_relaxed(server->ended + ticket % server->ended_places * PREM_MESSAGE_WORDS +
                                  lane,
                              prem_message_word(ticket, server->ended_places, value));
  __syncwarp();
}

/** A ticket before the end of an errand's last tile is known: of one that is this block's as a
 *  whole. From here on nothing but its copies is waited for. One warp. */
__device__ __forceinline__ uint64_t ticket_draw(const prem_device_server *server,
                                                const serve_hand *hand) {
  uint64_t ticket = 0;
  if (lane_number() == 0 && hand->is_whole && hand->next == hand->end)
    ticket = prem_add_relaxed(server->ended_ticket, 1);
  return __shfl_sync(FULL_WARP, ticket, 0);
}

/** Leave the tiles in hand out if it is too late for the next one to begin. One warp.
 *  @return whether they were */
__device__ __forceinline__ bool tiles_expire(const block_state *own,
                                             const prem_device_server *server, serve_hand *hand) {
  bool expired = false;
  if (server->deadline_ns <= 0 && server->more < 0 && !makes_tiles(server))
    return false;
  if (lane_number() == 0) {
    volatile uint32_t *known = &server->rooms[hand->room].expired;
    const int64_t came_ns = max((long long)hand->came_ns, (long long)own->start_ns);
    expired = (server->deadline_ns > 0 && prem_clock_ns() >= came_ns + server->deadline_ns) ||
              (hand->is_whole ? hand->expired != 0 : *known != 0);
    if (expired && hand->is_whole)
      hand->expired = 1;
    else if (expired)
      *known = 1;
  }
  expired = __shfl_sync(FULL_WARP, (int32_t)expired, 0) != 0;
  while (expired && hand->next < hand->end) {
    __syncwarp();
    if (lane_number() == 0) {
      ++hand->next;
      hand->begins = hand->turn = 0;
    }
    __syncwarp();
    tile_end(server, hand, ticket_draw(server, hand), prem_clock_ns());
  }
  __syncwarp();
  return expired;
}

/** Has this block a tile of a server that may begin? Of the errand in work there is none as long as
 *  it looks. One warp. */
__device__ __forceinline__ bool tile_take(block_state *own, int32_t number) {
  const prem_device_server *server = &own->servers[number];
  serve_hand *hand = &own->hands[number];
  const bool looks = *(const volatile int32_t *)&hand->looks != 0;
  bool has_some = hand->next < hand->end;
  __syncwarp();
  if (!has_some && makes_tiles(server))
    has_some = made_take(own, server, hand);
  if (!has_some)
    has_some = !looks && tiles_claim(server, hand);
  if (!has_some && (looks || look_begin(server, hand)))
    has_some = errand_look(server, hand);
  return has_some && !tiles_expire(own, server, hand);
}

/** Are there tiles left of the errand of which the block had the last one? */
__device__ __forceinline__ bool errand_goes_on(const block_state *own) {
  const prem_device_server *server = &own->servers[own->served];
  const serve_hand *hand = &own->hands[own->served];
  if (hand->next < hand->end)
    return true;
  const uint64_t open = prem_load_relaxed(&server->state->open.word);
  return prem_open_left(open) > 0 && prem_open_room(open) == hand->room &&
         *(const volatile uint64_t *)&server->rooms[hand->room].number == hand->number;
}

/** Put the servers in order: first one that has waited for `aging` tiles of others, if the block is
 *  not at an errand of greater priority; then by priority, equal ones in turn. One warp. */
__device__ __forceinline__ void servers_order(block_state *own) {
  const int32_t lane = lane_number(), count = own->serves, served = own->served;
  const bool goes_on = __any_sync(FULL_WARP, lane == 0 && count > 1 && errand_goes_on(own));
  int32_t rank = -1, place = 0;
  if (lane < count) {
    const prem_device_server *server = &own->servers[lane];
    const bool yields = goes_on && server->priority < own->servers[served].priority;
    const bool is_due = own->hands[lane].passed >= server->aging && !yields;
    const int32_t turn = (lane - served - 1 + count) % count;
    rank = ((int32_t)is_due * (PREM_MAX_SERVERS + 1) + server->priority) * count + count - turn;
  }
  for (int32_t other = 0; other < count; ++other)
    place += __shfl_sync(FULL_WARP, rank, other) > rank;
  if (lane < count)
    own->order_served[place] = lane;
  __syncwarp();
}

/** The block has a tile of this server. One warp. */
__device__ __forceinline__ void servers_note(block_state *own, int32_t number) {
  const int32_t lane = lane_number();
  if (lane < own->serves) {
    serve_hand *hand = &own->hands[lane];
    look_give_up(&own->servers[lane], hand);
    hand->passed = lane == number ? 0 : min(hand->passed + 1, (int32_t)PREM_MAX_AGING);
  }
  if (lane == 0)
    own->served = number;
  __syncwarp();
}

/** Wait for a tile. One warp. @return of which server; -1: the run is over */
__device__ __noinline__ int32_t tile_await() {
  block_state *own = shared();
  const int32_t count = own->serves;
  int64_t look_ns = 0;
  servers_order(own);
#pragma unroll 1
  for (;;) {
    bool looks = false;
    for (int32_t i = 0; i < count; ++i) {
      const int32_t number = *(const volatile int32_t *)&own->order_served[i];
      if (tile_take(own, number)) {
        servers_note(own, number);
        return number;
      }
      looks |= *(const volatile int32_t *)&own->hands[number].looks != 0;
    }
    const int64_t now_ns = agreed_instant(0);
    if (now_ns >= look_ns) {
      look_ns = now_ns + LOOK_NS;
      if (__any_sync(FULL_WARP, abort_look(own)))
        return -1;
    }
    if (!__any_sync(FULL_WARP, looks))
      __nanosleep(REST_NS);
  }
}

/* ---- working it ------------------------------------------------------------------------------ */

/** Bring the tile's record and moves to the scratchpad, moved to its errand's arrays, and fill the
 *  entries of its phases. A later turn reads what the one before has written. One warp.
 *  @param TURNS  here and below: of a server whose kernel has an output `more`; all others run code
 *                of their own */
template <bool TURNS>
__device__ __forceinline__ void tile_stage(block_state *own, const prem_launch &launch,
                                           int32_t number, int32_t tile) {
  constexpr int32_t RECORD = (int32_t)(sizeof(prem_device_record) / 16);
  static_assert(RECORD + (PREM_MAX_PORTS + 1) * MOVE_WORDS <= 32, "each lane brings a piece");
  const prem_device_server *server = &own->servers[number];
  const serve_hand *hand = &own->hands[number];
  const int32_t lane = lane_number();
  in_flight_phase *entries[PREM_PHASE_COUNT] = {&own->fetches[0], &own->computes[0],
                                                &own->stores[0]};
  if (lane < server->entry_bytes / 16) {
    int4 piece =
        __ldcg((const int4 *)(server->entries + (int64_t)tile * server->entry_bytes) + lane);
    if (lane < RECORD) {
      for (int32_t phase = 0; phase < PREM_PHASE_COUNT; ++phase)
        ((int4 *)&entries[phase]->record)[lane] = piece;
    } else {
      const int32_t move = (lane - RECORD) / MOVE_WORDS, word = (lane - RECORD) % MOVE_WORDS;
      if (word == 0) { /* it begins with the pointer */
        const uint64_t at = ((uint64_t)(uint32_t)piece.y << 32 | (uint32_t)piece.x) +
                            (uint64_t)(hand->room * server->slot_bytes[move]);
        piece.x = (int32_t)(uint32_t)at;
        piece.y = (int32_t)(uint32_t)(at >> 32);
      }
      const bool is_output = move >= server->in_moves;
      int4 *to = (int4 *)moves_at(own, launch, is_output ? 1 : 0);
      to[(move - (is_output ? server->in_moves : 0)) * MOVE_WORDS + word] = piece;
    }
  }
  __syncwarp();
  if (TURNS && hand->turn > 0 && lane < MOVE_WORDS)
    ((int4 *)moves_at(own, launch, 0))[lane] =
        ((const int4 *)(moves_at(own, launch, 1) + server->out_moves))[lane];
  if (lane < PREM_PHASE_COUNT) {
    in_flight_phase *of = entries[lane];
    of->record.start_ns = server->ahead_ns[lane];
    of->record.phase = (uint8_t)lane;
    of->record.task = (uint16_t)number;
    of->record.job = (int32_t)(hand->number & INT32_MAX);
    of->record.move_count = (uint8_t)(lane == PREM_PREFETCH    ? server->in_moves
                                      : lane == PREM_WRITEBACK ? server->out_moves
                                                               : 0);
    of->origin_ns = own->start_ns;
    of->came_ns = max((long long)hand->came_ns, (long long)own->start_ns);
    of->hyperperiod = 0;
    of->index = 0;
    if (lane == PREM_WRITEBACK)
      of->buffer_at = launch.buffers_at + own->memory_table.out_at[0];
  }
  __syncwarp();
}

/** Fetch a tile, and let the compute warps begin when it is there. One warp.
 *  @return false: stopped before it began */
__device__ __forceinline__ bool tile_fetch(block_state *own, const prem_launch &launch,
                                           uint32_t count, int64_t taken_ns) {
  in_flight_phase *of = &own->fetches[0];
  uint64_t *full = &own->full[count % RING];
  const prem_device_move *moves = moves_at(own, launch, 0);
  unsigned char *buffer = bytes_at(own, launch.buffers_at + own->memory_table.in_at[0]);
  const copy_request now = {
      buffer, full, moves, of->record.move_count,
      prem_first_copy(moves, of->record.move_count, port_at(own, launch, 0), buffer)};
  const int64_t due_ns = gate_await(STARTER, of);
  if (due_ns < 0)
    return false;
  int64_t issued_ns = 0;
  if (by_bulk(launch)) {
    if (prem_elect()) {
      prem_barrier_expect(full, (uint32_t)of->record.fetch_bytes);
      prefetch_issue(own, launch, now, due_ns, &issued_ns);
      of->issue_ns = (uint32_t)(issued_ns - due_ns);
    }
  } else {
    prefetch_issue_lanes(own, launch, now, due_ns, &issued_ns);
    if (lane_number() == 0)
      of->issue_ns = (uint32_t)(issued_ns - due_ns);
  }
  if (lane_number() == 0) {
    of->ready_ns = taken_ns;
    of->released_ns = due_ns;
    own->go = 1;
    prem_barrier_arrive(&own->order[TILE_BEGUN]);
  }
  __syncwarp();
  while (!__any_sync(FULL_WARP, barrier_doze(full, count / RING & 1u))) {
  }
  const int64_t end_ns = prem_clock_ns();
  if (lane_number() == 0)
    of->end_ns = end_ns;
  return true;
}

/** Wait for its compute, which the block does not leave alone. One warp. */
__device__ __forceinline__ void tile_compute_await(block_state *own, uint32_t count) {
  const int64_t limit_ns = prem_clock_ns() + own->launch.stall_timeout_ns;
  bool is_told = false;
  while (!__any_sync(FULL_WARP, barrier_doze(&own->order[TILE_COMPUTED], count & 1u))) {
    if (is_told || !__any_sync(FULL_WARP, prem_clock_ns() > limit_ns))
      continue;
    is_told = true;
    if (lane_number() == 0 && !abort_look(own))
      stall(own, PREM_FAULT_STALL, 0, &own->stores[0].record, 0);
    __syncwarp();
  }
}

/** Does the tile in work want another turn? Then it is the next one in hand again, in that turn.
 * One that has none left ends as if it were too late. The compute warps are done with its views.
 * One warp. */
__device__ __forceinline__ void tile_go_round(block_state *own, const prem_launch &launch,
                                              const prem_device_server *server, serve_hand *hand) {
  if (lane_number() == 0) {
    const shared_view *more = view_at(own, launch, server->more);
    const bool wants = *(const volatile int32_t *)bytes_at(own, more->at) != 0;
    const bool again = wants && hand->turn + 1 < server->turns;
    hand->turn = again ? hand->turn + 1 : 0;
    hand->next -= (int32_t)again;
    if (wants && !again && hand->is_whole)
      hand->expired = 1;
    else if (wants && !again)
      *(volatile uint32_t *)&server->rooms[hand->room].expired = 1;
  }
  __syncwarp();
}

#if PREM_MAKES
/** Put the tiles that the one in work names where blocks of the server take them. For one too many
 * its errand ends as if it were too late. The compute warps are done with its views. One warp. */
__device__ __forceinline__ void tiles_make(block_state *own, const prem_launch &launch,
                                           const prem_device_server *server,
                                           const serve_hand *hand) {
  const int32_t lane = lane_number(), generation = hand->generation + 1;
  prem_device_room *room = &server->rooms[hand->room];
  const uint64_t asked = *(const volatile uint64_t *)&room->asked;
  prem_device_making *making = server->making;
  const prem_making of = {making->had + (int64_t)hand->room * making->tiles,
                          &room->all,
                          &room->left,
                          hand->number,
                          prem_asked_first(asked),
                          prem_asked_count(asked),
                          making->tiles,
                          making->most};
  const shared_view *named = view_at(own, launch, making->spawn);
  const volatile int32_t *numbers = (const volatile int32_t *)bytes_at(own, named->at);
  const bool may = generation < making->depth;
#pragma unroll 1
  for (int32_t i = lane; i - lane < named->extent[3]; i += 32) {
    const int32_t number = i < named->extent[3] ? numbers[i] : 0;
    const prem_made made = number == 0 ? PREM_MADE_BEFORE : prem_tile_make(&of, number - 1, may);
    if (made == PREM_MADE_NONE)
      *(volatile uint32_t *)&room->expired = 1;
    const uint32_t lanes = __ballot_sync(FULL_WARP, made == PREM_MADE_NEW);
    if (made == PREM_MADE_NEW)
      own->made.items[__popc(lanes & ((1u << lane) - 1))] =
          prem_tile_item(generation, hand->room, number - 1);
    __syncwarp();
    while (lanes != 0 &&
           prem_ring_put(&making->ring, &own->made, (uint32_t)__popc(lanes)) != PREM_RING_OK)
      __nanosleep(SLOT_NS);
  }
  __syncwarp();
}
#else
__device__ __forceinline__ void tiles_make(block_state *, const prem_launch &,
                                           const prem_device_server *, const serve_hand *) {}
#endif

/** Write it back; its errand hears of it after the last turn. One warp.
 *  @return false: stopped before that began */
template <bool TURNS>
__device__ __forceinline__ bool tile_store(block_state *own, const prem_launch &launch,
                                           const prem_device_server *server, serve_hand *hand) {
  in_flight_phase *of = &own->stores[0];
  const prem_device_move *moves = moves_at(own, launch, 1);
  const first_copy first = store_prepare(own, launch, of, moves);
  if (lane_number() == 0)
    of->ready_ns = prem_clock_ns();
  const int64_t due_ns = gate_await(WRITER, of);
  if (due_ns < 0)
    return false;
  const bool by_lanes = writeback_start(own, launch, of, moves, first, due_ns);
  const uint64_t ticket = ticket_draw(server, hand);
  writeback_land(launch, by_lanes);
  const int64_t end_ns = __shfl_sync(FULL_WARP, (long long)prem_clock_ns(), 0);
  if (lane_number() == 0)
    of->end_ns = end_ns;
  if (!TURNS || hand->turn == 0)
    tile_end(server, hand, ticket, end_ns);
  return true;
}

/** Work the next tile in hand of a server. One warp. @return false: stopped */
template <bool TURNS> __device__ __noinline__ bool tile_work(int32_t number, uint32_t count) {
  block_state *own = shared();
  const prem_launch &launch = own->launch;
  const prem_device_server *server = &own->servers[number];
  serve_hand *hand = &own->hands[number];
  const int64_t taken_ns = agreed_instant(0);
  const int32_t tile = hand->next;
  __syncwarp();
  if (lane_number() == 0) {
    ++hand->next;
    if (hand->begins) {
      hand->begins = 0;
      hand->begin_ns = taken_ns;
      *(volatile int64_t *)&server->rooms[hand->room].begin_ns = taken_ns;
    }
  }
  tile_stage<TURNS>(own, launch, number, tile);
  views_prepare(own, launch, &own->computes[0].record);
  prem_fence_async(); /* the message was read by ordinary loads, what it is about is not */
  __syncwarp();
  if (!tile_fetch(own, launch, count, taken_ns))
    return false;
  tile_compute_await(own, count);
  if (TURNS)
    tile_go_round(own, launch, server, hand);
  if (makes_tiles(server) && (!TURNS || hand->turn == 0))
    tiles_make(own, launch, server, hand);
  if (!tile_store<TURNS>(own, launch, server, hand))
    return false;
  if (lane_number() == 0 && own->stores[0].end_ns - own->start_ns <= own->gated.counted_ns) {
    ++hand->tiles;
    hand->bytes += (uint64_t)own->stores[0].record.job_release_ns;
  }
  write_to_trace(&own->fetches[0], &own->computes[0], &own->stores[0]);
  return true;
}

/** Warp 0 of a block of servers. */
__device__ __forceinline__ void server_warp(block_state *own) {
  uint32_t count = 0;
  int32_t number;
#pragma unroll 1
  while ((number = tile_await()) >= 0 &&
         (own->servers[number].more < 0 ? tile_work<false>(number, count)
                                        : tile_work<true>(number, count)))
    ++count;
  if (lane_number() == 0) {
    for (int32_t s = 0; s < own->serves; ++s) {
      atomicAdd((unsigned long long *)&own->servers[s].state->tiles, own->hands[s].tiles);
      atomicAdd((unsigned long long *)&own->servers[s].state->bytes, own->hands[s].bytes);
    }
    *(volatile int32_t *)&own->closing = 1;
    own->go = 0;
    prem_barrier_arrive(&own->order[TILE_BEGUN]);
  }
  __syncwarp();
}

/** The compute warps of a block of servers. */
__device__ __forceinline__ void server_computes(block_state *own, const prem_launch &launch) {
  const int32_t threads = (int32_t)blockDim.x - PREM_MEMORY_THREADS;
#pragma unroll 1
  for (uint32_t count = 0;; ++count) {
    while (!prem_barrier_await(&own->order[TILE_BEGUN], count & 1u, NAP_NS)) {
    }
    if (!*(const volatile int32_t *)&own->go)
      return;
    in_flight_phase *of = &own->computes[0];
    const int64_t ready_ns = prem_clock_ns();
    data_await(own, true, count);
    if (PREM_FIRST_LANE()) {
      of->ready_ns = ready_ns;
      of->released_ns = prem_clock_ns();
      of->issue_ns = 0;
    }
    compute_dispatch<false>(own, launch, task_at(own, launch, of->record.task), 0);
    prem_fence_async_scratch();
    prem_meet(threads);
    if (PREM_FIRST_LANE()) {
      of->end_ns = prem_clock_ns();
      prem_barrier_arrive(&own->order[TILE_COMPUTED]);
    }
  }
}

/** The watcher of the first block of servers: it tells the host S, and what time it is. */
__device__ __forceinline__ void server_clock(block_state *own) {
  enum { ANSWER_NS = 5000 };
  prem_server_talk *talk = own->gated.talk;
  const bool answers = own->plan_block == own->gated.clock_block && lane_number() == 0;
  uint64_t seen = 0;
  if (answers)
    prem_system_store_relaxed(&talk->s_ns, (uint64_t)own->start_ns);
  while (answers && !*(const volatile int32_t *)&own->closing) {
    const uint64_t ping = prem_system_load_relaxed(&talk->ping);
    if (ping != seen)
      prem_system_store_relaxed(&talk->pong, prem_message_word(ping, 1, (uint64_t)prem_clock_ns()));
    seen = ping;
    __nanosleep(ANSWER_NS);
  }
  __syncwarp();
}

/** A block of servers, each warp its part. */
__device__ __forceinline__ void serve(block_state *own, const prem_launch &launch) {
  const int32_t warp = (int32_t)threadIdx.x / 32;
  if (warp == STARTER)
    server_warp(own);
  else if (warp == WATCHER)
    server_clock(own);
  else if (warp >= MEMORY_WARPS)
    server_computes(own, launch);
}

} // namespace

#else

namespace {

__device__ __forceinline__ void servers_furnish(const prem_launch &, const prem_device_block *) {}
__device__ __forceinline__ void serve(block_state *, const prem_launch &) {}

} // namespace

#endif
#endif
