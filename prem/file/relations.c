/* SPDX-License-Identifier: Apache-2.0 */
/* What only all tasks of a file together show: the hyperperiod, sums of times, precedence. */
#include "prem/base/fail.h"
#include "prem/base/list.h"
#include "prem/file/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the hyperperiod ------------------------------------------------------------------------- */

static const prem_task *last_before(const prem_schedule *schedule, const prem_task *end) {
  const prem_task *last = NULL;
  for (const prem_task *task = schedule->tasks; task < end; ++task)
    if (task->period_ns > 0 && task->best_effort == end->best_effort)
      last = task;
  return last;
}

/* False: it is above the limit. */
static bool lcm_of(prem_reader *reader, bool best_effort, int64_t *lcm_ns) {
  const prem_task *above = NULL;
  *lcm_ns = prem_periods_lcm_ns(reader->schedule, best_effort, &above);
  if (above)
    prem_diag_add(reader->diag, PREM_ERROR, 19, above->place, "tasks",
                  "the least common multiple of the periods is above 2^62 ns: that of the tasks "
                  "up to '%s' is %" PRId64 " ns, '%s' has %" PRId64
                  " ns; choose periods that divide each other",
                  last_before(reader->schedule, above)->name, *lcm_ns, above->name,
                  above->period_ns);
  return !above;
}

/* What the file and its profiles leave open. */
static void complete_phase(prem_phase_spec *phase) {
  if (phase->busy_ns == 0 || phase->wcet_ns == 0)
    phase->busy_ns = phase->wcet_ns;
}

static void complete_times(prem_reader *reader) {
  for (int32_t t = 0; t < reader->schedule->task_count; ++t) {
    prem_task *task = &reader->schedule->tasks[t];
    const int64_t fetch_ns = task->phase[PREM_PREFETCH].wcet_ns;
    const int64_t store_ns = task->phase[PREM_WRITEBACK].wcet_ns;
    for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase)
      complete_phase(&task->phase[phase]);
    const bool is_sum = task->joined.exists && task->joined.wcet_ns == 0;
    if (is_sum && fetch_ns > 0 && store_ns > 0 && fetch_ns <= PREM_MAX_NS - store_ns)
      task->joined.wcet_ns = fetch_ns + store_ns;
    complete_phase(&task->joined);
  }
}

/* A tile's worst case counted from its job's release: the least that every plan adds up. */
static void judge_sums(prem_reader *reader) {
  for (int32_t t = 0; t < reader->schedule->task_count; ++t) {
    prem_task *task = &reader->schedule->tasks[t];
    int64_t left_ns = PREM_MAX_NS - task->release_ns; /* sums would not fit: each is up to 2^62 */
    for (int phase = 0; phase < PREM_PHASE_COUNT && left_ns >= 0; ++phase)
      left_ns -= task->phase[phase].wcet_ns;
    if (left_ns >= 0)
      continue;
    prem_diag_add(reader->diag, PREM_ERROR, 18, task->place, prem_key("tasks.%s", task->name).text,
                  "the release and the WCETs of one tile add up to more than 2^62 ns");
    task->broken = true;
  }
}

/* ---- precedence ------------------------------------------------------------------------------ */

enum { UNSEEN, OPEN, DONE };

typedef struct cycle_search {
  uint8_t *state;
  int32_t *path; /* tasks from the start to the one in hand */
  int32_t *edge; /* the next edge of each to follow */
  int32_t length;
} cycle_search;

/* "a -> b -> a", cut short where it is long. */
static void report_cycle(prem_reader *reader, const cycle_search *search, int32_t again) {
  enum { LONG = 320 };
  prem_schedule *schedule = reader->schedule;
  char text[LONG + 3 * PREM_NAME_BYTES] = "";
  size_t used = 0;
  int32_t first = 0, i = search->length - 1;
  while (search->path[first] != again)
    ++first;
  for (; i >= first && used < LONG; --i)
    used += (size_t)snprintf(text + used, sizeof text - used, "'%s' -> ",
                             schedule->tasks[search->path[i]].name);
  snprintf(text + used, sizeof text - used, "%s'%s'", i >= first ? "... -> " : "",
           schedule->tasks[search->path[search->length - 1]].name);
  const prem_task *last = &schedule->tasks[search->path[search->length - 1]];
  const prem_after *closing = &last->after[search->edge[search->length - 1] - 1];
  prem_diag_add(reader->diag, PREM_ERROR, 26, closing->place,
                prem_key("tasks.%s.after", last->name).text,
                "a cycle of precedence: %s; none of them could ever start", text);
  for (i = first; i < search->length; ++i)
    schedule->tasks[search->path[i]].broken = true;
}

/* Depth first from one task, without recursion: chains may be long. */
static void search_from(prem_reader *reader, cycle_search *search, int32_t start) {
  const prem_schedule *schedule = reader->schedule;
  search->path[0] = start;
  search->edge[0] = 0;
  search->length = 1;
  search->state[start] = OPEN;
  while (search->length > 0) {
    const int32_t task = search->path[search->length - 1];
    const int32_t edge = search->edge[search->length - 1]++;
    if (edge >= schedule->tasks[task].after_count) {
      search->state[task] = DONE;
      --search->length;
      continue;
    }
    const int32_t before = schedule->tasks[task].after[edge].task;
    if (search->state[before] == OPEN) {
      report_cycle(reader, search, before);
    } else if (search->state[before] == UNSEEN) {
      search->state[before] = OPEN;
      search->path[search->length] = before;
      search->edge[search->length++] = 0;
    }
  }
}

static void find_cycles(prem_reader *reader) {
  const size_t count = (size_t)reader->schedule->task_count + 1;
  cycle_search search = {.state = calloc(count, 1),
                         .path = calloc(count, sizeof *search.path),
                         .edge = calloc(count, sizeof *search.edge)};
  if (!search.state || !search.path || !search.edge)
    reader->out_of_memory = true;
  else
    for (int32_t t = 0; t < reader->schedule->task_count; ++t)
      if (search.state[t] == UNSEEN)
        search_from(reader, &search, t);
  PREM_FREE(search.state, search.path, search.edge);
}

void prem_read_relations(prem_reader *reader) {
  complete_times(reader);
  int64_t critical_ns = 0, best_effort_ns = 0;
  if (lcm_of(reader, false, &critical_ns) && lcm_of(reader, true, &best_effort_ns))
    reader->schedule->period_lcm_ns = critical_ns;
  judge_sums(reader);
  find_cycles(reader);
  prem_schedule_fits(reader->schedule, reader->diag);
}
