/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GPU's courier, in every order of its warps' steps, of the blocks' and of the host's. The rules
 * are the product's own: what the dispatcher hears, decides and holds ahead, and what the keeper
 * has. The host makes wishes, sends samples and frames, and asks for the end; the dispatcher looks
 * at its words, in any order, and decides; a block works; the keeper shows results; a reader takes
 * them. Each frame is worked once, whole, in order, in the mode that was wished for before it and
 * with the sample that was sent before it, and so are results; no result changes while it is held.
 * Whoever leaves a step out, or takes two in the wrong order, is found.
 */
/* ctest: long release */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/running.h"
#include "tests/common/suite.h"

#define PREM_CARRIES_FRAMES
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include "runtime/core/courier_hear.h"
#include "runtime/core/courier_keeper.h"

/* What a courier does that carries frames. */
static void begin_to_bring(const prem_courier *c, const prem_stream *source, int32_t slot,
                           uint64_t number);
static void send_frame(const prem_courier *c, const prem_stream *sink, int32_t slot);
static void hand_to_keeper(prem_courier *c, prem_stream *sink, const prem_decision *decision);
static bool is_shown_by_keeper(prem_courier *c, prem_stream *sink);
static void end_to_bring(const prem_courier *c, const prem_stream *source) {
  (void)c, (void)source;
}
static prem_note note_of(const prem_courier *c, const prem_stream *source, int32_t slot,
                         uint64_t number) {
  (void)c, (void)number;
  return source->face->channel.note[slot];
}
static void promise(const prem_courier *c, const prem_stream *sink, int64_t at_ns, uint64_t word) {
  (void)c, (void)sink, (void)at_ns, (void)word;
}
static int64_t promise_kept(const prem_courier *c, const prem_stream *sink) {
  (void)c, (void)sink;
  return 0;
}
static void begin_to_tell(void) {}
static void put_word(prem_word *word, uint64_t value) {
  prem_word_set_far(word, value);
}
static void end_to_tell(void) {}
static void await_told(void) {}

#include "runtime/core/courier_steps.h"
#pragma GCC diagnostic pop

enum { TRIGGER, SAMPLE, RESULT, ALL_STREAMS }; /* x and p are read, y is written */
enum { ROWS = 8, MOST_FRAMES = 3, MOST_SLOTS = 4, TIMEOUT_NS = 1000 };
enum { LOOKED_AT = HOST_STREAMS + ALL_STREAMS };

enum { D_LOOK, D_TELL, D_DECIDE, D_REST };
enum { B_BEGIN, B_READ, B_WRITE, B_END };
enum { K_LOOK, K_COPY, K_SHOW, K_CLEAR };
enum { R_LOOK, R_HOLD, R_LOOK_AGAIN, R_READ };

typedef enum careless {
  CAREFUL,
  HEARS_FRAMES_BY_THE_WORD,
  FORGETS_FRAMES_AT_THE_END,
  HEARS_THE_END_AT_ONCE,
  SHOWS_THE_WORD_FIRST,
  SHOWS_WHAT_IS_NOT_OVER,
  OVERTAKES_THE_DISPATCHER,
  HOLDS_NO_SAMPLE,
  TRUSTS_AN_OLDER_LOOK,
  WAYS
} careless;

/* What stands in a line. */
typedef struct told {
  uint64_t frames, wish, sample, filled;
} told;

/* All that there is, but for the channels. */
typedef struct world {
  prem_courier courier;
  prem_courier_near near;
  prem_stream streams[ALL_STREAMS];
  prem_live_task task;
  prem_word tickets[ALL_STREAMS][ROWS];
  prem_decision decisions[ALL_STREAMS][ROWS];
  int64_t over[2], epoch_ns[ROWS], end_ns[ROWS];
  uint64_t snapshots[ROWS];
  uint8_t modes[ROWS];
  prem_kept_sink kept;
  uint64_t request, wish; /* the host's words */
  told lines[MOST_FRAMES];
  uint8_t bytes[ALL_STREAMS][MOST_SLOTS], near_bytes[ALL_STREAMS][MOST_SLOTS]; /* frame + 1 */
  uint64_t brought[ALL_STREAMS][MOST_SLOTS];
  uint8_t ended, sent, samples, timeouts;
  uint8_t wished[MOST_FRAMES], sampled[MOST_FRAMES]; /* before each frame */
  struct {
    uint8_t at, looked; /* bits */
    uint64_t word[LOOKED_AT], known[LOOKED_AT];
    told line;
    uint64_t decided; /* the trigger's word */
    bool is_over, is_there, has_told;
  } dispatcher;
  struct {
    uint8_t at, job, worked, x, p;
  } block;
  struct {
    uint8_t at, turn;
  } keeper;
  struct {
    uint8_t at, slot, value, held, last;
    uint64_t word;
  } reader;
} world;

enum { CHANNEL_BYTES = offsetof(prem_channel, inputs) }; /* no result has several notes */
typedef struct saved {
  world w;
  unsigned char channels[ALL_STREAMS][CHANNEL_BYTES];
} saved;

static world w;
static prem_courier_face face;

static struct exploration {
  careless how;
  bool is_queue, lacks_place; /* of results; the keeper has no room for the first one */
  uint8_t frames, wishes, samples, timeouts; /* so many of each, at most */
  bool is_wrong, is_told_first, is_held_ahead, is_shown_by_keeper, is_shown_by_dispatcher, is_over;
  size_t count;
  uint64_t *met; /* [PLACES]: sums of states; 0: none */
} of;

static void assert_that(bool holds) {
  of.is_wrong |= !holds;
}

static prem_channel *channel_of(int stream) {
  return &face.streams[stream].channel;
}

/* ---- what carries frames ----------------------------------------------------------------------
 */

static void begin_to_bring(const prem_courier *c, const prem_stream *source, int32_t slot,
                           uint64_t number) {
  const int64_t s = source - c->streams;
  if (w.brought[s][slot] == number + 1)
    return;
  w.brought[s][slot] = number + 1;
  w.near_bytes[s][slot] = w.bytes[s][slot];
}

static void send_frame(const prem_courier *c, const prem_stream *sink, int32_t slot) {
  (void)c, (void)sink;
  w.bytes[RESULT][slot] = w.near_bytes[RESULT][slot];
  of.is_shown_by_dispatcher = true;
}

static void hand_to_keeper(prem_courier *c, prem_stream *sink, const prem_decision *decision) {
  prem_kept_result *at = keeper_place(c, sink, &w.kept);
  if (of.lacks_place && sink->next == 1)
    at = NULL;
  else if (of.how == OVERTAKES_THE_DISPATCHER && w.kept.handed - w.kept.shown < 2)
    at = &w.kept.results[w.kept.handed & 1];
  if (!at)
    return;
  const prem_note note = note_of_result(c, sink, decision, 0);
  at->frames = keeper_put(sink, decision->ticket.slot, &note, &w.kept, at);
}

static bool keeper_step(void);

static bool is_shown_by_keeper(prem_courier *c, prem_stream *sink) {
  prem_kept_result *at = keeper_oldest(sink, &w.kept);
  if (!at)
    return false;
  while (at->frames != 0 && keeper_step()) {
  }
  assert_that(at->frames == 0);
  keeper_count(c, sink, &w.kept, at);
  of.is_shown_by_keeper = true;
  return true;
}

/* ---- the host ---------------------------------------------------------------------------------
 */

/* As it looks by itself. */
static void host_publish(int stream, uint8_t value) {
  prem_producer *producer = &w.streams[stream].producer;
  producer->settled = channel_of(stream)->filled.value >> PREM_CHANNEL_SLOT_BITS;
  producer->seen = channel_of(stream)->passed.value;
  const int32_t slot = prem_channel_take_free(producer);
  const prem_note note = {.captured_ns = value};
  w.bytes[stream][slot] = value;
  if (stream == TRIGGER)
    w.lines[value - 1] = (told){value, w.wish, channel_of(SAMPLE)->filled.value,
                                (uint64_t)value << PREM_CHANNEL_SLOT_BITS | (uint64_t)slot};
  prem_channel_publish(producer, slot, &note);
}

static bool host_has_slot(int stream) {
  prem_producer *producer = &w.streams[stream].producer;
  producer->settled = channel_of(stream)->filled.value >> PREM_CHANNEL_SLOT_BITS;
  producer->seen = channel_of(stream)->passed.value;
  const int32_t last = producer->last_slot, slot = prem_channel_take_free(producer);
  producer->last_slot = last;
  if (slot >= 0)
    prem_channel_put_back(producer, slot);
  return slot >= 0;
}

/* `which`: one of the things it may do. @return whether it can. */
static bool host_step(int which) {
  const bool is_last = w.sent == of.frames;
  switch (which) {
  case 0:
    if (is_last || w.wish >> 8 == of.wishes)
      return false;
    w.wish = ((w.wish >> 8) + 1) << 8 | 1;
    return true;
  case 1:
    if (w.request != 0 || w.samples == of.samples || !host_has_slot(SAMPLE))
      return false;
    host_publish(SAMPLE, ++w.samples);
    return true;
  case 2:
    if (is_last || !host_has_slot(TRIGGER) || (of.samples > 0 && w.samples == 0))
      return false;
    w.wished[w.sent] = (uint8_t)(w.wish >> 8);
    w.sampled[w.sent] = w.samples;
    host_publish(TRIGGER, ++w.sent);
    return true;
  default:
    if (!is_last || w.request == (uint64_t)PREM_COURIER_DRAIN)
      return false;
    w.request = (uint64_t)PREM_COURIER_DRAIN;
    return true;
  }
}

/* Another of its threads takes a result, looks at it and gives it back. It is the consumer of
 * channel.h, step by step where it takes samples. */
static bool reader_step(void) {
  const prem_channel *channel = channel_of(RESULT);
  const uint64_t filled = channel->filled.value;
  prem_consumer *consumer = &w.streams[RESULT].consumer;
  const uint64_t number = consumer->first;
  switch (w.reader.at) {
  case R_LOOK:
    if (filled >> PREM_CHANNEL_SLOT_BITS <= number)
      return false;
    w.reader.word = filled;
    w.reader.at = of.is_queue ? R_LOOK_AGAIN : R_HOLD;
    return true;
  case R_HOLD:
    ++consumer->holds[w.reader.word & 0xFF];
    prem_consumer_tell(consumer);
    w.reader.at = R_LOOK_AGAIN;
    return true;
  case R_LOOK_AGAIN:
    w.reader.at = R_READ;
    if (of.is_queue) {
      uint64_t taken;
      consumer->seen = filled;
      w.reader.slot = (uint8_t)prem_consumer_take_next(consumer, &taken);
      prem_consumer_tell(consumer);
    } else if (filled == w.reader.word) {
      w.reader.slot = (uint8_t)(filled & 0xFF);
      consumer->first = filled >> PREM_CHANNEL_SLOT_BITS;
    } else {
      --consumer->holds[w.reader.word & 0xFF];
      w.reader.word = filled;
      w.reader.at = R_HOLD;
      return true;
    }
    w.reader.value = w.bytes[RESULT][w.reader.slot];
    assert_that(of.is_queue ? w.reader.value == w.reader.last + 1 : w.reader.value > w.reader.last);
    assert_that(channel->note[w.reader.slot].captured_ns != 0);
    w.reader.last = w.reader.value;
    return true;
  default:
    assert_that(w.bytes[RESULT][w.reader.slot] == w.reader.value);
    if (--consumer->holds[w.reader.slot] == 0)
      prem_consumer_tell(consumer);
    w.reader.word = w.reader.slot = w.reader.value = 0;
    w.reader.at = R_LOOK;
    return true;
  }
}

/* ---- the dispatcher ----------------------------------------------------------------------------
 */

/* Of the frame that comes next. */
static const told *line_now(void) {
  const uint64_t number = w.streams[TRIGGER].consumer.first;
  return &w.lines[number < MOST_FRAMES ? number : MOST_FRAMES - 1];
}

static uint64_t word_now(int32_t word) {
  switch (word) {
  case HOST_REQUEST:
    return w.request;
  case HOST_WISH:
    return w.wish;
  case HOST_STREAMS + RESULT:
    return channel_of(RESULT)->passed.value;
  default:
    return word < HOST_STREAMS ? 0 : channel_of(word - HOST_STREAMS)->filled.value;
  }
}

/* What is looked at in one step: what is said before a frame, frames, the end. What is heard of the
 * reader goes with the first. Of the trigger's word, which goes with the line, only matters that it
 * is behind a request that was seen in the look before. */
enum { SAID_BEFORE, OF_FRAMES, OF_END, LOOKS };
static int step_of_word(int32_t word) {
  return word == HOST_REQUEST             ? OF_END
         : word == HOST_STREAMS + TRIGGER ? OF_FRAMES
                                          : SAID_BEFORE;
}

static void hear_all(void) {
  prem_courier *c = &w.courier;
  const told *line = &w.dispatcher.line;
  const uint64_t filled = w.dispatcher.word[HOST_STREAMS + TRIGGER];
  const bool has_come = line->frames == w.streams[TRIGGER].consumer.first + 1;
  uint64_t request = 0;
  for (int32_t word = 0; word < LOOKED_AT; ++word) {
    const uint64_t before = w.dispatcher.known[word], now = w.dispatcher.word[word];
    const uint64_t said = word == HOST_WISH               ? line->wish
                          : word == HOST_STREAMS + SAMPLE ? line->sample
                          : word == HOST_STREAMS + TRIGGER ? line->filled
                                                           : 0;
    uint64_t heard = word_as_heard(c, word, before, now, has_come, said);
    if (of.how == HEARS_FRAMES_BY_THE_WORD && word == HOST_STREAMS + TRIGGER)
      heard = now;
    if (word == HOST_REQUEST)
      request = of.how == HEARS_THE_END_AT_ONCE ? now : heard;
    word_hear(c, word, heard);
    w.dispatcher.known[word] = now;
  }
  request_hear(c, request, of.how == FORGETS_FRAMES_AT_THE_END ? 0 : filled);
  w.dispatcher.is_there = has_come;
  if (has_come)
    begin_to_bring(c, &w.streams[TRIGGER], (int32_t)(line->filled & 0xFF),
                   w.streams[TRIGGER].consumer.first);
}

static bool look_step(int which) {
  if (which >= LOOKS || w.dispatcher.looked >> which & 1)
    return false;
  for (int32_t word = 0; word < LOOKED_AT; ++word)
    if (step_of_word(word) == which)
      w.dispatcher.word[word] = word_now(word);
  if (which == OF_FRAMES)
    w.dispatcher.line = *line_now();
  w.dispatcher.looked |= (uint8_t)(1U << which);
  if (w.dispatcher.looked != (1U << LOOKS) - 1)
    return true;
  w.dispatcher.looked = 0;
  hear_all();
  w.dispatcher.line = (told){0};
  w.dispatcher.at = w.dispatcher.is_there ? D_TELL : D_DECIDE;
  return true;
}

/* The frame has come: what blocks wait for comes first. */
static void tell_step(void) {
  const uint64_t filled = w.streams[TRIGGER].consumer.seen;
  prem_courier *c = &w.courier;
  w.dispatcher.is_there = false;
  w.dispatcher.has_told = prem_courier_tell_first(c, c->now_ns, (int32_t)(filled & 0xFF));
  of.is_told_first |= w.dispatcher.has_told;
  w.dispatcher.at = D_DECIDE;
}

static bool is_other_word(int32_t word) {
  return w.dispatcher.known[word] != word_now(word);
}

static bool has_line(void) {
  return line_now()->frames == w.streams[TRIGGER].consumer.first + 1 &&
         line_now()->filled != w.streams[TRIGGER].consumer.seen;
}

/* Does a look bring anything? Fewer states, which differ in nothing that matters. */
static bool has_news(void) {
  for (int32_t word = 0; word < LOOKED_AT; ++word)
    if (is_other_word(word))
      return true;
  return has_line() || w.courier.request != w.request || w.ended > w.courier.over_now[0] ||
         w.courier.completed < w.courier.over_now[0] || w.kept.handed != w.kept.shown;
}

static void decide_all(void) {
  prem_courier *c = &w.courier;
  c->has_over = c->completed_now != c->over_now[0];
  c->completed_now = c->over_now[0];
  prem_courier_decide(c, c->now_ns, true);
  w.dispatcher.is_over = is_over(c);
  if (w.dispatcher.is_over) {
    of.is_over = true;
    assert_that(w.block.worked == w.sent && w.sent == of.frames);
  }
}

/* As serve() does, in the same order: a frame that blocks know of, results, else a frame, else all.
 */
static void decide_step(void) {
  prem_courier *c = &w.courier;
  const uint64_t filled = w.streams[TRIGGER].consumer.seen;
  const bool has_begun = w.dispatcher.has_told;
  w.dispatcher.has_told = false;
  if (has_begun)
    assert_that(prem_courier_start(c, c->now_ns));
  if (w.ended > c->over_now[0] && prem_courier_see(c, 0, c->over_now[0] + 1))
    prem_courier_show(c, c->now_ns);
  w.dispatcher.at = D_REST;
  if (has_begun)
    ;
  else if (filled != w.dispatcher.decided && !c->has_last && c->begun - c->completed < OPEN_HYPERPERIODS)
    prem_courier_start(c, c->now_ns);
  else
    decide_all();
  w.dispatcher.decided = filled;
}

static bool dispatcher_step(int which) {
  prem_courier *c = &w.courier;
  if (w.dispatcher.is_over)
    return false;
  switch (w.dispatcher.at) {
  case D_LOOK:
    if (which == 7 && w.timeouts < of.timeouts && !has_news()) {
      ++w.timeouts;
      c->now_ns += TIMEOUT_NS;
      decide_all();
      return true;
    }
    return (w.dispatcher.looked != 0 || has_news()) && look_step(which);
  case D_TELL:
  case D_DECIDE:
    if (which > 0)
      return false;
    if (w.dispatcher.at == D_TELL) {
      tell_step();
      return true;
    }
    decide_step();
    break;
  default: /* all is decided, and prepared, before it looks again, or later */
    if (which == 0)
      decide_all();
    if (which < 2)
      w.dispatcher.at = D_LOOK;
    return which < 2;
  }
  const prem_stream *samples = &w.streams[SAMPLE];
  of.is_held_ahead |= samples->kept_slot >= 0;
  if (of.how == HOLDS_NO_SAMPLE && samples->kept_slot >= 0) /* says that it is not held */
    atomic_store(&channel_of(SAMPLE)->passed.value,
                 channel_of(SAMPLE)->passed.value & ~(UINT64_C(1) << samples->kept_slot));
  if (of.how == TRUSTS_AN_OLDER_LOOK)
    w.streams[RESULT].producer.settled = w.streams[RESULT].producer.handed_on;
  return true;
}

/* ---- a block, and the keeper -------------------------------------------------------------------
 */

static bool block_step(void) {
  prem_courier *c = &w.courier;
  const int64_t job = w.block.job;
  prem_ticket x, p = {0}, y;
  const bool has_tickets =
      prem_courier_ticket(c, TRIGGER, job, &x) && prem_courier_ticket(c, SAMPLE, job, &p);
  switch (w.block.at) {
  case B_BEGIN:
    if (prem_courier_may_begin(c, job) != PREM_BEGIN_NOW || !has_tickets)
      return false;
    w.block.at = (x.flags | p.flags) & PREM_TICKET_SKIP ? B_END : B_READ;
    return true;
  case B_READ:
    w.block.x = w.near_bytes[TRIGGER][x.slot];
    assert_that(w.block.x == w.block.worked + 1);
    if (w.block.x == 0 || w.block.x > MOST_FRAMES)
      return true;
    w.block.p = w.near_bytes[SAMPLE][p.slot];
    assert_that(w.block.p >= w.sampled[w.block.x - 1]);
    assert_that((uint8_t)(w.modes[job % ROWS]) >= (w.wished[w.block.x - 1] > 0));
    w.block.at = B_WRITE;
    return true;
  case B_WRITE:
    if (!prem_courier_ticket(c, RESULT, job, &y))
      return false;
    assert_that(w.near_bytes[TRIGGER][x.slot] == w.block.x);
    assert_that(w.near_bytes[SAMPLE][p.slot] == w.block.p);
    w.near_bytes[RESULT][y.slot] = w.block.x;
    ++w.block.worked;
    w.block.at = B_END;
    return true;
  default:
    ++w.ended;
    ++w.block.job;
    w.block.x = w.block.p = 0;
    w.block.at = B_BEGIN;
    return true;
  }
}

static bool keeper_step(void) {
  prem_kept_result *at = &w.kept.results[w.keeper.turn];
  const bool shows_word_first = of.how == SHOWS_THE_WORD_FIRST;
  switch (w.keeper.at) {
  case K_LOOK:
    if (at->frames == 0 || (w.ended <= at->job && of.how != SHOWS_WHAT_IS_NOT_OVER))
      return false;
    w.keeper.at = shows_word_first ? K_SHOW : K_COPY;
    return true;
  case K_COPY:
    w.bytes[RESULT][at->slot] = w.near_bytes[RESULT][at->slot];
    at->channel->note[at->slot] = at->note;
    at->channel->slot_of[(at->frames - 1) % PREM_MAX_LIVE_BUFFERS] = (uint8_t)at->slot;
    w.keeper.at = shows_word_first ? K_CLEAR : K_SHOW;
    return true;
  case K_SHOW:
    prem_word_set_far(&at->channel->filled.value,
                      at->frames << PREM_CHANNEL_SLOT_BITS | (uint64_t)at->slot);
    w.keeper.at = shows_word_first ? K_COPY : K_CLEAR;
    return true;
  default:
    at->frames = 0;
    w.keeper.turn ^= 1;
    w.keeper.at = K_LOOK;
    return true;
  }
}

/* ---- all orders ------------------------------------------------------------------------------ */

static prem_gate gates[2];
static prem_source_user users[2];
static int32_t job_of[1], done_by[1] = {1};
static int64_t due_at[1];

static void make_stream(int s, int32_t slots, prem_live_kind kind, prem_missing missing) {
  prem_stream *stream = &w.streams[s];
  stream->face = &face.streams[s];
  memset(channel_of(s), 0, sizeof *channel_of(s));
  prem_channel_init(channel_of(s), &stream->producer, &stream->consumer, slots,
                    kind != PREM_LIVE_SAMPLING, 0);
  stream->port = (prem_live_port){.kind = kind, .buffers = slots, .missing = missing};
  stream->writer = s == RESULT ? 0 : -1;
  stream->jobs = 1;
  stream->bound_ns = INT64_MAX / 2; /* a result waits for its slot */
  stream->due_ns = due_at;
  stream->kept_slot = -1;
  stream->tickets = w.tickets[s];
  stream->decisions = w.decisions[s];
  stream->ring_mask = ROWS - 1;
  if (s == RESULT)
    return;
  users[s] = (prem_source_user){.task = 0, .done_by = done_by};
  stream->users = &users[s];
  stream->user_count = 1;
  gates[s] = (prem_gate){.source = s, .reads = true, .job_of = job_of};
}

static void make_world(void) {
  memset(&w, 0, sizeof w);
  w.task = (prem_live_task){.gates = gates, .gate_count = 2, .jobs = 1};
  make_stream(TRIGGER, 2, PREM_LIVE_TRIGGER, PREM_MISSING_SKIP);
  make_stream(SAMPLE, 3, PREM_LIVE_SAMPLING, PREM_MISSING_REPEAT);
  make_stream(RESULT, 2, of.is_queue ? PREM_LIVE_QUEUING : PREM_LIVE_SAMPLING, PREM_MISSING_SKIP);
  w.near.last.value = UINT64_MAX;
  w.courier = (prem_courier){.near = &w.near,
                             .face = &face,
                             .streams = w.streams,
                             .stream_count = ALL_STREAMS,
                             .source_count = RESULT,
                             .tasks = &w.task,
                             .task_count = 1,
                             .job_count = 1,
                             .rows = ROWS,
                             .epoch_ns = w.epoch_ns,
                             .mode_of = w.modes,
                             .snapshot_of = w.snapshots,
                             .job_end_ns = w.end_ns,
                             .submit_timeout_ns = TIMEOUT_NS,
                             .step_ns = 1,
                             .over = w.over,
                             .over_now = w.over + 1,
                             .mode_begun = -1,
                             .mode_count = 2,
                             .ready = -1};
  for (int32_t word = 0; word < LOOKED_AT; ++word)
    w.dispatcher.known[word] = w.dispatcher.word[word] = word_now(word);
}

/* What is only counted, or told: fewer states. */
static void forget(void) {
  w.courier.decided = w.courier.by_keeper = w.courier.overruns = 0;
  for (int s = 0; s < ALL_STREAMS; ++s) {
    memset(w.streams[s].counted, 0, sizeof w.streams[s].counted);
    w.streams[s].untold = 0;
  }
  if (w.dispatcher.looked == 0)
    memcpy(w.dispatcher.word, w.dispatcher.known, sizeof w.dispatcher.word);
}

static void save(saved *to) {
  to->w = w;
  for (int s = 0; s < ALL_STREAMS; ++s)
    memcpy(to->channels[s], channel_of(s), CHANNEL_BYTES);
}

static void restore(const saved *from) {
  w = from->w;
  for (int s = 0; s < ALL_STREAMS; ++s)
    memcpy(channel_of(s), from->channels[s], CHANNEL_BYTES);
}

enum { PLACES = 1 << 23 };

/* @return whether it is the first time. */
static bool meet(const saved *state) {
  uint64_t sum = UINT64_C(14695981039346656037), part;
  for (size_t i = 0; i + 8 <= sizeof *state; i += 8) {
    memcpy(&part, (const unsigned char *)state + i, 8);
    sum = (sum ^ part) * UINT64_C(1099511628211);
    sum ^= sum >> 29;
  }
  sum |= 1;
  size_t place = (sum ^ sum >> 32) % PLACES;
  while (of.met[place] != 0 && of.met[place] != sum)
    place = (place + 1) % PLACES;
  if (of.met[place] == sum)
    return false;
  of.met[place] = sum;
  ck_assert_uint_lt(++of.count, PLACES / 2);
  return true;
}

static bool step_of(int who, int which) {
  switch (who) {
  case 0:
    return host_step(which);
  case 1:
    return dispatcher_step(which);
  case 2:
    return which == 0 && block_step();
  case 3:
    return which == 0 && keeper_step();
  default:
    return which == 0 && reader_step();
  }
}

static void explore_from_here(void) {
  enum { ACTORS = 5, CHOICES = 8 };
  forget();
  saved here;
  memset(&here, 0, sizeof here);
  save(&here);
  if (!meet(&here))
    return;
  for (int who = 0; who < ACTORS && !of.is_wrong; ++who)
    for (int which = 0; which < CHOICES && !of.is_wrong; ++which) {
      if (step_of(who, which) && !of.is_wrong) {
        explore_from_here();
        restore(&here);
      }
    }
}

static void explore(void) {
  of.met = calloc(PLACES, sizeof *of.met);
  ck_assert_ptr_nonnull(of.met);
  make_world();
  explore_from_here();
  free(of.met);
}

TESTS(each_frame_is_worked_once_with_what_came_before_it, 5) {
  of = (struct exploration){.is_queue = _i != 1,
                            .lacks_place = _i == 4,
                            .frames = _i == 1 ? 3 : 2,
                            .wishes = _i == 0,
                            .samples = _i == 2 ? 2 : 1,
                            .timeouts = _i == 3};
  explore();
  ck_assert(!of.is_wrong);
  ck_assert(of.is_told_first && of.is_held_ahead && of.is_shown_by_keeper && of.is_over);
  ck_assert(of.is_shown_by_dispatcher == of.lacks_place);
  ck_assert_uint_gt(of.count, 50000);
}

TESTS_FROM(whoever_is_careless_is_found, CAREFUL + 1, WAYS) {
  of = (struct exploration){.how = (careless)_i,
                            .is_queue = _i != TRUSTS_AN_OLDER_LOOK,
                            .lacks_place = _i == OVERTAKES_THE_DISPATCHER,
                            .frames = _i == TRUSTS_AN_OLDER_LOOK ? 3
                                      : _i == HOLDS_NO_SAMPLE    ? 1
                                                                 : 2,
                            .wishes = _i == HEARS_FRAMES_BY_THE_WORD,
                            .samples = _i == HOLDS_NO_SAMPLE ? 4 : 1};
  explore();
  ck_assert(of.is_wrong);
}
