/* SPDX-License-Identifier: Apache-2.0 */
#include "command/arrivals.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "prem/base/random.h"
#include "prem/base/sorting.h"

enum { MOST = 1 << 20 }; /* of those that are made here */

static bool add(command_arrivals *to, const prem_arrival *arrival) {
  if (!PREM_APPEND(to->list, to->count, *arrival)) {
    command_error("--errands: %s", prem_status_text(PREM_ERR_MEMORY));
    return false;
  }
  return true;
}

static int by_time(const void *left, const void *right) {
  const prem_arrival *a = left, *b = right;
  return prem_by_numbers((int64_t[]){a->at_ns, a->task, a->first_tile},
                         (int64_t[]){b->at_ns, b->task, b->first_tile}, 3);
}

/* ---- by the model ---------------------------------------------------------------------------- */

/* A bucket has room for `burst` errands, and one goes out each `distance_ns`: it is empty at
 * `empty_ns`. At random the next one comes when there is room, or later. */
static bool add_model(const prem_schedule *schedule, int32_t t, int64_t length_ns, uint64_t *random,
                      command_arrivals *to) {
  const prem_task *task = &schedule->tasks[t];
  const int64_t distance_ns = task->server.distance_ns;
  const int32_t tiles = prem_server_tiles(task);
  int64_t at_ns = random ? prem_random_below(random, distance_ns) : 0, empty_ns = at_ns;
  while (at_ns < length_ns && to->count < MOST) {
    prem_arrival arrival = {at_ns, t, 0, tiles};
    if (random)
      arrival.first_tile = (int32_t)prem_random_below(random, task->tile_count - tiles + 1);
    if (!add(to, &arrival))
      return false;
    empty_ns = prem_max_i64(empty_ns, at_ns) + distance_ns;
    if (random && prem_random_below(random, 2) == 0)
      at_ns += prem_random_below(random, distance_ns);
    at_ns = prem_max_i64(at_ns, empty_ns - (task->server.burst - 1) * distance_ns);
  }
  return true;
}

static bool add_models(const prem_schedule *schedule, int64_t length_ns, uint64_t *random,
                       command_arrivals *to) {
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    if (task->server.capacity == 0)
      continue;
    if (task->server.distance_ns == 0) {
      command_error("--errands: server '%s' has no distance_ns, so nobody knows how often errands "
                    "come; give it one, or name a file",
                    task->name);
      return false;
    }
    if (!add_model(schedule, t, length_ns, random, to))
      return false;
  }
  return true;
}

/* ---- from a file ----------------------------------------------------------------------------- */

/* A whole number at the text, and what follows it; false: none. */
static bool take_number(char **at, int64_t most, int64_t *out) {
  char *end;
  errno = 0;
  const long long value = strtoll(*at, &end, 10);
  const bool is_one = end != *at && errno == 0 && value >= 0 && value <= most;
  *at = end;
  *out = value;
  return is_one;
}

static const prem_task *first_server(const prem_schedule *schedule) {
  for (int32_t t = 0; t < schedule->task_count; ++t)
    if (schedule->tasks[t].server.capacity > 0)
      return &schedule->tasks[t];
  return NULL;
}

typedef struct line_problem {
  char text[3 * PREM_NAME_BYTES + 160];
} line_problem;

/* at_ns,task[,first_tile,tile_count] */
static bool read_line(char *line, const prem_schedule *schedule, prem_arrival *out,
                      line_problem *why) {
  int64_t first = 0, count = 0;
  char *at = line;
  snprintf(why->text, sizeof why->text,
           "is not at_ns,task,first_tile,tile_count; write for instance 200000,%s,0,1, or "
           "200000,%s for all tiles",
           first_server(schedule)->name, first_server(schedule)->name);
  if (!take_number(&at, PREM_MAX_NS / 2, &out->at_ns) || *at++ != ',')
    return false;
  char *name = at;
  at += strcspn(at, ",\n");
  const char after = *at;
  *at++ = '\0';
  if (after == ',' && (!take_number(&at, INT32_MAX, &first) || *at++ != ',' ||
                       !take_number(&at, INT32_MAX, &count) || (*at && *at != '\n')))
    return false;
  out->task = prem_schedule_find_task(schedule, name);
  snprintf(why->text, sizeof why->text, "'%.*s' is no task with a server; '%s' is one",
           PREM_NAME_BYTES, name, first_server(schedule)->name);
  if (out->task < 0 || schedule->tasks[out->task].server.capacity == 0)
    return false;
  const prem_task *task = &schedule->tasks[out->task];
  out->first_tile = (int32_t)first;
  out->tile_count = after == ',' ? (int32_t)count : prem_server_tiles(task);
  snprintf(why->text, sizeof why->text,
           "asks for %d tiles from %d on; '%s' has %d, and one errand %d at most: ask for less",
           out->tile_count, out->first_tile, task->name, task->tile_count, prem_server_tiles(task));
  return prem_errand_fits(task, out->first_tile, out->tile_count);
}

static bool read_file(const char *path, const prem_schedule *schedule, command_arrivals *to) {
  FILE *file = strcmp(path, "-") ? fopen(path, "r") : stdin;
  char *line = NULL;
  size_t room = 0;
  bool good = file != NULL;
  if (!file)
    command_error("--errands: %s: %s; name a file, `random` or `dense`", path, strerror(errno));
  for (int64_t number = 1; good && getline(&line, &room, file) > 0; ++number) {
    prem_arrival arrival;
    line_problem why;
    if (line[0] == '#' || line[0] == '\n' || (number == 1 && strncmp(line, "at_ns", 5) == 0))
      continue;
    if (read_line(line, schedule, &arrival, &why)) {
      good = add(to, &arrival);
    } else {
      command_error("%s:%" PRId64 ": %s", path, number, why.text);
      good = false;
    }
  }
  free(line);
  if (file && file != stdin)
    fclose(file);
  return good;
}

/* How many of a server's errands come sooner than its model lets them: into a full bucket. */
static int64_t count_too_soon(const command_arrivals *of, int32_t task, const prem_server *server,
                              int64_t *all) {
  const int64_t room_ns = (server->burst - 1) * server->distance_ns;
  int64_t empty_ns = 0, too_soon = 0;
  *all = 0;
  for (int64_t i = 0; i < of->count; ++i) {
    if (of->list[i].task != task)
      continue;
    ++*all;
    too_soon += empty_ns - of->list[i].at_ns > room_ns;
    empty_ns = prem_max_i64(empty_ns, of->list[i].at_ns) + server->distance_ns;
  }
  return too_soon;
}

static void tell_too_soon(const char *path, const prem_schedule *schedule,
                          const command_arrivals *of) {
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_server *server = &schedule->tasks[t].server;
    int64_t all = 0, too_soon = 0;
    if (server->capacity > 0 && server->distance_ns > 0)
      too_soon = count_too_soon(of, t, server, &all);
    if (too_soon > 0)
      command_note("%s: %" PRId64 " of %" PRId64 " errands of server '%s' come sooner than its "
                   "distance_ns and burst let them: the bound by the plan is not for these runs",
                   path, too_soon, all, schedule->tasks[t].name);
  }
}

/* ---- all ------------------------------------------------------------------------------------- */

int command_arrivals_make(const char *what, const prem_schedule *schedule, int64_t length_ns,
                          uint64_t seed, command_arrivals *out) {
  const prem_task *server = first_server(schedule);
  bool good = false;
  *out = (command_arrivals){0};
  if (!what) {
    if (server)
      command_note("server '%s' gets no errands: --errands says which come", server->name);
    return COMMAND_DONE;
  }
  if (!server)
    command_error("--errands: no task of '%s' has a `server`; give one a `server`, or leave the "
                  "option out",
                  schedule->name);
  else if (strcmp(what, "random") == 0)
    good = add_models(schedule, length_ns, &seed, out);
  else if (strcmp(what, "dense") == 0)
    good = add_models(schedule, length_ns, NULL, out);
  else
    good = read_file(what, schedule, out);
  if (good && out->count > 0)
    qsort(out->list, (size_t)out->count, sizeof *out->list, by_time);
  if (good)
    tell_too_soon(what, schedule, out);
  return good ? COMMAND_DONE : COMMAND_INVALID;
}
