/* SPDX-License-Identifier: Apache-2.0 */
/* Which jobs read, write and depend on which stream. */
#include "runtime/core/courier.h"

#include <stdlib.h>
#include <string.h>

#include "prem/base/numbers.h"
#include "runtime/core/courier_ports.h"

/* Three hyperperiods are open at most, of one the host may not have been told yet that it is over,
 * and one is read behind its end. */
enum { MIN_ROWS = 5 };

static int64_t period_of(const prem_program *program, const prem_task *task) {
  return task->period_ns ? task->period_ns : program->hyperperiod_ns;
}

static const prem_task *task_of(const prem_courier *courier, int32_t task) {
  return &courier->program->schedule->tasks[task];
}

static void *new_zeroed(size_t count, size_t bytes) {
  return calloc(count + 1, bytes);
}

/* ---- ports of tasks ------------------------------------------------------------------------- */

static void find_ports(prem_courier *courier, int32_t t) {
  const prem_task *task = task_of(courier, t);
  prem_live_task *live = &courier->tasks[t];
  live->jobs = courier->program->tasks[t].jobs;
  live->first_job = courier->job_count;
  live->period_ns = task->period_ns;
  live->release_ns = task->release_ns;
  live->deadline_ns = task->deadline_ns;
  courier->job_count += live->jobs;
  memset(live->stream_of_port, -1, sizeof live->stream_of_port);
  live->read_phase = PREM_PREFETCH;
  live->write_phase = PREM_WRITEBACK;
  if (!task->definition)
    return;
  if (task->definition->compatible)
    live->read_phase = live->write_phase = PREM_COMPUTE;
  for (int32_t p = 0; p < task->definition->port_count; ++p) {
    const int32_t stream = prem_schedule_live_port(courier->program->schedule, task->arrays[p]);
    live->stream_of_port[p] = (int16_t)stream;
    if (stream < 0)
      continue;
    if (task->definition->ports[p].access == PREM_OUT) {
      live->writes = true;
      courier->streams[stream].writer = t;
    } else {
      live->reads = true;
    }
  }
}

static bool reads_stream(const prem_live_task *live, int32_t stream) {
  for (int32_t p = 0; p < PREM_MAX_PORTS; ++p)
    if (live->stream_of_port[p] == stream)
      return true;
  return false;
}

/* ---- sources -------------------------------------------------------------------------------- */

/* Its period is the shortest of its readers, its release the earliest, and it is waited with as
 * long as all of them can wait. */
static void time_source(prem_courier *courier, int32_t s) {
  prem_stream *source = &courier->streams[s];
  source->period_ns = source->release_ns = INT64_MAX;
  for (int32_t t = 0; t < courier->program->schedule->task_count; ++t) {
    const prem_task *task = task_of(courier, t);
    if (!reads_stream(&courier->tasks[t], s))
      continue;
    source->period_ns = prem_min_i64(source->period_ns, period_of(courier->program, task));
    source->release_ns = prem_min_i64(source->release_ns, task->release_ns);
  }
  source->jobs = (int32_t)(courier->program->hyperperiod_ns / source->period_ns);
  source->bound_ns = source->period_ns;
  for (int32_t t = 0; t < courier->program->schedule->task_count; ++t) {
    const prem_task *task = task_of(courier, t);
    if (task->deadline_ns > 0 && reads_stream(&courier->tasks[t], s))
      source->bound_ns =
          prem_min_i64(source->bound_ns, task->release_ns - source->release_ns + task->deadline_ns);
  }
}

/* A longer period's job reads what was chosen last when it is released. */
static prem_status read_source(prem_courier *courier, int32_t t, int32_t s, prem_gate *gate) {
  const prem_stream *source = &courier->streams[s];
  const prem_task *task = task_of(courier, t);
  const int32_t jobs = courier->program->tasks[t].jobs;
  *gate = (prem_gate){.source = s, .reads = true, .job_of = new_zeroed((size_t)jobs, 4)};
  if (!gate->job_of)
    return PREM_ERR_MEMORY;
  for (int32_t j = 0; j < jobs; ++j)
    gate->job_of[j] = (int32_t)((j * task->period_ns + task->release_ns - source->release_ns) /
                                source->period_ns);
  return PREM_OK;
}

/* ---- what depends on a source --------------------------------------------------------------- */

/* Marks the tasks that the same job of `task` comes after, directly or over others. `path` has room
 * for all tasks. */
static void mark_before(const prem_courier *courier, int32_t task, bool *is_before, int32_t *path) {
  int32_t length = 0;
  memset(is_before, 0, (size_t)courier->program->schedule->task_count * sizeof *is_before);
  path[length++] = task;
  while (length > 0) {
    const prem_task *of = task_of(courier, path[--length]);
    for (int32_t a = 0; a < of->after_count; ++a) {
      const int32_t before = of->after[a].task;
      if (of->after[a].latest || is_before[before])
        continue;
      is_before[before] = true;
      path[length++] = before;
    }
  }
}

static bool passes_data(const prem_task *from, const prem_task *to) {
  for (int32_t w = 0; from->definition && w < from->definition->port_count; ++w)
    for (int32_t r = 0; to->definition && r < to->definition->port_count; ++r)
      if (from->definition->ports[w].access == PREM_OUT &&
          to->definition->ports[r].access == PREM_IN && from->arrays[w] == to->arrays[r])
        return true;
  return false;
}

static bool has_gate(const prem_live_task *live, const prem_gate *gate) {
  for (int32_t g = 0; g < live->gate_count; ++g)
    if (live->gates[g].source == gate->source && live->gates[g].job_of == gate->job_of)
      return true;
  return false;
}

static prem_status add_gate(prem_live_task *live, const prem_gate *gate) {
  prem_gate *grown = realloc(live->gates, ((size_t)live->gate_count + 1) * sizeof *grown);
  if (!grown)
    return PREM_ERR_MEMORY;
  live->gates = grown;
  live->gates[live->gate_count++] = *gate;
  return PREM_OK;
}

/* What its predecessor depends on, a task that reads from it depends on. */
static prem_status inherit(prem_courier *courier, int32_t from, int32_t to, bool *changed) {
  prem_live_task *heir = &courier->tasks[to];
  for (int32_t g = 0; g < courier->tasks[from].gate_count; ++g) {
    prem_gate gate = courier->tasks[from].gates[g];
    gate.reads = false;
    if (has_gate(heir, &gate))
      continue;
    const prem_status status = add_gate(heir, &gate);
    if (status)
      return status;
    *changed = true;
  }
  return PREM_OK;
}

/* What the task depends on through those before it. */
static prem_status inherit_all(prem_courier *courier, int32_t to, const bool *is_before,
                               bool *changed) {
  prem_status status = PREM_OK;
  for (int32_t from = 0; !status && from < courier->program->schedule->task_count; ++from)
    if (is_before[from] && courier->tasks[from].gate_count > 0 &&
        passes_data(task_of(courier, from), task_of(courier, to)))
      status = inherit(courier, from, to, changed);
  return status;
}

static prem_status spread_gates(prem_courier *courier) {
  const int32_t count = courier->program->schedule->task_count;
  bool *is_before = new_zeroed((size_t)count, sizeof *is_before);
  int32_t *path = new_zeroed((size_t)count, sizeof *path);
  prem_status status = is_before && path ? PREM_OK : PREM_ERR_MEMORY;
  for (bool changed = true; !status && changed;) {
    changed = false;
    for (int32_t t = 0; !status && t < count; ++t) {
      if (task_of(courier, t)->after_count == 0)
        continue;
      mark_before(courier, t, is_before, path);
      status = inherit_all(courier, t, is_before, &changed);
    }
  }
  free(is_before);
  free(path);
  return status;
}

static prem_status add_user(prem_courier *courier, int32_t t, const prem_gate *gate) {
  prem_stream *source = &courier->streams[gate->source];
  prem_source_user *grown =
      realloc(source->users, ((size_t)source->user_count + 1) * sizeof *grown);
  if (!grown)
    return PREM_ERR_MEMORY;
  source->users = grown;
  prem_source_user *user = &source->users[source->user_count++];
  *user = (prem_source_user){.task = t, .done_by = new_zeroed((size_t)source->jobs, 4)};
  if (!user->done_by)
    return PREM_ERR_MEMORY;
  for (int32_t k = 0; k < source->jobs; ++k)
    for (int32_t j = 0; j < courier->program->tasks[t].jobs; ++j)
      user->done_by[k] += gate->job_of[j] <= k;
  return PREM_OK;
}

/* By input, as the file has them: the first one's frames give results their number. Of one input in
 * the order in which they were found. */
static void sort_gates(prem_live_task *live) {
  for (int32_t g = 1; g < live->gate_count; ++g) {
    const prem_gate gate = live->gates[g];
    int32_t at = g;
    for (; at > 0 && live->gates[at - 1].source > gate.source; --at)
      live->gates[at] = live->gates[at - 1];
    live->gates[at] = gate;
  }
}

static prem_status find_gates(prem_courier *courier) {
  const int32_t count = courier->program->schedule->task_count;
  prem_status status = PREM_OK;
  for (int32_t t = 0; t < count; ++t)
    for (int32_t s = 0; !status && s < courier->source_count; ++s) {
      prem_gate gate;
      if (!reads_stream(&courier->tasks[t], s))
        continue;
      status = read_source(courier, t, s, &gate);
      if (!status && (status = add_gate(&courier->tasks[t], &gate)))
        free(gate.job_of);
    }
  if (!status)
    status = spread_gates(courier);
  for (int32_t t = 0; t < count; ++t) {
    sort_gates(&courier->tasks[t]);
    for (int32_t g = 0; !status && g < courier->tasks[t].gate_count; ++g)
      status = add_user(courier, t, &courier->tasks[t].gates[g]);
  }
  return status;
}

/* ---- sinks ---------------------------------------------------------------------------------- */

static void find_due(const prem_courier *courier, const prem_stream *sink, const prem_record *table,
                     int32_t count, int64_t *due_ns) {
  const int32_t phase = courier->tasks[sink->writer].write_phase;
  for (int32_t i = 0; i < count; ++i)
    if (table[i].task == sink->writer && table[i].phase == phase)
      due_ns[table[i].job] = prem_min_i64(due_ns[table[i].job], table[i].planned_ns);
}

/* By one of the plans. */
static void find_dues(const prem_courier *courier, const prem_stream *sink,
                      const prem_program *plan, int64_t *due_ns) {
  const prem_task *task = task_of(courier, sink->writer);
  for (int32_t j = 0; j < sink->jobs; ++j)
    due_ns[j] = INT64_MAX;
  for (int32_t b = 0; b < plan->block_count; ++b) {
    const prem_block_program *block = &plan->blocks[b];
    find_due(courier, sink, block->memory, block->memory_count, due_ns);
    find_due(courier, sink, block->compute, block->compute_count, due_ns);
  }
  for (int32_t j = 0; j < sink->jobs; ++j) /* warm-up comes before its hyperperiod's time 0 */
    due_ns[j] = prem_max_i64(due_ns[j], j * task->period_ns + task->release_ns);
}

static prem_status time_sink(prem_courier *courier, prem_stream *sink) {
  const prem_task *task = task_of(courier, sink->writer);
  sink->period_ns = period_of(courier->program, task);
  sink->release_ns = task->release_ns;
  sink->jobs = courier->program->tasks[sink->writer].jobs;
  sink->bound_ns = task->deadline_ns > 0 ? task->deadline_ns : sink->period_ns;
  const prem_live_task *writer = &courier->tasks[sink->writer]; /* its gates are in order */
  sink->has_inputs = writer->gate_count > 0 &&
                     writer->gates[0].source != writer->gates[writer->gate_count - 1].source;
  sink->due_ns =
      new_zeroed((size_t)sink->jobs * (size_t)courier->program->plan_count, sizeof *sink->due_ns);
  if (!sink->due_ns)
    return PREM_ERR_MEMORY;
  for (int32_t p = 0; p < courier->program->plan_count; ++p)
    find_dues(courier, sink, courier->program->plans[p], sink->due_ns + p * sink->jobs);
  return PREM_OK;
}

/* ---- rings ---------------------------------------------------------------------------------- */

static prem_status make_ring(prem_courier *courier, prem_stream *stream) {
  uint64_t room = 1;
  while (room < (uint64_t)(courier->rows * stream->jobs))
    room *= 2;
  stream->ring_mask = room - 1;
  stream->tickets = new_zeroed((size_t)room, sizeof *stream->tickets);
  stream->decisions = new_zeroed((size_t)room, sizeof *stream->decisions);
  return stream->tickets && stream->decisions ? PREM_OK : PREM_ERR_MEMORY;
}

/* How many hyperperiods back an edge asks for the end of a job. */
static int64_t farthest_back(const prem_program *program) {
  int64_t back = 0;
  for (int32_t t = 0; t < program->schedule->task_count; ++t)
    for (int32_t a = 0; a < program->tasks[t].edge_count; ++a) {
      const prem_dependency *after = &program->tasks[t].after[a];
      const int32_t jobs = program->tasks[after->task].jobs;
      for (int32_t j = 0; j < program->tasks[t].jobs; ++j)
        back = prem_max_i64(back, -prem_floor_div((int64_t)after->needed_jobs[j] - 1, jobs));
    }
  return back;
}

/* For how many hyperperiods results wait to be shown. */
static int64_t longest_shown_late(const prem_program *program) {
  int64_t longest = 0;
  for (int32_t s = 0; s < program->schedule->live_count; ++s)
    longest =
        prem_max_i64(longest, program->schedule->live[s].publish_ns / program->hyperperiod_ns + 1);
  return longest;
}

/* ---- the whole ------------------------------------------------------------------------------ */

prem_status prem_courier_compile(prem_courier *courier) {
  const prem_schedule *schedule = courier->program->schedule;
  courier->trigger = -1;
  int64_t back = 0;
  for (int32_t p = 0; p < courier->program->plan_count; ++p)
    back = prem_max_i64(back, farthest_back(courier->program->plans[p]));
  /* and the one that is made ready ahead */
  const int64_t needed = MIN_ROWS + back + longest_shown_late(courier->program) + 1;
  for (courier->rows = 1; courier->rows < needed; courier->rows *= 2) {
  }
  for (int32_t s = 0; s < courier->stream_count; ++s) {
    prem_stream *stream = &courier->streams[s];
    stream->port = schedule->live[s];
    stream->port.copy.demand = NULL; /* the schedule's */
    if (!stream->port.is_output)     /* a frame is chosen before it is copied */
      stream->port.lead_ns += stream->port.copy.wcet_ns;
    stream->face = &courier->face->streams[s];
    stream->writer = stream->kept_slot = -1;
    prem_channel_init(&stream->face->channel, &stream->producer, &stream->consumer,
                      stream->port.buffers, stream->port.kind != PREM_LIVE_SAMPLING, 0);
    if (stream->port.kind == PREM_LIVE_TRIGGER)
      courier->trigger = s;
    courier->max_lead_ns = prem_max_i64(courier->max_lead_ns, stream->port.lead_ns);
  }
  for (int32_t t = 0; t < schedule->task_count; ++t)
    find_ports(courier, t);
  for (int32_t s = 0; s < courier->source_count; ++s)
    time_source(courier, s);
  prem_status status = find_gates(courier);
  for (int32_t s = 0; !status && s < courier->stream_count; ++s) {
    if (s >= courier->source_count)
      status = time_sink(courier, &courier->streams[s]);
    if (!status)
      status = make_ring(courier, &courier->streams[s]);
  }
  return status;
}

static void free_stream(prem_stream *stream) {
  for (int32_t u = 0; u < stream->user_count; ++u)
    free(stream->users[u].done_by);
  free(stream->users);
  free(stream->due_ns);
  free((void *)stream->tickets);
  free(stream->decisions);
}

void prem_courier_free_ports(prem_courier *courier) {
  for (int32_t t = 0; courier->tasks && t < courier->program->schedule->task_count; ++t) {
    for (int32_t g = 0; g < courier->tasks[t].gate_count; ++g)
      if (courier->tasks[t].gates[g].reads)
        free(courier->tasks[t].gates[g].job_of);
    free(courier->tasks[t].gates);
  }
  for (int32_t s = 0; courier->streams && s < courier->stream_count; ++s)
    free_stream(&courier->streams[s]);
  free(courier->tasks);
  free(courier->streams);
}
