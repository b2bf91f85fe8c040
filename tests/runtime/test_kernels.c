/* SPDX-License-Identifier: Apache-2.0 */
/* Every kernel, tile by tile through windows and scratchpad, against its untiled reference, bit for
 * bit; and what its bind refuses. */

#include "runtime/core/windows.h"
#include "tests/common/golden.h"
#include "tests/common/suite.h"

enum { GUARD = 0xA5, GUARD_BYTES = 128 };

/* The text of a schedule of the given arrays and one task named k. */
static const char *schedule_of(const char *arrays, const char *task) {
  return text("version = 1; name = \"parity\"; platform: { blocks = 3; };\n"
              "%s%s%s"
              "tasks = ( { name = \"k\"; blocks = 3; %s } );\n",
              *arrays ? "arrays = ( " : "", arrays, *arrays ? " );\n" : "", task);
}

static unsigned char *new_buffer(int32_t bytes) {
  void *memory = NULL;
  ck_assert_int_eq(posix_memalign(&memory, 128, (size_t)bytes + 2 * GUARD_BYTES), 0);
  memset(memory, GUARD, (size_t)bytes + 2 * GUARD_BYTES);
  return (unsigned char *)memory + GUARD_BYTES;
}

static void free_buffer(unsigned char *buffer, int32_t bytes) {
  int wrong = 0;
  for (int32_t i = 0; i < GUARD_BYTES; ++i)
    wrong += buffer[i - GUARD_BYTES] != GUARD || buffer[bytes + i] != GUARD;
  ck_assert_int_eq(wrong, 0);
  free(buffer - GUARD_BYTES);
}

/* All tiles, last first, so that nothing can lean on the order. */
static void run_tiles(prem_arrays *arrays, const prem_task *task) {
  unsigned char *in = new_buffer(task->in_bytes), *out = new_buffer(task->out_bytes);
  for (int32_t tile = task->tile_count - 1; tile >= 0; --tile) {
    prem_view views[PREM_MAX_PORTS];
    memset(in, PREM_POISON, (size_t)task->in_bytes);
    memset(out, PREM_POISON, (size_t)task->out_bytes);
    if (task->phase[PREM_PREFETCH].exists)
      prem_tile_fetch(arrays, 0, tile, in);
    prem_tile_views(arrays, 0, tile, in, out, views);
    if (task->definition->compute)
      task->definition->compute(task->params, views);
    if (task->phase[PREM_WRITEBACK].exists)
      prem_tile_store(arrays, 0, tile, out);
  }
  free_buffer(in, task->in_bytes);
  free_buffer(out, task->out_bytes);
}

/* With its arrays filled and its references made. */
static prem_arrays *new_arrays(const prem_schedule *schedule) {
  prem_arrays *arrays = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  const prem_status status = prem_arrays_new(schedule, &arrays, diag);
  print_problems(diag);
  ck_assert_int_eq(status, PREM_OK);
  return arrays;
}

static void assert_parity(const char *array_settings, const char *task_settings) {
  OWNED(prem_schedule) *schedule = schedule_from_text(schedule_of(array_settings, task_settings));
  OWNED(prem_arrays) *arrays = new_arrays(schedule);
  prem_arrays_poison(arrays);
  run_tiles(arrays, &schedule->tasks[0]);
  prem_verdict verdict;
  prem_arrays_verify(arrays, &verdict);
  ck_assert_msg(verdict.ok, "%s: %lld wrong, first at (%lld, %lld): %.9g, expected %.9g",
                task_settings, (long long)verdict.wrong, (long long)verdict.index[2],
                (long long)verdict.index[3], verdict.found, verdict.expected);
}

/* ---- parity: one function a kernel ------------------------------------------------------------*/

static void conv2d_parity(void) {
  static const int shapes[][2] = {{1, 1}, {1, 9},   {9, 1},   {2, 2}, {3, 3},  {3, 4},  {5, 7},
                                  {8, 8}, {13, 17}, {31, 66}, {4, 1}, {67, 5}, {1, 130}};
  static const int tiles[][2] = {{1, 1}, {2, 3}, {4, 4}, {5, 8}, {9, 30}, {100, 100}};
  static const char *const coefficients[] = {
      "", "args: { coefficients = [ 1.5, -2.0, 3.0, 1e10, -0.0, 0.1, 7.0, 1e-30, 3.3 ]; };"};
  static const char random_image[] = "{ name = \"a\"; type = \"f32\"; fill = \"random\"; seed = 7;";
  static const char output[] = "{ name = \"b\"; type = \"f32\";";
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s)
    for (size_t t = 0; t < sizeof tiles / sizeof *tiles; ++t) {
      const int rows = shapes[s][0], columns = shapes[s][1];
      const char *settings = text("kernel = \"conv2d\"; tile = [ %d, %d ]; %s", tiles[t][0],
                                  tiles[t][1], coefficients[(s + t) % 2]);
      const char *in = text("%s shape = [ %d, %d ]; }", random_image, rows, columns);
      const char *named = text("%s arrays: { in = \"a\"; out = \"b\"; };", settings);
      assert_parity(text("%s, %s shape = [ %d, %d ]; }", in, output, rows, columns), named);
      if (rows < 3 || columns < 3)
        continue;
      assert_parity(text("%s, %s shape = [ %d, %d ]; }", in, output, rows - 2, columns - 2), named);
      assert_parity(in, text("%s arrays: { in = \"a\"; out = \"new\"; };", settings));
    }
}

static void conv2d_u8_parity(void) {
  static const int shapes[][2] = {{1, 1}, {1, 9}, {3, 3}, {5, 7}, {13, 17}, {31, 66}, {1, 130}};
  static const int tiles[][2] = {{1, 1}, {2, 3}, {4, 4}, {9, 30}, {100, 100}};
  static const char *const args[] = {"",
                                     "args: { coefficients = [ 1.5, -2.0, 3.0, 0.25, -0.0, 0.1, "
                                     "-7.0, 1e-30, 3.3 ]; offset = 127.5; };"};
  static const char random_image[] = "{ name = \"a\"; type = \"u8\"; fill = \"random\"; seed = 7;";
  static const char output[] = "{ name = \"b\"; type = \"u8\";";
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s)
    for (size_t t = 0; t < sizeof tiles / sizeof *tiles; ++t) {
      const int rows = shapes[s][0], columns = shapes[s][1];
      const char *settings = text("kernel = \"conv2d_u8\"; tile = [ %d, %d ]; %s", tiles[t][0],
                                  tiles[t][1], args[(s + t) % 2]);
      const char *in = text("%s shape = [ %d, %d ]; }", random_image, rows, columns);
      const char *named = text("%s arrays: { in = \"a\"; out = \"b\"; };", settings);
      assert_parity(text("%s, %s shape = [ %d, %d ]; }", in, output, rows, columns), named);
      if (rows >= 3 && columns >= 3)
        assert_parity(in, text("%s arrays: { in = \"a\"; out = \"new\"; };", settings));
    }
}

static void convert_parity(void) {
  static const struct {
    const char *shape, *tile;
  } cases[] = {{"1", "1"},
               {"131", "17"},
               {"31, 66", "5, 9"},
               {"3, 5, 9", "1, 2, 4"},
               {"2, 3, 4, 5", "2, 2, 3, 2"}};
  static const prem_type types[] = {PREM_U8, PREM_U16, PREM_I32, PREM_F16, PREM_BF16};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c)
    for (size_t t = 0; t < sizeof types / sizeof *types; ++t) {
      const char *shape = cases[c].shape, *type = prem_type_name(types[t]);
      const char *settings = text("kernel = \"convert\"; tile = [ %s ];", cases[c].tile);
      assert_parity(
          text("{ name = \"a\"; type = \"%s\"; shape = [ %s ]; fill = \"random\"; }", type, shape),
          text("%s arrays: { in = \"a\"; out = \"new\"; };", settings));
      assert_parity(text("{ name = \"a\"; type = \"f32\"; shape = [ %s ]; fill = \"random\"; }, "
                         "{ name = \"b\"; type = \"%s\"; shape = [ %s ]; }",
                         shape, type, shape),
                    text("%s arrays: { in = \"a\"; out = \"b\"; };", settings));
    }
}

static void conv2d_7x7_parity(void) {
  static const int shapes[][2] = {{1, 1}, {1, 9},  {6, 7},   {7, 7},  {8, 11},
                                  {9, 5}, {20, 8}, {33, 41}, {1, 130}};
  static const int tiles[][2] = {{1, 1}, {2, 3}, {5, 8}, {9, 30}, {100, 100}};
  static const char random_image[] = "{ name = \"a\"; type = \"f32\"; fill = \"random\"; seed = 7;";
  static const char output[] = "{ name = \"b\"; type = \"f32\";";
  char given[1024], settings[2048]; /* outlive the buffers of text() */
  int length = snprintf(given, sizeof given, "args: { coefficients = [ -3.0");
  for (int i = 1; i < 49; ++i)
    length += snprintf(given + length, sizeof given - (size_t)length, ", %d.25", i * i % 17 - 8);
  snprintf(given + length, sizeof given - (size_t)length, " ]; };");
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s)
    for (size_t t = 0; t < sizeof tiles / sizeof *tiles; ++t) {
      const int rows = shapes[s][0], columns = shapes[s][1];
      snprintf(settings, sizeof settings, "kernel = \"conv2d_7x7\"; tile = [ %d, %d ]; %s",
               tiles[t][0], tiles[t][1], (s + t) % 2 ? given : "");
      const char *in = text("%s shape = [ %d, %d ]; }", random_image, rows, columns);
      const char *named = text("%s arrays: { in = \"a\"; out = \"b\"; };", settings);
      assert_parity(text("%s, %s shape = [ %d, %d ]; }", in, output, rows, columns), named);
      if (rows > 6 && columns > 6)
        assert_parity(in, text("%s arrays: { in = \"a\"; out = \"new\"; };", settings));
    }
}

/* Shapes of any rank, and how they are cut. */
static const struct {
  const char *shape, *tile;
} kcf_cases[] = {
    {"1", "1"},
    {"17", "4"},
    {"5", "100"},
    {"3, 7", "2, 3"},
    {"1, 130", "1, 64"},
    {"3, 5, 9", "1, 2, 4"},
    {"3, 5, 9", "2, 5, 9"},
    {"31, 8, 8", "1, 8, 8"},
    {"2, 3, 4, 5", "2, 2, 3, 2"},
    {"3, 2, 2, 5", "2, 2, 1, 3"},
    {"2, 3, 1, 1", "9, 9, 9, 9"},
};

static const char *kcf_arrays(const char *shape) {
  return text("{ name = \"a\"; type = \"c64\"; shape = [ %s ]; fill = \"random\"; seed = 1; }, "
              "{ name = \"b\"; type = \"c64\"; shape = [ %s ]; fill = \"random\"; seed = 2; }",
              shape, shape);
}

static void kcf_pairs_parity(const char *kernel) {
  for (size_t c = 0; c < sizeof kcf_cases / sizeof *kcf_cases; ++c) {
    const char *in = kcf_arrays(kcf_cases[c].shape);
    const char *settings = text("kernel = \"%s\"; tile = [ %s ];", kernel, kcf_cases[c].tile);
    assert_parity(in, text("%s arrays: { a = \"a\"; b = \"b\"; out = \"new\"; };", settings));
    assert_parity(in, text("%s arrays: { out = \"new\"; a = \"a\"; b = \"a\"; };", settings));
  }
}

static void kcf_single_parity(const char *kernel, const char *args) {
  for (size_t c = 0; c < sizeof kcf_cases / sizeof *kcf_cases; ++c)
    assert_parity(kcf_arrays(kcf_cases[c].shape),
                  text("kernel = \"%s\"; tile = [ %s ]; %s arrays: { in = \"a\"; out = \"new\"; };",
                       kernel, kcf_cases[c].tile, c % 2 ? args : ""));
}

static void kcf_add_parity(void) {
  kcf_pairs_parity("kcf_add");
}

static void kcf_add_constant_parity(void) {
  kcf_single_parity("kcf_add_constant", "args: { constant = 1e-4; };");
}

static void kcf_conjugate_parity(void) {
  kcf_single_parity("kcf_conjugate", "");
}

static void kcf_divide_parity(void) {
  kcf_pairs_parity("kcf_divide");
}

static void kcf_multiply_parity(void) {
  kcf_pairs_parity("kcf_multiply");
}

static void kcf_multiply_constant_parity(void) {
  kcf_single_parity("kcf_multiply_constant", "args: { constant = -0.3; };");
}

static void kcf_sqr_magnitude_parity(void) {
  kcf_single_parity("kcf_sqr_magnitude", "");
}

static void kcf_sqr_norm_parity(void) {
  static const char *const tiles[] = {"1, 64, 64", "3, 20, 100", "2, 3, 5"};
  kcf_single_parity("kcf_sqr_norm", "");
  for (size_t t = 0; t < sizeof tiles / sizeof *tiles; ++t)
    assert_parity(kcf_arrays("5, 33, 67"), text("kernel = \"kcf_sqr_norm\"; tile = [ %s ]; "
                                                "arrays: { in = \"a\"; out = \"new\"; };",
                                                tiles[t]));
}

/* Arrays with channels, how they are cut, the same without channels. */
static const struct {
  const char *shape, *tile, *without, *tile_without;
} channel_cases[] = {
    {"1, 1, 1", "1, 1, 1", "1, 1", "1, 1"},
    {"31, 8, 8", "4, 8, 8", "8, 8", "3, 8"},
    {"5, 9, 7", "2, 4, 3", "9, 7", "4, 3"},
    {"3, 1, 130", "1, 1, 64", "1, 130", "1, 64"},
    {"2, 3, 4, 5", "1, 3, 4, 2", "2, 4, 5", "1, 4, 2"},
    {"3, 2, 4, 5", "2, 2, 3, 5", "3, 4, 5", "2, 3, 5"},
};

static void kcf_multiply_channels_parity(void) {
  for (size_t c = 0; c < sizeof channel_cases / sizeof *channel_cases; ++c)
    assert_parity(
        text("{ name = \"a\"; type = \"c64\"; shape = [ %s ]; fill = \"random\"; seed = 1; }, "
             "{ name = \"b\"; type = \"c64\"; shape = [ %s ]; fill = \"random\"; seed = 2; }",
             channel_cases[c].shape, channel_cases[c].without),
        text("kernel = \"kcf_multiply_channels\"; tile = [ %s ]; "
             "arrays: { a = \"a\"; b = \"b\"; out = \"new\"; };",
             channel_cases[c].tile));
}

static void kcf_sum_channels_parity(void) {
  for (size_t c = 0; c < sizeof channel_cases / sizeof *channel_cases; ++c)
    assert_parity(kcf_arrays(channel_cases[c].shape),
                  text("kernel = \"kcf_sum_channels\"; tile = [ %s ]; "
                       "arrays: { in = \"a\"; out = \"new\"; };",
                       channel_cases[c].tile_without));
}

static void noop_parity(void) {
  assert_parity("", "kernel = \"noop\"; tiles = 7; compute: { };");
}

/* Its work is nobody's here. */
static void cuda_graph_parity(void) {
  assert_parity("", "kernel = \"cuda_graph\"; class = \"best_effort\"; compute: { };");
}

static void vector_increment_parity(void) {
  static const int sizes[] = {1, 2, 7, 64, 1001}, tiles[] = {1, 3, 64, 5000};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s)
    for (size_t t = 0; t < sizeof tiles / sizeof *tiles; ++t)
      assert_parity(
          text("{ name = \"a\"; type = \"f32\"; shape = [ %d ]; fill = \"random\"; }", sizes[s]),
          text("kernel = \"vector_increment\"; tile = [ %d ]; %s "
               "arrays: { in = \"a\"; out = \"new\"; };",
               tiles[t], t % 2 ? "args: { increment = 0.1; };" : ""));
}

static void vector_sum_parity(void) {
  static const int sizes[] = {1, 2, 7, 64, 129, 1001}, tiles[] = {1, 3, 64, 130, 5000};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s)
    for (size_t t = 0; t < sizeof tiles / sizeof *tiles; ++t)
      assert_parity(
          text("{ name = \"a\"; type = \"f32\"; shape = [ %d ]; fill = \"random\"; }", sizes[s]),
          text("kernel = \"vector_sum\"; tile = [ %d ]; arrays: { in = \"a\"; out = \"new\"; };",
               tiles[t]));
}

static void tile_sum_parity(void) {
  static const struct {
    const char *shape, *tile;
  } cases[] = {{"1", "1"},
               {"7", "3"},
               {"129", "129"},
               {"1001", "300"},
               {"13, 29", "4, 8"},
               {"37, 131", "37, 131"},
               {"9, 300", "2, 128"},
               {"3, 5, 17", "2, 2, 9"},
               {"2, 3, 4, 5", "1, 2, 3, 5"},
               {"1, 2, 3, 129", "1, 1, 2, 64"}};
  static const char *const types[] = {"f32", "u8"};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c)
    for (size_t t = 0; t < sizeof types / sizeof *types; ++t)
      assert_parity(
          text("{ name = \"a\"; type = \"%s\"; shape = [ %s ]; fill = \"random\"; }", types[t],
               cases[c].shape),
          text("kernel = \"tile_sum\"; tile = [ %s ]; arrays: { in = \"a\"; out = \"new\"; };",
               cases[c].tile));
}

static void matmul_parity(void) {
  static const int shapes[][3] = {{1, 1, 1}, {1, 9, 1},   {3, 2, 5},
                                  {4, 7, 8}, {17, 5, 13}, {32, 32, 32}};
  static const int tiles[][2] = {{1, 1}, {4, 4}, {5, 3}, {100, 100}};
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s)
    for (size_t t = 0; t < sizeof tiles / sizeof *tiles; ++t) {
      const char *factors = text(
          "{ name = \"a\"; type = \"f32\"; shape = [ %d, %d ]; fill = \"random\"; seed = 1; }, "
          "{ name = \"b\"; type = \"f32\"; shape = [ %d, %d ]; fill = \"random\"; seed = 2; }",
          shapes[s][0], shapes[s][1], shapes[s][1], shapes[s][2]);
      const char *settings = text("kernel = \"matmul\"; tile = [ %d, %d ]; "
                                  "arrays: { a = \"a\"; b = \"b\"; out = \"new\"; };",
                                  tiles[t][0], tiles[t][1]);
      assert_parity(factors, settings);
    }
}

static void matvec_parity(void) {
  static const int shapes[][2] = {{1, 1}, {1, 9}, {3, 31}, {4, 32}, {17, 33}, {50, 131}};
  static const int tiles[] = {1, 5, 8, 100};
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s)
    for (size_t t = 0; t < sizeof tiles / sizeof *tiles; ++t)
      assert_parity(
          text(
              "{ name = \"a\"; type = \"f32\"; shape = [ %d, %d ]; fill = \"random\"; seed = 1; }, "
              "{ name = \"x\"; type = \"f32\"; shape = [ %d ]; fill = \"random\"; seed = 2; }",
              shapes[s][0], shapes[s][1], shapes[s][1]),
          text("kernel = \"matvec\"; tile = [ %d ]; "
               "arrays: { a = \"a\"; x = \"x\"; out = \"new\"; };",
               tiles[t]));
}

static void blend_parity(void) {
  static const struct {
    const char *shape, *tile;
  } cases[] = {
      {"33", "7"}, {"13, 29", "4, 8"}, {"3, 5, 17", "2, 2, 9"}, {"2, 3, 4, 5", "1, 2, 3, 5"}};
  static const char *const types[] = {"f32", "u8"};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c)
    for (size_t t = 0; t < sizeof types / sizeof *types; ++t)
      assert_parity(
          text("{ name = \"a\"; type = \"f32\"; shape = [ %s ]; fill = \"random\"; seed = 1; }, "
               "{ name = \"b\"; type = \"%s\"; shape = [ %s ]; fill = \"random\"; seed = 2; }",
               cases[c].shape, types[t], cases[c].shape),
          text("kernel = \"blend\"; tile = [ %s ]; args: { rate = 0.3; };"
               "arrays: { a = \"a\"; b = \"b\"; out = \"new\"; };",
               cases[c].tile));
}

static void walk_parity(void) {
  static const int sizes[] = {1, 2, 1001}, tiles[] = {1, 3, 64}, walkers[] = {1, 7, 64, 100};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s)
    for (size_t t = 0; t < sizeof tiles / sizeof *tiles; ++t)
      for (size_t w = 0; w < sizeof walkers / sizeof *walkers; ++w)
        assert_parity(
            text("{ name = \"a\"; type = \"f32\"; shape = [ %d ]; fill = \"random\"; }", sizes[s]),
            text("kernel = \"walk\"; tile = [ %d ]; args: { steps = 50; walkers = %d; };"
                 "arrays: { vector = \"a\"; out = \"new\"; };",
                 tiles[t], walkers[w]));
  assert_parity("{ name = \"a\"; type = \"f32\"; shape = [ 300 ]; fill = \"random\"; }",
                "kernel = \"walk\"; tile = [ 32 ]; arrays: { vector = \"a\"; out = \"new\"; };");
}

/* Shapes and tiles of a kernel of one input and one output, there and back. */
static void fourier_parity(const char *kernel, const char *const (*cases)[2], size_t count) {
  for (size_t c = 0; c < count; ++c)
    for (int inverse = 0; inverse < 2; ++inverse)
      assert_parity(
          text("{ name = \"a\"; type = \"c64\"; shape = [ %s ]; fill = \"random\"; }", cases[c][0]),
          text("kernel = \"%s\"; tile = [ %s ]; %s arrays: { in = \"a\"; out = \"new\"; };", kernel,
               cases[c][1], inverse ? "args: { inverse = 1; };" : ""));
}

static void fft2_plane_parity(void) {
  static const char *const cases[][2] = {
      {"16, 16", "16, 16"},       {"32, 32", "99, 99"},
      {"64, 64", "64, 64"},       {"3, 16, 16", "2, 16, 16"},
      {"5, 32, 32", "2, 32, 32"}, {"2, 64, 64", "1, 64, 64"},
      {"1, 32, 32", "4, 32, 32"}, {"3, 4, 16, 16", "2, 3, 16, 16"}};
  fourier_parity("fft2_plane", cases, sizeof cases / sizeof *cases);
}

static void fft_rows_parity(void) {
  static const char *const cases[][2] = {{"16", "16"},
                                         {"1, 512", "1, 512"},
                                         {"33, 32", "16, 32"},
                                         {"20, 64", "7, 64"},
                                         {"9, 128", "16, 128"},
                                         {"17, 256", "16, 999"},
                                         {"5, 512", "4, 512"},
                                         {"3, 5, 32", "2, 3, 32"},
                                         {"2, 3, 128", "2, 2, 128"},
                                         {"256", "256"},
                                         {"3, 2, 5, 256", "2, 2, 3, 256"}};
  fourier_parity("fft_rows", cases, sizeof cases / sizeof *cases);
}

static void fft_columns_parity(void) {
  static const char *const cases[][2] = {
      {"16, 1", "16, 1"},       {"32, 33", "32, 16"},         {"64, 20", "64, 7"},
      {"128, 9", "999, 5"},     {"256, 40", "256, 16"},       {"512, 17", "512, 16"},
      {"3, 32, 5", "2, 32, 3"}, {"2, 128, 19", "2, 128, 16"}, {"3, 2, 64, 5", "2, 2, 64, 3"}};
  fourier_parity("fft_columns", cases, sizeof cases / sizeof *cases);
}

#define PARITY(KERNEL)                                                                             \
  { #KERNEL, KERNEL##_parity }
static const struct {
  const char *kernel;
  void (*run)(void);
} parities[] = {
    PARITY(conv2d),
    PARITY(conv2d_7x7),
    PARITY(kcf_add),
    PARITY(kcf_add_constant),
    PARITY(kcf_conjugate),
    PARITY(kcf_divide),
    PARITY(kcf_multiply),
    PARITY(kcf_multiply_channels),
    PARITY(kcf_multiply_constant),
    PARITY(kcf_sqr_magnitude),
    PARITY(kcf_sqr_norm),
    PARITY(kcf_sum_channels),
    PARITY(matmul),
    PARITY(matvec),
    PARITY(noop),
    PARITY(vector_increment),
    PARITY(vector_sum),
    PARITY(walk),
    PARITY(conv2d_u8),
    PARITY(convert),
    PARITY(blend),
    PARITY(fft2_plane),
    PARITY(fft_columns),
    PARITY(fft_rows),
    PARITY(tile_sum),
    PARITY(cuda_graph),
};

/* A new kernel fails here until it has its shapes above. */
TESTS(every_kernel_equals_its_reference, prem_registry_builtin()->count) {
  const char *kernel = prem_registry_builtin()->kernels[_i]->name;
  for (size_t p = 0; p < sizeof parities / sizeof *parities; ++p)
    if (strcmp(parities[p].kernel, kernel) == 0) {
      parities[p].run();
      return;
    }
  ck_abort_msg("kernel %s has no parity test", kernel);
}

/* Who changes what a kernel gives or costs raises its version, by which older plans are refused. */
TEST(kernels_are_declared_as_they_were) {
  const prem_registry *registry = prem_registry_builtin();
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  for (int32_t k = 0; k < registry->count; ++k) {
    const prem_kernel *kernel = registry->kernels[k];
    fprintf(file, "%s %u, parameters of %u bytes, within %g%s%s\n", kernel->name, kernel->version,
            kernel->params_bytes, kernel->tolerance, kernel->compatible ? ", compatible" : "",
            kernel->compute ? "" : ", computes nothing");
    for (int32_t p = 0; p < kernel->port_count; ++p)
      fprintf(file, "  %s %s %s %x\n", kernel->ports[p].access == PREM_OUT ? "out" : "in",
              kernel->ports[p].name, prem_type_name(kernel->ports[p].type),
              kernel->port_types ? kernel->port_types[p] : 0U);
  }
  fclose(file);
  golden_judge("kernels_declared.txt", found);
}

/* ---- known answers: parity alone would pass if reference and compute shared a mistake -------- */

TEST(conv2d_weighs_the_neighbours_in_order) {
  /* one coefficient at a time picks one neighbour */
  for (int k = 0; k < 9; ++k) {
    const char *coefficients = "";
    for (int i = 0; i < 9; ++i)
      coefficients = text("%s%s%d", coefficients, i ? ", " : "", i == k);
    OWNED(prem_schedule) *schedule = schedule_from_text(schedule_of(
        "{ name = \"a\"; type = \"f32\"; shape = [ 4, 5 ]; fill = \"random\"; }, "
        "{ name = \"b\"; type = \"f32\"; shape = [ 4, 5 ]; }",
        text("kernel = \"conv2d\"; tile = [ 3, 3 ]; arrays: { in = \"a\"; out = \"b\"; }; "
             "args: { coefficients = [ %s ]; };",
             coefficients)));
    OWNED(prem_arrays) *arrays = new_arrays(schedule);
    for (int64_t row = 0; row < 4; ++row)
      for (int64_t column = 0; column < 5; ++column) {
        const int64_t from[4] = {0, 0, row + k / 3 - 1, column + k % 3 - 1};
        const int64_t to[4] = {0, 0, row, column};
        const bool inside = from[2] >= 0 && from[2] < 4 && from[3] >= 0 && from[3] < 5;
        float expected = 0.0F, found;
        if (inside)
          memcpy(&expected, prem_storage_at(&arrays->storage[0], from), sizeof expected);
        memcpy(&found, prem_storage_at(&arrays->reference[1], to), sizeof found);
        ck_assert_float_eq(found, expected);
      }
  }
}

TEST(conv2d_begins_with_the_polybench_coefficients) {
  static const float coefficients[] = {0.2F, 0.5F, -0.8F, -0.3F, 0.6F, -0.9F, 0.4F, 0.7F, 0.1F};
  OWNED(prem_schedule) *schedule = schedule_from_text(
      schedule_of("{ name = \"a\"; type = \"f32\"; shape = [ 3, 3 ]; }",
                  "kernel = \"conv2d\"; tile = [ 1, 1 ]; arrays: { in = \"a\"; out = \"new\"; };"));
  const float *bound = (const float *)(const void *)schedule->tasks[0].params;
  for (int i = 0; i < 9; ++i)
    ck_assert_float_eq(bound[i], coefficients[i]);
}

TEST(vector_increment_adds) {
  const prem_kernel *kernel = prem_registry_find(prem_registry_builtin(), "vector_increment");
  const float increment = 2.5F;
  float in[] = {1, 2}, out[2];
  const prem_array_view arrays[] = {{in, {1, 1, 1, 2}}, {out, {1, 1, 1, 2}}};
  kernel->reference(&increment, arrays);
  ck_assert_float_eq(out[0], 3.5F);
  ck_assert_float_eq(out[1], 4.5F);
}

/* ---- what bind refuses ------------------------------------------------------------------------*/

static const char refused_arrays[] = "{ name = \"a2\"; type = \"f32\"; shape = [ 2, 5 ]; }, "
                                     "{ name = \"a\"; type = \"f32\"; shape = [ 2, 5 ]; }, "
                                     "{ name = \"b\"; type = \"f32\"; shape = [ 2, 4 ]; }, "
                                     "{ name = \"v\"; type = \"f32\"; shape = [ 5 ]; }, "
                                     "{ name = \"w\"; type = \"f32\"; shape = [ 6 ]; }, "
                                     "{ name = \"c\"; type = \"c64\"; shape = [ 2, 5 ]; }, "
                                     "{ name = \"d\"; type = \"c64\"; shape = [ 5, 2 ]; }, "
                                     "{ name = \"e\"; type = \"c64\"; shape = [ 3, 2, 5 ]; }, "
                                     "{ name = \"u\"; type = \"u8\"; shape = [ 2, 5 ]; }, "
                                     "{ name = \"h\"; type = \"f16\"; shape = [ 5 ]; }, "
                                     "{ name = \"s\"; type = \"c64\"; shape = [ 24, 32 ]; }, "
                                     "{ name = \"q\"; type = \"c64\"; shape = [ 32, 64 ]; }, "
                                     "{ name = \"r\"; type = \"c64\"; shape = [ 8, 1024 ]; }, "
                                     "{ name = \"t\"; type = \"c64\"; shape = [ 128, 128 ]; }, "
                                     "{ name = \"p\"; type = \"c64\"; shape = [ 32 ]; }, "
                                     "{ name = \"a5\"; type = \"f32\"; shape = [ 5, 3 ]; }";

static const struct {
  const char *task, *words;
} refusals[] = {
    {"kernel = \"conv2d\"; tile = [ 1, 1 ]; arrays: { in = \"a\"; out = \"new\"; };",
     "less than 3 x 3"},
    {"kernel = \"conv2d\"; tile = [ 1, 1 ]; arrays: { in = \"a\"; out = \"b\"; };",
     "must be 2 x 5 (as `in`, zeros around it), or smaller by 2"},
    {"kernel = \"conv2d\"; tile = [ 1, 1 ]; arrays: { in = \"v\"; out = \"new\"; };",
     "has 1 dimensions, conv2d takes an image of 2"},
    {"kernel = \"conv2d\"; tile = [ 4 ]; arrays: { in = \"a\"; out = \"a2\"; };",
     "has 1 dimensions, 2 are needed"},
    {"kernel = \"vector_increment\"; tile = [ 1 ]; arrays: { in = \"a\"; out = \"new\"; };",
     "has 2 dimensions, vector_increment takes 1"},
    {"kernel = \"vector_increment\"; tile = [ 1 ]; arrays: { in = \"v\"; out = \"w\"; };",
     "must be a vector of 5"},
    {"kernel = \"kcf_multiply\"; tile = [ 1, 1 ]; arrays: { a = \"c\"; b = \"d\"; out = \"new\"; "
     "};",
     "must have the shape of `a`"},
    {"kernel = \"conv2d_7x7\"; tile = [ 1, 1 ]; arrays: { in = \"a\"; out = \"new\"; };",
     "less than 7 x 7"},
    {"kernel = \"conv2d_7x7\"; tile = [ 1, 1 ]; arrays: { in = \"a\"; out = \"b\"; };",
     "must be 2 x 5 (as `in`, zeros around it), or smaller by 6"},
    {"kernel = \"kcf_divide\"; tile = [ 1, 1 ]; arrays: { a = \"c\"; b = \"c\"; out = \"d\"; };",
     "must have the shape of `a`"},
    {"kernel = \"kcf_conjugate\"; tile = [ 1, 1 ]; arrays: { in = \"c\"; out = \"d\"; };",
     "must have the shape of `in`"},
    {"kernel = \"kcf_add_constant\"; tile = [ 1, 1 ]; args: { constant = [ 1.0, 2.0 ]; }; "
     "arrays: { in = \"c\"; out = \"new\"; };",
     "has 2 numbers, 1 are needed"},
    {"kernel = \"kcf_sum_channels\"; tile = [ 1 ]; arrays: { in = \"c\"; out = \"new\"; };",
     "has 2 dimensions; channels, rows and columns are needed"},
    {"kernel = \"kcf_sum_channels\"; tile = [ 1, 1 ]; arrays: { in = \"e\"; out = \"d\"; };",
     "must have the shape of `in` without its channels"},
    {"kernel = \"kcf_multiply_channels\"; tile = [ 1, 1, 1 ]; "
     "arrays: { a = \"e\"; b = \"d\"; out = \"new\"; };",
     "must have the shape of `a` without its channels"},
    {"kernel = \"kcf_multiply_channels\"; tile = [ 1, 1, 1 ]; "
     "arrays: { a = \"e\"; b = \"c\"; out = \"c\"; };",
     "must have the shape of `a`"},
    {"kernel = \"kcf_sqr_norm\"; tile = [ 2, 2 ]; arrays: { in = \"c\"; out = \"v\"; };",
     "must be a vector of 3, one element for each tile"},
    {"kernel = \"vector_sum\"; tile = [ 1 ]; arrays: { in = \"a\"; out = \"new\"; };",
     "has 2 dimensions, vector_sum takes 1"},
    {"kernel = \"vector_sum\"; tile = [ 2 ]; arrays: { in = \"v\"; out = \"w\"; };",
     "must be a vector of 3, one element for each tile"},
    {"kernel = \"tile_sum\"; tile = [ 1 ]; arrays: { in = \"a\"; out = \"new\"; };",
     "has 1 dimensions, 2 are needed here: the array's"},
    {"kernel = \"tile_sum\"; tile = [ 1, 3 ]; arrays: { in = \"u\"; out = \"w\"; };",
     "must be a vector of"},
    {"kernel = \"conv2d\"; tile = [ 1, 1 ]; arrays: { in = \"u\"; out = \"a\"; };",
     "array 'u' is u8, the kernel takes f32"},
    {"kernel = \"conv2d_u8\"; tile = [ 1, 1 ]; arrays: { in = \"u\"; out = \"a\"; };",
     "array 'a' is f32, the kernel takes u8"},
    {"kernel = \"convert\"; tile = [ 1, 1 ]; arrays: { in = \"c\"; out = \"a\"; };",
     "array 'c' is c64, the kernel takes f32, u8, u16, i32, f16 or bf16"},
    {"kernel = \"convert\"; tile = [ 1, 1 ]; arrays: { in = \"a\"; out = \"new\"; };",
     "is f32 if \"new\", and `in` is f32: one of the two must be f32, and one not"},
    {"kernel = \"convert\"; tile = [ 1 ]; arrays: { in = \"h\"; out = \"h\"; };",
     "is f16, and `in` is f16: one of the two must be f32, and one not"},
    {"kernel = \"convert\"; tile = [ 1, 1 ]; arrays: { in = \"u\"; out = \"b\"; };",
     "must have the shape of `in`"},
    {"kernel = \"matmul\"; tile = [ 1, 1 ]; arrays: { a = \"a\"; b = \"v\"; out = \"new\"; };",
     "has 1 dimensions, matmul takes matrices of 2"},
    {"kernel = \"matmul\"; tile = [ 1, 1 ]; arrays: { a = \"a\"; b = \"a\"; out = \"new\"; };",
     "has 2 rows, but must have as many as `a` has columns: 5"},
    {"kernel = \"matmul\"; tile = [ 1, 1 ]; arrays: { a = \"a\"; b = \"a5\"; out = \"a\"; };",
     "must be 2 x 3, rows of `a` x columns of `b`"},
    {"kernel = \"matmul\"; tile = [ 1, 1 ]; arrays: { a = \"a\"; b = \"a5\"; out = \"w\"; };",
     "must be 2 x 3, rows of `a` x columns of `b`"},
    {"kernel = \"matvec\"; tile = [ 1 ]; arrays: { a = \"v\"; x = \"v\"; out = \"new\"; };",
     "has 1 dimensions, matvec takes a matrix of 2"},
    {"kernel = \"matvec\"; tile = [ 1 ]; arrays: { a = \"a\"; x = \"a\"; out = \"new\"; };",
     "must be a vector of 5 elements, columns of `a`"},
    {"kernel = \"matvec\"; tile = [ 1 ]; arrays: { a = \"a\"; x = \"v\"; out = \"w\"; };",
     "must be a vector of 2 elements, rows of `a`"},
    {"kernel = \"walk\"; tile = [ 1 ]; arrays: { vector = \"a\"; out = \"new\"; };",
     "walk takes 1 dimension of at most 2147483647 elements"},
    {"kernel = \"blend\"; tile = [ 1, 1 ]; arrays: { a = \"a\"; b = \"b\"; out = \"new\"; };",
     "must have the shape of `a`"},
    {"kernel = \"blend\"; tile = [ 1, 1 ]; arrays: { a = \"u\"; b = \"u\"; out = \"new\"; };",
     "array 'u' is u8, the kernel takes f32"},
    {"kernel = \"fft_columns\"; tile = [ 24, 16 ]; arrays: { in = \"s\"; out = \"new\"; };",
     "has 24 rows, fft_columns takes a power of two from 16 to 512"},
    {"kernel = \"fft_rows\"; tile = [ 8, 1024 ]; arrays: { in = \"r\"; out = \"new\"; };",
     "has 1024 columns, fft_rows takes a power of two from 16 to 512"},
    {"kernel = \"fft_columns\"; tile = [ 8, 16 ]; arrays: { in = \"r\"; out = \"new\"; };",
     "has 8 rows, fft_columns takes a power of two from 16 to 512"},
    {"kernel = \"fft2_plane\"; tile = [ 128, 128 ]; arrays: { in = \"t\"; out = \"new\"; };",
     "has 128 rows, fft2_plane takes a power of two from 16 to 64"},
    {"kernel = \"fft2_plane\"; tile = [ 32, 64 ]; arrays: { in = \"q\"; out = \"new\"; };",
     "has planes of 32 x 64, fft2_plane takes square ones: use fft_rows and fft_columns"},
    {"kernel = \"fft2_plane\"; tile = [ 32 ]; arrays: { in = \"p\"; out = \"new\"; };",
     "has 1 dimensions, fft2_plane takes 2 or more"},
    {"kernel = \"fft_columns\"; tile = [ 32 ]; arrays: { in = \"p\"; out = \"new\"; };",
     "has 1 dimensions, fft_columns takes 2 or more"},
    {"kernel = \"fft_rows\"; tile = [ 16 ]; arrays: { in = \"p\"; out = \"new\"; };",
     "has 16 of 32 columns, fft_rows needs all of them in a tile"},
    {"kernel = \"fft_columns\"; tile = [ 16, 16 ]; arrays: { in = \"q\"; out = \"new\"; };",
     "has 16 of 32 rows, fft_columns needs all of them in a tile"},
    {"kernel = \"fft_rows\"; tile = [ 8, 64 ]; arrays: { in = \"q\"; out = \"s\"; };",
     "must have the shape of `in`"},
    {"kernel = \"fft_rows\"; tile = [ 32 ]; args: { inverse = 2; }; arrays: { in = \"p\"; out = "
     "\"new\"; };",
     "is 2, must be 0 or 1"},
    {"kernel = \"fft_rows\"; tile = [ 2, 5 ]; arrays: { in = \"a\"; out = \"new\"; };",
     "array 'a' is f32, the kernel takes c64"},
    {"kernel = \"cuda_graph\"; class = \"best_effort\"; tile = [ 3 ]; compute: { };",
     "has no arrays to cut"},
    {"kernel = \"cuda_graph\"; class = \"best_effort\"; tiles = 4; compute: { };",
     "begins as one, not as 4 tiles"},
    {"kernel = \"noop\";", "tiles = N"},
    {"kernel = \"noop\"; tile = [ 3 ]; tiles = 4;", "has no arrays to cut"},
};

TESTS(a_wrong_task_is_refused_with_reason, (int)(sizeof refusals / sizeof *refusals)) {
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_schedule) *schedule =
      schedule_from_text_lenient(schedule_of(refused_arrays, refusals[_i].task), diag);
  ck_assert(prem_diag_has(diag, 31));
  bool found = false;
  for (size_t i = 0; i < prem_diag_count(diag); ++i)
    found = found || strstr(prem_diag_at(diag, i)->reason, refusals[_i].words);
  if (!found)
    print_problems(diag);
  ck_assert_msg(found, "nothing says \"%s\"", refusals[_i].words);
}

/* ---- cutting into tiles ---------------------------------------------------------------------- */

TEST(tiles_are_numbered_row_by_row) {
  prem_bind bind = {.tile_rank = 3, .tile = {2, 100, 4}};
  const int64_t shape[4] = {1, 5, 9, 10};
  prem_window window;
  ck_assert_int_eq(prem_bind_tile(&bind, 3, shape, &window), PREM_OK);
  ck_assert_int_eq(bind.grid[0] * bind.grid[1] * bind.grid[2], 3 * 1 * 3);
  ck_assert_int_eq(memcmp(window.extent, (int32_t[4]){1, 2, 9, 4}, sizeof window.extent), 0);
  int32_t tile = 0;
  for (int64_t first = 0; first < 5; first += 2)
    for (int64_t last = 0; last < 10; last += 4, ++tile) {
      const int32_t index[3] = {tile / (bind.grid[1] * bind.grid[2]),
                                tile / bind.grid[2] % bind.grid[1], tile % bind.grid[2]};
      int64_t origin[4] = {0};
      for (int32_t d = 0; d < 4; ++d)
        for (int32_t k = 0; k < 3; ++k)
          origin[d] += window.step[d][k] * index[k];
      ck_assert_int_eq(origin[0], 0);
      ck_assert_int_eq(origin[1], first);
      ck_assert_int_eq(origin[2], 0);
      ck_assert_int_eq(origin[3], last);
    }
}

TEST(tiles_that_no_grid_holds_are_refused) {
  const int64_t shape[4] = {4, 4, 4, 4}, large[4] = {1, 1, 1 << 20, 1 << 20};
  prem_window window;
  prem_bind fits = {.tile_rank = 4, .tile = {2, 4, 2, 2}};
  ck_assert_int_eq(prem_bind_tile(&fits, 4, shape, &window), PREM_OK);
  prem_bind cuts = {.tile_rank = 4, .tile = {2, 2, 2, 2}};
  ck_assert_int_ne(prem_bind_tile(&cuts, 4, shape, &window), PREM_OK);
  ck_assert_ptr_nonnull(strstr(cuts.reason, "more than 3 dimensions"));
  ck_assert_str_eq(cuts.key, "tile");
  prem_bind max = {.tile_rank = 2, .tile = {1 << 10, 1}};
  ck_assert_int_eq(prem_bind_tile(&max, 2, large, &window), PREM_OK);
  prem_bind more = {.tile_rank = 2, .tile = {1 << 9, 1}};
  ck_assert_int_ne(prem_bind_tile(&more, 2, large, &window), PREM_OK);
  ck_assert_ptr_nonnull(strstr(more.reason, "more than 2147483647 tiles"));
  prem_bind none = {.tile_rank = 1, .tile = {0}};
  ck_assert_int_ne(prem_bind_tile(&none, 1, shape, &window), PREM_OK);
}

/* ---- the registry ---------------------------------------------------------------------------- */

TEST(kernels_keep_the_contract) {
  const prem_registry *registry = prem_registry_builtin();
  for (int32_t i = 0; i < registry->count; ++i) {
    const prem_kernel *kernel = registry->kernels[i];
    ck_assert_ptr_eq(prem_registry_find(registry, kernel->name), kernel);
    ck_assert(kernel->summary && *kernel->summary && !strchr(kernel->summary, '\n'));
    ck_assert_uint_le(kernel->params_bytes, PREM_PARAMS_BYTES);
    ck_assert_int_le(kernel->port_count, PREM_MAX_PORTS);
    ck_assert(kernel->bind && (kernel->reference || kernel->port_count == 0));
  }
  ck_assert_ptr_null(prem_registry_find(registry, "conv3d"));
}
