/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames through a live session for a while: is one lost, shown twice, torn or older than it says?
 *   bench_live BACKEND [SECONDS [PERIOD_NS [FLOATS]]]     (10 s, 1 ms, 524288: 2 MiB each way)
 * Each frame is a number, all over; the task adds one. A thread feeds, the main thread looks at
 * every number of every result. Exit status 1 when something was wrong.
 */
#include "ttprem/live.h"
#include "ttprem/ttprem.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCKS = 16, TILE = 2048, LIMIT_NS = 1000000000 };

typedef struct bench {
  prem_live *live;
  int64_t end_ns, period_ns, floats;
  uint64_t sent, full; /* full: no buffer was free at the frame's instant */
} bench;

static const char *schedule_text(int64_t period_ns, int64_t floats) {
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
           "live: { inputs = ( { array = \"x\"; kind = \"queuing\"; buffers = 8; } );"
           "  outputs = ( { array = \"y\"; kind = \"queuing\"; buffers = 8; } ); };",
           BLOCKS, BLOCKS, (long long)floats, (long long)floats, BLOCKS, TILE,
           (long long)period_ns);
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
  while (next_ns < b->end_ns) {
    prem_frame frame;
    next_ns += b->period_ns;
    prem_live_sleep_until(b->live, next_ns);
    const prem_status status = prem_live_acquire(b->live, 0, next_ns, &frame, NULL);
    if (status == PREM_ERR_FULL) {
      ++b->full;
      continue;
    }
    if (status != PREM_OK)
      break;
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
  uint64_t frames, torn, wrong, twice;
  int64_t age_max_ns;
  double age_sum_ns;
} found;

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
  of->twice += frame->input < *next_input;
  of->age_max_ns = age_ns > of->age_max_ns ? age_ns : of->age_max_ns;
  of->age_sum_ns += (double)age_ns;
  *next_input = frame->input + 1;
}

int main(int argc, char **argv) {
  const int64_t seconds = argc > 2 ? atoll(argv[2]) : 10;
  bench b = {.period_ns = argc > 3 ? atoll(argv[3]) : 1000000,
             .floats = argc > 4 ? atoll(argv[4]) : 524288};
  prem_schedule *schedule = NULL;
  if (argc < 2 || seconds < 1 || b.period_ns < 100000 || b.floats < TILE) {
    fprintf(stderr, "usage: bench_live BACKEND [SECONDS [PERIOD_NS [FLOATS]]]\n");
    return 2;
  }
  b.live = open_live(argv[1], schedule_text(b.period_ns, b.floats), &schedule);
  b.end_ns = prem_live_now_ns(b.live) + seconds * LIMIT_NS;
  pthread_t feeder;
  if (pthread_create(&feeder, NULL, feed, &b) != 0)
    return 1;
  found f = {0};
  uint64_t next_input = 0;
  prem_frame frame;
  while (prem_live_wait(b.live, 1, prem_live_now_ns(b.live) + 10 * (int64_t)LIMIT_NS, &frame,
                        NULL) == PREM_OK) {
    look(&b, &frame, &next_input, &f);
    prem_live_release(b.live, &frame, NULL);
  }
  pthread_join(feeder, NULL);
  prem_live_counts in, out;
  prem_live_state state;
  prem_live_count(b.live, 0, &in);
  prem_live_count(b.live, 1, &out);
  prem_live_look(b.live, &state);
  const uint64_t lost = b.sent - f.frames - out.dropped;
  printf("%s: %lld s, a frame of %lld bytes every %lld ns\n", argv[1], (long long)seconds,
         (long long)(4 * b.floats), (long long)b.period_ns);
  printf("  sent %llu, no buffer free %llu, taken %llu, shown %llu, dropped %llu, lost %llu\n",
         (unsigned long long)b.sent, (unsigned long long)b.full, (unsigned long long)in.taken,
         (unsigned long long)f.frames, (unsigned long long)out.dropped, (unsigned long long)lost);
  printf("  torn %llu, wrong %llu, twice %llu; age when seen: mean %.0f us, largest %lld us\n",
         (unsigned long long)f.torn, (unsigned long long)f.wrong, (unsigned long long)f.twice,
         f.frames ? f.age_sum_ns / (double)f.frames / 1000 : 0.0, (long long)f.age_max_ns / 1000);
  printf("  hyperperiods %lld, ended as %d\n", (long long)state.hyperperiods, (int)state.end);
  prem_live_close(b.live);
  prem_schedule_free(schedule);
  return lost || f.torn || f.wrong || f.twice || state.end != PREM_LIVE_STOPPED;
}
