/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames through a live session for a while: is one lost, shown twice or torn?
 *   bench_live [OPTION...] BACKEND [SECONDS [PERIOD_NS [FLOATS]]]
 * 10 s, 1 ms, 524288: 2 MiB each way. Each frame is a number, all over; the task adds one. A thread
 * feeds, the main thread looks at every number of every result. Exit status 1 when something was
 * wrong.
 *   --aged    Is one shown that is older than the file allows? The input is a sampling one with
 *             max_age_ns of two periods, and there are no frames for five periods again and again:
 *             the last one is repeated, flagged, until it is too old, and then jobs are skipped. A
 *             result is stale whose input was older at the instant at which its hyperperiod begins
 *             by the plan, and unflagged if it is not said to be repeated, or without a reason.
 *             Lost is a hyperperiod of which no count knows.
 *   --silent  The process is stopped for so long that the session has to end by itself, and to say
 *             why. Frames that were handed over behind its end are left out, and not lost.
 */
#include "ttprem/live.h"
#include "ttprem/ttprem.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  BLOCKS = 16,
  TILE = 2048,
  LIMIT_NS = 1000000000,
  MAX_AGE = 2, /* periods */
  FED = 20,    /* frames, and then none for so many periods: */
  UNFED = 5,
  PARTS = 32 /* of a period: frames are by one further apart than jobs */
};

typedef struct bench {
  prem_live *live;
  bool is_aged, is_silent;
  int64_t end_ns, period_ns, floats;
  uint64_t sent, full; /* full: no buffer was free at the frame's instant */
} bench;

static const char *input_text(bool is_aged, int64_t period_ns) {
  static char text[128];
  if (!is_aged)
    return "kind = \"queuing\"; buffers = 8;";
  snprintf(text, sizeof text, "kind = \"sampling\"; buffers = 4; max_age_ns = %lldL;",
           (long long)(MAX_AGE * period_ns));
  return text;
}

static const char *schedule_text(bool is_aged, int64_t period_ns, int64_t floats) {
  static char text[2048];
  snprintf(text, sizeof text,
           "version = 1; name = \"frames\"; platform: { blocks = %d; block_threads = 256;"
           "  buffers = 2; resources = ( { name = \"memory\"; capacity = %d; } ); };"
           "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ %lld ]; },"
           "  { name = \"y\"; type = \"f32\"; shape = [ %lld ]; } );"
           "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = %d; tile = [ %d ];"
           "    period_ns = %lldL; arrays: { in = \"x\"; out = \"y\"; };"
           "    prefetch: { wcet_ns = 5000L; }; compute: { wcet_ns = 5000L; };"
           "    writeback: { wcet_ns = 5000L; }; } );"
           "live: { inputs = ( { array = \"x\"; %s } );"
           "  outputs = ( { array = \"y\"; kind = \"queuing\"; buffers = 8; } ); };",
           BLOCKS, BLOCKS, (long long)floats, (long long)floats, BLOCKS, TILE, (long long)period_ns,
           input_text(is_aged, period_ns));
  return text;
}

static void give_up(const char *what, prem_diag *diag) {
  fprintf(stderr, "bench_live: %s\n", what);
  for (size_t i = 0; i < prem_diag_count(diag); ++i)
    fprintf(stderr, "  %s: %s\n", prem_diag_at(diag, i)->key, prem_diag_at(diag, i)->reason);
  exit(1);
}

static prem_live *open_live(const char *backend, const char *text, prem_schedule **schedule) {
  prem_diag *diag = prem_diag_new();
  prem_live *live = NULL;
  if (prem_schedule_load_text("bench_live", text, schedule, diag) != PREM_OK ||
      prem_prepare(*schedule, prem_registry_builtin(), NULL, NULL, diag) != PREM_OK)
    give_up("the schedule is refused", diag);
  const prem_backend *found = prem_backend_find(backend);
  if (!found)
    give_up("there is no such backend", diag);
  if (prem_live_open(found, *schedule, &live, diag) != PREM_OK ||
      prem_live_start(live, &(prem_live_request){.mode = PREM_MODE_TT, .follows_host = true},
                      diag) != PREM_OK)
    give_up("the session does not start", diag);
  prem_diag_free(diag);
  return live;
}

static float value_of(uint64_t number) {
  return (float)(number % 65536);
}

static void *feed(void *argument) {
  bench *b = argument;
  int64_t next_ns = prem_live_now_ns(b->live);
  for (int64_t number = 1; next_ns < b->end_ns; ++number) {
    prem_frame frame;
    next_ns += b->period_ns;
    if (b->is_aged) /* all ages come up */
      next_ns += b->period_ns / PARTS + (number % FED == 0 ? (UNFED - 1) * b->period_ns : 0);
    prem_live_sleep_until(b->live, next_ns);
    const prem_status status = prem_live_acquire(b->live, 0, next_ns, &frame, NULL);
    if (status == PREM_ERR_FULL) {
      ++b->full;
      continue;
    }
    if (status != PREM_OK)
      break;
    frame.captured_ns = prem_live_now_ns(b->live);
    for (int64_t i = 0; i < b->floats; ++i)
      ((float *)frame.data)[i] = value_of(b->sent);
    if (prem_live_submit(b->live, &frame, NULL) != PREM_OK)
      break;
    ++b->sent;
  }
  prem_live_stop(b->live, true, prem_live_now_ns(b->live) + 10 * (int64_t)LIMIT_NS, NULL);
  return NULL;
}

typedef struct found {
  uint64_t frames, torn, wrong, twice, repeated, stale, unflagged;
  int64_t age_max_ns;
  int64_t taken_age_max_ns; /* at the instant of the hyperperiod */
  double age_sum_ns;
} found;

/* How far the session's clock may be from the host's, and a hyperperiod from its instant. */
static int64_t tolerance_ns(const bench *b) {
  enum { FOLLOWED_PARTS = 10000, STEP_NS = 2000 };
  prem_live_clocks clocks;
  prem_live_compare_clocks(b->live, &clocks);
  return clocks.bound_ns + b->period_ns / FOLLOWED_PARTS + STEP_NS;
}

static void look_at_age(const bench *b, const prem_frame *frame, uint64_t next_input, found *of) {
  prem_live_state state;
  prem_live_look(b->live, &state);
  const int64_t age_ns = state.start_ns + frame->job * b->period_ns - frame->captured_ns;
  const bool is_again = frame->input + 1 == next_input;
  const bool is_flagged = (frame->flags & PREM_FRAME_REPEATED) != 0;
  of->repeated += is_flagged;
  of->unflagged += is_flagged != is_again;
  of->stale += age_ns > MAX_AGE * b->period_ns + tolerance_ns(b);
  of->taken_age_max_ns = age_ns > of->taken_age_max_ns ? age_ns : of->taken_age_max_ns;
}

static void look(const bench *b, const prem_frame *frame, uint64_t *next_input, found *of) {
  const float expected = value_of(frame->input) + 1;
  const float *data = frame->data;
  int64_t others = 0;
  for (int64_t i = 0; i < b->floats; ++i)
    others += data[i] != data[0];
  const int64_t age_ns = prem_live_now_ns(b->live) - frame->captured_ns;
  ++of->frames;
  of->torn += others > 0;
  of->wrong += data[0] != expected;
  /* of samples the last one may be shown again, and says so */
  of->twice += frame->input + (b->is_aged ? 1 : 0) < *next_input;
  if (b->is_aged)
    look_at_age(b, frame, *next_input, of);
  of->age_max_ns = age_ns > of->age_max_ns ? age_ns : of->age_max_ns;
  of->age_sum_ns += (double)age_ns;
  *next_input = frame->input + 1;
}

/* Until the session is over. A process that was stopped may find the time for a frame over. */
static void look_at_all(const bench *b, found *of) {
  uint64_t next_input = 0;
  prem_frame frame;
  prem_status status;
  do {
    status = prem_live_wait(b->live, 1, prem_live_now_ns(b->live) + LIMIT_NS, &frame, NULL);
    if (status != PREM_OK)
      continue;
    look(b, &frame, &next_input, of);
    prem_live_release(b->live, &frame, NULL);
  } while (status == PREM_OK || status == PREM_ERR_TIMEOUT);
}

static uint64_t count_lost(const bench *b, const found *f, const prem_live_state *state) {
  prem_live_counts in, out;
  prem_live_count(b->live, 0, &in);
  prem_live_count(b->live, 1, &out);
  if (b->is_aged)
    return (uint64_t)state->hyperperiods - f->frames - out.missing - out.dropped - out.aborted;
  return (b->is_silent ? in.taken : b->sent) - f->frames - out.dropped;
}

/* @return whether something was wrong */
static bool tell(const bench *b, const found *f) {
  prem_live_counts in, out;
  prem_live_state state;
  prem_live_count(b->live, 0, &in);
  prem_live_count(b->live, 1, &out);
  prem_live_look(b->live, &state);
  const uint64_t lost = count_lost(b, f, &state);
  const prem_live_end end = b->is_silent ? PREM_LIVE_SILENT : PREM_LIVE_STOPPED;
  printf("  sent %llu, no buffer free %llu, taken %llu, shown %llu, dropped %llu, lost %llu\n",
         (unsigned long long)b->sent, (unsigned long long)b->full, (unsigned long long)in.taken,
         (unsigned long long)f->frames, (unsigned long long)out.dropped, (unsigned long long)lost);
  printf("  torn %llu, wrong %llu, twice %llu; age when seen: mean %.0f us, largest %lld us\n",
         (unsigned long long)f->torn, (unsigned long long)f->wrong, (unsigned long long)f->twice,
         f->frames ? f->age_sum_ns / (double)f->frames / 1000 : 0.0,
         (long long)f->age_max_ns / 1000);
  if (b->is_aged)
    printf("  shown stale %llu, unflagged %llu; repeated %llu, left out as too old %llu; age when "
           "taken: largest %lld us of %lld\n",
           (unsigned long long)f->stale, (unsigned long long)f->unflagged,
           (unsigned long long)f->repeated, (unsigned long long)in.stale,
           (long long)f->taken_age_max_ns / 1000, (long long)(MAX_AGE * b->period_ns) / 1000);
  printf("  hyperperiods %lld, ended as %d%s\n", (long long)state.hyperperiods, (int)state.end,
         state.end == PREM_LIVE_SILENT ? ", silent" : "");
  /* a bench that makes no frame too old, or nothing repeat, would find nothing */
  const bool has_aged = !b->is_aged || (in.stale > 0 && f->repeated > 0);
  if (!has_aged)
    printf("  no frame became too old, or none was repeated: nothing was tried\n");
  return lost || f->torn || f->wrong || f->twice || f->stale || f->unflagged || !has_aged ||
         state.end != end;
}

int main(int argc, char **argv) {
  bench b = {0};
  for (; argc > 1 && strncmp(argv[1], "--", 2) == 0; --argc, ++argv) {
    const bool is_aged = strcmp(argv[1], "--aged") == 0;
    b.is_aged |= is_aged;
    b.is_silent |= strcmp(argv[1], "--silent") == 0;
    if (!is_aged && strcmp(argv[1], "--silent") != 0)
      argc = 0;
  }
  const int64_t seconds = argc > 2 ? atoll(argv[2]) : 10;
  b.period_ns = argc > 3 ? atoll(argv[3]) : 1000000;
  b.floats = argc > 4 ? atoll(argv[4]) : 524288;
  prem_schedule *schedule = NULL;
  if (argc < 2 || seconds < 1 || b.period_ns < 100000 || b.floats < TILE) {
    fprintf(stderr,
            "usage: bench_live [--aged] [--silent] BACKEND [SECONDS [PERIOD_NS [FLOATS]]]\n");
    return 2;
  }
  b.live = open_live(argv[1], schedule_text(b.is_aged, b.period_ns, b.floats), &schedule);
  b.end_ns = prem_live_now_ns(b.live) + seconds * LIMIT_NS;
  pthread_t feeder;
  if (pthread_create(&feeder, NULL, feed, &b) != 0)
    return 1;
  found f = {0};
  look_at_all(&b, &f);
  pthread_join(feeder, NULL);
  printf("%s: %lld s, a frame of %lld bytes every %lld ns%s\n", argv[1], (long long)seconds,
         (long long)(4 * b.floats), (long long)b.period_ns, b.is_aged ? ", sampled" : "");
  const bool is_wrong = tell(&b, &f);
  prem_live_close(b.live);
  prem_schedule_free(schedule);
  return is_wrong;
}
