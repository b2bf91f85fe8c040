/* SPDX-License-Identifier: Apache-2.0 */
/* The decisions of a live session. */
#include "runtime/core/courier.h"

#include <stdlib.h>
#include <string.h>

#include "prem/base/numbers.h"
#include "runtime/core/courier_ports.h"
#include "runtime/core/record_rules.h"

enum { OPEN_HYPERPERIODS = 3 }; /* begun by one block and not over on all */

/* ---- words ---------------------------------------------------------------------------------- */

static void put(prem_live_word *word, uint64_t value) {
  atomic_store_explicit(&word->value, value, memory_order_release);
}

static int64_t get(const prem_live_word *word) {
  return (int64_t)atomic_load_explicit(&word->value, memory_order_acquire);
}

static void count(prem_stream *stream, int kind) {
  atomic_fetch_add_explicit(&stream->counts[kind], 1, memory_order_relaxed);
}

/* Something will be due then. */
static void wake_at(prem_courier *c, int64_t at_ns) {
  c->wake_ns = prem_min_i64(c->wake_ns, at_ns);
}

static bool is_due(prem_courier *c, int64_t at_ns) {
  if (c->now_ns >= at_ns)
    return true;
  wake_at(c, at_ns);
  return false;
}

/* ---- jobs ----------------------------------------------------------------------------------- */

static int64_t job_release_ns(const prem_courier *c, const prem_stream *stream, int64_t job) {
  return prem_courier_epoch_ns(c, job / stream->jobs) + job % stream->jobs * stream->period_ns +
         stream->release_ns;
}

static prem_decision *decision_of(const prem_stream *stream, int64_t job) {
  return &stream->decisions[(uint64_t)job & stream->ring_mask];
}

/* May the next job of a stream be decided: its hyperperiod begins, and its ticket has room? */
static bool may_decide(const prem_courier *c, const prem_stream *stream) {
  return stream->next / stream->jobs < get(&c->permitted) &&
         stream->next - stream->oldest <= (int64_t)stream->ring_mask;
}

static void decide(prem_courier *c, prem_stream *stream, const prem_decision *decision) {
  const prem_ticket ticket = decision->ticket;
  const uint64_t word =
      ((uint64_t)stream->next + 1) << 16 | (uint64_t)ticket.flags << 8 | (uint64_t)ticket.slot;
  *decision_of(stream, stream->next) = *decision;
  atomic_store_explicit(&stream->tickets[(uint64_t)stream->next & stream->ring_mask], word,
                        memory_order_release);
  ++stream->next;
  ++c->decided;
}

/* ---- sources: choosing frames --------------------------------------------------------------- */

static void skip_job(prem_courier *c, prem_stream *source) {
  count(source, PREM_COUNT_MISSING);
  decide(c, source, &(prem_decision){.ticket = {.flags = PREM_TICKET_SKIP}});
}

static void use_frame(prem_courier *c, prem_stream *source, const prem_decision *frame) {
  count(source, frame->ticket.flags & PREM_TICKET_REPEAT ? PREM_COUNT_REPEATED : PREM_COUNT_TAKEN);
  decide(c, source, frame);
}

static void keep_slot(prem_stream *source, int32_t slot) {
  if (source->port->kind == PREM_LIVE_SAMPLING || source->port->missing != PREM_MISSING_REPEAT)
    return;
  prem_channel_hold(&source->channel, slot);
  if (source->kept_slot >= 0)
    prem_channel_release(&source->channel, source->kept_slot);
  source->kept_slot = slot;
}

/* The frame that was just taken. */
static prem_decision new_frame(prem_stream *source, int32_t slot, uint64_t number) {
  prem_decision frame = {.ticket = {.slot = slot}, .note = source->channel.note[slot]};
  frame.note.input = number;
  source->last = frame;
  source->has_last = true;
  keep_slot(source, slot);
  return frame;
}

static void repeat_frame(prem_courier *c, prem_stream *source) {
  prem_decision frame = source->last;
  frame.ticket.flags = PREM_TICKET_REPEAT;
  frame.note.flags = PREM_FRAME_REPEATED;
  prem_channel_hold(&source->channel, frame.ticket.slot);
  use_frame(c, source, &frame);
}

static bool take_next(prem_courier *c, prem_stream *source) {
  uint64_t number;
  const int32_t slot = prem_channel_take(&source->channel, &number);
  if (slot < 0)
    return false;
  const prem_decision frame = new_frame(source, slot, number);
  use_frame(c, source, &frame);
  return true;
}

/* Of a sampling port: the newest frame, if it may be used. */
typedef enum sample { SAMPLE_NONE, SAMPLE_STALE, SAMPLE_OLD, SAMPLE_NEW } sample;

static bool is_too_old(const prem_courier *c, const prem_stream *source, const prem_note *note) {
  const int64_t age_ns = c->base_ns + c->now_ns - note->captured_ns;
  return source->port->max_age_ns > 0 && age_ns > source->port->max_age_ns;
}

/* SAMPLE_OLD and SAMPLE_NEW hold the slot of *out. */
static sample look_at_newest(const prem_courier *c, prem_stream *source, prem_decision *out) {
  uint64_t number;
  const uint64_t new_from = source->channel.first;
  const bool had_one = source->channel.has_taken;
  const int32_t slot = prem_channel_take(&source->channel, &number);
  if (slot < 0)
    return SAMPLE_NONE;
  const bool is_new = !had_one || number >= new_from;
  if (is_too_old(c, source, &source->channel.note[slot])) {
    prem_channel_release(&source->channel, slot);
    return SAMPLE_STALE;
  }
  *out = (prem_decision){.ticket = {.slot = slot}, .note = source->channel.note[slot]};
  out->note.input = number;
  return is_new ? SAMPLE_NEW : SAMPLE_OLD;
}

/* False: it is waited with. */
static bool do_without(prem_courier *c, prem_stream *source, int64_t job) {
  if (source->port->missing == PREM_MISSING_WAIT &&
      !is_due(c, job_release_ns(c, source, job) + source->bound_ns))
    return false;
  skip_job(c, source);
  return true;
}

static bool sample_frame(prem_courier *c, prem_stream *source) {
  prem_decision frame;
  const sample found = look_at_newest(c, source, &frame);
  if (found == SAMPLE_NEW ||
      (found == SAMPLE_OLD && source->port->missing == PREM_MISSING_REPEAT)) {
    if (found == SAMPLE_OLD) {
      frame.ticket.flags = PREM_TICKET_REPEAT;
      frame.note.flags = PREM_FRAME_REPEATED;
    }
    use_frame(c, source, &frame);
    return true;
  }
  if (found == SAMPLE_OLD)
    prem_channel_release(&source->channel, frame.ticket.slot);
  const bool is_decided = do_without(c, source, source->next);
  if (is_decided && found == SAMPLE_STALE)
    count(source, PREM_COUNT_STALE);
  return is_decided;
}

static bool dequeue_frame(prem_courier *c, prem_stream *source) {
  if (take_next(c, source))
    return true;
  if (source->port->missing == PREM_MISSING_REPEAT && source->has_last) {
    repeat_frame(c, source);
    return true;
  }
  return do_without(c, source, source->next);
}

/* The frame of the next job, when it is time; a trigger's was chosen with its hyperperiod. */
static bool choose_frame(prem_courier *c, prem_stream *source) {
  if (!may_decide(c, source) ||
      !is_due(c, job_release_ns(c, source, source->next) - source->port->lead_ns))
    return false;
  return source->port->kind == PREM_LIVE_SAMPLING ? sample_frame(c, source)
                                                  : dequeue_frame(c, source);
}

/* Nobody reads the ticket of this job any more. */
static bool is_unused(const prem_courier *c, const prem_stream *source, int64_t job) {
  const int64_t hyperperiod = job / source->jobs;
  for (int32_t u = 0; u < source->user_count; ++u) {
    const prem_source_user *user = &source->users[u];
    const int64_t needed =
        hyperperiod * c->program->tasks[user->task].jobs + user->done_by[job % source->jobs];
    if (c->over[user->task] < needed)
      return false;
  }
  return true;
}

static bool retire_frame(prem_courier *c, prem_stream *source) {
  if (source->oldest == source->next || !is_unused(c, source, source->oldest))
    return false;
  const prem_ticket ticket = decision_of(source, source->oldest++)->ticket;
  if (!(ticket.flags & PREM_TICKET_SKIP))
    prem_channel_release(&source->channel, ticket.slot);
  return true;
}

/* ---- sinks: granting slots, showing results -------------------------------------------------- */

/* What the writer's job is made of; false: that is not decided yet. */
static bool gather_inputs(const prem_courier *c, const prem_stream *sink, prem_decision *out) {
  const prem_live_task *writer = &c->tasks[sink->writer];
  const int64_t hyperperiod = sink->next / sink->jobs, job = sink->next % sink->jobs;
  int32_t repeated = 0;
  *out = (prem_decision){.note = {.job = sink->next}};
  for (int32_t g = 0; g < writer->gate_count; ++g) {
    const prem_gate *gate = &writer->gates[g];
    const prem_stream *source = &c->streams[gate->source];
    const int64_t of = hyperperiod * source->jobs + gate->job_of[job];
    if (of >= source->next)
      return false;
    const prem_decision *input = decision_of(source, of);
    out->ticket.flags |= input->ticket.flags & PREM_TICKET_SKIP;
    repeated += (input->ticket.flags & PREM_TICKET_REPEAT) != 0;
    if (g == 0)
      out->note.input = input->note.input;
    if (g == 0 || input->note.captured_ns < out->note.captured_ns)
      out->note.captured_ns = input->note.captured_ns;
  }
  if (repeated > 0 && repeated == writer->gate_count)
    out->note.flags = PREM_FRAME_REPEATED;
  return true;
}

/* A slot is granted when the job is released, not sooner: until then the host may need it. */
static bool grant_slot(prem_courier *c, prem_stream *sink) {
  prem_decision decision;
  if (!may_decide(c, sink) || !gather_inputs(c, sink, &decision) ||
      !is_due(c, job_release_ns(c, sink, sink->next)))
    return false;
  if (decision.ticket.flags & PREM_TICKET_SKIP) {
    count(sink, PREM_COUNT_MISSING);
    decide(c, sink, &decision);
    return true;
  }
  decision.ticket.slot = prem_channel_take_free(&sink->channel);
  if (decision.ticket.slot < 0) {
    const int64_t epoch_ns = prem_courier_epoch_ns(c, sink->next / sink->jobs);
    if (!is_due(c, sink->port->drops ? epoch_ns + sink->due_ns[sink->next % sink->jobs]
                                     : job_release_ns(c, sink, sink->next) + sink->bound_ns))
      return false;
    count(sink, PREM_COUNT_DROPPED);
    decision.ticket = (prem_ticket){.flags = PREM_TICKET_VOID, .slot = sink->port->buffers};
  }
  decide(c, sink, &decision);
  return true;
}

/* In the order of jobs, each when it is over on all blocks, and not before its instant. */
static bool show_result(prem_courier *c, prem_stream *sink) {
  if (sink->oldest == sink->next || c->over[sink->writer] <= sink->oldest)
    return false;
  const prem_decision *decision = decision_of(sink, sink->oldest);
  if (!(decision->ticket.flags & (PREM_TICKET_SKIP | PREM_TICKET_VOID))) {
    const int64_t at_ns = job_release_ns(c, sink, sink->oldest) + sink->port->publish_ns;
    if (sink->port->publish_ns > 0 && !is_due(c, at_ns))
      return false;
    prem_note note = decision->note;
    const int64_t end_ns = __atomic_load_n(
        prem_job_end(c->program, c->trace, sink->writer, sink->oldest), __ATOMIC_RELAXED);
    if (sink->port->publish_ns > 0 && end_ns > at_ns) {
      note.flags |= PREM_FRAME_LATE;
      count(sink, PREM_COUNT_LATE);
    }
    if (note.flags & PREM_FRAME_REPEATED)
      count(sink, PREM_COUNT_REPEATED);
    note.published_ns = c->base_ns + c->now_ns;
    prem_channel_publish(&sink->channel, decision->ticket.slot, &note);
  }
  ++sink->oldest;
  return true;
}

/* ---- hyperperiods --------------------------------------------------------------------------- */

static bool is_last_known(const prem_courier *c) {
  return atomic_load_explicit(&c->last.value, memory_order_relaxed) != UINT64_MAX;
}

static void end_after_permitted(prem_courier *c, prem_live_end why) {
  atomic_store_explicit(&c->end.value, (uint64_t)why, memory_order_relaxed);
  put(&c->last, (uint64_t)get(&c->permitted));
  ++c->decided;
}

static bool is_draining(const prem_courier *c) {
  return get(&c->request) == PREM_COURIER_DRAIN;
}

static bool is_queued(const prem_courier *c) {
  for (int32_t s = 0; s < c->source_count; ++s)
    if (c->streams[s].channel.is_queue && prem_channel_has_new(&c->streams[s].channel))
      return true;
  return false;
}

/* The row that it uses belonged to a hyperperiod that nobody asks for any more. */
static void permit(prem_courier *c, int64_t epoch_ns) {
  const int64_t hyperperiod = get(&c->permitted), row = hyperperiod % c->rows;
  for (int64_t j = 0; j < c->trace->job_count; ++j)
    __atomic_store_n(&c->trace->job_end_ns[row * c->trace->job_count + j], -1, __ATOMIC_RELAXED);
  c->trace->epoch_ns[row] = epoch_ns;
  put(&c->permitted, (uint64_t)hyperperiod + 1);
  ++c->decided;
}

static int64_t earliest_epoch_ns(const prem_courier *c) {
  const int64_t next = get(&c->permitted);
  if (next == c->first_hyperperiod)
    return c->start_ns;
  return prem_courier_epoch_ns(c, next - 1) + c->program->hyperperiod_ns;
}

static bool permit_periodic(prem_courier *c) {
  if (is_draining(c) && !is_queued(c)) {
    end_after_permitted(c, PREM_LIVE_STOPPED);
    return true;
  }
  const int64_t epoch_ns = earliest_epoch_ns(c);
  if (!is_due(c, epoch_ns - c->ahead_ns))
    return false;
  permit(c, epoch_ns);
  return true;
}

/* No frame came for the next hyperperiod in all the time it had. */
static void begin_without_frame(prem_courier *c, prem_stream *trigger) {
  if (trigger->port->missing == PREM_MISSING_WAIT) {
    end_after_permitted(c, PREM_LIVE_NO_FRAME);
    return;
  }
  permit(c, prem_max_i64(earliest_epoch_ns(c), c->now_ns));
  if (trigger->port->missing == PREM_MISSING_REPEAT && trigger->has_last)
    repeat_frame(c, trigger);
  else
    skip_job(c, trigger);
}

/* The ticket is written behind the permission: a block that begins finds it, or waits for it. */
static bool permit_triggered(prem_courier *c) {
  prem_stream *trigger = &c->streams[c->trigger];
  const int64_t earliest_ns = earliest_epoch_ns(c);
  if (prem_channel_has_new(&trigger->channel)) {
    permit(c, prem_max_i64(earliest_ns, c->now_ns + trigger->port->lead_ns));
    take_next(c, trigger);
    return true;
  }
  if (is_draining(c)) {
    end_after_permitted(c, PREM_LIVE_STOPPED);
    return true;
  }
  if (!is_due(c, earliest_ns + c->submit_timeout_ns))
    return false;
  begin_without_frame(c, trigger);
  return true;
}

static bool permit_next(prem_courier *c) {
  if (is_last_known(c) || get(&c->permitted) - get(&c->completed) >= OPEN_HYPERPERIODS)
    return false;
  return c->trigger < 0 ? permit_periodic(c) : permit_triggered(c);
}

/* ---- what blocks have done ------------------------------------------------------------------ */

static void judge_deadlines(prem_courier *c, int32_t t, int64_t from, int64_t to) {
  const prem_task *task = &c->program->schedule->tasks[t];
  const int32_t jobs = c->program->tasks[t].jobs;
  for (int64_t job = from; task->deadline_ns > 0 && job < to; ++job) {
    const int64_t end_ns =
        __atomic_load_n(prem_job_end(c->program, c->trace, t, job), __ATOMIC_RELAXED);
    const int64_t release_ns = prem_job_release_ns(c->program, t, (int32_t)(job % jobs),
                                                   prem_courier_epoch_ns(c, job / jobs));
    if (end_ns <= release_ns + task->deadline_ns)
      continue;
    atomic_fetch_add_explicit(&c->overruns.value, 1, memory_order_relaxed);
    if (c->program->schedule->policy.overrun_stops && !is_last_known(c))
      end_after_permitted(c, PREM_LIVE_OVERRUN);
  }
}

/* The caller's trace keeps the first hyperperiods. */
static void keep_row(prem_courier *c, int64_t hyperperiod) {
  const int64_t at = hyperperiod - c->first_hyperperiod, row = hyperperiod % c->rows;
  if (!c->whole || at >= c->whole->hyperperiod_capacity)
    return;
  c->whole->epoch_ns[at] = c->trace->epoch_ns[row];
  for (int64_t j = 0; j < c->trace->job_count; ++j)
    c->whole->job_end_ns[at * c->trace->job_count + j] =
        __atomic_load_n(&c->trace->job_end_ns[row * c->trace->job_count + j], __ATOMIC_RELAXED);
  c->whole->hyperperiods = at + 1;
}

static void look_at_blocks(prem_courier *c) {
  int64_t completed = INT64_MAX;
  for (int32_t t = 0; t < c->program->schedule->task_count; ++t) {
    const int64_t over = c->jobs_over(c->backend, t);
    judge_deadlines(c, t, c->over[t], over);
    c->over[t] = over;
    completed = prem_min_i64(completed, over / c->program->tasks[t].jobs);
  }
  for (int64_t h = get(&c->completed); h < completed; ++h)
    keep_row(c, h);
  atomic_store_explicit(&c->completed.value, (uint64_t)completed, memory_order_relaxed);
}

/* All hyperperiods are over, and of every sink every result is shown. */
static bool is_over(const prem_courier *c) {
  if (!is_last_known(c) || get(&c->completed) < get(&c->last))
    return false;
  for (int32_t s = c->source_count; s < c->stream_count; ++s)
    if (c->streams[s].oldest < get(&c->last) * c->streams[s].jobs)
      return false;
  return true;
}

static bool step_streams(prem_courier *c) {
  bool has_changed = false;
  for (int32_t s = 0; s < c->source_count; ++s) {
    while (retire_frame(c, &c->streams[s]))
      has_changed = true;
    while (choose_frame(c, &c->streams[s]))
      has_changed = true;
  }
  for (int32_t s = c->source_count; s < c->stream_count; ++s) {
    while (show_result(c, &c->streams[s]))
      has_changed = true;
    while (grant_slot(c, &c->streams[s]))
      has_changed = true;
  }
  return has_changed;
}

int64_t prem_courier_step(prem_courier *c, int64_t now_ns) {
  c->now_ns = now_ns;
  look_at_blocks(c);
  bool has_changed = true;
  while (has_changed) {
    c->wake_ns = INT64_MAX;
    has_changed = step_streams(c);
    has_changed |= permit_next(c);
  }
  if (is_over(c))
    put(&c->done, 1);
  return c->wake_ns;
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
  if (task->reads && record->phase == task->read_phase &&
      !has_tickets(c, hyperperiod, record, false))
    return false;
  return !task->writes || record->phase != task->write_phase ||
         has_tickets(c, hyperperiod, record, true);
}

bool prem_courier_skips(const prem_courier *c, int64_t hyperperiod, const prem_record *record) {
  const prem_live_task *task = &c->tasks[record->task];
  prem_ticket ticket;
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
}

/* ---- making and freeing --------------------------------------------------------------------- */

static void *new_lines(size_t count, size_t bytes) {
  const size_t rounded = (count * bytes / PREM_CHANNEL_LINE_BYTES + 1) * PREM_CHANNEL_LINE_BYTES;
  void *lines = aligned_alloc(PREM_CHANNEL_LINE_BYTES, rounded);
  if (lines)
    memset(lines, 0, rounded);
  return lines;
}

prem_status prem_courier_new(const prem_program *program, prem_courier **out) {
  const prem_schedule *schedule = program->schedule;
  const size_t tasks = (size_t)schedule->task_count;
  *out = NULL;
  prem_courier *c = new_lines(1, sizeof *c);
  if (!c)
    return PREM_ERR_MEMORY;
  c->program = program;
  c->stream_count = schedule->live_count;
  c->source_count = schedule->live_input_count;
  c->streams = new_lines((size_t)c->stream_count, sizeof *c->streams);
  c->tasks = calloc(tasks, sizeof *c->tasks);
  c->over = calloc(tasks, sizeof *c->over);
  prem_status status = c->streams && c->tasks && c->over ? PREM_OK : PREM_ERR_MEMORY;
  if (!status)
    status = prem_courier_compile(c);
  atomic_init(&c->last.value, UINT64_MAX);
  if (status)
    prem_courier_free(c);
  else
    *out = c;
  return status;
}

void prem_courier_free(prem_courier *courier) {
  if (!courier)
    return;
  prem_courier_free_ports(courier);
  prem_trace_free(courier->trace);
  free(courier->over);
  free(courier);
}

void prem_courier_count_from(prem_courier *c, int64_t hyperperiod, uint64_t frame) {
  c->first_hyperperiod = hyperperiod;
  for (int32_t s = 0; s < c->stream_count; ++s) {
    prem_stream *stream = &c->streams[s];
    prem_channel_init(&stream->channel, stream->channel.slots, stream->channel.is_queue, frame);
    stream->next = stream->oldest = hyperperiod * stream->jobs;
  }
  atomic_store(&c->permitted.value, (uint64_t)hyperperiod);
  atomic_store(&c->completed.value, (uint64_t)hyperperiod);
  for (int32_t t = 0; t < c->program->schedule->task_count; ++t)
    c->over[t] = hyperperiod * c->program->tasks[t].jobs;
}

prem_status prem_courier_make_room(prem_courier *c, const prem_live_request *request) {
  c->whole = request->trace;
  if (c->whole)
    prem_trace_clear(c->whole);
  return prem_trace_new(c->program->schedule, c->rows, 0, &c->trace);
}

void prem_courier_begin(prem_courier *c, const prem_courier_setup *setup) {
  enum { DEFAULT_TIMEOUT_S = 10 };
  c->jobs_over = setup->jobs_over;
  c->backend = setup->backend;
  c->base_ns = setup->base_ns;
  c->start_ns = setup->start_ns;
  c->ahead_ns = c->max_lead_ns + setup->slack_ns;
  c->submit_timeout_ns = setup->request->submit_timeout_ns;
  if (c->submit_timeout_ns <= 0)
    c->submit_timeout_ns = (int64_t)DEFAULT_TIMEOUT_S * 1000000000;
}

void prem_courier_count(const prem_courier *c, int32_t stream, prem_live_counts *out) {
  *out = (prem_live_counts){0};
  if (stream < 0 || stream >= c->stream_count)
    return;
  const prem_stream *of = &c->streams[stream];
  uint64_t counts[PREM_COUNT_KINDS];
  for (int k = 0; k < PREM_COUNT_KINDS; ++k)
    counts[k] = atomic_load_explicit(&of->counts[k], memory_order_relaxed);
  *out = (prem_live_counts){.frames = prem_channel_count(&of->channel),
                            .taken = counts[PREM_COUNT_TAKEN],
                            .repeated = counts[PREM_COUNT_REPEATED],
                            .missing = counts[PREM_COUNT_MISSING],
                            .stale = counts[PREM_COUNT_STALE],
                            .dropped = counts[PREM_COUNT_DROPPED],
                            .late = counts[PREM_COUNT_LATE]};
}
