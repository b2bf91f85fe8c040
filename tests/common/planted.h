/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For tests and benchmarks: sets with a planted optimum. A full schedule is drawn, one memory phase
 * directly behind the other, one tile a block at a time; a tile's compute lies somewhere between
 * its two memory phases. Its length is then the sum of all memory phases, and no schedule is
 * shorter.
 */
#pragma once

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct planted_tile {
  int32_t block;
  int64_t prefetch_ns, compute_ns, writeback_ns;
  int64_t fetched_ns; /* end of the prefetch */
} planted_tile;

static inline uint64_t planted_random(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *state >> 33;
}

static inline int64_t planted_length(uint64_t *state) {
  return 10 + (int64_t)(planted_random(state) % 290);
}

/* Of the loaded blocks a random one, but not the one that was loaded last: its compute needs room.
 */
static inline int32_t planted_pick(uint64_t *state, int32_t loaded) {
  return (int32_t)(planted_random(state) % (uint64_t)(loaded - 1));
}

/** Draw `count` tiles on at least 2 blocks; returns the optimum. */
static inline int64_t planted_draw(planted_tile *tiles, int32_t count, int32_t blocks,
                                   uint64_t seed) {
  int32_t *idle = (int32_t *)calloc((size_t)blocks, sizeof *idle);
  int32_t *loaded = (int32_t *)calloc((size_t)blocks, sizeof *loaded); /* tiles, as fetched */
  int32_t idle_count = blocks, loaded_count = 0, next = 0, done = 0;
  uint64_t state = seed * 2 + 1;
  int64_t now_ns = 0;
  for (int32_t b = 0; b < blocks; ++b)
    idle[b] = b;
  while (done < count) {
    bool fetch =
        next < count && idle_count > 0 && (loaded_count < 2 || planted_random(&state) % 2 == 0);
    if (fetch) {
      int32_t i = (int32_t)(planted_random(&state) % (uint64_t)idle_count);
      planted_tile *tile = &tiles[next];
      *tile = (planted_tile){.block = idle[i], .prefetch_ns = planted_length(&state)};
      idle[i] = idle[--idle_count];
      now_ns += tile->prefetch_ns;
      tile->fetched_ns = now_ns;
      loaded[loaded_count++] = next++;
      continue;
    }
    int32_t i = loaded_count > 1 ? planted_pick(&state, loaded_count) : 0;
    planted_tile *tile = &tiles[loaded[i]];
    int64_t room_ns = now_ns - tile->fetched_ns;
    tile->compute_ns =
        room_ns - (room_ns > 4 ? (int64_t)(planted_random(&state) % (uint64_t)(room_ns / 4)) : 0);
    tile->writeback_ns = planted_length(&state);
    now_ns += tile->writeback_ns;
    idle[idle_count++] = tile->block;
    for (int32_t k = i; k + 1 < loaded_count; ++k)
      loaded[k] = loaded[k + 1];
    --loaded_count;
    ++done;
  }
  free(idle);
  free(loaded);
  return now_ns;
}

/** As a schedule file; the tiles in another order than that of the optimum. */
static inline void planted_print(FILE *file, planted_tile *tiles, int32_t count, int32_t blocks,
                                 uint64_t seed) {
  uint64_t state = seed * 2 + 1;
  for (int32_t i = count - 1; i > 0; --i) {
    int32_t other = (int32_t)(planted_random(&state) % (uint64_t)(i + 1));
    planted_tile kept = tiles[i];
    tiles[i] = tiles[other];
    tiles[other] = kept;
  }
  fprintf(file,
          "version = 1; name = \"planted\"; platform: { blocks = %" PRId32 "; buffers = 1; };\n"
          "tasks = (\n",
          blocks);
  for (int32_t i = 0; i < count; ++i)
    fprintf(file,
            "{ name = \"t%" PRId32 "\"; kernel = \"none\"; blocks = [ %" PRId32 " ]; tiles = 1;"
            " prefetch: { wcet_ns = %" PRId64 "L; }; compute: { wcet_ns = %" PRId64
            "L; }; writeback: { wcet_ns = %" PRId64 "L; }; }%s\n",
            i, tiles[i].block, tiles[i].prefetch_ns, tiles[i].compute_ns, tiles[i].writeback_ns,
            i + 1 < count ? "," : "");
  fputs(");\n", file);
}

enum { PLANTED_GANGS = 4 };

typedef struct planted_gang {
  int32_t blocks, demand, tiles;
  int64_t prefetch_ns, compute_ns, writeback_ns;
} planted_gang;

typedef struct planted_gangs {
  planted_gang gang[PLANTED_GANGS];
  int32_t count, bus;
  int64_t optimum_ns;
} planted_gangs;

static inline int32_t planted_between(uint64_t *state, int32_t min, int32_t max) {
  return min + (int32_t)(planted_random(state) % (uint64_t)(max - min + 1));
}

/** The bus is full in slots, one behind the other, each with computes of one gang. While a slot
 *  computes, the next one's prefetches and the writebacks of the one before have the memory: no
 *  prefetch or writeback is longer than half of any compute, so both fit. The first slot and the
 *  last one are of gang 0, whose memory phases are the shortest. */
static inline planted_gangs planted_gangs_draw(uint64_t seed) {
  uint64_t state = seed * 2 + 1;
  planted_gangs set = {.count = planted_between(&state, 1, PLANTED_GANGS)};
  const int32_t wide = planted_between(&state, 1, 3), half_ns = planted_between(&state, 5, 40);
  set.bus = 2 * wide;
  for (int32_t g = 0; g < set.count; ++g) {
    planted_gang *gang = &set.gang[g];
    int32_t shortest_ns = g == 0 ? 1 : (int32_t)set.gang[0].prefetch_ns;
    gang->demand = planted_between(&state, 1, 2);
    gang->blocks = set.bus / gang->demand + planted_between(&state, 1, 3);
    gang->prefetch_ns = planted_between(&state, shortest_ns, g == 0 ? half_ns / 2 + 1 : half_ns);
    shortest_ns = g == 0 ? 1 : (int32_t)set.gang[0].writeback_ns;
    gang->writeback_ns = planted_between(&state, shortest_ns, g == 0 ? half_ns / 2 + 1 : half_ns);
    gang->compute_ns = 2 * half_ns + planted_between(&state, 0, half_ns);
  }
  set.optimum_ns = set.gang[0].prefetch_ns + set.gang[0].writeback_ns;
  const int32_t slots = planted_between(&state, 3, 10);
  for (int32_t s = 0; s < slots; ++s) {
    bool edge = s == 0 || s == slots - 1;
    planted_gang *gang = &set.gang[edge ? 0 : planted_between(&state, 0, set.count - 1)];
    gang->tiles += set.bus / gang->demand;
    set.optimum_ns += gang->compute_ns;
  }
  return set;
}

/** As a schedule file: every gang has blocks of its own. */
static inline void planted_gangs_print(FILE *file, const planted_gangs *set) {
  int32_t blocks = 0;
  for (int32_t g = 0; g < set->count; ++g)
    blocks += set->gang[g].blocks;
  fprintf(file,
          "version = 1; name = \"gangs\"; platform: { blocks = %" PRId32 "; buffers = 2;"
          " resources = ( { name = \"memory\"; capacity = 1; per = \"task\"; },"
          " { name = \"bus\"; capacity = %" PRId32 "; } ); };\ntasks = (\n",
          blocks, set->bus);
  const char *comma = "";
  for (int32_t g = 0; g < set->count; ++g) {
    const planted_gang *gang = &set->gang[g];
    if (gang->tiles == 0)
      continue;
    fprintf(file,
            "%s{ name = \"g%" PRId32 "\"; kernel = \"none\"; blocks = %" PRId32 "; tiles = %" PRId32
            "; prefetch: { wcet_ns = %" PRId64 "L; }; compute: { wcet_ns = %" PRId64
            "L; demand: { bus = %" PRId32 "; }; }; writeback: { wcet_ns = %" PRId64 "L; }; }",
            comma, g, gang->blocks, gang->tiles, gang->prefetch_ns, gang->compute_ns, gang->demand,
            gang->writeback_ns);
    comma = ",\n";
  }
  fputs("\n);\n", file);
}
