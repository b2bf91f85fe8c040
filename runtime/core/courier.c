/* SPDX-License-Identifier: Apache-2.0 */
/* A courier on the host: its decisions, what executors ask of them, making one. */
#include "runtime/core/courier_steps.h"

#include <stdlib.h>
#include <string.h>

#include "prem/base/numbers.h"
#include "runtime/core/courier_ports.h"
#include "runtime/core/courier_versions.h"

enum { PAGE_BYTES = 4096 }; /* what a GPU shares with the host begins at a page */

void prem_courier_look(prem_courier *c) {
  c->request = prem_word_far(&c->face->request.value);
  if (c->trigger >= 0)
    c->came = prem_word_far(&c->streams[c->trigger].face->channel.filled.value);
}

int64_t prem_courier_step(prem_courier *c, int64_t now_ns) {
  int64_t completed = INT64_MAX;
  for (int32_t t = 0; t < c->task_count; ++t) {
    c->has_over |= prem_courier_see(c, t, c->jobs_over(c->backend, t));
    completed = prem_min_i64(completed, prem_courier_rounds(c, t));
  }
  c->completed_now = completed;
  c->wish = prem_word_far(&c->face->wish.value);
  c->newest = prem_word_far(&c->face->newest.value);
  return prem_courier_decide(c, now_ns, true);
}

/* ---- what executors ask --------------------------------------------------------------------- */

static bool has_tickets(const prem_courier *c, int64_t hyperperiod, const prem_record *record,
                        bool of_sinks) {
  const prem_live_task *task = &c->tasks[record->task];
  prem_ticket ticket;
  for (int32_t g = 0; !of_sinks && g < task->gate_count; ++g) {
    const prem_gate *gate = &task->gates[g];
    const int64_t job = hyperperiod * c->streams[gate->source].jobs + gate->job_of[record->job];
    if (gate->reads && !prem_courier_ticket(c, gate->source, job, &ticket))
      return false;
  }
  for (int32_t p = 0; of_sinks && p < PREM_MAX_PORTS; ++p) {
    const int32_t s = task->stream_of_port[p];
    if (s >= c->source_count &&
        !prem_courier_ticket(c, s, hyperperiod * c->streams[s].jobs + record->job, &ticket))
      return false;
  }
  return true;
}

bool prem_courier_allows(const prem_courier *c, int64_t hyperperiod, const prem_record *record) {
  const prem_live_task *task = &c->tasks[record->task];
  uint32_t flags;
  if (task->left_out &&
      !prem_courier_task_ticket(task, hyperperiod * task->jobs + record->job, &flags))
    return false;
  if (c->version_count > 0 && !prem_courier_has_versions(c, hyperperiod, record))
    return false;
  if (task->reads && record->phase == task->read_phase &&
      !has_tickets(c, hyperperiod, record, false))
    return false;
  return !task->writes || record->phase != task->write_phase ||
         has_tickets(c, hyperperiod, record, true);
}

bool prem_courier_skips(const prem_courier *c, int64_t hyperperiod, const prem_record *record) {
  const prem_live_task *task = &c->tasks[record->task];
  prem_ticket ticket;
  uint32_t flags;
  if (task->left_out &&
      prem_courier_task_ticket(task, hyperperiod * task->jobs + record->job, &flags) && flags)
    return true;
  for (int32_t g = 0; g < task->gate_count; ++g) {
    const prem_gate *gate = &task->gates[g];
    const int64_t job = hyperperiod * c->streams[gate->source].jobs + gate->job_of[record->job];
    if (prem_courier_ticket(c, gate->source, job, &ticket) && (ticket.flags & PREM_TICKET_SKIP))
      return true;
  }
  return false;
}

void prem_courier_slots(const prem_courier *c, int64_t hyperperiod, const prem_record *record,
                        int32_t slots[PREM_MAX_PORTS]) {
  const prem_live_task *task = &c->tasks[record->task];
  for (int32_t p = 0; p < PREM_MAX_PORTS; ++p) {
    const int32_t s = task->stream_of_port[p];
    int32_t job = record->job;
    prem_ticket ticket = {0};
    for (int32_t g = 0; s >= 0 && s < c->source_count && g < task->gate_count; ++g)
      if (task->gates[g].reads && task->gates[g].source == s)
        job = task->gates[g].job_of[record->job];
    if (s >= 0)
      prem_courier_ticket(c, s, hyperperiod * c->streams[s].jobs + job, &ticket);
    slots[p] = ticket.slot;
  }
  if (c->version_count > 0)
    prem_courier_version_slots(c, hyperperiod, record, slots);
}

/* ---- making and freeing --------------------------------------------------------------------- */

static void *new_aligned(size_t bytes, size_t to) {
  const size_t rounded = (bytes + to - 1) / to * to;
  void *room = aligned_alloc(to, rounded);
  if (room)
    memset(room, 0, rounded);
  return room;
}

static prem_status make(prem_courier *c) {
  const prem_schedule *schedule = c->program->schedule;
  const size_t tasks = (size_t)schedule->task_count;
  c->stream_count = schedule->live_count;
  c->source_count = schedule->live_input_count;
  c->task_count = schedule->task_count;
  c->hyperperiod_ns = c->program->hyperperiod_ns;
  c->plan_count = c->program->plan_count;
  memcpy(c->plan_of_mode, c->program->plan_of_mode, sizeof c->plan_of_mode);
  c->near = new_aligned(sizeof *c->near, PREM_LINE_BYTES);
  c->face = new_aligned(prem_courier_face_bytes(c), PAGE_BYTES);
  c->streams = calloc((size_t)c->stream_count, sizeof *c->streams);
  c->tasks = calloc(tasks, sizeof *c->tasks);
  c->over = calloc(2 * tasks, sizeof *c->over);
  if (!c->near || !c->face || !c->streams || !c->tasks || !c->over)
    return PREM_ERR_MEMORY;
  c->over_now = c->over + tasks;
  c->task_faces = (prem_task_face *)(c->face + 1);
  atomic_init(&c->near->last.value, UINT64_MAX);
  prem_status status = prem_courier_compile(c);
  for (size_t t = 0; t < tasks; ++t)
    c->has_deadlines |= c->tasks[t].deadline_ns > 0;
  c->mode_of = calloc((size_t)c->rows + 1, sizeof *c->mode_of);
  c->snapshot_of = calloc((size_t)c->rows + 1, sizeof *c->snapshot_of);
  c->params = calloc(PREM_SNAPSHOTS * tasks, sizeof *c->params); /* no memory until it is used */
  c->mode_begun = -1;
  c->ready = -1;
  c->fold_at = UINT32_C(1) << 31;
  c->mode_count = prem_max_i32(schedule->operating_mode_count, 1);
  if (!status && (!c->mode_of || !c->snapshot_of || !c->params))
    return PREM_ERR_MEMORY;
  if (!status)
    status = prem_courier_compile_tasks(c);
  return status ? status : prem_courier_compile_versions(c);
}

prem_status prem_courier_new(const prem_program *program, prem_courier **out) {
  *out = NULL;
  prem_courier *c = new_aligned(sizeof *c, PREM_LINE_BYTES);
  if (!c)
    return PREM_ERR_MEMORY;
  c->program = program;
  const prem_status status = make(c);
  if (status)
    prem_courier_free(c);
  else
    *out = c;
  return status;
}

void prem_courier_free(prem_courier *courier) {
  if (!courier)
    return;
  prem_courier_free_versions(courier);
  prem_courier_free_tasks(courier);
  prem_courier_free_ports(courier);
  prem_trace_free(courier->trace);
  free(courier->params);
  free(courier->mode_of);
  free(courier->snapshot_of);
  free(courier->over);
  free(courier->face);
  free(courier->near);
  free(courier);
}

void prem_courier_fold_at(prem_courier *c, uint32_t phases) {
  c->fold_at = phases;
}

void prem_courier_count_from(prem_courier *c, int64_t hyperperiod, uint64_t frame) {
  c->first_hyperperiod = hyperperiod;
  for (int32_t s = 0; s < c->stream_count; ++s) {
    prem_stream *stream = &c->streams[s];
    prem_channel_init(&stream->face->channel, &stream->producer, &stream->consumer,
                      stream->port.buffers, stream->producer.is_queue, frame);
    stream->next = stream->oldest = hyperperiod * stream->jobs;
    stream->unused = frame;
  }
  prem_courier_count_versions_from(c, hyperperiod);
  c->begun = c->completed = c->kept = hyperperiod;
  atomic_store(&c->near->permitted.value, (uint64_t)hyperperiod);
  atomic_store(&c->face->completed.value, (uint64_t)hyperperiod);
  for (int32_t t = 0; t < c->task_count; ++t) {
    c->over[t] = c->over_now[t] = hyperperiod * c->tasks[t].jobs;
    if (c->tasks[t].left_out)
      c->tasks[t].left_out->next = c->tasks[t].left_out->judged = c->over[t];
  }
}

prem_status prem_courier_make_room(prem_courier *c, const prem_live_request *request) {
  c->whole = request->trace;
  const prem_status status = prem_trace_new(c->program->schedule, c->rows, 0, &c->trace);
  if (status)
    return status;
  c->epoch_ns = c->trace->epoch_ns;
  c->job_end_ns = c->trace->job_end_ns;
  if (c->whole) {
    prem_trace_clear(c->whole);
    c->kept_rows = c->whole->hyperperiod_capacity;
    c->kept_epoch_ns = c->whole->epoch_ns;
    c->kept_end_ns = c->whole->job_end_ns;
    c->kept_mode_of = c->plan_count > 1 ? c->whole->operating_mode : NULL;
  }
  return PREM_OK;
}

void prem_courier_begin(prem_courier *c, const prem_courier_setup *setup) {
  enum { DEFAULT_TIMEOUT_S = 10 };
  c->jobs_over = setup->jobs_over;
  c->backend = setup->backend;
  c->base_ns = setup->base_ns;
  c->start_ns = setup->start_ns;
  c->host_start_ns = setup->base_ns + setup->start_ns;
  c->follows_host = setup->request->follows_host && c->trigger < 0;
  c->step_ns = prem_max_i64(setup->step_ns, 1);
  c->ahead_ns = c->max_lead_ns + setup->slack_ns;
  c->submit_timeout_ns = setup->request->submit_timeout_ns;
  c->listens = setup->request->events;
  if (c->submit_timeout_ns <= 0)
    c->submit_timeout_ns = (int64_t)DEFAULT_TIMEOUT_S * 1000000000;
}

void prem_courier_finish(prem_courier *c) {
  if (c->whole)
    c->whole->hyperperiods = (int64_t)prem_word_far(&c->face->kept.value);
}

void prem_courier_count(const prem_courier *c, int32_t stream, prem_live_counts *out) {
  *out = (prem_live_counts){0};
  if (stream < 0 || stream >= c->stream_count)
    return;
  const prem_stream *of = &c->streams[stream];
  uint64_t counts[PREM_COUNT_KINDS];
  for (int k = 0; k < PREM_COUNT_KINDS; ++k)
    counts[k] = prem_word_far(&of->face->counts[k]);
  *out = (prem_live_counts){.frames = prem_channel_count(&of->face->channel),
                            .taken = counts[PREM_COUNT_TAKEN],
                            .repeated = counts[PREM_COUNT_REPEATED],
                            .missing = counts[PREM_COUNT_MISSING],
                            .stale = counts[PREM_COUNT_STALE],
                            .dropped = counts[PREM_COUNT_DROPPED],
                            .late = counts[PREM_COUNT_LATE],
                            .aborted = counts[PREM_COUNT_ABORTED],
                            .behind_ns = (int64_t)counts[PREM_COUNT_BEHIND]};
}

void prem_courier_count_task(const prem_courier *c, int32_t task, prem_live_task_counts *out) {
  *out = (prem_live_task_counts){0};
  if (task < 0 || task >= c->task_count)
    return;
  const prem_word *counts = c->task_faces[task].counts;
  *out = (prem_live_task_counts){.overruns = prem_word_far(&counts[PREM_TASK_COUNT_OVERRUNS]),
                                 .skipped = prem_word_far(&counts[PREM_TASK_COUNT_SKIPPED]),
                                 .aborted = prem_word_far(&counts[PREM_TASK_COUNT_ABORTED]),
                                 .off = prem_word_far(&counts[PREM_TASK_COUNT_OFF])};
}
