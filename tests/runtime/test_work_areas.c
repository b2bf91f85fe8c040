/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work areas lie behind a tile's inputs or behind its outputs, where the block that needs most of
 * the scratchpad needs least. Random schedules are held against every choice that there is, and run
 * on sim and cpu in all modes, by a kernel that fills its work area with noise.
 */
/* ctest: threads */
#include "tests/common/cpu_fixture.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

enum { TILES = 5, MOST_TASKS = 6, CASES = 40 };

/* ---- a kernel of three sizes: `in`'s rows, `out`, `work` ------------------------------------- */

static prem_status piece_bind(prem_bind *bind) {
  int64_t out = 1, work = 0;
  prem_status status = prem_arg_ints(bind, "out", &out, 1);
  if (status == PREM_OK)
    status = prem_arg_ints(bind, "work", &work, 1);
  bind->grid[0] = bind->grid[1] = 1;
  bind->grid[2] = TILES;
  bind->window[0] =
      (prem_window){.step = {[2] = {0, 0, 1}}, .extent = {1, 1, 1, (int32_t)bind->shape[0][3]}};
  bind->window[1] = (prem_window){.step = {[2] = {0, 0, 1}}, .extent = {1, 1, 1, (int32_t)out}};
  bind->new_rank[1] = 2;
  bind->new_shape[1][0] = bind->new_shape[1][1] = 1;
  bind->new_shape[1][2] = TILES;
  bind->new_shape[1][3] = out;
  bind->work_bytes = (int32_t)work;
  memcpy(bind->params.bytes, &work, sizeof work); /* compute has a work area, or none */
  return status;
}

static uint8_t piece_of(const uint8_t *in, int64_t count, int64_t i) {
  return (uint8_t)(in[i % count] + i);
}

static void piece_compute(const void *params, const prem_view *views) {
  const bool has_work = *(const int64_t *)params != 0;
  const uint8_t *in = views[0].data;
  uint8_t *out = views[1].data;
  if (has_work)
    memset(views[2].data, 0xA5, (size_t)views[2].extent[3]);
  for (int32_t i = 0; i < views[1].extent[3]; ++i)
    out[i] = piece_of(in, views[0].extent[3], i);
  if (has_work)
    memset(views[2].data, 0x5A, (size_t)views[2].extent[3]);
}

static void piece_reference(const void *params, const prem_array_view *arrays) {
  (void)params;
  const int64_t in = arrays[0].shape[3], out = arrays[1].shape[3];
  for (int64_t t = 0; t < TILES; ++t)
    for (int64_t i = 0; i < out; ++i)
      ((uint8_t *)arrays[1].data)[t * out + i] =
          piece_of((const uint8_t *)arrays[0].data + t * in, in, i);
}

static const prem_port piece_ports[] = {{"in", PREM_IN, PREM_U8}, {"out", PREM_OUT, PREM_U8}};
static const prem_kernel piece = {.name = "piece",
                                  .summary = "hands bytes on, counted up",
                                  .params_bytes = sizeof(int64_t),
                                  .ports = piece_ports,
                                  .port_count = 2,
                                  .bind = piece_bind,
                                  .compute = piece_compute,
                                  .reference = piece_reference};
static const prem_kernel *const kernels[] = {&piece};
static const prem_registry registry = {kernels, 1};

/* ---- schedules ------------------------------------------------------------------------------- */

static uint64_t drawn;

static int64_t draw(int64_t below) {
  drawn = drawn * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (int64_t)((drawn >> 33) % (uint64_t)below);
}

typedef struct sizes {
  int64_t in, out, work;
} sizes;

/* @param blocks  2: even tasks have block 0, odd ones both; 1: all have block 0 */
static void load(fixture *f, const sizes *of, int32_t count, int32_t blocks, int32_t buffers) {
  static const char *const phases = "prefetch: { wcet_ns = 2000L; }; compute: { wcet_ns = 2000L; };"
                                    " writeback: { wcet_ns = 2000L; };";
  char text[8192];
  size_t used = 0;
  used += (size_t)snprintf(text + used, sizeof text - used,
                           "version = 1; name = \"t\"; platform: { blocks = %d; buffers = %d; "
                           "resources = ( { name = \"memory\"; capacity = 2; } ); }; arrays = (",
                           (int)blocks, (int)buffers);
  for (int32_t t = 0; t < count; ++t)
    used += (size_t)snprintf(text + used, sizeof text - used,
                             "%s{ name = \"a%d\"; type = \"u8\"; shape = [ %d, %d ]; fill = "
                             "\"random\"; seed = %d; }",
                             t ? "," : "", (int)t, TILES, (int)of[t].in, (int)t + 1);
  used += (size_t)snprintf(text + used, sizeof text - used, "); tasks = (");
  for (int32_t t = 0; t < count; ++t)
    used += (size_t)snprintf(
        text + used, sizeof text - used,
        "%s{ name = \"t%d\"; kernel = \"piece\"; blocks = [ %s ]; args: { out = %d; work = %d; }; "
        "arrays: { in = \"a%d\"; out = \"new\"; }; %s }",
        t ? "," : "", (int)t, blocks == 2 && t % 2 ? "0, 1" : "0", (int)of[t].out, (int)of[t].work,
        (int)t, phases);
  snprintf(text + used, sizeof text - used, ");");
  fixture_load(f, &registry, "%s", text);
  fixture_expect(f, prem_prepare(f->schedule, &registry, NULL, NULL, f->diag), PREM_OK);
}

static int64_t rounded(int64_t bytes) {
  return (bytes + 127) / 128 * 128;
}

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* What block 0, which has all tasks, needs where the work areas of the set `in_input` lie behind
 * inputs. */
static int64_t needed(const sizes *of, int32_t count, uint32_t in_input) {
  int64_t in = 0, out = 0;
  for (int32_t t = 0; t < count; ++t) {
    const bool is_input = in_input >> t & 1;
    in = larger(in, rounded((of[t].in + 15) / 16 * 16) + (is_input ? rounded(of[t].work) : 0));
    out = larger(out, rounded((of[t].out + 15) / 16 * 16) + (is_input ? 0 : rounded(of[t].work)));
  }
  return in + out;
}

static int32_t draw_sizes(sizes *of) {
  const int32_t count = 1 + (int32_t)draw(MOST_TASKS);
  for (int32_t t = 0; t < count; ++t)
    of[t] = (sizes){1 + draw(3000), 1 + draw(3000), draw(3) ? draw(4000) : 0};
  return count;
}

/* ---- tests ----------------------------------------------------------------------------------- */

GROUP("places");

TESTS(blocks_need_no_more_than_they_have_to, CASES) {
  sizes of[MOST_TASKS];
  FIXTURE f = {0};
  drawn = (uint64_t)_i + 1;
  const int32_t count = draw_sizes(of), blocks = 1 + _i % 2, buffers = 1 + _i % 3;
  load(&f, of, count, blocks, buffers);
  int64_t least = INT64_MAX;
  for (uint32_t set = 0; set < 1U << count; ++set)
    least = needed(of, count, set) < least ? needed(of, count, set) : least;
  ck_assert_int_eq(prem_block_scratch_bytes(f.schedule, 0), buffers * least);
  if (blocks == 2)
    ck_assert_int_le(prem_block_scratch_bytes(f.schedule, 1), buffers * least);
}

/* Behind the outputs, where nothing else takes less. */
TEST(outputs_come_first) {
  const sizes equal[] = {{1000, 1000, 500}}, better[] = {{100, 1000, 900}, {1000, 100, 0}};
  fixture f;
  load(&f, equal, 1, 1, 1);
  ck_assert(!f.schedule->tasks[0].work_is_input);
  fixture_close(&f);
  load(&f, better, 2, 1, 1);
  ck_assert(f.schedule->tasks[0].work_is_input);
  ck_assert_int_eq(f.schedule->tasks[0].layout[2].offset_bytes, 128);
  ck_assert_int_eq(f.schedule->tasks[0].in_bytes, 128 + 1024);
  ck_assert_int_eq(f.schedule->tasks[0].out_bytes, 1024);
  fixture_close(&f);
}

GROUP("runs");

TESTS(noise_in_them_disturbs_nobody, 12) {
  sizes of[MOST_TASKS];
  FIXTURE f = {0};
  drawn = (uint64_t)_i + 1000;
  const int32_t count = draw_sizes(of);
  load(&f, of, count, 1 + _i % 2, 1 + _i % 3);
  for (int mode = PREM_MODE_TT; mode <= PREM_MODE_LOCK; ++mode) {
    run_and_verify("sim", f.schedule, (prem_mode)mode);
    run_and_verify("cpu", f.schedule, (prem_mode)mode);
  }
}

/* Some of the tasks, as `profile` runs them: the same layout, work areas included. */
TESTS(subsets_have_the_same_places, 12) {
  sizes of[MOST_TASKS];
  bool keep[MOST_TASKS] = {false};
  FIXTURE f = {0};
  OWNED(prem_schedule) *subset = NULL;
  drawn = (uint64_t)_i + 2000;
  const int32_t count = draw_sizes(of);
  of[0].work = 1000;
  load(&f, of, count, 1, 1 + _i % 3);
  keep[0] = keep[count - 1] = true;
  ck_assert_int_eq(prem_schedule_subset(f.schedule, keep, &subset), PREM_OK);
  const prem_task *whole = &f.schedule->tasks[0], *part = &subset->tasks[0];
  ck_assert_int_eq(part->work_is_input, whole->work_is_input);
  ck_assert_mem_eq(part->layout, whole->layout, 3 * sizeof *part->layout);
}
