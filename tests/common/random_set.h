/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For tests: random sets of abstract tasks, one for each seed, that use every rule there is. Sets
 * that differ a little (a task more or less, another one, a longer one) are drawn alike.
 */
#pragma once

#include "tests/common/schedule_text.h"

enum { RANDOM_SET_TASKS = 6 };

typedef struct random_set {
  uint32_t seed;
  int32_t tasks;
  int32_t version[RANDOM_SET_TASKS + 1];   /* of a task: another one is another task of that name */
  int32_t longer_ns[RANDOM_SET_TASKS + 1]; /* added to its lengths */
} random_set;

static uint32_t random_set_state;

static inline void random_set_seed(uint32_t seed, int32_t part) {
  random_set_state = (seed + 1) * 2654435761u ^ ((uint32_t)part + 1) * 40503u;
}

static inline int32_t random_set_below(int32_t below) {
  random_set_state = random_set_state * 1664525u + 1013904223u;
  return (int32_t)((random_set_state >> 8) % (uint32_t)below);
}

static inline random_set random_set_draw(uint32_t seed) {
  random_set_seed(seed, -1);
  return (random_set){.seed = seed, .tasks = 1 + random_set_below(RANDOM_SET_TASKS)};
}

static inline const char *random_set_phase(const char *name, int32_t longest, int32_t longer_ns) {
  int32_t wcet = 1 + random_set_below(longest);
  const char *busy = random_set_below(4) ? "" : text("busy_ns = %dL;", 1 + random_set_below(wcet));
  const char *demand = "";
  if (random_set_below(3) == 0) {
    int32_t memory = random_set_below(3);
    demand = text("demand: { memory = %d; bus = %d; };", memory, random_set_below(2));
  }
  return text("%s: { wcet_ns = %dL; %s %s };", name, wcet + longer_ns, busy, demand);
}

static inline const char *random_set_phases(int32_t longer_ns) {
  int32_t kind = random_set_below(10);
  const char *prefetch = kind == 0 ? "" : random_set_phase("prefetch", 40, longer_ns);
  const char *compute = kind == 1 ? "" : random_set_phase("compute", 60, longer_ns);
  const char *writeback =
      kind == 2 || kind == 0 ? "" : random_set_phase("writeback", 30, longer_ns);
  return text("%s %s %s", prefetch, compute, writeback);
}

/* Warm-up tiles, which one-shot tasks have, wait for nobody. */
static inline const char *random_set_timing(bool periodic, bool warms_up, int32_t index) {
  static const int32_t periods[] = {1500, 3000, 6000};
  int32_t period = periods[random_set_below(3)];
  const char *all = "";
  if (periodic && random_set_below(4)) {
    int32_t release = random_set_below(3) ? 0 : random_set_below(400);
    const char *due =
        random_set_below(2) ? "" : text("deadline_ns = %dL;", 200 + random_set_below(period));
    warms_up = false;
    all = text("period_ns = %dL; release_ns = %dL; %s", period, release, due);
  } else if (random_set_below(4) == 0) {
    all = text("release_ns = %dL;", random_set_below(300));
  }
  if (!warms_up && index > 0 && random_set_below(3) == 0) {
    int32_t before = random_set_below(index), lag = random_set_below(3) ? 0 : random_set_below(50);
    all = text("%s after = ( { task = \"t%d\"; lag_ns = %dL; instance = \"latest\"; } );", all,
               before, lag);
  }
  return all;
}

static inline const char *random_set_task(const random_set *set, int32_t index, int32_t blocks,
                                          bool periodic, bool warms_up) {
  random_set_seed(set->seed, index + 100 * set->version[index]);
  int32_t first = random_set_below(blocks), last = first + random_set_below(blocks - first);
  int32_t tiles = 1 + random_set_below(9);
  const char *together = random_set_below(4) ? "" : "together = true;";
  const char *timing = random_set_timing(periodic, warms_up, index);
  return text("%s{ name = \"t%d\"; kernel = \"none\"; blocks = \"%d-%d\"; tiles = %d; %s %s %s }",
              index ? ", " : "", index, first, last, tiles, together, timing,
              random_set_phases(set->longer_ns[index]));
}

static inline const char *random_set_platform(int32_t blocks) {
  static const char *const steps[] = {"1L", "1L", "8L", "32L"};
  int32_t buffers = 1 + random_set_below(3), guard = random_set_below(2) ? 0 : random_set_below(12);
  int32_t step = random_set_below(4), memory = 1 + random_set_below(4);
  const char *memory_per = random_set_below(2) ? "block" : "task";
  int32_t bus = 1 + random_set_below(3);
  const char *bus_per = random_set_below(2) ? "block" : "task";
  int32_t precedence = random_set_below(3) ? 0 : random_set_below(60);
  return text("platform: { blocks = %d; buffers = %d; guard_ns = %dL; precedence_ns = %dL;"
              "  clock_step_ns = %s;"
              "  resources = ( { name = \"memory\"; capacity = %d; per = \"%s\"; },"
              "  { name = \"bus\"; capacity = %d; per = \"%s\"; } ); };",
              blocks, buffers, guard, precedence, steps[step], memory, memory_per, bus, bus_per);
}

static inline const char *random_set_text(const random_set *set) {
  random_set_seed(set->seed, -3);
  const bool warms_up = random_set_below(4) == 0;
  random_set_seed(set->seed, -2);
  int32_t blocks = 1 + random_set_below(5);
  bool periodic = random_set_below(2);
  const char *policy = "", *all = "";
  for (int32_t i = 0; i < set->tasks; ++i)
    all = text("%s%s", all, random_set_task(set, i, blocks, periodic, warms_up));
  random_set_seed(set->seed, -3); /* last: a text is good for 64 more only */
  if (random_set_below(4) == 0) {
    int32_t tiles = 1 + random_set_below(2);
    policy = text("policy: { warmup_tiles = %d; warmup_ns = %dL; };", tiles, random_set_below(900));
  }
  const char *platform = random_set_platform(blocks);
  return text("version = 1; name = \"t\"; %s\ntasks = ( %s );\n%s", platform, all, policy);
}
