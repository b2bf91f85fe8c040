/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For tests: random trees of tasks that each add 1 to what another one made, with deadlines,
 * overrun policies and operating modes by chance. A frame of the input is one number everywhere, so
 * what is shown has to be one number everywhere: that of its frame, and 1 for each task on the way.
 */
#ifndef TTPREM_TESTS_COMMON_LIVE_TREE_H
#define TTPREM_TESTS_COMMON_LIVE_TREE_H

#include "prem/base/random.h"
#include "tests/common/live.h"

enum { TREE_TASKS = 5, TREE_MODES = 3, TREE_TEXT_BYTES = 1 << 14 };

typedef struct live_tree {
  uint64_t random;
  int64_t unit_ns; /* a period is 1000 of them */
  int32_t task_count, tiles;
  int32_t from[TREE_TASKS], depth[TREE_TASKS]; /* the task that it reads from, -1: the input */
  bool is_read[TREE_TASKS];
  prem_schedule *schedule;
  prem_live *live;
  int64_t next_job[PREM_MAX_LIVE_PORTS]; /* of a stream: not shown yet */
} live_tree;

static inline int64_t tree_pick(live_tree *tree, int64_t min, int64_t max) {
  return min + (int64_t)(prem_random_next(&tree->random) % (uint64_t)(max - min + 1));
}

/* One or two blocks of its own, or those of the task that it reads from, by block or not. */
static inline int32_t tree_print_task(live_tree *tree, FILE *file, int32_t t, int32_t first_block,
                                      int32_t *first_of) {
  const int32_t from = tree->from[t];
  const bool has_own = from < 0 || tree_pick(tree, 0, 1);
  first_of[t] = has_own ? first_block : first_of[from];
  fprintf(file,
          "%s{ name = \"t%d\"; kernel = \"vector_increment\"; blocks = [ %d, %d ]; tile = [ 8 ];"
          " period_ns = %lldL; arrays: { in = \"a%d\"; out = \"a%d\"; };",
          t ? ", " : "", t, first_of[t], first_of[t] + 1, (long long)(1000 * tree->unit_ns),
          from + 1, t + 1);
  if (from >= 0)
    fprintf(file, " after = ( { task = \"t%d\"; %s } );", from,
            !has_own && tree_pick(tree, 0, 1) ? "per = \"block\";" : "");
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    fprintf(file, " %s: { wcet_ns = %lldL; };", prem_phase_name((prem_phase)p),
            (long long)(tree_pick(tree, 5, 30) * tree->unit_ns));
  fprintf(file, " }\n");
  return has_own ? first_block + 2 : first_block;
}

static inline void tree_print(live_tree *tree, FILE *file) {
  int32_t blocks = 0, first_of[TREE_TASKS];
  bool is_first = true;
  fprintf(file, "version = 1; name = \"tree\"; tasks = (\n");
  for (int32_t t = 0; t < tree->task_count; ++t)
    blocks = tree_print_task(tree, file, t, blocks, first_of);
  fprintf(file,
          ");\nplatform: { blocks = %d; buffers = %d;"
          " resources = ( { name = \"memory\"; capacity = %d; } ); };\narrays = (",
          blocks, (int)tree_pick(tree, 1, 2), blocks);
  for (int32_t a = 0; a <= tree->task_count; ++a)
    fprintf(file, "%s { name = \"a%d\"; type = \"f32\"; shape = [ %d ]; }", a ? "," : "", a,
            8 * tree->tiles);
  fprintf(file,
          " );\nlive: { inputs = ( { array = \"a0\"; kind = \"%s\"; missing = \"wait\";"
          " buffers = 4; } ); outputs = (",
          tree_pick(tree, 0, 1) ? "sampling" : "queuing");
  for (int32_t t = 0; t < tree->task_count; ++t)
    if (!tree->is_read[t]) {
      fprintf(file, "%s { array = \"a%d\"; kind = \"queuing\"; buffers = %d; overflow = \"%s\"; }",
              is_first ? "" : ",", t + 1, (int)tree_pick(tree, 1, 4),
              tree_pick(tree, 0, 1) ? "wait" : "drop");
      is_first = false;
    }
  fprintf(file, " ); operating_modes = ( { name = \"m0\"; }, { name = \"m1\"; },"
                " { name = \"m2\"; } ); };\n");
}

/** Planned; deadlines and policies are drawn then, so that plans may well break them. */
static inline void tree_draw(live_tree *tree, uint64_t seed, int64_t unit_ns,
                             const prem_registry *registry) {
  static char source[TREE_TEXT_BYTES];
  *tree = (live_tree){.random = seed, .unit_ns = unit_ns};
  tree->task_count = (int32_t)tree_pick(tree, 1, TREE_TASKS);
  tree->tiles = (int32_t)tree_pick(tree, 1, 5);
  for (int32_t t = 0; t < tree->task_count; ++t) {
    tree->from[t] = (int32_t)(t == 0 ? -1 : tree_pick(tree, 0, t - 1));
    tree->depth[t] = t == 0 ? 1 : tree->depth[tree->from[t]] + 1;
    if (t > 0)
      tree->is_read[tree->from[t]] = true;
  }
  FILE *file = fmemopen(source, sizeof source, "w");
  tree_print(tree, file);
  fclose(file);
  prem_diag *diag = prem_diag_new();
  if (prem_schedule_load_text("tree", source, &tree->schedule, diag) != PREM_OK ||
      prem_prepare(tree->schedule, registry, NULL, NULL, diag) != PREM_OK) {
    puts(source);
    abort_with("prepare", diag);
  }
  prem_diag_free(diag);
  for (int32_t t = 0; t < tree->task_count; ++t) {
    prem_task *task = &tree->schedule->tasks[t];
    task->deadline_ns = tree_pick(tree, 0, 2) ? tree_pick(tree, 200, 1200) * unit_ns : 0;
    static const prem_overrun words[] = {PREM_OVERRUN_RECORD, PREM_OVERRUN_SKIP, PREM_OVERRUN_ABORT,
                                         PREM_OVERRUN_DEGRADE};
    task->overrun = words[tree_pick(tree, 0, 3)];
    task->off = tree_pick(tree, 0, 3) ? 0 : (uint32_t)tree_pick(tree, 1, 7);
  }
}

/** The modes in which a task has no jobs: its own, and those of the tasks that it is made of. */
static inline uint32_t tree_off(const live_tree *tree, int32_t task) {
  uint32_t off = 0;
  for (int32_t t = task; t >= 0; t = tree->from[t])
    off |= tree->schedule->tasks[t].off;
  return off;
}

/** The results that are there, each whole and of its frame. */
static inline void tree_fetch(live_tree *tree, int32_t stream) {
  const int32_t writer = tree->schedule->arrays[tree->schedule->live[stream].array].writer;
  float value;
  prem_frame frame;
  while (fetch(tree->live, stream, 0, &value, &frame) == PREM_OK) {
    ck_assert_float_eq(value, (float)(frame.input + (uint64_t)tree->depth[writer]));
    ck_assert_int_ge(frame.job, tree->next_job[stream]);
    tree->next_job[stream] = frame.job + 1;
  }
}

/** Each job had one fate. Adds to the totals. */
static inline void tree_judge(const live_tree *tree, prem_live_state *totals,
                              prem_live_counts *outputs, uint64_t *off) {
  prem_live_state state;
  int64_t overruns = 0;
  prem_live_look(tree->live, &state);
  ck_assert_int_eq(state.phase, PREM_LIVE_ENDED);
  for (int32_t s = tree->schedule->live_input_count; s < tree->schedule->live_count; ++s) {
    prem_live_counts c;
    prem_live_count(tree->live, s, &c);
    ck_assert_uint_eq(c.frames + c.missing + c.dropped + c.aborted, (uint64_t)state.hyperperiods);
    outputs->frames += c.frames, outputs->missing += c.missing, outputs->aborted += c.aborted;
  }
  for (int32_t t = 0; t < tree->task_count; ++t) {
    const prem_task *task = &tree->schedule->tasks[t];
    prem_live_task_counts c;
    prem_live_count_task(tree->live, t, &c);
    ck_assert_uint_le(c.skipped + c.aborted + c.off, (uint64_t)state.hyperperiods);
    ck_assert(c.off == 0 || tree_off(tree, t) != 0);
    ck_assert(tree_off(tree, t) != 7 || c.off == (uint64_t)state.hyperperiods);
    *off += c.off;
    ck_assert_uint_le(c.overruns, (uint64_t)state.hyperperiods);
    ck_assert(task->deadline_ns > 0 || c.overruns == 0);
    const bool aborts = task->overrun == PREM_OVERRUN_ABORT;
    ck_assert_uint_le(c.aborted, aborts ? c.overruns : 0);
    overruns += (int64_t)c.overruns;
  }
  ck_assert_int_eq(state.overruns, overruns);
  totals->overruns += state.overruns, totals->skipped += state.skipped;
  totals->aborted += state.aborted;
}

#endif
