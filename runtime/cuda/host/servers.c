/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cuda/host/servers.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "prem/base/clock.h"
#include "prem/base/numbers.h"
#include "runtime/core/best_effort.h"
#include "runtime/cuda/host/machine_facts.h"

/* ---- messages -------------------------------------------------------------------------------- */

static uint64_t places_for(int64_t rooms) {
  uint64_t places = 2;
  while (places < (uint64_t)rooms)
    places *= 2;
  return places;
}

/* Before runs, and after them. */
static void clear(_Atomic uint64_t *words, uint64_t places) {
  for (uint64_t i = 0; i < places * PREM_MESSAGE_WORDS; ++i)
    atomic_store_explicit(&words[i], 0, memory_order_relaxed);
}

static void post(void *of, int32_t task, int32_t room) {
  struct prem_cuda_servers *servers = of;
  prem_cuda_server *server = &servers->of[task];
  const prem_errand *errand = &servers->errands->servers[task]->rooms[room].errand;
  const uint64_t ticket = atomic_fetch_add_explicit(&server->tail, 1, memory_order_relaxed);
  _Atomic uint64_t *place = &server->asked[ticket % server->places * PREM_MESSAGE_WORDS];
  const uint64_t values[PREM_MESSAGE_WORDS] = {
      (uint64_t)room, prem_asked_tiles(errand->first_tile, errand->tile_count),
      (uint64_t)errand->arrival_ns, errand->number};
  for (int i = PREM_MESSAGE_WORDS - 1; i >= 0; --i)
    atomic_store_explicit(&place[i], prem_message_word(ticket, server->places, values[i]),
                          memory_order_release);
}

/* S, once the blocks have agreed on it. */
static bool knows_start(struct prem_cuda_servers *servers) {
  if (servers->start_ns == 0) {
    servers->start_ns = __atomic_load_n(&servers->talk->s_ns, __ATOMIC_ACQUIRE);
    if (servers->start_ns != 0)
      atomic_store(&servers->errands->start_ns, servers->start_ns);
  }
  return servers->start_ns != 0;
}

/* Is the next message there? */
static bool look(const struct prem_cuda_servers *servers, uint64_t words[PREM_MESSAGE_WORDS]) {
  const uint64_t ticket = servers->ended_head;
  const _Atomic uint64_t *place =
      &servers->ended[ticket % servers->ended_places * PREM_MESSAGE_WORDS];
  bool is_there = true;
  for (int i = 0; is_there && i < PREM_MESSAGE_WORDS; ++i) {
    words[i] = atomic_load_explicit(&place[i], memory_order_acquire);
    is_there = prem_message_is(words[i], ticket, servers->ended_places);
  }
  return is_there;
}

static void take(struct prem_cuda_servers *servers, const uint64_t words[PREM_MESSAGE_WORDS]) {
  const uint64_t what = prem_message_value(words[0]);
  const int64_t start_ns = servers->start_ns;
  const bool has_begun = prem_message_value(words[2]) != prem_message_value(UINT64_MAX);
  ++servers->ended_head;
  prem_errands_end(servers->errands, (int32_t)(what >> (PREM_ROOM_BITS + 1)),
                   (int32_t)(what >> 1 & ((1u << PREM_ROOM_BITS) - 1)),
                   has_begun ? prem_message_ns(words[2], start_ns) - start_ns : -1,
                   prem_message_ns(words[1], start_ns) - start_ns,
                   what & 1 ? PREM_ERRAND_EXPIRED : PREM_ERRAND_DONE);
}

/* One thread at a time: another one that comes goes on at once. */
static void fetch(void *of) {
  struct prem_cuda_servers *servers = of;
  uint64_t words[PREM_MESSAGE_WORDS];
  if (atomic_flag_test_and_set_explicit(&servers->fetching, memory_order_acquire))
    return;
  for (uint64_t some = servers->ended_places;
       some > 0 && knows_start(servers) && look(servers, words); --some)
    take(servers, words);
  atomic_flag_clear_explicit(&servers->fetching, memory_order_release);
}

static int64_t clock_ns(void *of) {
  struct prem_cuda_servers *servers = of;
  return prem_host_clock_ns() + atomic_load_explicit(&servers->offset_ns, memory_order_relaxed);
}

static void renew(void *of) {
  struct prem_cuda_servers *servers = of;
  for (int32_t t = 0; t < servers->errands->schedule->task_count; ++t)
    if (servers->of[t].asked) {
      clear(servers->of[t].asked, servers->of[t].places);
      atomic_store(&servers->of[t].tail, 0);
    }
  clear(servers->ended, servers->ended_places);
  servers->ended_head = 0;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* A tile's entry, whichever errand's it is: 16 bytes a lane. */
static void entry_fill(const prem_cuda *cuda, int32_t task, int32_t tile,
                       const prem_device_server *server, unsigned char *entry) {
  const prem_task *of = &cuda->program->schedule->tasks[task];
  prem_device_record record;
  prem_device_move moves[PREM_MAX_PORTS + 1];
  prem_cuda_tile_make(cuda->program, &cuda->arrays, &cuda->device, task, tile, &record, moves);
  record.job_release_ns = prem_task_phase_bytes(cuda->program->schedule, of, PREM_PREFETCH, tile) +
                          prem_task_phase_bytes(cuda->program->schedule, of, PREM_WRITEBACK, tile);
  memcpy(entry, &record, sizeof record);
  memcpy(entry + sizeof record, moves, (size_t)server->entry_bytes - sizeof record);
}

static cudaError_t entries_load(prem_cuda *cuda, int32_t task, prem_device_server *server) {
  const prem_task *of = &cuda->program->schedule->tasks[task];
  const size_t bytes = (size_t)of->tile_count * (size_t)server->entry_bytes;
  unsigned char *entries = malloc(bytes);
  if (!entries)
    return cudaErrorMemoryAllocation;
  for (int32_t tile = 0; tile < of->tile_count; ++tile)
    entry_fill(cuda, task, tile, server, entries + (int64_t)tile * server->entry_bytes);
  const cudaError_t error =
      prem_cuda_keep(&cuda->device, (void **)&server->entries, entries, bytes);
  free(entries);
  return error;
}

/* Its moves: of inputs, then of outputs, then of a later turn, as prem_cuda_tile_make() has them.
 */
static void moves_count(const prem_cuda *cuda, int32_t task, prem_device_server *server) {
  const prem_task *of = &cuda->program->schedule->tasks[task];
  int32_t at = 0;
  for (int side = 0; side < 2; ++side)
    for (int32_t p = 0; p < of->definition->port_count; ++p) {
      if ((of->definition->ports[p].access == PREM_OUT) != (side == 1))
        continue;
      if (cuda->host->servers[of->arrays[p]] == task)
        server->slot_bytes[at] = cuda->arrays.arrays[of->arrays[p]].slot_bytes;
      ++at;
      ++*(side ? &server->out_moves : &server->in_moves);
    }
  if (of->server.turns > 1)
    server->slot_bytes[at++] =
        cuda->arrays.arrays[of->arrays[prem_kernel_turn_ports(of->definition).to]].slot_bytes;
  server->entry_bytes =
      (int32_t)(sizeof(prem_device_record) + (size_t)at * sizeof(prem_device_move));
}

static cudaError_t pinned_words(_Atomic uint64_t **out, uint64_t places) {
  const cudaError_t error =
      cudaHostAlloc((void **)out, places * PREM_MESSAGE_WORDS * sizeof **out, cudaHostAllocMapped);
  if (error == cudaSuccess)
    clear(*out, places);
  else
    *out = NULL;
  return error;
}

/* Tiles of turns are of any length, and made ones go before others: blocks claim them one by one.
 */
static int32_t parts_of(const prem_task *task) {
  if (task->block_count == 1)
    return 1;
  return task->server.turns > 1 || prem_kernel_spawn_port(task->definition) >= 0
             ? INT32_MAX
             : 2 * task->block_count;
}

static size_t slots_bytes(const prem_cuda_server *own) {
  return own->making_first.ring.capacity * sizeof *own->slots_first;
}

/* The ring is as before it is used. */
static cudaError_t making_reset(const prem_cuda_server *own) {
  const cudaError_t error = cudaMemcpy(own->making_first.ring.slots, own->slots_first,
                                       slots_bytes(own), cudaMemcpyHostToDevice);
  return error == cudaSuccess ? cudaMemcpy(own->making, &own->making_first, sizeof *own->making,
                                           cudaMemcpyHostToDevice)
                              : error;
}

/* Its ring has room for all that can be there. */
static cudaError_t making_load(prem_cuda *cuda, const prem_task *of, prem_cuda_server *own) {
  const size_t rooms = (size_t)of->server.capacity;
  const uint64_t places = places_for((int64_t)rooms * prem_server_tiles(of));
  prem_device_making *first = &own->making_first;
  *first = (prem_device_making){.spawn = prem_kernel_spawn_port(of->definition),
                                .depth = of->server.depth,
                                .tiles = of->tile_count,
                                .most = prem_server_tiles(of)};
  own->slots_first = aligned_alloc(alignof(prem_ring_slot), places * sizeof *own->slots_first);
  if (!own->slots_first)
    return cudaErrorMemoryAllocation;
  prem_ring_init(&first->ring, own->slots_first, places, 0);
  cudaError_t error;
  CUDA_TRY(prem_cuda_keep(&cuda->device, (void **)&first->ring.slots, NULL, slots_bytes(own)));
  CUDA_TRY(prem_cuda_keep(&cuda->device, (void **)&first->had, NULL,
                          rooms * (size_t)of->tile_count * sizeof *first->had));
  CUDA_TRY(prem_cuda_keep(&cuda->device, (void **)&own->making, NULL, sizeof *own->making));
fail:
  return error;
}

static cudaError_t server_load(struct prem_cuda_servers *servers, int32_t task,
                               prem_device_server *server) {
  prem_cuda *cuda = servers->cuda;
  const prem_task *of = &cuda->program->schedule->tasks[task];
  prem_cuda_server *own = &servers->of[task];
  const size_t rooms = (size_t)of->server.capacity;
  own->places = places_for(of->server.capacity);
  *server = (prem_device_server){.state = servers->states + servers->server_count++,
                                 .ended = (uint64_t *)servers->ended,
                                 .ended_ticket = servers->ended_ticket,
                                 .places = own->places,
                                 .ended_places = servers->ended_places,
                                 .deadline_ns = of->deadline_ns,
                                 .blocks = of->block_count,
                                 .parts = parts_of(of),
                                 .task = task,
                                 .priority = of->server.priority,
                                 .aging = of->server.aging,
                                 .more = prem_kernel_turn_ports(of->definition).more,
                                 .turns = of->server.turns};
  for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase)
    server->ahead_ns[phase] = cuda->part->ahead_ns[task * PREM_PHASE_COUNT + phase];
  moves_count(cuda, task, server);
  cudaError_t error;
  CUDA_TRY(pinned_words(&own->asked, own->places));
  server->asked = (const uint64_t *)own->asked;
  CUDA_TRY(prem_cuda_keep(&cuda->device, (void **)&own->rooms, NULL, rooms * sizeof *own->rooms));
  server->rooms = own->rooms;
  CUDA_TRY(entries_load(cuda, task, server));
  if (prem_kernel_spawn_port(of->definition) >= 0)
    CUDA_TRY(making_load(cuda, of, own));
  server->making = own->making;
fail:
  return error;
}

static cudaError_t load(struct prem_cuda_servers *servers) {
  prem_cuda *cuda = servers->cuda;
  const prem_schedule *schedule = cuda->program->schedule;
  const size_t tasks = (size_t)schedule->task_count;
  prem_device_server *table = calloc(tasks, sizeof *table);
  int64_t rooms = 0;
  cudaError_t error = cudaErrorMemoryAllocation;
  if (!table)
    return error;
  for (size_t t = 0; t < tasks; ++t)
    rooms += schedule->tasks[t].server.capacity;
  servers->ended_places = places_for(rooms);
  CUDA_TRY(pinned_words(&servers->ended, servers->ended_places));
  CUDA_TRY(cudaHostAlloc((void **)&servers->talk, sizeof *servers->talk, cudaHostAllocMapped));
  memset(servers->talk, 0, sizeof *servers->talk);
  CUDA_TRY(prem_cuda_keep(&cuda->device, (void **)&servers->states, NULL,
                          PREM_MAX_SERVERS * sizeof *servers->states));
  CUDA_TRY(prem_cuda_keep(&cuda->device, (void **)&servers->ended_ticket, NULL,
                          sizeof *servers->ended_ticket));
  cuda->gated.clock_block = -1;
  for (size_t t = 0; t < tasks; ++t)
    if (schedule->tasks[t].server.capacity > 0) {
      CUDA_TRY(server_load(servers, (int32_t)t, &table[t]));
      if (cuda->gated.clock_block < 0)
        cuda->gated.clock_block = schedule->tasks[t].blocks[0];
    }
  CUDA_TRY(
      prem_cuda_keep(&cuda->device, (void **)&cuda->gated.servers, table, tasks * sizeof *table));
  cuda->gated.talk = servers->talk;
fail:
  free(table);
  return error;
}

/* The two clocks, before there is a run. */
static cudaError_t match_clocks(struct prem_cuda_servers *servers) {
  int64_t offset_ns = INT64_MIN, width_ns = 0;
  const cudaError_t error =
      prem_measure_offset(servers->cuda->stream, servers->cuda->clock_word, &offset_ns, &width_ns);
  if (error != cudaSuccess || offset_ns == INT64_MIN)
    return error;
  servers->match = (prem_clock_match){.at_ns = prem_host_clock_ns(),
                                      .min_ns = offset_ns - width_ns,
                                      .max_ns = offset_ns + width_ns,
                                      .questions = 1};
  atomic_store(&servers->offset_ns, offset_ns);
  return cudaSuccess;
}

prem_status prem_cuda_servers_new(prem_cuda *cuda, prem_diag *diag) {
  prem_errands *errands = cuda->part->errands;
  if (!errands)
    return PREM_OK;
  struct prem_cuda_servers *servers = calloc(1, sizeof *servers);
  if (!servers)
    return PREM_ERR_MEMORY;
  cuda->servers = servers;
  servers->cuda = cuda;
  servers->errands = errands;
  atomic_flag_clear(&servers->fetching);
  servers->of = calloc((size_t)errands->schedule->task_count, sizeof *servers->of);
  cudaError_t error = cudaErrorMemoryAllocation;
  if (servers->of)
    error = load(servers);
  if (error == cudaSuccess)
    error = match_clocks(servers);
  if (error == cudaSuccess)
    errands->far = (prem_errands_far){
        .of = servers, .post = post, .fetch = fetch, .renew = renew, .clock_ns = clock_ns};
  return prem_cuda_report(error, diag, "making servers ready");
}

void prem_cuda_servers_free(prem_cuda *cuda) {
  struct prem_cuda_servers *servers = cuda->servers;
  if (!servers)
    return;
  servers->errands->far = (prem_errands_far){0};
  for (int32_t t = 0; servers->of && t < servers->errands->schedule->task_count; ++t)
    free((void *)servers->of[t].slots_first);
  if (cuda->gpu->loss != PREM_CUDA_HELD) {
    for (int32_t t = 0; servers->of && t < servers->errands->schedule->task_count; ++t)
      cudaFreeHost((void *)servers->of[t].asked);
    cudaFreeHost((void *)servers->ended);
    cudaFreeHost(servers->talk);
  }
  free(servers->of);
  free(servers);
  cuda->servers = NULL;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static cudaError_t reset(struct prem_cuda_servers *servers) {
  const prem_schedule *schedule = servers->errands->schedule;
  cudaError_t error;
  CUDA_TRY(cudaMemset(servers->states, 0, PREM_MAX_SERVERS * sizeof *servers->states));
  CUDA_TRY(cudaMemset(servers->ended_ticket, 0, sizeof *servers->ended_ticket));
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    if (servers->of[t].asked)
      CUDA_TRY(
          cudaMemset(servers->of[t].rooms, 0xFF,
                     (size_t)schedule->tasks[t].server.capacity * sizeof *servers->of[t].rooms));
    if (servers->of[t].making)
      CUDA_TRY(making_reset(&servers->of[t]));
  }
fail:
  return error;
}

static int64_t start_of(void *of) {
  const struct prem_cuda_servers *servers = of;
  return __atomic_load_n(&servers->talk->s_ns, __ATOMIC_ACQUIRE);
}

prem_status prem_cuda_servers_begin(prem_cuda *cuda, const prem_run_request *request,
                                    prem_best_effort_trace *trace, prem_diag *diag) {
  struct prem_cuda_servers *servers = cuda ? cuda->servers : NULL;
  if (!servers)
    return PREM_OK;
  const prem_status status =
      prem_cuda_report(reset(servers), diag, "making servers ready for a run");
  if (status != PREM_OK)
    return status;
  servers->start_ns = servers->asked_ns = servers->next_ns = 0;
  memset(servers->talk, 0, sizeof *servers->talk);
  servers->is_running = true;
  prem_errands_begin(servers->errands, clock_ns(servers), trace);
  servers->arrivals.start_ns = start_of;
  servers->arrivals.of = servers;
  return prem_arrivals_begin(&servers->arrivals, servers->errands, request, diag);
}

/* Has the GPU answered? */
static bool hear(struct prem_cuda_servers *servers) {
  const uint64_t pong = __atomic_load_n(&servers->talk->pong, __ATOMIC_ACQUIRE);
  const int64_t heard_ns = prem_host_clock_ns();
  if (!prem_message_is(pong, servers->talk->ping, 1))
    return false;
  const int64_t offset_ns = atomic_load_explicit(&servers->offset_ns, memory_order_relaxed);
  prem_clock_match_add(&servers->match, servers->asked_ns,
                       prem_message_ns(pong, heard_ns + offset_ns), heard_ns,
                       servers->cuda->device.launch.clock_step_ns);
  atomic_store_explicit(&servers->offset_ns, prem_clock_match_offset_ns(&servers->match),
                        memory_order_relaxed);
  servers->asked_ns = 0;
  return true;
}

void prem_cuda_servers_look(const prem_cuda *cuda) {
  enum { ASK_EACH_NS = 5000000, WAIT_NS = 40000 };
  struct prem_cuda_servers *servers = cuda->beside ? cuda->beside->servers : cuda->servers;
  if (!servers || !servers->is_running)
    return;
  fetch(servers);
  if (servers->asked_ns != 0) {
    hear(servers);
    return;
  }
  const int64_t now_ns = prem_host_clock_ns();
  if (now_ns < servers->next_ns)
    return;
  servers->next_ns = now_ns + ASK_EACH_NS;
  servers->asked_ns = prem_host_clock_ns();
  __atomic_store_n(&servers->talk->ping, servers->talk->ping + 1, __ATOMIC_RELEASE);
  while (!hear(servers) && prem_host_clock_ns() < now_ns + WAIT_NS)
    sched_yield();
}

/* Which of the errands that have not ended have begun: those of a fault. Of a GPU that is lost
 * nobody knows. */
static void find_begun(struct prem_cuda_servers *servers) {
  const prem_errands *errands = servers->errands;
  for (int32_t t = 0; t < errands->schedule->task_count; ++t) {
    const prem_errand_server *server = errands->servers[t];
    const size_t capacity = server ? (size_t)server->task->server.capacity : 0;
    prem_device_room *rooms = capacity ? malloc(capacity * sizeof *rooms) : NULL;
    const bool is_known = rooms && servers->cuda->gpu->loss == PREM_CUDA_THERE &&
                          cudaMemcpy(rooms, servers->of[t].rooms, capacity * sizeof *rooms,
                                     cudaMemcpyDeviceToHost) == cudaSuccess;
    for (size_t r = 0; r < capacity; ++r)
      if (atomic_load(&server->rooms[r].state) == PREM_ROOM_SENT)
        atomic_store(&server->rooms[r].begin_ns,
                     !is_known ? 0
                     : rooms[r].number == server->rooms[r].errand.number &&
                             rooms[r].begin_ns >= 0 && rooms[r].begin_ns < INT64_MAX
                         ? prem_max_i64(rooms[r].begin_ns - servers->start_ns, 0)
                         : -1);
    free(rooms);
  }
}

/* Which tiles errands have had, made ones too: what they wrote is verified. */
static cudaError_t had_fetch(const struct prem_cuda_servers *servers, int32_t task) {
  const prem_errand_server *of = servers->errands->servers[task];
  const size_t words = (size_t)of->task->server.capacity * (size_t)of->task->tile_count;
  return cudaMemcpy((void *)of->had, servers->of[task].making_first.had, words * sizeof *of->had,
                    cudaMemcpyDeviceToHost);
}

static cudaError_t count(const struct prem_cuda_servers *servers, prem_best_effort_trace *trace) {
  prem_device_server_state states[PREM_MAX_SERVERS];
  cudaError_t error = cudaMemcpy(states, servers->states, sizeof states, cudaMemcpyDeviceToHost);
  int32_t s = 0;
  for (int32_t t = 0; error == cudaSuccess && t < servers->errands->schedule->task_count; ++t)
    if (servers->of[t].asked) {
      trace->counts[t].tiles = (int64_t)states[s].tiles;
      trace->counts[t].bytes = (int64_t)states[s++].bytes;
      if (servers->of[t].making)
        error = had_fetch(servers, t);
    }
  return error;
}

prem_status prem_cuda_servers_end(prem_cuda *cuda, prem_best_effort_trace *trace, prem_status ended,
                                  prem_diag *diag) {
  struct prem_cuda_servers *servers = cuda ? cuda->servers : NULL;
  if (!servers || !servers->is_running)
    return PREM_OK;
  const bool has_failed = ended != PREM_OK && ended != PREM_ERR_INTERRUPTED;
  prem_status status = PREM_OK;
  prem_arrivals_end(&servers->arrivals);
  fetch(servers);
  if (has_failed)
    find_begun(servers);
  if (cuda->gpu->loss == PREM_CUDA_THERE)
    status = prem_cuda_report(count(servers, trace), diag, "counting what servers did");
  const int64_t end_ns = servers->start_ns ? clock_ns(servers) - servers->start_ns : 0;
  const prem_status finished = prem_errands_finish(servers->errands, end_ns, has_failed, diag);
  servers->is_running = false;
  return status == PREM_OK ? finished : status;
}
