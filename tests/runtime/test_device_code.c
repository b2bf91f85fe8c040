/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU's version of every kernel's compute function, on the CPU: a thread for each lane, with a
 * barrier where lanes wait for each other. Tiles of awkward sizes have to give the reference's bits
 * with any number of lanes; under the thread sanitizer, without a race.
 */
/* ctest: threads */
#include "tests/common/lane_threads.h"

typedef struct float2 {
  _Alignas(8) float x;
  float y;
} float2;
typedef struct float4 {
  _Alignas(16) float x;
  float y, z, w;
} float4;

static inline float4 make_float4(float x, float y, float z, float w) {
  return (float4){x, y, z, w};
}
static inline int32_t min(int32_t a, int32_t b) {
  return a < b ? a : b;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wcast-align"
/* GCC 12 gives the vectors that it makes of single loads the alignment of a load that stands in
 * another branch, and crashes. */
#pragma GCC push_options
#pragma GCC optimize("no-tree-slp-vectorize")
#include "kernels/kernel_headers.h"
#pragma GCC pop_options
#pragma GCC diagnostic pop

#include "runtime/core/windows.h"
#include "tests/common/lane_crew.h"
#include "tests/common/suite.h"

/* ---- a tile by lanes ------------------------------------------------------------------------- */

/* Of every kernel with code, as the build lists them. */
#define PREM_COMPATIBLE_KERNEL(NAME) PREM_KERNEL(NAME, all)
#define PREM_KERNEL(NAME, FAMILY)                                                                  \
  static void NAME##_on_device(const void *params, const prem_view *views) {                       \
    NAME##_compute((const NAME##_params *)params, views);                                          \
  }
#include "kernels/kernels.def"
#undef PREM_KERNEL
#define PREM_KERNEL(NAME, FAMILY) {#NAME, NAME##_on_device},
static const struct {
  const char *kernel;
  void (*compute)(const void *params, const prem_view *views);
} device_codes[] = {
#include "kernels/kernels.def"
};

static void compute(const prem_task *task, const prem_view *views) {
  for (size_t i = 0; i < sizeof device_codes / sizeof *device_codes; ++i)
    if (strcmp(task->definition->name, device_codes[i].kernel) == 0)
      device_codes[i].compute(task->params, views);
}

static unsigned char *new_buffer(int32_t bytes) {
  void *memory = NULL;
  ck_assert_int_eq(posix_memalign(&memory, 128, (size_t)bytes), 0);
  return memory;
}

static void assert_parity(const prem_schedule *schedule, unsigned lanes) {
  const prem_task *task = &schedule->tasks[0];
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_arrays) *arrays = NULL;
  ck_assert_int_eq(prem_arrays_new(schedule, &arrays, diag), PREM_OK);
  prem_arrays_poison(arrays);
  unsigned char *in = new_buffer(task->in_bytes), *out = new_buffer(task->out_bytes);
  start_lanes(lanes);
  for (int32_t tile = 0; tile < task->tile_count; ++tile) {
    prem_view views[PREM_MAX_PORTS];
    memset(in, PREM_POISON, (size_t)task->in_bytes);
    memset(out, PREM_POISON, (size_t)task->out_bytes);
    if (task->phase[PREM_PREFETCH].exists)
      prem_tile_fetch(arrays, 0, tile, in);
    prem_tile_views(arrays, 0, tile, in, out, views);
    run_lanes(task, views);
    if (task->phase[PREM_WRITEBACK].exists)
      prem_tile_store(arrays, 0, tile, out);
  }
  end_lanes();
  prem_verdict verdict;
  prem_arrays_verify(arrays, &verdict);
  ck_assert_msg(verdict.ok, "%s, %u lanes: %lld wrong, first at (%lld, %lld): %.9g, expected %.9g",
                task->definition->name, lanes, (long long)verdict.wrong,
                (long long)verdict.index[2], (long long)verdict.index[3], verdict.found,
                verdict.expected);
  free(in);
  free(out);
}

/* ---- kernels and their shapes ---------------------------------------------------------------- */

#define SAME2   "arrays: { a = \"c\"; b = \"d\"; out = \"new\"; };"
#define SAME1   "arrays: { in = \"c\"; out = \"new\"; };"
#define IMAGE   "arrays: { in = \"f\"; out = \"new\"; };"
#define BORDER  "arrays: { in = \"f\"; out = \"g\"; };"
#define PRODUCT "arrays: { a = \"f\"; b = \"m\"; out = \"new\"; };"
#define VECTOR  "arrays: { in = \"v\"; out = \"new\"; };"

static const char arrays_text[] =
    "{ name = \"c\"; type = \"c64\"; shape = [ 3, 11, 13 ]; fill = \"random\"; seed = 1; }, "
    "{ name = \"d\"; type = \"c64\"; shape = [ 3, 11, 13 ]; fill = \"random\"; seed = 2; }, "
    "{ name = \"e\"; type = \"c64\"; shape = [ 11, 13 ]; fill = \"random\"; seed = 3; }, "
    "{ name = \"f\"; type = \"f32\"; shape = [ 19, 37 ]; fill = \"random\"; seed = 4; }, "
    "{ name = \"g\"; type = \"f32\"; shape = [ 19, 37 ]; }, "
    "{ name = \"m\"; type = \"f32\"; shape = [ 37, 23 ]; fill = \"random\"; seed = 7; }, "
    "{ name = \"tall\"; type = \"f32\"; shape = [ 2000, 8 ]; fill = \"random\"; seed = 6; }, "
    "{ name = \"x\"; type = \"f32\"; shape = [ 37 ]; fill = \"random\"; seed = 10; }, "
    "{ name = \"v\"; type = \"f32\"; shape = [ 1001 ]; fill = \"random\"; seed = 5; }, "
    "{ name = \"u8\"; type = \"u8\"; shape = [ 19, 37 ]; fill = \"random\"; seed = 7; }, "
    "{ name = \"u8b\"; type = \"u8\"; shape = [ 19, 37 ]; }, "
    "{ name = \"u16\"; type = \"u16\"; shape = [ 19, 37 ]; }, "
    "{ name = \"i32\"; type = \"i32\"; shape = [ 2, 3, 5, 7 ]; fill = \"random\"; seed = 8; }, "
    "{ name = \"f16\"; type = \"f16\"; shape = [ 19, 37 ]; }, "
    "{ name = \"bf16\"; type = \"bf16\"; shape = [ 19, 37 ]; fill = \"random\"; seed = 9; }, "
    "{ name = \"planes\"; type = \"c64\"; shape = [ 2, 3, 32, 32 ]; fill = \"random\"; }, "
    "{ name = \"small\"; type = \"c64\"; shape = [ 3, 16, 16 ]; fill = \"random\"; }, "
    "{ name = \"long\"; type = \"c64\"; shape = [ 5, 256 ]; fill = \"random\"; }, "
    "{ name = \"deep\"; type = \"c64\"; shape = [ 2, 128, 9 ]; fill = \"random\"; }, "
    "{ name = \"deepest\"; type = \"c64\"; shape = [ 512, 7 ]; fill = \"random\"; }";

static const struct {
  const char *kernel, *settings;
} cases[] = {
    {"blend", "tile = [ 5, 9 ]; arrays: { a = \"f\"; b = \"f\"; out = \"new\"; };"},
    {"blend", "tile = [ 19, 3 ]; arrays: { a = \"f\"; b = \"u8\"; out = \"new\"; };"},
    {"conv2d", "tile = [ 8, 16 ]; " IMAGE},
    {"conv2d", "tile = [ 9, 15 ]; " BORDER},
    {"conv2d", "tile = [ 2000, 6 ]; arrays: { in = \"tall\"; out = \"new\"; };"},
    {"conv2d", "tile = [ 1, 35 ]; " IMAGE},
    {"conv2d", "tile = [ 2, 5 ]; " BORDER},
    {"conv2d", "tile = [ 7, 37 ]; " BORDER},
    {"conv2d", "tile = [ 4, 3 ]; " IMAGE},
    {"conv2d_7x7", "tile = [ 8, 16 ]; " IMAGE},
    {"conv2d_7x7", "tile = [ 8, 16 ]; " BORDER},
    {"conv2d_7x7", "tile = [ 9, 15 ]; " IMAGE},
    {"conv2d_7x7", "tile = [ 19, 37 ]; " BORDER},
    {"conv2d_7x7", "tile = [ 5, 2 ]; " BORDER},
    {"conv2d_7x7", "tile = [ 1, 31 ]; " IMAGE},
    {"conv2d_7x7", "tile = [ 7, 6 ]; " IMAGE},
    {"conv2d_7x7", "tile = [ 3, 4 ]; " BORDER},
    {"conv2d_7x7", "tile = [ 400, 2 ]; arrays: { in = \"tall\"; out = \"new\"; };"},
    {"conv2d_u8", "tile = [ 8, 16 ]; arrays: { in = \"u8\"; out = \"new\"; };"},
    {"conv2d_u8", "tile = [ 9, 15 ]; arrays: { in = \"u8\"; out = \"u8b\"; };"},
    {"convert", "tile = [ 8, 16 ]; arrays: { in = \"u8\"; out = \"new\"; };"},
    {"convert", "tile = [ 8, 15 ]; arrays: { in = \"f\"; out = \"u16\"; };"},
    {"convert", "tile = [ 2, 2, 3, 2 ]; arrays: { in = \"i32\"; out = \"new\"; };"},
    {"convert", "tile = [ 5, 37 ]; arrays: { in = \"f\"; out = \"f16\"; };"},
    {"convert", "tile = [ 19, 3 ]; arrays: { in = \"bf16\"; out = \"new\"; };"},
    {"fft2_plane", "tile = [ 2, 2, 32, 32 ]; arrays: { in = \"planes\"; out = \"new\"; };"},
    {"fft2_plane", "tile = [ 2, 16, 16 ]; args: { inverse = 1; }; "
                   "arrays: { in = \"small\"; out = \"new\"; };"},
    {"fft_columns", "tile = [ 2, 128, 4 ]; arrays: { in = \"deep\"; out = \"new\"; };"},
    {"fft_columns", "tile = [ 512, 16 ]; args: { inverse = 1; }; "
                    "arrays: { in = \"deepest\"; out = \"new\"; };"},
    {"fft_columns", "tile = [ 1, 3, 32, 5 ]; arrays: { in = \"planes\"; out = \"new\"; };"},
    {"fft_rows", "tile = [ 2, 256 ]; arrays: { in = \"long\"; out = \"new\"; };"},
    {"fft_rows", "tile = [ 1, 2, 20, 32 ]; args: { inverse = 1; }; "
                 "arrays: { in = \"planes\"; out = \"new\"; };"},
    {"kcf_add", "tile = [ 2, 4, 7 ]; " SAME2},
    {"kcf_add_constant", "tile = [ 2, 4, 6 ]; " SAME1},
    {"kcf_conjugate", "tile = [ 1, 11, 13 ]; " SAME1},
    {"kcf_divide", "tile = [ 2, 4, 7 ]; " SAME2},
    {"kcf_multiply", "tile = [ 3, 5, 5 ]; " SAME2},
    {"kcf_multiply_channels",
     "tile = [ 2, 4, 7 ]; arrays: { a = \"c\"; b = \"e\"; out = \"new\"; };"},
    {"kcf_multiply_constant", "tile = [ 2, 4, 7 ]; " SAME1},
    {"kcf_sqr_magnitude", "tile = [ 2, 4, 7 ]; " SAME1},
    {"kcf_sqr_norm", "tile = [ 3, 11, 13 ]; " SAME1},
    {"kcf_sqr_norm", "tile = [ 2, 4, 7 ]; " SAME1},
    {"kcf_sqr_norm", "tile = [ 1, 1, 1 ]; " SAME1},
    {"kcf_sum_channels", "tile = [ 4, 7 ]; " SAME1},
    {"matmul", "tile = [ 8, 16 ]; " PRODUCT},
    {"matmul", "tile = [ 19, 23 ]; " PRODUCT},
    {"matmul", "tile = [ 3, 1 ]; " PRODUCT},
    {"matvec", "tile = [ 4 ]; arrays: { a = \"f\"; x = \"x\"; out = \"new\"; };"},
    {"matvec", "tile = [ 19 ]; arrays: { a = \"f\"; x = \"x\"; out = \"new\"; };"},
    {"noop", "tiles = 1; compute: { };"},
    {"tile_sum", "tile = [ 5, 9 ]; arrays: { in = \"f\"; out = \"new\"; };"},
    {"tile_sum", "tile = [ 19, 37 ]; arrays: { in = \"u8\"; out = \"new\"; };"},
    {"tile_sum", "tile = [ 300 ]; " VECTOR},
    {"vector_increment", "tile = [ 300 ]; " VECTOR},
    {"vector_sum", "tile = [ 300 ]; " VECTOR},
    {"vector_sum", "tile = [ 77 ]; " VECTOR},
    {"vector_sum", "tile = [ 1001 ]; " VECTOR},
    {"walk", "tile = [ 33 ]; args: { walkers = 100; steps = 40; }; "
             "arrays: { vector = \"v\"; out = \"new\"; };"},
};

TESTS(lanes_give_the_references_bits, (int)(sizeof cases / sizeof *cases)) {
  static const unsigned lane_counts[] = {1, 5, 32, 96};
  OWNED(prem_schedule) *schedule = schedule_from_text(
      text("version = 1; name = \"lanes\"; platform: { blocks = 1; };\narrays = ( %s );\n"
           "tasks = ( { name = \"k\"; blocks = 1; kernel = \"%s\"; %s } );\n",
           arrays_text, cases[_i].kernel, cases[_i].settings));
  for (size_t l = 0; l < sizeof lane_counts / sizeof *lane_counts; ++l)
    if (schedule->tasks[0].tile_count * (int32_t)lane_counts[l] < 6000)
      assert_parity(schedule, lane_counts[l]);
}

TEST(every_kernel_has_a_case) {
  const prem_registry *registry = prem_registry_builtin();
  for (int32_t k = 0; k < registry->count; ++k) {
    bool found = strcmp(registry->kernels[k]->name, PREM_CUDA_GRAPH) == 0; /* it has no code */
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c)
      found = found || strcmp(cases[c].kernel, registry->kernels[k]->name) == 0;
    ck_assert_msg(found, "kernel %s is not tried", registry->kernels[k]->name);
  }
}
