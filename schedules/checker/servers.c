/* SPDX-License-Identifier: Apache-2.0 */
/* Servers: what they may share, and whether what may come can be done in time. */
#include "schedules/checker/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prem/base/numbers.h"
#include "prem/model/private.h"

static void refuse(const prem_checker *checker, int code, const prem_task *task, const char *key,
                   const char *format, ...) PREM_PRINTF(5, 6);
static void refuse(const prem_checker *checker, int code, const prem_task *task, const char *key,
                   const char *format, ...) {
  char path[PREM_NAME_BYTES + 48], reason[512];
  va_list args;
  va_start(args, format);
  vsnprintf(reason, sizeof reason, format, args);
  va_end(args);
  snprintf(path, sizeof path, "tasks.%s.%s", task->name, key);
  prem_diag_add(checker->diag, PREM_ERROR, code,
                strncmp(key, "server", 6) ? task->place : task->server.place, path, "%s", reason);
}

enum { MAX_QUEUED = 1 << 22 };

/* ---- what needs no plan ---------------------------------------------------------------------- */

static bool have_equal_blocks(const prem_task *a, const prem_task *b) {
  return a->server.capacity > 0 && b->server.capacity > 0 && a->block_count == b->block_count &&
         memcmp(a->blocks, b->blocks, (size_t)a->block_count * sizeof *a->blocks) == 0;
}

/* A block that has nothing else to do waits for errands. So whoever else it works would wait. */
static void check_blocks(const prem_checker *checker, const prem_task *server, bool *is_own) {
  const prem_schedule *schedule = checker->schedule;
  memset(is_own, 0, (size_t)schedule->platform.blocks * sizeof *is_own);
  for (int32_t i = 0; i < server->block_count; ++i)
    is_own[server->blocks[i]] = true;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *other = &schedule->tasks[t];
    if (other == server || !other->best_effort || have_equal_blocks(server, other))
      continue;
    for (int32_t j = 0; j < other->block_count; ++j)
      if (is_own[other->blocks[j]]) {
        refuse(checker, 55, server, "blocks",
               "block %d is also one of '%s': a server has blocks of its own, or the same list "
               "as another server",
               other->blocks[j], other->name);
        return;
      }
  }
}

/* It begins at a gate, and its block has no other one in hand until it is stored. */
static void check_work(const prem_checker *checker, const prem_task *server) {
  const prem_phase_spec *prefetch = &server->phase[PREM_PREFETCH];
  if (!prefetch->exists || prefetch->demand[0] == 0 || !server->phase[PREM_WRITEBACK].exists)
    refuse(checker, 55, server, "server",
           "stands in a task without a prefetch that demands memory, or without a writeback: a "
           "server takes a tile at the gate of the one and ends it with the other; give both");
  if (server->server.tiles > server->tile_count)
    refuse(checker, 55, server, "server.tiles", "%d is more than the %d tiles of the task",
           server->server.tiles, server->tile_count);
  else if ((int64_t)server->server.capacity * prem_server_tiles(server) > MAX_QUEUED)
    refuse(checker, 20, server, "server.capacity",
           "%d errands of %d tiles make more than the limit of %d tiles that may wait; give less "
           "room, or fewer tiles to an errand",
           server->server.capacity, prem_server_tiles(server), MAX_QUEUED);
}

/* A turn reads what the one before has written, wherever it is the same tile's. */
static void check_turns(const prem_checker *checker, const prem_task *server) {
  if (server->server.turns <= 1 || !server->definition)
    return;
  const prem_turn_ports ports = prem_kernel_turn_ports(server->definition);
  if (ports.more < 0) {
    refuse(checker, 55, server, "server.turns",
           "is %d, and kernel '%s' has no output `more` of type i32 that says whether there is "
           "another turn; leave `turns` out",
           server->server.turns, server->kernel);
    return;
  }
  if (ports.from >= 0 && ports.to != ports.more) {
    const prem_window *from = &server->windows[ports.from], *to = &server->windows[ports.to];
    const prem_array *of = &checker->schedule->arrays[server->arrays[ports.from]],
                     *into = &checker->schedule->arrays[server->arrays[ports.to]];
    if (of->type == into->type && memcmp(of->shape, into->shape, sizeof of->shape) == 0 &&
        memcmp(from->base, to->base, sizeof to->base) == 0 &&
        memcmp(from->step, to->step, sizeof to->step) == 0 &&
        memcmp(from->extent, to->extent, sizeof to->extent) == 0)
      return;
  }
  refuse(checker, 55, server, "server.turns",
         "is %d, and the first input of kernel '%s' has other windows than its first output, which "
         "the next turn reads in its place; leave `turns` out",
         server->server.turns, server->kernel);
}

/* A tile names those that it makes in one row; of each errand there is a mark for each tile. */
static void check_depth(const prem_checker *checker, const prem_task *server) {
  const int32_t spawn = server->definition ? prem_kernel_spawn_port(server->definition) : -1;
  if (server->definition && spawn < 0 && server->server.depth > 1)
    refuse(checker, 55, server, "server.depth",
           "is %d, and kernel '%s' has no output `spawn` of type i32 that names the tiles to be "
           "made; leave `depth` out",
           server->server.depth, server->kernel);
  if (spawn < 0)
    return;
  const int32_t *extent = server->windows[spawn].extent;
  if (extent[0] * extent[1] * extent[2] != 1)
    refuse(checker, 55, server, "server",
           "stands in a task whose tiles have more than one row of output `spawn`; let kernel '%s' "
           "write one",
           server->kernel);
  if ((int64_t)server->server.capacity * server->tile_count > MAX_QUEUED)
    refuse(checker, 20, server, "server.capacity",
           "%d errands, of which each may have any of %d tiles, are more than the limit of %d "
           "tiles; give less room, or fewer tiles to the task",
           server->server.capacity, server->tile_count, MAX_QUEUED);
}

/* Each errand writes an array of its own, which nobody else could find. */
static void check_arrays(const prem_checker *checker, int32_t t) {
  const prem_schedule *schedule = checker->schedule;
  const prem_task *server = &schedule->tasks[t];
  for (int32_t p = 0; server->definition && p < server->definition->port_count; ++p) {
    const int32_t array = server->arrays[p];
    if (server->definition->ports[p].access != PREM_OUT)
      continue;
    for (int32_t u = 0; u < schedule->task_count; ++u)
      if (u != t && schedule->tasks[u].definition &&
          (prem_task_uses(&schedule->tasks[u], array, PREM_IN) ||
           prem_task_uses(&schedule->tasks[u], array, PREM_OUT)))
        refuse(checker, 45, server, "arrays",
               "writes array '%s', which '%s' uses: each errand has one of its own; use another",
               schedule->arrays[array].name, schedule->tasks[u].name);
    if (schedule->arrays[array].save)
      refuse(checker, 45, server, "arrays",
             "writes array '%s', which is to be saved: each errand has one of its own; leave "
             "`save` out",
             schedule->arrays[array].name);
  }
}

prem_status prem_check_servers(const prem_checker *checker) {
  const prem_schedule *schedule = checker->schedule;
  bool *is_own = NULL; /* [block] */
  int32_t servers = 0; /* more than a schedule may have were refused before */
  for (int32_t t = 0; t < schedule->task_count && servers < PREM_MAX_SERVERS; ++t) {
    const prem_task *server = &schedule->tasks[t];
    if (server->server.capacity == 0 || server->broken)
      continue;
    ++servers;
    if (!is_own)
      is_own = calloc((size_t)schedule->platform.blocks, sizeof *is_own);
    if (!is_own)
      return PREM_ERR_MEMORY;
    check_blocks(checker, server, is_own);
    check_work(checker, server);
    check_turns(checker, server);
    check_depth(checker, server);
    check_arrays(checker, t);
  }
  free(is_own);
  return PREM_OK;
}

/* ---- what comes, by the plan ----------------------------------------------------------------- */

/* So many errands are there at once, at most: those that came within a response. */
static int64_t most_at_once(const prem_server *server, int64_t response_ns) {
  return server->burst + response_ns / server->distance_ns;
}

static void check_server(const prem_checker *checker, const prem_task *task, int64_t bound_ns) {
  const prem_server *server = &task->server;
  if (bound_ns < 0) {
    refuse(checker, 57, task, "server.distance_ns",
           "no bound was found for its responses: more comes than the blocks work off in the time "
           "that the plan leaves open, or nearly so; let errands come less often, have fewer "
           "tiles, or give the server more blocks");
    return;
  }
  if (task->deadline_ns > 0 && bound_ns > task->deadline_ns)
    refuse(checker, 57, task, "deadline_ns",
           "%" PRId64 " ns are less than the %" PRId64
           " ns that an errand may take by the plan's closed windows; allow as much, or let less "
           "come",
           task->deadline_ns, bound_ns);
  if (server->capacity < most_at_once(server, bound_ns))
    refuse(checker, 56, task, "server.capacity",
           "%d is less than the %" PRId64 " errands that may be there at once: %d and one each "
           "%" PRId64 " ns in the %" PRId64 " ns of a response; give %" PRId64,
           server->capacity, most_at_once(server, bound_ns), server->burst, server->distance_ns,
           bound_ns, most_at_once(server, bound_ns));
}

prem_status prem_check_responses(const prem_checker *checker) {
  prem_status status = PREM_OK;
  for (int32_t t = 0; status == PREM_OK && t < checker->schedule->task_count; ++t) {
    const prem_task *task = &checker->schedule->tasks[t];
    int64_t bound_ns;
    if (task->server.distance_ns == 0)
      continue;
    status = prem_errand_bound(checker->schedule, t, &bound_ns);
    if (status == PREM_OK)
      check_server(checker, task, bound_ns);
  }
  return status;
}
