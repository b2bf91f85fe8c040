/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/core/errands.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "prem/base/clock.h"
#include "prem/base/numbers.h"
#include "prem/model/private.h"
#include "runtime/core/windows.h"

/* ---- queues ---------------------------------------------------------------------------------- */

static bool queue_new(prem_errand_queue *queue, int64_t least) {
  uint64_t capacity = 2;
  while (capacity < (uint64_t)least)
    capacity *= 2;
  queue->slots = aligned_alloc(alignof(prem_ring_slot), capacity * sizeof *queue->slots);
  if (queue->slots)
    prem_ring_init(&queue->ring, queue->slots, capacity, 0);
  return queue->slots != NULL;
}

/* There is a slot for each item that there can be, so who waits here waits for others who stand
 * between their ticket and their slot. */
static void put(prem_errand_queue *queue, const uint64_t *items, uint32_t count) {
  while (count > 0) {
    prem_ring_hand hand = {.count = 0};
    const uint32_t some = count < PREM_RING_BATCH ? count : PREM_RING_BATCH;
    memcpy(hand.items, items, some * sizeof *items);
    while (prem_ring_put(&queue->ring, &hand, some) != PREM_RING_OK)
      sched_yield();
    items += hand.count;
    count -= hand.count;
  }
}

static bool take(prem_errand_queue *queue, uint64_t *item) {
  prem_ring_hand hand = {.count = 0};
  prem_ring_answer answer;
  while ((answer = prem_ring_take(&queue->ring, &hand, 1)) == PREM_RING_BUSY)
    sched_yield();
  *item = hand.items[0];
  return answer == PREM_RING_OK;
}

/* ---- making ---------------------------------------------------------------------------------- */

static void server_free(prem_errand_server *server) {
  if (!server)
    return;
  free(server->free.slots);
  free(server->queue.slots);
  free(server->rooms);
  free((void *)server->had);
  free(server);
}

static prem_errand_server *server_new(const prem_schedule *part, const prem_arrays *arrays,
                                      int32_t t) {
  const prem_task *task = &part->tasks[t];
  const int32_t capacity = task->server.capacity;
  prem_errand_server *server =
      aligned_alloc(alignof(prem_errand_server), sizeof(prem_errand_server));
  if (!server)
    return NULL;
  memset(server, 0, sizeof *server);
  server->task = task;
  server->rooms = calloc((size_t)capacity, sizeof *server->rooms);
  if (!server->rooms || !queue_new(&server->free, capacity) ||
      !queue_new(&server->queue, (int64_t)capacity * prem_server_tiles(task))) {
    server_free(server);
    return NULL;
  }
  server->spawn = task->definition ? prem_kernel_spawn_port(task->definition) : -1;
  if (server->spawn >= 0)
    server->had = calloc((size_t)capacity * (size_t)task->tile_count, sizeof *server->had);
  if (server->spawn >= 0 && !server->had) {
    server_free(server);
    return NULL;
  }
  for (int32_t p = 0; task->definition && p < task->definition->port_count; ++p)
    server->has_own[p] = arrays->servers[task->arrays[p]] == t;
  server->ports =
      task->definition ? prem_kernel_turn_ports(task->definition) : (prem_turn_ports){-1, -1, -1};
  for (int32_t r = 0; r < capacity; ++r)
    put(&server->free, &(uint64_t){(uint64_t)r}, 1);
  return server;
}

static bool blocks_new(prem_errands *errands, const prem_task *task) {
  for (int32_t i = 0; i < task->block_count; ++i) {
    prem_errand_block **block = &errands->blocks[task->blocks[i]];
    if (*block)
      continue;
    *block = calloc(1, sizeof **block);
    if (!*block)
      return false;
    (*block)->now.room = -1;
    (*block)->kept = calloc((size_t)errands->schedule->task_count, sizeof *(*block)->kept);
    (*block)->hands = calloc((size_t)errands->schedule->task_count, sizeof *(*block)->hands);
    (*block)->passed = calloc((size_t)errands->schedule->task_count, sizeof *(*block)->passed);
    if (!(*block)->hands || !(*block)->passed || !(*block)->kept)
      return false;
  }
  return true;
}

/* The first server of each block is next. */
static void begin_turns(prem_errands *errands) {
  const prem_schedule *part = errands->schedule;
  for (int32_t t = 0; t < part->task_count; ++t)
    for (int32_t i = 0; errands->servers[t] && i < part->tasks[t].block_count; ++i) {
      prem_errand_block *block = errands->blocks[part->tasks[t].blocks[i]];
      block->last_task = t;
      block->last_room = -1;
      for (int32_t other = 0; other < part->task_count; ++other)
        block->kept[other].room = -1;
      memset(block->passed, 0, (size_t)part->task_count * sizeof *block->passed);
    }
}

static bool servers_new(prem_errands *errands) {
  const prem_schedule *part = errands->schedule;
  int64_t rooms = 0;
  for (int32_t t = 0; t < part->task_count; ++t) {
    if (part->tasks[t].server.capacity == 0)
      continue;
    rooms += part->tasks[t].server.capacity;
    errands->servers[t] = server_new(part, errands->arrays, t);
    if (!errands->servers[t] || !blocks_new(errands, &part->tasks[t]))
      return false;
  }
  begin_turns(errands);
  return queue_new(&errands->ended, rooms);
}

static bool has_servers(const prem_schedule *part) {
  for (int32_t t = 0; t < part->task_count; ++t)
    if (part->tasks[t].server.capacity > 0)
      return true;
  return false;
}

prem_status prem_errands_new(const prem_schedule *part, const prem_arrays *arrays,
                             prem_errands **out) {
  *out = NULL;
  if (!has_servers(part))
    return PREM_OK;
  prem_errands *errands = aligned_alloc(alignof(prem_errands), sizeof *errands);
  if (!errands)
    return PREM_ERR_MEMORY;
  memset(errands, 0, sizeof *errands);
  errands->schedule = part;
  errands->arrays = arrays;
  errands->servers = calloc((size_t)part->task_count, sizeof(prem_errand_server *));
  errands->blocks = calloc((size_t)part->platform.blocks, sizeof(prem_errand_block *));
  if (!errands->servers || !errands->blocks || !servers_new(errands)) {
    prem_errands_free(errands);
    return PREM_ERR_MEMORY;
  }
  *out = errands;
  return PREM_OK;
}

void prem_errands_free(prem_errands *errands) {
  if (!errands)
    return;
  for (int32_t t = 0; errands->servers && t < errands->schedule->task_count; ++t)
    server_free(errands->servers[t]);
  for (int32_t b = 0; errands->blocks && b < errands->schedule->platform.blocks; ++b)
    if (errands->blocks[b]) {
      free(errands->blocks[b]->hands);
      free(errands->blocks[b]->passed);
      free(errands->blocks[b]->kept);
      free(errands->blocks[b]);
    }
  free(errands->servers);
  free(errands->blocks);
  free(errands->ended.slots);
  free(errands);
}

bool prem_errands_make(const prem_errands *errands) {
  for (int32_t t = 0; errands && t < errands->schedule->task_count; ++t)
    if (errands->servers[t] && errands->servers[t]->spawn >= 0)
      return true;
  return false;
}

/* ---- who sends and collects ------------------------------------------------------------------ */

int64_t prem_errands_clock_ns(const prem_errands *errands) {
  return errands->far.of ? errands->far.clock_ns(errands->far.of) : prem_host_clock_ns();
}

bool prem_errands_acquire(prem_errands *errands, int32_t task, prem_errand *out) {
  prem_errand_server *server = errands->servers[task];
  uint64_t room;
  bool is_free = take(&server->free, &room);
  if (!is_free && errands->far.of) { /* some may have ended that nobody collects */
    errands->far.fetch(errands->far.of);
    is_free = take(&server->free, &room);
  }
  if (!is_free) {
    atomic_fetch_add_explicit(&server->full, 1, memory_order_relaxed);
    return false;
  }
  *out = (prem_errand){.task = task,
                       .room = (int32_t)room,
                       .tile_count = prem_server_tiles(server->task),
                       .begin_ns = -1};
  server->rooms[room].is_own = false;
  atomic_store_explicit(&server->rooms[room].state, PREM_ROOM_HELD, memory_order_relaxed);
  return true;
}

static void enqueue(prem_errand_server *server, prem_errand_room *room, int32_t number) {
  const int32_t count = room->errand.tile_count, first = room->errand.first_tile;
  uint64_t items[PREM_RING_BATCH];
  for (int32_t done = 0, some; done < count; done += some) {
    some = prem_min_i32(count - done, PREM_RING_BATCH);
    for (int32_t i = 0; i < some; ++i)
      items[i] = prem_tile_item(0, number, first + done + i);
    put(&server->queue, items, (uint32_t)some);
  }
}

/* An errand's tiles that are in the queue, with its number: a room may have another errand soon. */
static uint64_t out_word(uint64_t number, int32_t tiles) {
  return number << 32 | (uint32_t)tiles;
}

bool prem_errands_send(prem_errands *errands, const prem_errand *errand, int64_t now_ns) {
  prem_errand_server *server = errands->servers[errand->task];
  prem_errand_room *room = &server->rooms[errand->room];
  if (!prem_door_enter(&errands->senders))
    return false;
  room->errand = *errand;
  room->errand.arrival_ns = now_ns;
  room->errand.number =
      (uint64_t)atomic_fetch_add_explicit(&server->number, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&server->sent, 1, memory_order_relaxed);
  atomic_store_explicit(&room->done_in, 0, memory_order_relaxed);
  atomic_store_explicit(&room->begin_ns, -1, memory_order_relaxed);
  atomic_store_explicit(&room->has_expired, false, memory_order_relaxed);
  atomic_store_explicit(&room->left, (uint64_t)errand->tile_count, memory_order_relaxed);
  atomic_store_explicit(&room->all, (uint64_t)errand->tile_count, memory_order_relaxed);
  atomic_store_explicit(&room->out, out_word(room->errand.number, errand->tile_count),
                        memory_order_relaxed);
  atomic_store_explicit(&room->state, PREM_ROOM_SENT, memory_order_relaxed);
  if (errands->far.of)
    errands->far.post(errands->far.of, errand->task, errand->room);
  else
    enqueue(server, room, errand->room);
  prem_door_leave(&errands->senders);
  return true;
}

bool prem_errands_collect(prem_errands *errands, prem_errand *out) {
  uint64_t item;
  if (errands->far.of)
    errands->far.fetch(errands->far.of);
  if (!take(&errands->ended, &item))
    return false;
  prem_errand_room *room = &errands->servers[item >> 32]->rooms[(uint32_t)item];
  *out = room->errand;
  atomic_store_explicit(&room->state, PREM_ROOM_HELD, memory_order_relaxed);
  return true;
}

static void free_room(prem_errand_server *server, int32_t room) {
  atomic_store_explicit(&server->rooms[room].state, PREM_ROOM_FREE, memory_order_relaxed);
  put(&server->free, &(uint64_t){(uint64_t)room}, 1);
}

void prem_errands_release(prem_errands *errands, const prem_errand *errand) {
  free_room(errands->servers[errand->task], errand->room);
}

void prem_errands_arrive(prem_errands *errands, const prem_arrival *arrival, int64_t now_ns) {
  prem_errand errand;
  if (!prem_errands_acquire(errands, arrival->task, &errand))
    return;
  errands->servers[errand.task]->rooms[errand.room].is_own = true;
  errand.first_tile = arrival->first_tile;
  errand.tile_count = arrival->tile_count;
  if (!prem_errands_send(errands, &errand, now_ns))
    prem_errands_release(errands, &errand);
}

/* ---- the end of an errand -------------------------------------------------------------------- */

static void raise_to(_Atomic int64_t *most, int64_t value) {
  int64_t seen = atomic_load_explicit(most, memory_order_relaxed);
  while (seen < value && !atomic_compare_exchange_weak_explicit(
                             most, &seen, value, memory_order_relaxed, memory_order_relaxed)) {
    /* `seen` is what another block has */
  }
}

static void add(_Atomic int64_t *count, int64_t value) {
  atomic_fetch_add_explicit(count, value, memory_order_relaxed);
}

static void log_errand(prem_errands *errands, const prem_errand *errand) {
  prem_best_effort_trace *trace = errands->trace;
  const int64_t at = atomic_fetch_add_explicit(&errands->log_count, 1, memory_order_relaxed);
  if (trace && at < trace->errand_capacity)
    trace->errands[at] = *errand;
}

/* From S; it may have come before. */
static int64_t arrival_of(const prem_errands *errands, const prem_errand_room *room) {
  return prem_max_i64(0, room->errand.arrival_ns - atomic_load(&errands->start_ns));
}

static void end_errand(prem_errands *errands, int32_t task, int32_t number, int64_t now_ns,
                       prem_errand_end end) {
  prem_errand_server *server = errands->servers[task];
  prem_errand_room *room = &server->rooms[number];
  prem_errand *errand = &room->errand;
  errand->arrival_ns = arrival_of(errands, room);
  errand->begin_ns = atomic_load_explicit(&room->begin_ns, memory_order_relaxed);
  if (errand->begin_ns >= 0) /* where two clocks are matched it may seem to have come later */
    errand->arrival_ns = prem_min_i64(errand->arrival_ns, errand->begin_ns);
  errand->end_ns = prem_max_i64(now_ns, errand->arrival_ns);
  errand->end = end;
  if (end == PREM_ERRAND_DONE)
    atomic_store_explicit(&room->done_in, errands->run, memory_order_relaxed);
  add(&server->ended[end], 1);
  if (end == PREM_ERRAND_DONE) {
    const int64_t response_ns = errand->end_ns - errand->arrival_ns;
    add(&server->response_sum_ns, response_ns);
    raise_to(&server->response_max_ns, response_ns);
    add(&server->late, server->task->deadline_ns > 0 && response_ns > server->task->deadline_ns);
  }
  log_errand(errands, errand);
  if (room->is_own) {
    free_room(server, number);
    return;
  }
  atomic_store_explicit(&room->state, PREM_ROOM_ENDED, memory_order_relaxed);
  put(&errands->ended, &(uint64_t){(uint64_t)task << 32 | (uint32_t)number}, 1);
}

void prem_errands_end(prem_errands *errands, int32_t task, int32_t room, int64_t begin_ns,
                      int64_t end_ns, prem_errand_end end) {
  atomic_store_explicit(&errands->servers[task]->rooms[room].begin_ns, begin_ns,
                        memory_order_relaxed);
  end_errand(errands, task, room, end_ns, end);
}

/* One tile less; the last one ends the errand. */
static void end_tile(prem_errands *errands, int32_t task, int32_t number, int64_t now_ns) {
  prem_errand_room *room = &errands->servers[task]->rooms[number];
  if (atomic_fetch_sub_explicit(&room->left, 1, memory_order_acq_rel) > 1)
    return;
  end_errand(errands, task, number, now_ns,
             atomic_load_explicit(&room->has_expired, memory_order_relaxed) ? PREM_ERRAND_EXPIRED
                                                                            : PREM_ERRAND_DONE);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Credits may be away for a moment, so a look that finds none is not the last one. */
static bool has_tiles(const prem_errand_server *server) {
  return (int64_t)prem_ring_load(&server->queue.ring.there.word) > 0;
}

/* Are there tiles of the errand of which the block had the last one? */
static bool goes_on(const prem_errands *errands, const prem_errand_block *own) {
  if (own->kept[own->last_task].room >= 0)
    return true;
  if (own->last_room < 0)
    return false;
  const prem_errand_room *room = &errands->servers[own->last_task]->rooms[own->last_room];
  const uint64_t out = atomic_load_explicit(&room->out, memory_order_relaxed);
  return (int32_t)(uint32_t)out > 0 && out >> 32 == (uint32_t)own->last_number;
}

/* Whether a tile of one server goes before one of another on a block: first one that has waited for
 * `aging` others, then by priority, then in turn. */
static int64_t rank_of(const prem_errands *errands, const prem_errand_block *own, int32_t task) {
  const int32_t tasks = errands->schedule->task_count;
  const prem_server *server = &errands->servers[task]->task->server;
  const int32_t turn = (task - own->last_task - 1 + tasks) % tasks;
  const bool yields = server->priority < errands->servers[own->last_task]->task->server.priority &&
                      goes_on(errands, own);
  const bool is_due = own->passed[task] >= server->aging && !yields;
  return ((int64_t)is_due * (PREM_MAX_SERVERS + 1) + server->priority) * tasks + (tasks - turn);
}

/* The server whose tile comes next on a block; -1: there is no tile. */
static int32_t next_server(const prem_errands *errands, const prem_errand_block *own,
                           int32_t task) {
  const int32_t first = errands->servers[task]->task->blocks[0];
  int64_t best = 0;
  int32_t next = -1;
  for (int32_t t = 0; t < errands->schedule->task_count; ++t) {
    const prem_errand_server *server = errands->servers[t];
    if (!server || server->task->blocks[0] != first ||
        (own->kept[t].room < 0 && !has_tiles(server)))
      continue;
    const int64_t rank = rank_of(errands, own, t);
    if (rank > best) {
      best = rank;
      next = t;
    }
  }
  return next;
}

static void note_taken(const prem_errands *errands, prem_errand_block *own, uint64_t number) {
  for (int32_t t = 0; t < errands->schedule->task_count; ++t)
    own->passed[t] = t == own->task ? 0 : prem_min_i32(own->passed[t] + 1, PREM_MAX_AGING);
  own->last_task = own->task;
  own->last_room = own->now.room;
  own->last_number = number;
}

/* Too late for a tile to begin? Then the errand's other tiles do not begin either. */
static bool has_expired(const prem_errands *errands, prem_errand_server *server,
                        prem_errand_room *room, int64_t now_ns) {
  const int64_t deadline_ns = server->task->deadline_ns;
  if (deadline_ns > 0 && now_ns >= arrival_of(errands, room) + deadline_ns)
    atomic_store_explicit(&room->has_expired, true, memory_order_relaxed);
  return atomic_load_explicit(&room->has_expired, memory_order_relaxed);
}

/* One of the queue. */
static bool take_tile(prem_errand_server *server, prem_ring_hand *hand, prem_errand_tile *out) {
  if (prem_ring_take(&server->queue.ring, hand, 1) != PREM_RING_OK)
    return false;
  *out = (prem_errand_tile){.room = prem_item_room(hand->items[0]),
                            .tile = prem_item_tile(hand->items[0]),
                            .generation = prem_item_generation(hand->items[0])};
  atomic_fetch_sub_explicit(&server->rooms[out->room].out, 1, memory_order_relaxed);
  return true;
}

prem_errand_look prem_errands_take(prem_errands *errands, int32_t block, int32_t task,
                                   int64_t now_ns) {
  prem_errand_server *server = errands->servers[task];
  prem_errand_block *own = errands->blocks[block];
  own->task = task;
  own->now.room = -1;
  for (;;) {
    const int32_t next = next_server(errands, own, task);
    if (next != task && !own->hands[task].kept) /* else the item is all but there, and its own */
      return next < 0 ? PREM_TILE_AWAITED : PREM_TILE_NONE;
    prem_errand_tile tile = own->kept[task];
    own->kept[task].room = -1;
    if (tile.room < 0 && !take_tile(server, &own->hands[task], &tile))
      return PREM_TILE_AWAITED;
    prem_errand_room *room = &server->rooms[tile.room];
    if (has_expired(errands, server, room, now_ns)) {
      end_tile(errands, task, tile.room, now_ns);
      continue;
    }
    own->now = tile;
    /* It may have come since who takes it looked at the clock. */
    if (tile.tile == room->errand.first_tile && tile.turn == 0 && tile.generation == 0)
      atomic_store_explicit(&room->begin_ns, prem_max_i64(now_ns, arrival_of(errands, room)),
                            memory_order_relaxed);
    note_taken(errands, own, room->errand.number);
    return PREM_TILE_TAKEN;
  }
}

const prem_record *prem_errands_record(const prem_errands *errands, int32_t block,
                                       const prem_record *record, prem_record *room) {
  if (!prem_is_server(errands, record->task))
    return record;
  const prem_errand_block *own = errands->blocks[block];
  if (own->now.room < 0)
    return NULL;
  *room = *record;
  room->tile = own->now.tile;
  return room;
}

const int32_t *prem_errands_slots(const prem_errands *errands, int32_t block,
                                  int32_t room[PREM_MAX_PORTS]) {
  const prem_errand_block *own = errands->blocks[block];
  const prem_errand_server *server = errands->servers[own->task];
  for (int32_t p = 0; p < PREM_MAX_PORTS; ++p)
    room[p] = server->has_own[p] ? own->now.room : 0;
  if (own->now.turn > 0)
    room[server->ports.from] = -1;
  return room;
}

void prem_errands_note(const prem_errands *errands, int32_t block, prem_trace_record *record) {
  const prem_errand_block *own = errands->blocks[block];
  const prem_errand_room *room = &errands->servers[own->task]->rooms[own->now.room];
  record->release_ns = arrival_of(errands, room);
  record->job = (int32_t)(room->errand.number & INT32_MAX);
}

/* Does it want another turn? One that has none left ends as if it were too late. */
static bool goes_round(const prem_errands *errands, int32_t block) {
  const prem_errand_block *own = errands->blocks[block];
  const prem_errand_server *server = errands->servers[own->task];
  int32_t slots[PREM_MAX_PORTS], count;
  if (server->ports.more < 0 || *prem_tile_numbers(errands->arrays, own->task, own->now.tile,
                                                   prem_errands_slots(errands, block, slots),
                                                   server->ports.more, &count) == 0)
    return false;
  if (own->now.turn + 1 < server->task->server.turns)
    return true;
  atomic_store_explicit(&server->rooms[own->now.room].has_expired, true, memory_order_relaxed);
  return false;
}

static prem_making making_of(prem_errand_server *server, int32_t number) {
  prem_errand_room *room = &server->rooms[number];
  return (prem_making){.had = &server->had[(int64_t)number * server->task->tile_count],
                       .all = &room->all,
                       .left = &room->left,
                       .number = room->errand.number,
                       .first = room->errand.first_tile,
                       .count = room->errand.tile_count,
                       .tiles = server->task->tile_count,
                       .most = prem_server_tiles(server->task)};
}

/* The tiles that the one in hand names. One too many, and the errand ends as if it were too late.
 */
static bool make_tiles(const prem_errands *errands, int32_t block) {
  const prem_errand_block *own = errands->blocks[block];
  prem_errand_server *server = errands->servers[own->task];
  prem_errand_room *room = &server->rooms[own->now.room];
  const int32_t generation = own->now.generation + 1;
  int32_t slots[PREM_MAX_PORTS], count = 0;
  if (!server->had)
    return false;
  const int32_t *numbers =
      prem_tile_numbers(errands->arrays, own->task, own->now.tile,
                        prem_errands_slots(errands, block, slots), server->spawn, &count);
  const prem_making of = making_of(server, own->now.room);
  bool has_made = false;
  for (int32_t i = 0; i < count; ++i) {
    const prem_made made =
        numbers[i] == 0
            ? PREM_MADE_BEFORE
            : prem_tile_make(&of, numbers[i] - 1, generation < server->task->server.depth);
    if (made == PREM_MADE_NONE)
      atomic_store_explicit(&room->has_expired, true, memory_order_relaxed);
    if (made != PREM_MADE_NEW)
      continue;
    atomic_fetch_add_explicit(&room->out, 1, memory_order_relaxed);
    put(&server->queue, &(uint64_t){prem_tile_item(generation, own->now.room, numbers[i] - 1)}, 1);
    has_made = true;
  }
  return has_made;
}

bool prem_errands_put_down(prem_errands *errands, int32_t block, int64_t now_ns) {
  prem_errand_block *own = errands->blocks[block];
  prem_errand_tile tile = own->now;
  const bool again = goes_round(errands, block);
  const bool has_made = !again && make_tiles(errands, block);
  own->now.room = -1;
  ++tile.turn;
  if (again)
    own->kept[own->task] = tile;
  else
    end_tile(errands, own->task, tile.room, now_ns);
  return has_made;
}

/* ---- runs ------------------------------------------------------------------------------------ */

void prem_errands_begin(prem_errands *errands, int64_t now_ns, prem_best_effort_trace *trace) {
  errands->trace = trace;
  atomic_store(&errands->start_ns, now_ns);
  atomic_store(&errands->log_count, 0);
  ++errands->run;
}

/* A sender may wait for the slot of a ticket that a block has kept, which has left: take it. */
static void take_what_is_kept(prem_errands *errands) {
  for (int32_t b = 0; b < errands->schedule->platform.blocks; ++b)
    for (int32_t t = 0; errands->blocks[b] && t < errands->schedule->task_count; ++t)
      if (errands->blocks[b]->hands[t].kept)
        prem_ring_take(&errands->servers[t]->queue.ring, &errands->blocks[b]->hands[t], 1);
}

/* Senders are refused from here on, and none is between two steps. */
static void close_to_senders(prem_errands *errands) {
  prem_door_shut(&errands->senders);
  while (!prem_door_is_empty(&errands->senders)) {
    take_what_is_kept(errands);
    sched_yield();
  }
}

/* Neither blocks nor senders are there. */
static void end_all(prem_errands *errands, int32_t task, int64_t end_ns, bool has_failed) {
  prem_errand_server *server = errands->servers[task];
  prem_ring *ring = &server->queue.ring;
  for (int32_t r = 0; r < server->task->server.capacity; ++r) {
    prem_errand_room *room = &server->rooms[r];
    atomic_store(&room->out, 0);
    if (atomic_load(&room->state) == PREM_ROOM_SENT)
      end_errand(errands, task, r, end_ns,
                 has_failed && atomic_load(&room->begin_ns) >= 0 ? PREM_ERRAND_FAULT
                                                                 : PREM_ERRAND_ABORTED);
  }
  prem_ring_init(ring, ring->slots, ring->capacity, 0);
}

/* What was sent since the last run has ended now, and each once. */
static prem_status count(prem_errands *errands, int32_t task, prem_diag *diag) {
  prem_errand_server *server = errands->servers[task];
  prem_errand_counts counted = {.sent = atomic_exchange(&server->sent, 0),
                                .full = atomic_exchange(&server->full, 0),
                                .late = atomic_exchange(&server->late, 0),
                                .response_sum_ns = atomic_exchange(&server->response_sum_ns, 0),
                                .response_max_ns = atomic_exchange(&server->response_max_ns, 0)};
  int64_t ended = 0;
  for (int e = 0; e < PREM_ERRAND_ENDS; ++e)
    ended += counted.ended[e] = atomic_exchange(&server->ended[e], 0);
  if (errands->trace) {
    errands->trace->counts[task].errands = counted;
    errands->trace->counts[task].jobs = counted.ended[PREM_ERRAND_DONE];
  }
  if (ended == counted.sent)
    return PREM_OK;
  prem_diag_add(diag, PREM_ERROR, 0, server->task->place, server->task->name,
                "%lld errands were sent and %lld have ended; this is a defect of ttprem, please "
                "report it with the schedule",
                (long long)counted.sent, (long long)ended);
  return PREM_ERR_MACHINE;
}

prem_status prem_errands_finish(prem_errands *errands, int64_t end_ns, bool has_failed,
                                prem_diag *diag) {
  const prem_schedule *part = errands->schedule;
  prem_status status = PREM_OK;
  close_to_senders(errands);
  if (errands->far.of)
    errands->far.fetch(errands->far.of);
  for (int32_t t = 0; t < part->task_count; ++t)
    if (errands->servers[t]) {
      end_all(errands, t, end_ns, has_failed);
      const prem_status counted = count(errands, t, diag);
      status = status ? status : counted;
    }
  if (errands->far.of)
    errands->far.renew(errands->far.of);
  for (int32_t b = 0; b < part->platform.blocks; ++b)
    if (errands->blocks[b]) {
      memset(errands->blocks[b]->hands, 0,
             (size_t)part->task_count * sizeof *errands->blocks[b]->hands);
      errands->blocks[b]->now.room = -1;
    }
  begin_turns(errands);
  if (errands->trace) {
    const int64_t logged = atomic_load(&errands->log_count);
    prem_best_effort_trace *trace = errands->trace;
    trace->errand_count = prem_min_i64(logged, trace->errand_capacity);
    trace->errands_lost = logged - trace->errand_count;
  }
  errands->trace = NULL;
  prem_door_open(&errands->senders);
  return status;
}

static void verify_room(const prem_errands *errands, int32_t task, int32_t number,
                        prem_verdict *verdict) {
  const prem_errand_server *server = errands->servers[task];
  const prem_errand *errand = &server->rooms[number].errand;
  int32_t slots[PREM_MAX_PORTS];
  for (int32_t p = 0; p < PREM_MAX_PORTS; ++p)
    slots[p] = server->has_own[p] ? number : 0;
  for (int32_t i = 0; i < errand->tile_count; ++i)
    prem_tile_verify(errands->arrays, task, errand->first_tile + i, slots, verdict);
  for (int32_t i = 0; server->had && i < server->task->tile_count; ++i)
    if (atomic_load(&server->had[(int64_t)number * server->task->tile_count + i]) ==
        errand->number + 1)
      prem_tile_verify(errands->arrays, task, i, slots, verdict);
}

bool prem_errands_verify(prem_errands *errands, prem_verdict *verdict) {
  if (atomic_load(&errands->is_fed))
    return false;
  close_to_senders(errands);
  for (int32_t t = 0; t < errands->schedule->task_count; ++t) {
    const prem_errand_server *server = errands->servers[t];
    for (int32_t r = 0; server && server->task->definition && r < server->task->server.capacity;
         ++r)
      if (atomic_load(&server->rooms[r].done_in) == errands->run)
        verify_room(errands, t, r, verdict);
  }
  prem_door_open(&errands->senders);
  return true;
}
