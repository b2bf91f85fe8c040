/* SPDX-License-Identifier: Apache-2.0 */
/* Every kernel, tile by tile through windows and scratchpad, against its untiled reference, bit for
 * bit; and what its bind refuses. */

#include "runtime/core/windows.h"
#include "tests/common/cases.h"
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

/* ---- parity: what is tried of each kernel ---------------------------------------------------- */

/* Shapes of one to four dimensions, and how each of them is cut. */
#define SHAPES "1/17/5/3, 7/1, 130/3, 5, 9/3, 5, 9/31, 8, 8/2, 3, 4, 5/3, 2, 2, 5/2, 3, 1, 1"
#define CUTS   "1/4/100/2, 3/1, 64/1, 2, 4/2, 5, 9/1, 8, 8/2, 2, 3, 2/2, 2, 1, 3/9, 9, 9, 9"
/* The same with channels, and the shapes and cuts that are left without them. */
#define CHANNELS     "1, 1, 1/31, 8, 8/5, 9, 7/3, 1, 130/2, 3, 4, 5/3, 2, 4, 5"
#define CHANNEL_CUTS "1, 1, 1/4, 8, 8/2, 4, 3/1, 1, 64/1, 3, 4, 2/2, 2, 3, 5"
#define WITHOUT      "1, 1/8, 8/9, 7/1, 130/2, 4, 5/3, 4, 5"
#define WITHOUT_CUTS "1, 1/3, 8/4, 3/1, 64/1, 4, 2/2, 3, 5"
#define SUMS         "1/7/129/1001/13, 29/37, 131/9, 300/3, 5, 17/2, 3, 4, 5/1, 2, 3, 129"
#define SUM_CUTS     "1/3/129/300/4, 8/37, 131/2, 128/2, 2, 9/1, 2, 3, 5/1, 1, 2, 64"
#define CONVERSIONS  "1/131/31, 66/3, 5, 9/2, 3, 4, 5", "1/17/5, 9/1, 2, 4/2, 2, 3, 2"

#define FILLED(name, type, shape, seed)                                                            \
  "{ name = \"" name "\"; type = \"" type "\"; shape = [ " shape                                   \
  " ]; fill = \"random\"; seed = " #seed "; }"
#define OF(type)  FILLED("a", type, "%1$s", 1)
#define TWO       OF("c64") ", " FILLED("b", "c64", "%1$s", 2)
#define IN_OUT    "in = \"a\"; out = \"new\";"
#define TWO_IN    "a = \"a\"; b = \"b\"; out = \"new\";"
#define ONE_TWICE "out = \"new\"; a = \"a\"; b = \"a\";"
#define ALWAYS(arg)                                                                                \
  { arg, arg }

static const struct parity {
  const char *kernel, *arrays, *ports; /* %1$s is a shape, %2$s one of `others` */
  const char *shapes, *tiles;
  bool each; /* shape has its tile; not: all are tried with all */
  const char *args[2], *others;
} parities[] = {
#define PAIRS(kernel)                                                                              \
  {kernel, TWO, TWO_IN, SHAPES, CUTS, .each = true}, {                                             \
    kernel, TWO, ONE_TWICE, SHAPES, CUTS, .each = true                                             \
  }
#define SINGLE(kernel, arg)                                                                        \
  {                                                                                                \
    kernel, TWO, IN_OUT, SHAPES, CUTS, .each = true, .args = { "", arg }                           \
  }
    PAIRS("kcf_add"),
    PAIRS("kcf_divide"),
    PAIRS("kcf_multiply"),
    SINGLE("kcf_add_constant", "args: { constant = 1e-4; };"),
    SINGLE("kcf_conjugate", ""),
    SINGLE("kcf_multiply_constant", "args: { constant = -0.3; };"),
    SINGLE("kcf_sqr_magnitude", ""),
    SINGLE("kcf_sqr_norm", ""),
    {"kcf_sqr_norm", TWO, IN_OUT, "5, 33, 67", "1, 64, 64/3, 20, 100/2, 3, 5", .each = false},
    {"kcf_multiply_channels", OF("c64") ", " FILLED("b", "c64", "%2$s", 2), TWO_IN, CHANNELS,
     CHANNEL_CUTS, .each = true, .others = WITHOUT},
    {"kcf_sum_channels", TWO, IN_OUT, CHANNELS, WITHOUT_CUTS, .each = true},
    {"vector_increment", OF("f32"), IN_OUT, "1/2/7/64/1001", "1/3/64/5000",
     .args = {"", "args: { increment = 0.1; };"}},
    {"vector_sum", OF("f32"), IN_OUT, "1/2/7/64/129/1001", "1/3/64/130/5000", .each = false},
    {"tile_sum", OF("f32"), IN_OUT, SUMS, SUM_CUTS, .each = true},
    {"tile_sum", OF("u8"), IN_OUT, SUMS, SUM_CUTS, .each = true},
    {"matmul", OF("f32") ", " FILLED("b", "f32", "%2$s", 2), TWO_IN,
     "1, 1/1, 9/3, 2/4, 7/17, 5/32, 32", "1, 1/4, 4/5, 3/100, 100",
     .others = "1, 1/9, 1/2, 5/7, 8/5, 13/32, 32"},
    {"matvec", OF("f32") ", " FILLED("x", "f32", "%2$s", 2), "a = \"a\"; x = \"x\"; out = \"new\";",
     "1, 1/1, 9/3, 31/4, 32/17, 33/50, 131", "1/5/8/100", .others = "1/9/31/32/33/131"},
#define BLEND(type)                                                                                \
  {                                                                                                \
    "blend", OF("f32") ", " FILLED("b", type, "%1$s", 2), TWO_IN, "33/13, 29/3, 5, 17/2, 3, 4, 5", \
        "7/4, 8/2, 2, 9/1, 2, 3, 5", .each = true, .args = ALWAYS("args: { rate = 0.3; };")        \
  }
    BLEND("f32"),
    BLEND("u8"),
#define CONVERT(type)                                                                              \
  {"convert", OF(type), IN_OUT, CONVERSIONS, .each = true}, {                                      \
    "convert", OF("f32") ", { name = \"b\"; type = \"" type "\"; shape = [ %1$s ]; }",             \
        "in = \"a\"; out = \"b\";", CONVERSIONS, .each = true                                      \
  }
    CONVERT("u8"),
    CONVERT("u16"),
    CONVERT("i32"),
    CONVERT("f16"),
    CONVERT("bf16"),
#define WALK(arg)                                                                                  \
  { "walk", OF("f32"), "vector = \"a\"; out = \"new\";", "1/2/1001", "1/3/64", .args = ALWAYS(arg) }
    WALK("args: { steps = 50; walkers = 1; };"),
    WALK("args: { steps = 50; walkers = 7; };"),
    WALK("args: { steps = 50; walkers = 64; };"),
    WALK("args: { steps = 50; walkers = 100; };"),
    WALK(""),
#define FOURIER(kernel, shapes, tiles)                                                             \
  {kernel, OF("c64"), IN_OUT, shapes, tiles, .each = true, .args = ALWAYS("")}, {                  \
    kernel, OF("c64"), IN_OUT, shapes, tiles, .each = true,                                        \
                                              .args = ALWAYS("args: { inverse = 1; };")            \
  }
    FOURIER("fft2_plane",
            "16, 16/32, 32/64, 64/3, 16, 16/5, 32, 32/2, 64, 64/1, 32, 32/3, 4, 16, 16",
            "16, 16/99, 99/64, 64/2, 16, 16/2, 32, 32/1, 64, 64/4, 32, 32/2, 3, 16, 16"),
    FOURIER("fft_rows",
            "16/1, 512/33, 32/20, 64/9, 128/17, 256/5, 512/3, 5, 32/2, 3, 128/256/3, 2, 5, 256",
            "16/1, 512/16, 32/7, 64/16, 128/16, 999/4, 512/2, 3, 32/2, 2, 128/256/2, 2, 3, 256"),
    FOURIER("fft_columns",
            "16, 1/32, 33/64, 20/128, 9/256, 40/512, 17/3, 32, 5/2, 128, 19/3, 2, 64, 5",
            "16, 1/32, 16/64, 7/999, 5/256, 16/512, 16/2, 32, 3/2, 128, 16/2, 2, 64, 3"),
};

/* One of a list; NULL: it has not as many. */
static const char *part(const char *list, int number) {
  for (; list && number > 0; --number)
    list = (list = strchr(list, '/')) ? list + 1 : NULL;
  return list ? text("%.*s", (int)strcspn(list, "/"), list) : NULL;
}

static void try_all(const struct parity *p) {
  for (int s = 0; part(p->shapes, s); ++s)
    for (int t = p->each ? s : 0; part(p->tiles, t) && (!p->each || t == s); ++t) {
      const char *args = p->args[(p->each ? s : s + t) % 2];
      char arrays[512];
      snprintf(arrays, sizeof arrays, p->arrays, part(p->shapes, s), part(p->others, s));
      assert_parity(arrays, text("kernel = \"%s\"; tile = [ %s ]; %s arrays: { %s };", p->kernel,
                                 part(p->tiles, t), args ? args : "", p->ports));
    }
}

/* Of images with a border, without one where they are large enough, and of an output that says so.
 */
static const struct convolution {
  const char *kernel, *type;
  int border; /* rows and columns that are lost without one */
  int shapes[14][2], tiles[7][2];
  const char *args;
} convolutions[] = {
    {"conv2d",
     "f32",
     2,
     {{1, 1},
      {1, 9},
      {9, 1},
      {2, 2},
      {3, 3},
      {3, 4},
      {5, 7},
      {8, 8},
      {13, 17},
      {31, 66},
      {4, 1},
      {67, 5},
      {1, 130}},
     {{1, 1}, {2, 3}, {4, 4}, {5, 8}, {9, 30}, {100, 100}},
     "args: { coefficients = [ 1.5, -2.0, 3.0, 1e10, -0.0, 0.1, 7.0, 1e-30, 3.3 ]; };"},
    {"conv2d_u8",
     "u8",
     2,
     {{1, 1}, {1, 9}, {3, 3}, {5, 7}, {13, 17}, {31, 66}, {1, 130}},
     {{1, 1}, {2, 3}, {4, 4}, {9, 30}, {100, 100}},
     "args: { coefficients = [ 1.5, -2.0, 3.0, 0.25, -0.0, 0.1, -7.0, 1e-30, 3.3 ];"
     " offset = 127.5; };"},
    {"conv2d_7x7",
     "f32",
     6,
     {{1, 1}, {1, 9}, {6, 7}, {7, 7}, {8, 11}, {9, 5}, {20, 8}, {33, 41}, {1, 130}},
     {{1, 1}, {2, 3}, {5, 8}, {9, 30}, {100, 100}},
     NULL},
};

/* 49 of them. */
static const char *coefficients_7x7(void) {
  const char *all = "args: { coefficients = [ -3.0";
  for (int i = 1; i < 49; ++i)
    all = text("%s, %d.25", all, i * i % 17 - 8);
  return text("%s ]; };", all);
}

static void convolve(const struct convolution *c) {
  static const char form[] = "{ name = \"%s\"; type = \"%s\"; shape = [ %d, %d ]; %s }";
  for (int s = 0; c->shapes[s][0]; ++s)
    for (int t = 0; c->tiles[t][0]; ++t) {
      const int rows = c->shapes[s][0], columns = c->shapes[s][1];
      const bool is_large = rows > c->border && columns > c->border;
      const char *args = (s + t) % 2 == 0 ? "" : c->args ? c->args : coefficients_7x7();
      const char *in = text(form, "a", c->type, rows, columns, "fill = \"random\";");
      for (int lost = 0; lost <= (is_large ? c->border : 0); lost += c->border) {
        const char *out = text(form, "b", c->type, rows - lost, columns - lost, "");
        for (int named = lost == 0; named < 2; ++named)
          assert_parity(named ? text("%s, %s", in, out) : in,
                        text("kernel = \"%s\"; tile = [ %d, %d ]; %s arrays: { in = \"a\";"
                             " out = \"%s\"; };",
                             c->kernel, c->tiles[t][0], c->tiles[t][1], args, named ? "b" : "new"));
      }
    }
}

/* A new kernel fails here until it has its shapes above. */
TESTS(every_kernel_equals_its_reference, prem_registry_builtin()->count) {
  const char *kernel = prem_registry_builtin()->kernels[_i]->name;
  int tried = 0;
  for (size_t p = 0; p < sizeof parities / sizeof *parities; ++p)
    if (strcmp(parities[p].kernel, kernel) == 0 && ++tried)
      try_all(&parities[p]);
  for (size_t c = 0; c < sizeof convolutions / sizeof *convolutions; ++c)
    if (strcmp(convolutions[c].kernel, kernel) == 0 && ++tried)
      convolve(&convolutions[c]);
  if (strcmp(kernel, "noop") == 0 && ++tried)
    assert_parity("", "kernel = \"noop\"; tiles = 7; compute: { };");
  if (strcmp(kernel, "cuda_graph") == 0 && ++tried) /* its work is nobody's here */
    assert_parity("", "kernel = \"cuda_graph\"; class = \"best_effort\"; compute: { };");
  ck_assert_msg(tried, "kernel %s has no parity test", kernel);
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

TEST(a_wrong_task_is_refused_with_reason) {
  cases_judge("runtime/kernel_cases.txt");
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
