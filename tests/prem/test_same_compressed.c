/* SPDX-License-Identifier: Apache-2.0 */
/* Random phases, regular to any degree, are written down as the runs and arrays that they were (see
 * tests/common/golden.h), and expand to themselves. */
#include "tests/common/golden.h"
#include "tests/common/planted.h"

enum { PLANS = 9000, JOINED = 600, OF_A_LINE = 20, MAX = 96 };

static uint64_t state, sum;

static int32_t draw(int32_t low, int32_t high) {
  return planted_between(&state, low, high);
}

static void add(int64_t value) {
  sum = golden_sum(sum, &value, sizeof value);
}

static prem_schedule *draw_schedule(void) {
  const int32_t blocks = draw(0, 1) ? 1 : draw(2, 4), buffers = draw(1, 2);
  const char *tasks = "";
  for (int t = 0; t < 2; ++t) {
    const int32_t tiles = draw(0, 2) ? draw(1, 14) : 5; /* as short as arrays, in two runs */
    tasks = text("%s%s{ name = \"t%d\"; kernel = \"none\"; blocks = \"0-%d\"; tiles = %d; %s"
                 " prefetch: { wcet_ns = 5L; }; compute: { wcet_ns = 7L; }; }",
                 tasks, t ? ", " : "", t, blocks - 1, tiles, t ? "" : "period_ns = 4096L;");
  }
  return schedule_from_text(text("version = 1; name = \"t\"; platform: { blocks = %d; buffers = %d;"
                                 " }; tasks = ( %s );",
                                 blocks, buffers, tasks));
}

/* Steps that change now and then. */
static int64_t draw_slots(const prem_schedule *schedule, prem_slot *slots) {
  static const int32_t seldom[] = {2, 4, 9, 40, 1000};
  const int32_t often = seldom[draw(0, 4)], chained = draw(0, 3);
  int64_t count = 0;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    int64_t start_ns = draw(0, 50), step_ns = 16;
    for (int32_t tile = 0; tile < task->tile_count; ++tile)
      for (int p = 0; p < 2; ++p) {
        if (draw(1, often) == 1)
          step_ns = 8 * draw(1, 6);
        const bool follows = p == 1 && chained == 0;
        const prem_slot *before = follows ? &slots[count - 1] : NULL;
        slots[count] = (prem_slot){.planned_ns = follows ? before->planned_ns + 5 : start_ns,
                                   .length_ns = p ? 7 : 5,
                                   .task = t,
                                   .tile = tile,
                                   .block = task->blocks[tile % task->block_count],
                                   .phase = (uint8_t)p,
                                   .flags = follows ? PREM_SLOT_CHAINED : 0};
        slots[count].head_ns = follows ? before->planned_ns : slots[count].planned_ns;
        start_ns += follows ? 0 : step_ns;
        ++count;
      }
  }
  return count;
}

/* Jobs of one task on one block, as far apart as their period or nearly so; a prefetch is often
 * joined to the writeback of a tile before it, of the job before it as well. */
static int64_t draw_jobs(const prem_schedule *schedule, prem_slot *slots) {
  const prem_task *task = &schedule->tasks[0];
  const int32_t seldom = draw(0, 2) ? 1000 : 6, jobs = draw(1, 4), back = draw(1, 3);
  int64_t count = 0;
  for (int32_t job = 0; job < jobs; ++job) {
    int64_t start_ns = 1024 * job + (draw(1, seldom) == 1 ? 8 : 0);
    for (int32_t tile = 0; tile < task->tile_count; ++tile, start_ns += 64) {
      const int32_t number = job * task->tile_count + tile - back;
      const bool is_joined = number >= 0 && draw(1, seldom) > 1;
      slots[count++] = (prem_slot){.planned_ns = start_ns,
                                   .head_ns = start_ns,
                                   .length_ns = 5,
                                   .job = job,
                                   .tile = tile,
                                   .phase = PREM_PREFETCH,
                                   .flags = is_joined ? PREM_SLOT_JOINED : 0};
      if (is_joined)
        slots[count++] = (prem_slot){.planned_ns = start_ns,
                                     .head_ns = start_ns,
                                     .length_ns = 5,
                                     .job = number / task->tile_count,
                                     .tile = number % task->tile_count,
                                     .phase = PREM_WRITEBACK,
                                     .flags = PREM_SLOT_JOINED};
    }
  }
  return count;
}

static void add_plan(const prem_plan *plan) {
  for (int32_t i = 0; i < plan->affine_count; ++i) {
    const prem_affine *a = &plan->affine[i];
    const int64_t all[] = {a->task,    a->phase,    a->chain,          a->first_block,
                           a->count,   a->start_ns, a->block_step_ns,  a->repeat,
                           a->step_ns, a->tile,     a->tile_per_block, a->tile_per_repeat,
                           a->job,     a->jobs,     a->job_step_ns};
    const int64_t joined[] = {a->join_task, a->join_tile, a->join_job};
    for (int v = 0; v < 3 && a->join_task >= 0; ++v)
      add(joined[v]);
    for (int v = 0; v < 15; ++v)
      add(all[v]);
  }
  for (int32_t i = 0; i < plan->starts_count; ++i) {
    const prem_starts *s = &plan->starts[i];
    add(s->task);
    add(s->phase);
    add(s->chain);
    add(s->block);
    for (int64_t k = 0; k < s->count; ++k)
      add(s->start_ns[k]);
  }
  add(plan->affine_count);
  add(plan->starts_count);
}

START_TEST(of_plans) {
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  prem_schedule *schedule = NULL;
  sum = GOLDEN_SUM;
  for (int i = 0; i < PLANS; ++i) {
    state = (uint64_t)i * 31 + 7;
    if (i % OF_A_LINE == 0) {
      prem_schedule_free(schedule);
      schedule = draw_schedule();
    }
    prem_slot slots[MAX];
    const int64_t count = draw_slots(schedule, slots);
    prem_plan *plan = prem_plan_new();
    plan->hyperperiod_ns = 4096;
    ck_assert_int_eq(prem_plan_compress(schedule, slots, count, plan), PREM_OK);
    add_plan(plan);
    prem_slot *again = NULL;
    int64_t again_count = 0;
    ck_assert_int_eq(prem_plan_expand(schedule, plan, &again, &again_count, NULL), PREM_OK);
    ck_assert_int_eq(again_count, count);
    free(again);
    prem_plan_free(plan);
    if (i % OF_A_LINE == OF_A_LINE - 1) {
      fprintf(file, "to plan %d: %016" PRIx64 "\n", i, sum);
      sum = GOLDEN_SUM;
    }
  }
  prem_schedule_free(schedule);
  fclose(file);
  golden_judge("compressed.txt", found);
}
END_TEST

static void add_slots(const prem_slot *slots, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const prem_slot *slot = &slots[i];
    const int64_t all[] = {slot->planned_ns, slot->head_ns, slot->job,
                           slot->tile,       slot->phase,   slot->flags};
    for (int v = 0; v < 6; ++v)
      add(all[v]);
  }
}

START_TEST(of_jobs) {
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  sum = GOLDEN_SUM;
  for (int i = 0; i < JOINED; ++i) {
    state = (uint64_t)i * 37 + 3;
    prem_schedule *schedule = schedule_from_text(text(
        "version = 1; name = \"t\"; platform: { blocks = 1; buffers = 2; }; tasks = ("
        " { name = \"t\"; kernel = \"none\"; blocks = [ 0 ]; tiles = %d; period_ns = 1024L;"
        " prefetch: { wcet_ns = 5L; }; compute: { wcet_ns = 7L; }; writeback: { wcet_ns = 5L; };"
        " }, { name = \"u\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; period_ns = 4096L;"
        " compute: { wcet_ns = 1L; }; } );",
        draw(1, 7)));
    prem_slot slots[MAX], *again = NULL;
    const int64_t count = draw_jobs(schedule, slots);
    int64_t again_count = 0;
    prem_plan *plan = prem_plan_new();
    plan->hyperperiod_ns = 4096;
    ck_assert_int_eq(prem_plan_compress(schedule, slots, count, plan), PREM_OK);
    add_plan(plan);
    ck_assert_int_eq(prem_plan_expand(schedule, plan, &again, &again_count, NULL), PREM_OK);
    ck_assert_int_eq(again_count, count);
    for (int64_t k = 0; k < count; ++k) {
      int64_t same = 0;
      while (same < count &&
             (again[same].job != slots[k].job || again[same].tile != slots[k].tile ||
              again[same].phase != slots[k].phase || again[same].planned_ns != slots[k].planned_ns))
        ++same;
      ck_assert_int_lt(same, count);
    }
    add_slots(again, count);
    free(again);
    prem_plan_free(plan);
    prem_schedule_free(schedule);
    if (i % OF_A_LINE == OF_A_LINE - 1) {
      fprintf(file, "to plan %d: %016" PRIx64 "\n", i, sum);
      sum = GOLDEN_SUM;
    }
  }
  fclose(file);
  golden_judge("compressed_jobs.txt", found);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("same compressed");
  TCase *all = tcase_create("plans");
  tcase_set_timeout(all, 240);
  tcase_add_test(all, of_plans);
  tcase_add_test(all, of_jobs);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
