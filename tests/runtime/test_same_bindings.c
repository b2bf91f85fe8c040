/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every kernel is bound to arrays, tiles and arguments that are drawn, right ones and wrong ones,
 * as it was, and refuses with the same words (see tests/common/golden.h): others show that it is
 * right.
 */
#include "tests/common/golden.h"
#include "tests/common/planted.h"

enum { CASES = 800, OF_A_LINE = 20 };

static uint64_t state;

static int32_t draw(int32_t low, int32_t high) {
  return planted_between(&state, low, high);
}

static bool chance(int32_t of) {
  return draw(1, of) == 1;
}

/* ---- a task --------------------------------------------------------------------------------- */

static const int32_t extents[] = {1, 2, 3, 4, 5, 8, 16, 17, 32, 64, 128, 256, 600};

static int32_t draw_extent(void) {
  return extents[draw(0, chance(3) ? 12 : 7)];
}

typedef struct drawn_shape {
  int32_t rank, extent[5];
} drawn_shape;

static drawn_shape draw_shape(void) {
  drawn_shape shape = {.rank = chance(12) ? draw(1, 5) : draw(1, 4)};
  for (int d = 0; d < shape.rank; ++d)
    shape.extent[d] = draw_extent();
  return shape;
}

/* As large as a kernel of some reach leaves it, turned around, without a dimension, another one. */
static drawn_shape near(drawn_shape shape) {
  const int32_t d = draw(0, shape.rank - 1), how = draw(0, 11), reach = chance(2) ? 1 : 3;
  if (how < 2)
    for (int r = 0; r < shape.rank; ++r)
      if (shape.extent[r] > 2 * reach)
        shape.extent[r] -= 2 * reach;
  if (how == 2)
    shape.extent[d] += 2 * reach;
  if (how == 3)
    shape.extent[d] = 1;
  if (how == 4 && shape.rank > 1)
    --shape.rank;
  if (how == 5)
    shape.extent[d] = draw_extent();
  if (how == 6)
    return draw_shape();
  if (how > 9 && shape.rank > 1) { /* a factor */
    shape.extent[shape.rank - 2] = shape.extent[shape.rank - 1];
    shape.extent[shape.rank - 1] = draw_extent();
  }
  if (how == 7)
    for (int r = 0; 2 * r < shape.rank; ++r) {
      const int32_t extent = shape.extent[r];
      shape.extent[r] = shape.extent[shape.rank - 1 - r];
      shape.extent[shape.rank - 1 - r] = extent;
    }
  return shape;
}

static void print_numbers(FILE *file, const char *name, const int32_t *numbers, int32_t count) {
  fprintf(file, " %s = [", name);
  for (int32_t i = 0; i < count; ++i)
    fprintf(file, "%s %" PRId32, i ? "," : "", numbers[i]);
  fputs(" ];", file);
}

static prem_type draw_type(const prem_kernel *kernel, int32_t port) {
  const uint32_t allowed = kernel->port_types ? kernel->port_types[port] : 0;
  const prem_type type = (prem_type)draw(0, PREM_TYPE_COUNT - 1);
  const bool fits = allowed & PREM_TYPE_BIT(type);
  return fits || chance(25) ? type : kernel->ports[port].type;
}

static void print_argument(FILE *file) {
  static const char *const names[] = {"coefficients", "constant", "increment", "offset", "rate",
                                      "inverse",      "steps",    "walkers",   "none"};
  static const int32_t counts[] = {1, 1, 1, 2, 9, 49, 50};
  const char *name = names[draw(0, 8)];
  const int32_t count = counts[draw(0, 6)];
  const bool is_real = chance(2);
  fprintf(file, " args: { %s = %s", name, count > 1 ? "[" : "");
  for (int32_t i = 0; i < count; ++i) {
    const int32_t number = draw(-2, 9);
    fprintf(file, "%s%" PRId32 "%s", i ? ", " : " ", number, is_real ? ".5" : "");
  }
  fprintf(file, "%s; };", count > 1 ? " ]" : "");
}

static void print_task(FILE *file, const prem_kernel *kernel, const drawn_shape *first,
                       const bool *is_new) {
  fprintf(file, "tasks = ( { name = \"t\"; kernel = \"%s\"; blocks = 2;", kernel->name);
  if (chance(12))
    fprintf(file, " tiles = %" PRId32 ";", draw(1, 9));
  else if (!chance(20)) {
    int32_t tile[5];
    const int32_t rank = chance(8) ? draw(1, 4) : first->rank;
    for (int32_t d = 0; d < rank; ++d)
      tile[d] = chance(2) && d < first->rank ? first->extent[d] : draw_extent();
    print_numbers(file, "tile", tile, rank);
  }
  if (chance(3))
    print_argument(file);
  fputs(" arrays: {", file);
  for (int32_t p = 0; p < kernel->port_count; ++p)
    if (is_new[p])
      fprintf(file, " %s = \"new\";", kernel->ports[p].name);
    else
      fprintf(file, " %s = \"x%" PRId32 "\";", kernel->ports[p].name, p);
  const bool reads = !kernel->compatible || chance(9), writes = !kernel->compatible || chance(9);
  fprintf(file, " };%s compute: { wcet_ns = 100L; };%s } );\n",
          reads ? " prefetch: { wcet_ns = 90L; };" : "",
          writes ? " writeback: { wcet_ns = 80L; };" : "");
}

static char *print_case(const prem_kernel *kernel) {
  char *source = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&source, &bytes);
  const drawn_shape first = draw_shape();
  bool is_new[PREM_MAX_PORTS] = {false}, any = false;
  fprintf(file, "version = 1; name = \"t\"; platform: { blocks = 2;%s };\narrays = (",
          chance(4) ? " scratch_bytes = 4096L;" : "");
  for (int32_t p = 0; p < kernel->port_count; ++p) {
    const bool is_near = p > 0 && chance(2);
    is_new[p] = chance(kernel->ports[p].access == PREM_OUT ? 2 : 60);
    const drawn_shape shape = is_near ? near(first) : first;
    if (is_new[p])
      continue;
    fprintf(file, "%s { name = \"x%" PRId32 "\"; type = \"%s\";", any ? "," : "", p,
            prem_type_name(draw_type(kernel, p)));
    print_numbers(file, "shape", shape.extent, shape.rank);
    fputs(" }", file);
    any = true;
  }
  fputs(" );\n", file);
  print_task(file, kernel, &first, is_new);
  fclose(file);
  return source;
}

/* ---- what becomes of it --------------------------------------------------------------------- */

static uint64_t sum;

static void add(int64_t value) {
  sum = golden_sum(sum, &value, sizeof value);
}

static void add_bound(const prem_schedule *schedule) {
  const prem_task *task = &schedule->tasks[0];
  sum = golden_sum(sum, task->params, task->definition->params_bytes);
  add(task->tile_count);
  add(task->in_bytes);
  add(task->out_bytes);
  add(task->work_bytes);
  for (int32_t p = 0; p < task->definition->port_count; ++p) {
    const prem_window *window = &task->windows[p];
    sum = golden_sum(sum, window->base, sizeof window->base);
    sum = golden_sum(sum, window->step, sizeof window->step);
    sum = golden_sum(sum, window->extent, sizeof window->extent);
    add(window->aim);
  }
  for (int32_t p = 0; p <= task->definition->port_count; ++p) {
    add(task->layout[p].offset_bytes);
    add(task->layout[p].row_bytes);
    add(task->layout[p].rows);
    add(task->layout[p].element_bytes);
  }
  for (int32_t a = 0; a < schedule->array_count; ++a)
    for (int d = 0; d < 4; ++d)
      add(schedule->arrays[a].shape[d]);
}

/* Adds what is bound, or what is said. */
static bool add_case(const prem_kernel *kernel) {
  char *source = print_case(kernel);
  prem_diag *diag = prem_diag_new();
  prem_schedule *schedule = NULL;
  prem_status status = prem_schedule_load_text("t", source, &schedule, diag);
  if (status == PREM_OK)
    status = prem_schedule_bind(schedule, prem_registry_builtin(), diag);
  if (status == PREM_OK)
    add_bound(schedule);
  add((int64_t)golden_problems(diag));
  prem_schedule_free(schedule);
  prem_diag_free(diag);
  free(source);
  return status == PREM_OK;
}

static void tell_kernel(FILE *file, const prem_kernel *kernel) {
  int bound = 0;
  sum = GOLDEN_SUM;
  for (int i = 1; i <= CASES; ++i) {
    bound += add_case(kernel);
    if (i % OF_A_LINE)
      continue;
    fprintf(file, "%s, to case %d: %d bound: %016" PRIx64 "\n", kernel->name, i, bound, sum);
    sum = GOLDEN_SUM;
    bound = 0;
  }
}

START_TEST(of_all_kernels) {
  const prem_registry *registry = prem_registry_builtin();
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  for (int32_t k = 0; k < registry->count; ++k) {
    state = (uint64_t)k * 7919 + 3;
    tell_kernel(file, registry->kernels[k]);
  }
  fclose(file);
  golden_judge("bindings.txt", found);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("same bindings");
  TCase *all = tcase_create("kernels");
  tcase_set_timeout(all, 240);
  tcase_add_test(all, of_all_kernels);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
