/* SPDX-License-Identifier: Apache-2.0 */
/* Events of live sessions: what a health monitor hears, when, and what it has missed. */
/* ctest: threads timing */
#include "tests/common/live.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>

#include "runtime/core/backend.h"
#include "runtime/core/events.h"
#include "tests/common/rounds.h"
#include "tests/common/suite.h"

enum { ROOM = 1 << 14, PAGE_BYTES = 4096 };

/* ---- the ring -------------------------------------------------------------------------------- */

enum { WRITTEN = 200000 };

static prem_event_ring ring;

static void words_of(uint64_t number, uint64_t words[PREM_EVENT_WORDS]) {
  for (int w = 0; w < PREM_EVENT_WORDS; ++w)
    words[w] = number * UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)w;
}

static void *write_events(void *rounds) {
  for (uint64_t number = 0; number < *(uint64_t *)rounds; ++number) {
    uint64_t words[PREM_EVENT_WORDS];
    words_of(number, words);
    prem_events_write(&ring, number, words);
  }
  return NULL;
}

TEST(a_reader_sees_whole_events_and_knows_what_it_missed) {
  uint64_t rounds = ROUNDS(WRITTEN), next = 0, lost = 0, read = 0;
  pthread_t writer;
  memset(&ring, 0, sizeof ring);
  ck_assert_int_eq(pthread_create(&writer, NULL, write_events, &rounds), 0);
  while (next < rounds) {
    uint64_t words[PREM_EVENT_WORDS], expected[PREM_EVENT_WORDS];
    if (!prem_events_read(&ring, &next, &lost, words))
      continue;
    words_of(next - 1, expected);
    ck_assert_mem_eq(words, expected, sizeof words);
    ++read;
  }
  pthread_join(writer, NULL);
  ck_assert_uint_eq(read + lost, rounds);
}

/* One that always wants the event that is written over next, and one that wants the newest. */
TESTS(a_reader_at_each_end_of_the_ring_sees_whole_events, 2) {
  const uint64_t behind = _i ? 1 : PREM_EVENTS;
  uint64_t rounds = ROUNDS(WRITTEN), written = 0, lost = 0, next = 0;
  pthread_t writer;
  memset(&ring, 0, sizeof ring);
  ck_assert_int_eq(pthread_create(&writer, NULL, write_events, &rounds), 0);
  while (written < rounds) {
    uint64_t words[PREM_EVENT_WORDS], expected[PREM_EVENT_WORDS];
    written = prem_word_far(&ring.written.value);
    next = written > behind ? written - behind : 0;
    if (!prem_events_read(&ring, &next, &lost, words))
      continue;
    words_of(next - 1, expected);
    ck_assert_mem_eq(words, expected, sizeof words);
  }
  pthread_join(writer, NULL);
}

/* The writer has begun to write over the oldest event, and has come to its first word. */
TEST(an_event_that_is_being_written_over_is_lost) {
  uint64_t rounds = PREM_EVENTS, next = 0, lost = 0, words[PREM_EVENT_WORDS],
           expected[PREM_EVENT_WORDS];
  memset(&ring, 0, sizeof ring);
  write_events(&rounds);
  prem_word_set_far(&ring.claimed.value, PREM_EVENTS + 1);
  prem_word_set_far(&ring.words[0][0], 77);
  ck_assert(prem_events_read(&ring, &next, &lost, words));
  words_of(1, expected);
  ck_assert_mem_eq(words, expected, sizeof words);
  ck_assert_uint_eq(lost, 1);
  ck_assert_uint_eq(next, 2);
}

/* Who writes an entry has claimed it, and says that it is written only behind it: the page of the
 * entries cannot be written, so that its first store stops the writer for a look. */
static struct {
  unsigned char *pages;
  prem_event_ring *ring;
  uint64_t claimed, written; /* as they were at the first store */
} stopped;

/* A system call, and loads and stores: on this system a handler may do that. */
static void look_and_go_on(int signal) {
  (void)signal;
  stopped.claimed = prem_word_far(&stopped.ring->claimed.value);
  stopped.written = prem_word_far(&stopped.ring->written.value);
  mprotect(stopped.pages + PAGE_BYTES, PAGE_BYTES, PROT_READ | PROT_WRITE); /* NOLINT */
}

TEST(an_event_is_claimed_before_and_told_behind) {
  const size_t words_at = offsetof(prem_event_ring, words);
  const uint64_t words[PREM_EVENT_WORDS] = {1, 2, 3, 4};
  stopped.pages =
      mmap(NULL, 8 * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ck_assert(stopped.pages != MAP_FAILED);
  ck_assert_uint_le(sizeof(prem_event_ring), 7 * PAGE_BYTES);
  stopped.ring = (prem_event_ring *)(stopped.pages + PAGE_BYTES - words_at);
  ck_assert_int_eq(mprotect(stopped.pages + PAGE_BYTES, PAGE_BYTES, PROT_READ), 0);
  ck_assert(signal(SIGSEGV, look_and_go_on) != SIG_ERR);
  prem_events_write(stopped.ring, 0, words);
  signal(SIGSEGV, SIG_DFL);
  ck_assert_uint_eq(stopped.claimed, 1);
  ck_assert_uint_eq(stopped.written, 0);
  ck_assert_uint_eq(prem_word_far(&stopped.ring->written.value), 1);
  munmap(stopped.pages, 8 * PAGE_BYTES);
}

TEST(of_events_that_nobody_reads_the_last_are_kept) {
  uint64_t rounds = 3 * PREM_EVENTS + 7, next = 0, lost = 0, words[PREM_EVENT_WORDS];
  memset(&ring, 0, sizeof ring);
  write_events(&rounds);
  for (uint64_t i = 0; i < PREM_EVENTS; ++i) {
    ck_assert(prem_events_read(&ring, &next, &lost, words));
    ck_assert_uint_eq(next, rounds - PREM_EVENTS + i + 1);
    ck_assert_uint_eq(lost, rounds - PREM_EVENTS);
  }
  ck_assert(!prem_events_read(&ring, &next, &lost, words));
}

/* ---- what is told ---------------------------------------------------------------------------- */

/* Every event up to an instant, a line each. */
static void log_events(prem_live *live, int64_t until_ns, char *log) {
  prem_live_event event;
  while (prem_live_listen(live, until_ns, &event, NULL) == PREM_OK) {
    const size_t used = strlen(log);
    snprintf(log + used, ROOM - used, "%lld %s task %d stream %d job %lld value %lld lost %llu\n",
             (long long)event.at_ns, prem_live_event_name(event.kind), event.task, event.stream,
             (long long)event.job, (long long)event.value, (unsigned long long)event.lost);
  }
}

static prem_live *open_increment(const char *task, const char *live, prem_schedule **schedule) {
  *schedule = checked_schedule(increment_file(1000, 1, task, live));
  return open_live_on("sim", *schedule);
}

/* The frame of job 1 comes at 1850, of the others at their release. */
static void feed_late(prem_live *live, int jobs, char *log) {
  for (int job = 1; job < jobs; ++job) {
    log_events(live, job == 1 ? 1850 : job * 1000, log);
    const prem_status status = feed(live, 0, (float)job, NULL);
    ck_assert(status == PREM_OK || status == PREM_ERR_FULL || status == PREM_ERR_ENDED);
  }
}

typedef struct told {
  const char *task, *live, *log;
} told;

static const char *const queues =
    "inputs = ( { array = \"x\"; kind = \"queuing\"; missing = \"wait\"; buffers = 8; } );"
    "outputs = ( { array = \"y\"; kind = \"queuing\"; buffers = 8; } );";

static const told sessions[] = {
    {"deadline_ns = 900L; overrun = \"record\";", queues,
     "2250 overrun task 0 stream -1 job 1 value 0 lost 0\n"},
    {"deadline_ns = 900L; overrun = \"skip\";", queues,
     "1900 overrun task 0 stream -1 job 1 value 0 lost 0\n"
     "2000 skipped task 0 stream -1 job 2 value 0 lost 0\n"
     "2000 missing task -1 stream 1 job 2 value 0 lost 0\n"},
    {"deadline_ns = 900L; overrun = \"abort\";", queues,
     "1900 overrun task 0 stream -1 job 1 value 0 lost 0\n"
     "1900 aborted task 0 stream -1 job 1 value 0 lost 0\n"
     "1950 missing task -1 stream 1 job 1 value 0 lost 0\n"},
    {"deadline_ns = 900L; overrun = \"stop\";", queues,
     "2250 overrun task 0 stream -1 job 1 value 0 lost 0\n"},
    {"deadline_ns = 900L; overrun = \"degrade\";",
     "inputs = ( { array = \"x\"; kind = \"queuing\"; missing = \"wait\"; buffers = 8; } );"
     "outputs = ( { array = \"y\"; kind = \"queuing\"; buffers = 8; } );"
     "operating_modes = ( { name = \"full\"; }, { name = \"less\"; } );",
     "1900 overrun task 0 stream -1 job 1 value 0 lost 0\n"
     "2000 mode task -1 stream -1 job 2 value 1 lost 0\n"},
    {"",
     "inputs = ( { array = \"x\"; kind = \"queuing\"; buffers = 8; } );"
     "outputs = ( { array = \"y\"; kind = \"queuing\"; buffers = 8; } );",
     "1000 missing task -1 stream 0 job 1 value 0 lost 0\n"
     "1000 missing task -1 stream 1 job 1 value 0 lost 0\n"},
    {"", "inputs = ( { array = \"x\"; max_age_ns = 900L; } ); outputs = ( { array = \"y\"; } );",
     "1000 missing task -1 stream 0 job 1 value 0 lost 0\n"
     "1000 stale task -1 stream 0 job 1 value 0 lost 0\n"
     "1000 missing task -1 stream 1 job 1 value 0 lost 0\n"
     "3000 missing task -1 stream 0 job 3 value 0 lost 0\n"
     "3000 stale task -1 stream 0 job 3 value 0 lost 0\n"
     "3000 missing task -1 stream 1 job 3 value 0 lost 0\n"},
    {"publish_ns = 900L;",
     "inputs = ( { array = \"x\"; kind = \"queuing\"; missing = \"wait\"; buffers = 8; } );"
     "outputs = ( { array = \"y\"; kind = \"queuing\"; buffers = 8; } );",
     "2250 late task -1 stream 1 job 1 value 350 lost 0\n"},
    {"",
     "inputs = ( { array = \"x\"; } );"
     "outputs = ( { array = \"y\"; kind = \"queuing\"; buffers = 2; overflow = \"drop\"; } );",
     "2300 dropped task -1 stream 1 job 2 value 0 lost 0\n"
     "3300 dropped task -1 stream 1 job 3 value 0 lost 0\n"},
};

TESTS(each_event_is_told_at_its_instant, (int)(sizeof sessions / sizeof *sessions)) {
  char log[ROOM] = "";
  OWNED(prem_schedule) *schedule = NULL;
  prem_live_event event;
  OWNED(prem_live) *live = open_increment(sessions[_i].task, sessions[_i].live, &schedule);
  ck_assert_int_eq(feed(live, 0, 0, NULL), PREM_OK);
  start_live(live, &(prem_live_request){.events = true});
  feed_late(live, 4, log);
  log_events(live, 3500, log);
  const size_t length = strlen(sessions[_i].log);
  ck_assert_msg(strncmp(log, sessions[_i].log, length) == 0, "told:\n%snot:\n%s", log,
                sessions[_i].log);
  ck_assert_msg(strlen(log) == length || strstr(log, "ended"), "told besides:\n%s", log + length);
  prem_live_stop(live, true, 1000000, NULL);
  log[0] = '\0';
  log_events(live, 1000000, log);
  const char *last = strstr(log, " ended task -1 stream -1 job -1 value ");
  ck_assert(!last || strchr(last, '\n')[1] == '\0');
  ck_assert_int_eq(prem_live_listen(live, 1000000, &event, NULL), PREM_ERR_ENDED);
}

TEST(who_listens_too_late_is_told_how_much_is_lost) {
  enum { HYPERPERIODS = 1000 };
  OWNED(prem_schedule) *schedule = NULL;
  OWNED(prem_live) *live = open_increment(
      "", "inputs = ( { array = \"x\"; } ); outputs = ( { array = \"y\"; } );", &schedule);
  prem_live_event event;
  prem_live_counts x, y;
  start_live(live, &(prem_live_request){.events = true});
  prem_live_sleep_until(live, HYPERPERIODS * 1000 - 1);
  prem_live_count(live, 0, &x);
  prem_live_count(live, 1, &y);
  ck_assert_int_eq(prem_live_listen(live, 0, &event, NULL), PREM_OK);
  ck_assert_uint_eq(event.lost + PREM_EVENTS, x.missing + y.missing);
  for (int i = 1; i < PREM_EVENTS; ++i) {
    ck_assert_int_eq(prem_live_listen(live, 0, &event, NULL), PREM_OK);
    ck_assert_uint_eq(event.lost, 0);
  }
  ck_assert_int_eq(prem_live_listen(live, 0, &event, NULL), PREM_ERR_TIMEOUT);
}

TEST(who_did_not_ask_hears_nothing) {
  OWNED(prem_schedule) *schedule = NULL;
  OWNED(prem_live) *live = open_increment(
      "", "inputs = ( { array = \"x\"; } ); outputs = ( { array = \"y\"; } );", &schedule);
  prem_live_event event;
  OWNED(prem_diag) *diag = prem_diag_new();
  ck_assert_int_eq(prem_live_listen(live, 0, &event, diag), PREM_ERR_ARGUMENT);
  start_live(live, &(prem_live_request){0});
  ck_assert_int_eq(prem_live_listen(live, 0, &event, diag), PREM_ERR_ARGUMENT);
  ck_assert_str_eq(prem_diag_at(diag, 1)->reason,
                   "the session tells no events; set `events` in what it is started with");
  ck_assert_str_eq(prem_live_event_name(PREM_EVENT_ENDED), "ended");
  ck_assert_str_eq(prem_live_event_name((prem_live_event_kind)99), "?");
}

/* ---- silence --------------------------------------------------------------------------------- */

static int64_t heard_at_ns;

static int64_t heard_ns(const void *state) {
  (void)state;
  return heard_at_ns;
}

/* For how long it had been silent by then; -1: nothing was told of that. */
static int64_t next_silence(prem_live *live, int64_t until_ns) {
  prem_live_event event;
  while (prem_live_listen(live, until_ns, &event, NULL) == PREM_OK)
    if (event.kind == PREM_EVENT_SILENT)
      return event.value;
  return -1;
}

TEST(a_courier_that_is_silent_is_told_of_once) { /* E6 */
  static prem_live_engine engine;
  static prem_backend backend;
  engine = *prem_backend_sim.live;
  engine.heard_ns = heard_ns;
  backend = prem_backend_sim;
  backend.live = &engine;
  prem_schedule *schedule = checked_schedule(increment_file(1000, 1, "", queues));
  prem_live *live = NULL;
  prem_live_event event;
  prem_live_state state;
  ck_assert_int_eq(prem_live_open(&backend, schedule, &live, NULL), PREM_OK);
  start_live(live, &(prem_live_request){.events = true, .silence_ns = 300});
  heard_at_ns = 0;
  ck_assert_int_eq(prem_live_listen(live, 300, &event, NULL), PREM_ERR_TIMEOUT);
  ck_assert_int_eq(next_silence(live, 1900), 1000); /* the next time that anything happens */
  ck_assert_int_eq(next_silence(live, 4900), -1);   /* told already */
  prem_live_look(live, &state);
  ck_assert_int_eq(state.heard_ns, 0);
  heard_at_ns = 4900;
  ck_assert_int_eq(next_silence(live, 5100), -1);
  ck_assert_int_eq(next_silence(live, 6900), 6000 - 4900);
  prem_live_close(live);
  prem_schedule_free(schedule);
}

/* ---- on threads ------------------------------------------------------------------------------ */

typedef struct monitor {
  prem_live *live;
  uint64_t missing, lost;
  bool has_ended;
} monitor;

static void *listen_to(void *argument) {
  monitor *m = argument;
  prem_live_event event;
  prem_status status;
  while ((status = prem_live_listen(m->live, INT64_MAX, &event, NULL)) == PREM_OK) {
    m->missing += event.kind == PREM_EVENT_MISSING || event.kind == PREM_EVENT_DROPPED;
    m->lost += event.lost;
    m->has_ended |= event.kind == PREM_EVENT_ENDED;
    ck_assert(event.kind != PREM_EVENT_SILENT);
  }
  ck_assert_int_eq(status, PREM_ERR_ENDED);
  return NULL;
}

TEST(a_monitor_on_its_own_thread_hears_all) {
  enum { MS = 1000000 };
  OWNED(prem_schedule) *schedule = checked_schedule(increment_file(
      100000, 100, "",
      "inputs = ( { array = \"x\"; kind = \"queuing\"; } ); outputs = ( { array = \"y\"; } );"));
  monitor m = {.live = open_live_on("cpu", schedule)};
  prem_live_counts x, y;
  pthread_t thread;
  start_live(m.live, &(prem_live_request){.events = true,
                                          .mode = PREM_MODE_FREE,
                                          .silence_ns = 60000 * (int64_t)MS});
  ck_assert_int_eq(pthread_create(&thread, NULL, listen_to, &m), 0);
  for (int i = 0; i < 20; ++i) {
    feed(m.live, 0, (float)i, NULL);
    prem_live_sleep_until(m.live, prem_live_now_ns(m.live) + MS);
  }
  ck_assert_int_eq(
      prem_live_stop(m.live, true, prem_live_now_ns(m.live) + 60000 * (int64_t)MS, NULL), PREM_OK);
  pthread_join(thread, NULL);
  prem_live_count(m.live, 0, &x);
  prem_live_count(m.live, 1, &y);
  ck_assert(m.has_ended);
  ck_assert_uint_eq(m.missing + m.lost, x.missing + y.missing + y.dropped);
  prem_live_close(m.live);
}
