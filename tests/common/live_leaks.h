/* SPDX-License-Identifier: Apache-2.0 */
/** Tests of live sessions that come and go: at the end the process has what it had after the first
 *  ones. */
#ifndef TTPREM_TESTS_COMMON_LIVE_LEAKS_H
#define TTPREM_TESTS_COMMON_LIVE_LEAKS_H

#include "tests/common/live.h"

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* A sanitizer keeps what is freed, so that memory says nothing there; it finds leaks by itself. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { KEEPS_MEMORY = 1 };
#else
enum { KEEPS_MEMORY = 0 };
#endif

/** What a process has. */
typedef struct belongings {
  int64_t heap_bytes;     /* allocated */
  int64_t resident_bytes; /* of all its pages */
  int64_t device_bytes;   /* 0 where there is no device */
  int64_t files, threads;
} belongings;

static inline int64_t entries_of(const char *folder) {
  int64_t count = 0;
  DIR *open = opendir(folder);
  ck_assert_ptr_nonnull(open);
  while (readdir(open))
    ++count;
  closedir(open);
  return count;
}

static inline int64_t resident_bytes(void) {
  long long pages = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  ck_assert_ptr_nonnull(file);
  ck_assert_int_eq(fscanf(file, "%lld %lld", &pages, &resident), 2);
  fclose(file);
  return resident * 4096;
}

static inline belongings look_at_belongings(int64_t (*device_bytes)(void)) {
  const struct mallinfo2 heap = mallinfo2();
  return (belongings){.heap_bytes = (int64_t)(heap.uordblks + heap.hblkhd),
                      .resident_bytes = resident_bytes(),
                      .device_bytes = device_bytes ? device_bytes() : 0,
                      .files = entries_of("/proc/self/fd"),
                      .threads = entries_of("/proc/self/task")};
}

/* A thread is off the list a moment after it was met. */
static inline belongings look_when_quiet(int64_t threads, int64_t (*device_bytes)(void)) {
  enum { LOOKS = 1000, NAP_NS = 1000000 };
  belongings now = look_at_belongings(device_bytes);
  for (int i = 0; i < LOOKS && now.threads > threads; ++i) {
    nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    now = look_at_belongings(device_bytes);
  }
  return now;
}

/** One session: a frame comes back, and it ends. */
static inline void live_a_life(const char *backend, const prem_schedule *schedule, int number) {
  const int64_t minute = INT64_C(60000000000);
  prem_live *live = open_live_on(backend, schedule);
  const int32_t x = prem_live_find(live, "x"), y = prem_live_find(live, "y");
  float value;
  ck_assert_int_eq(feed(live, x, (float)number, NULL), PREM_OK);
  start_live(live, &(prem_live_request){.mode = PREM_MODE_TT});
  ck_assert_int_eq(fetch(live, y, prem_live_now_ns(live) + minute, &value, NULL), PREM_OK);
  ck_assert_float_eq(value, (float)(number + 1));
  ck_assert_int_eq(prem_live_stop(live, true, prem_live_now_ns(live) + minute, NULL), PREM_OK);
  prem_live_close(live);
}

/**
 * As many sessions as TTPREM_SESSIONS says, else `usual`, behind ten whose belongings count.
 *
 * @param device_bytes  what of a device's memory is taken; NULL: there is none
 */
static inline void assert_nothing_stays(const char *backend, const prem_schedule *schedule,
                                        int usual, int64_t (*device_bytes)(void)) {
  /* threads keep some KiB of what they have freed for their next call */
  enum { FIRST = 10, HEAP_BYTES = 65536, RESIDENT_BYTES = 2 << 20, DEVICE_BYTES = 2 << 20 };
  const char *wanted = getenv("TTPREM_SESSIONS");
  const int count = wanted ? atoi(wanted) : usual;
  ck_assert_msg(count > 0, "TTPREM_SESSIONS is '%s', no number of sessions", wanted);
  const int64_t threads = entries_of("/proc/self/task"); /* before the first */
  int number = 0;
  for (; number < FIRST; ++number)
    live_a_life(backend, schedule, number);
  /* a device's driver may have threads of its own by now */
  const int64_t most = device_bytes ? INT64_MAX : threads;
  const belongings before = look_when_quiet(most, device_bytes);
  for (; number < FIRST + count; ++number)
    live_a_life(backend, schedule, number);
  const belongings after = look_when_quiet(before.threads, device_bytes);
  printf("%s: %d sessions: heap %+lld bytes, resident %+lld, device %+lld, files %lld, threads "
         "%lld\n",
         backend, count, (long long)(after.heap_bytes - before.heap_bytes),
         (long long)(after.resident_bytes - before.resident_bytes),
         (long long)(after.device_bytes - before.device_bytes), (long long)after.files,
         (long long)after.threads);
  fflush(stdout);
  ck_assert_int_eq(after.files, before.files);
  ck_assert_int_eq(after.threads, before.threads);
  ck_assert_int_lt(after.device_bytes - before.device_bytes, DEVICE_BYTES);
  if (KEEPS_MEMORY)
    return;
  ck_assert_int_lt(after.heap_bytes - before.heap_bytes, HEAP_BYTES);
  ck_assert_int_lt(after.resident_bytes - before.resident_bytes, RESIDENT_BYTES);
}

#endif
