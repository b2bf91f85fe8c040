/* SPDX-License-Identifier: Apache-2.0 */
/* Binding: tiles, windows, scratchpad, bytes; and what it refuses. */
#include "tests/common/cases.h"
#include "tests/common/suite.h"

#define HEAD "version = 1; name = \"n\"; platform: { blocks = 4; buffers = 2; };\n"

static prem_schedule *load_text(const char *source) {
  FILE *file = print_begin();
  fputs(source, file);
  return print_end(file);
}

/* Errors of binding, one a line: "LINE: CODE: KEY: REASON". */
static const char *errors_of(const char *source, const prem_registry *registry) {
  static char all[8192];
  OWNED(prem_schedule) *schedule = load_text(source);
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_status status = prem_schedule_bind(schedule, registry, diag);
  all[0] = '\0';
  for (size_t i = 0; i < prem_diag_count(diag); ++i) {
    const prem_problem *p = prem_diag_at(diag, i);
    sprintf(all + strlen(all), "%s%d: E%03d: %s: %s", i ? "\n" : "", p->line, p->code, p->key,
            p->reason);
  }
  ck_assert_int_eq(status, all[0] ? PREM_ERR_INVALID : PREM_OK);
  ck_assert_int_eq(schedule->bound, all[0] == '\0');
  /* a second call neither repeats itself nor forgets */
  const size_t errors = prem_diag_errors(diag);
  ck_assert_int_eq(prem_schedule_bind(schedule, registry, diag), status);
  ck_assert_uint_eq(prem_diag_errors(diag), errors);
  return all;
}

/* ---- refused with the kernels of this build ------------------------------------------------- */

#define IMAGES                                                                                     \
  HEAD "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 16, 16 ]; },\n"                       \
       "  { name = \"c\"; type = \"c64\"; shape = [ 16, 16 ]; },\n"                                \
       "  { name = \"y\"; type = \"f32\"; shape = [ 16, 16 ]; } );\n"
TEST(tasks_are_refused_and_their_twins_are_legal) {
  cases_judge("prem/bind_cases.txt");
}

/* ---- careless kernels ----------------------------------------------------------------------- */

static prem_bind answer; /* what the kernel below gives */

static prem_status careless_bind(prem_bind *bind) {
  memcpy(bind->grid, answer.grid, sizeof bind->grid);
  memcpy(bind->window, answer.window, sizeof bind->window);
  memcpy(bind->new_rank, answer.new_rank, sizeof bind->new_rank);
  memcpy(bind->new_shape, answer.new_shape, sizeof bind->new_shape);
  int64_t count = 7;
  float scale = 0.5F;
  prem_status status = prem_arg_ints(bind, "count", &count, 1);
  if (status == PREM_OK)
    status = prem_arg_floats(bind, "scale", &scale, 1);
  memcpy(bind->params.bytes, &count, sizeof count);
  memcpy(bind->params.bytes + sizeof count, &scale, sizeof scale);
  return status;
}

static const prem_port careless_ports[] = {{"in", PREM_IN, PREM_F32}, {"out", PREM_OUT, PREM_C64}};
static const prem_kernel careless = {.name = "careless",
                                     .summary = "gives what it is told to",
                                     .params_bytes = 16,
                                     .ports = careless_ports,
                                     .port_count = 2,
                                     .bind = careless_bind};
static const prem_port backward_ports[] = {{"out", PREM_OUT, PREM_C64}, {"in", PREM_IN, PREM_F32}};
static const prem_kernel backward = {.name = "backward",
                                     .summary = "as careless, its output first",
                                     .params_bytes = 16,
                                     .ports = backward_ports,
                                     .port_count = 2,
                                     .bind = careless_bind};
static const prem_kernel *const careless_kernels[] = {&careless, &backward};
static const prem_registry careless_registry = {careless_kernels, 2};

#define CARELESS(rest)                                                                             \
  IMAGES "tasks = ( { name = \"k\"; kernel = \"careless\"; blocks = 1;\n"                          \
         "  arrays: { in = \"x\"; out = \"new\"; };\n" rest " } );"

static void answer_well(void) {
  answer = (prem_bind){.grid = {2, 3, 4}, .new_rank = {0, 3}, .new_shape = {{0}, {1, 4, 9, 15}}};
  for (int p = 0; p < 2; ++p)
    for (int d = 0; d < 4; ++d) {
      answer.window[p].extent[d] = d + 1;
      if (d > 0)
        answer.window[p].step[d][d - 1] = d + 1;
    }
}

TEST(careless_answers) {
  answer_well();
  ck_assert_str_eq(errors_of(CARELESS(""), &careless_registry), "");
  answer.grid[1] = 0;
  ck_assert_str_eq(
      errors_of(CARELESS(""), &careless_registry),
      "5: E031: tasks.k.tile: kernel 'careless' makes a grid of 2 x 0 x 4 tiles of it; "
      "1 to 2147483647 are allowed");
  answer.grid[0] = 65536;
  answer.grid[1] = 65536;
  ck_assert_str_eq(
      errors_of(CARELESS(""), &careless_registry),
      "5: E031: tasks.k.tile: kernel 'careless' makes a grid of 65536 x 65536 x 4 tiles "
      "of it; 1 to 2147483647 are allowed");
  answer_well();
  answer.window[1].extent[2] = 0;
  ck_assert_str_eq(errors_of(CARELESS(""), &careless_registry),
                   "5: E031: tasks.k.kernel: kernel 'careless' gives an empty window of 'out'");
  answer_well();
  answer.new_rank[1] = 0;
  ck_assert_str_eq(
      errors_of(CARELESS(""), &careless_registry),
      "5: E031: tasks.k.arrays: kernel 'careless' gives \"new\" 'out' no size that is possible");
  answer_well();
  answer.new_shape[1][3] = PREM_MAX_ELEMENTS;
  ck_assert_str_eq(
      errors_of(CARELESS(""), &careless_registry),
      "5: E031: tasks.k.arrays: kernel 'careless' gives \"new\" 'out' no size that is possible");
  answer_well();
  answer.window[0].extent[0] = 65536;
  answer.window[0].extent[1] = 1024;
  ck_assert_str_eq(errors_of(CARELESS(""), &careless_registry),
                   "5: E041: tasks.k.tile: a tile needs more than 2 GiB of scratchpad; take a "
                   "smaller one");
  answer.window[0].extent[1] = 256; /* 65536 * 256 * 3 rows of 32 bytes */
  ck_assert_str_eq(errors_of(CARELESS(""), &careless_registry), "");
}

/* What a wrong window of the output is told by; tile 12 is the one after the first row of tiles. */
TEST(outputs_that_overlap_or_leave_out) {
  static const char head[] = "5: E031: tasks.k.kernel: kernel 'careless': ";
  static const struct {
    int d, k;
    int64_t base, step;
    int32_t extent;
    const char *message;
  } windows[] = {
      {2, 1, 0, 3, 4, "tiles 0 and 4 both write row 3 of 'out'"},
      {2, 1, 0, 3, 2, "row 2 of 'out' is in no tile's window"},
      {2, 1, -1, 3, 3, "row 8 of 'out' is in no tile's window"},
      {2, 1, 2, 3, 3, "row 0 of 'out' is in no tile's window"},
      {2, 1, 6, -3, 3, ""},
      {2, 1, 6, -2, 3, "tiles 4 and 8 both write row 4 of 'out'"},
      {1, 0, 0, 1, 2, "tiles 0 and 12 both write plane 1 of 'out'"},
      {3, 2, 0, 5, 5, ""}, /* the last tile is outside */
      {3, 2, 0, 3, 3, "column 12 of 'out' is in no tile's window"},
      {3, 1, 0, 1, 4,
       "index 1 of the tile moves the window of 'out' in two dimensions; of an output each may "
       "move it in one"},
  };
  for (size_t i = 0; i < sizeof windows / sizeof *windows; ++i) {
    answer_well();
    answer.window[1].base[windows[i].d] = windows[i].base;
    answer.window[1].step[windows[i].d][windows[i].k] = windows[i].step;
    answer.window[1].extent[windows[i].d] = windows[i].extent;
    const char *expected = windows[i].message;
    ck_assert_str_eq(errors_of(CARELESS(""), &careless_registry),
                     *expected ? text("%s%s", head, expected) : "");
  }
  answer_well(); /* an index that moves nothing */
  answer.window[1].step[2][1] = 0;
  answer.new_shape[1][2] = 3;
  ck_assert_str_eq(errors_of(CARELESS(""), &careless_registry),
                   text("%s%s", head, "tiles 0 and 4 both write column 0 of 'out'"));
}

static prem_status never_bind(prem_bind *bind) {
  (void)bind;
  ck_abort_msg("asked although its parameters are too large");
  return PREM_OK;
}

TEST(parameters_that_are_too_large) {
  prem_kernel large = careless;
  large.params_bytes = 400;
  large.bind = never_bind;
  const prem_kernel *kernels[] = {&large};
  ck_assert_str_eq(errors_of(CARELESS(""), &(prem_registry){kernels, 1}),
                   "5: E031: tasks.k.kernel: kernel 'careless' has 400 bytes of parameters; 256 "
                   "are the most: give it the rest as an array");
  answer_well();
  large.params_bytes = 256;
  large.bind = careless_bind;
  ck_assert_str_eq(errors_of(CARELESS(""), &(prem_registry){kernels, 1}), "");
}

TEST(arguments) {
  answer_well();
  ck_assert_str_eq(errors_of(CARELESS("args: { count = 1.5; };"), &careless_registry),
                   "7: E031: tasks.k.args.count: must be written as integers");
  ck_assert_str_eq(errors_of(CARELESS("args: { count = [ 1, 2 ]; };"), &careless_registry),
                   "7: E031: tasks.k.args.count: has 2 numbers, 1 are needed");
  OWNED(prem_schedule) *s = load_text(CARELESS("args: { count = [ 9 ]; scale = 3; };"));
  ck_assert_int_eq(prem_schedule_bind(s, &careless_registry, NULL), PREM_OK);
  int64_t count = 0;
  float scale = 0;
  memcpy(&count, s->tasks[0].params, sizeof count);
  memcpy(&scale, s->tasks[0].params + sizeof count, sizeof scale);
  ck_assert_int_eq(count, 9);
  ck_assert_float_eq(scale, 3);
}

/* ---- what it makes -------------------------------------------------------------------------- */

TEST(layout_and_phases) {
  answer_well();
  answer.window[0].step[3][2] = 5; /* leads of 0, 4, 8 and 12 bytes; those of port 1 stay 0 */
  OWNED(prem_schedule) *s = load_text(CARELESS(""));
  prem_task *k = &s->tasks[0];
  ck_assert(!k->phase[PREM_PREFETCH].exists);
  ck_assert_int_eq(prem_block_scratch_bytes(s, 0), 0);
  ck_assert_int_eq(s->arrays[3].rank, 0);
  ck_assert_int_eq(prem_schedule_bind(s, &careless_registry, NULL), PREM_OK);
  ck_assert_ptr_eq(k->definition, &careless);
  ck_assert_int_eq(k->tile_count, 24);
  ck_assert(k->phase[PREM_PREFETCH].exists);
  ck_assert(!k->phase[PREM_COMPUTE].exists); /* the kernel has no code */
  ck_assert(k->phase[PREM_WRITEBACK].exists);
  ck_assert(!prem_task_profiled(k));
  /* 1 x 2 x 3 rows of 4 elements, the most lead, whole pieces of 16 */
  ck_assert_int_eq(k->layout[0].rows, 6);
  ck_assert_int_eq(k->layout[0].row_bytes, 32);
  ck_assert_int_eq(k->layout[0].element_bytes, 4);
  ck_assert_int_eq(k->layout[1].row_bytes, 32);
  ck_assert_int_eq(k->in_bytes, 256);
  ck_assert_int_eq(k->out_bytes, 256);
  ck_assert_int_eq(prem_block_scratch_bytes(s, 0), 2 * (256 + 256));
  ck_assert_int_eq(prem_block_scratch_bytes(s, 1), 0);
  ck_assert_int_eq(prem_block_scratch_bytes(s, -1), 0);
  ck_assert_int_eq(prem_block_scratch_bytes(s, 4), 0);
  const prem_array *made = &s->arrays[k->arrays[1]];
  ck_assert_str_eq(made->name, "k.out");
  ck_assert_int_eq(made->type, PREM_C64);
  ck_assert_int_eq(made->rank, 3);
  ck_assert_int_eq(made->shape[3], 15);
  ck_assert_int_eq(made->writer, 0);
  ck_assert_int_eq(s->arrays[0].writer, -1);
}

TEST(an_output_may_come_first) {
  answer_well();
  memcpy(answer.new_shape[0], answer.new_shape[1], sizeof answer.new_shape[0]);
  answer.new_rank[0] = 3;
  answer.new_rank[1] = 0;
  OWNED(prem_schedule) *s =
      load_text(IMAGES "tasks = ( { name = \"k\"; kernel = \"backward\"; blocks = 1;\n"
                       "  arrays: { in = \"x\"; out = \"new\"; }; } );");
  ck_assert_int_eq(prem_schedule_bind(s, &careless_registry, NULL), PREM_OK);
  ck_assert_int_eq(s->arrays[s->tasks[0].arrays[0]].writer, 0);
  ck_assert_int_eq(s->arrays[s->tasks[0].arrays[1]].writer, -1);
}

/* The last task of the chain stands first. */
TEST(new_arrays_in_any_order) {
  OWNED(prem_schedule) *s = schedule_from_text(
      IMAGES "tasks = (\n"
             "  { name = \"c\"; kernel = \"conv2d\"; blocks = 1; tile = [ 4, 4 ];\n"
             "    arrays: { in = \"b.1.out\"; out = \"new\"; }; after = ( { task = \"b\"; } ); },\n"
             "  { name = \"b\"; copies = 2; kernel = \"conv2d\"; blocks = 1; tile = [ 4, 4 ];\n"
             "    arrays: { in = \"a.out\"; out = \"new\"; }; after = ( { task = \"a\"; } ); },\n"
             "  { name = \"a\"; kernel = \"conv2d\"; blocks = 1; tile = [ 4, 4 ];\n"
             "    arrays: { in = \"x\"; out = \"new\"; }; } );");
  ck_assert_int_eq(s->arrays[s->tasks[3].arrays[1]].shape[3], 14);
  ck_assert_int_eq(s->arrays[s->tasks[2].arrays[1]].shape[3], 12);
  ck_assert_int_eq(s->arrays[s->tasks[0].arrays[1]].shape[3], 10);
  ck_assert_int_eq(s->arrays[s->tasks[2].arrays[1]].writer, 2);
}

/* `late` is bound last, since it waits for `small`, and is the first that writes y. */
TEST(first_writer_is_kept) {
  OWNED(prem_schedule) *s = schedule_from_text(
      HEAD "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 16, 16 ]; },\n"
           "  { name = \"y\"; type = \"f32\"; shape = [ 14, 14 ]; } );\n"
           "tasks = (\n"
           "  { name = \"late\"; kernel = \"conv2d\"; blocks = 1; tile = [ 4, 4 ];\n"
           "    arrays: { in = \"small.out\"; out = \"y\"; }; },\n"
           "  { name = \"small\"; kernel = \"conv2d\"; blocks = 1; tile = [ 4, 4 ];\n"
           "    arrays: { in = \"x\"; out = \"new\"; }; },\n"
           "  { name = \"other\"; kernel = \"conv2d\"; blocks = 1; tile = [ 4, 4 ];\n"
           "    arrays: { in = \"x\"; out = \"y\"; }; } );");
  ck_assert_int_eq(s->arrays[1].writer, 0);
}

TEST(of_two_writers_the_first_is_kept) {
  OWNED(prem_schedule) *s = schedule_from_text(
      HEAD "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 16 ]; },\n"
           "  { name = \"y\"; type = \"f32\"; shape = [ 16 ]; } );\n"
           "tasks = (\n"
           "  { name = \"one\"; kernel = \"vector_increment\"; blocks = 1; tile = [ 4 ];\n"
           "    arrays: { in = \"x\"; out = \"y\"; }; },\n"
           "  { name = \"two\"; kernel = \"vector_increment\"; blocks = 1; tile = [ 4 ];\n"
           "    arrays: { in = \"x\"; out = \"y\"; }; } );");
  ck_assert_int_eq(s->arrays[1].writer, 0);
}

/* Every byte by itself: an input's rows in whole pieces of 16 inside the array, an output's exact.
 */
static int64_t bytes_by_hand(const prem_schedule *s, const prem_task *task, int p, int32_t tile) {
  const prem_window *w = &task->windows[p];
  const int64_t *shape = s->arrays[task->arrays[p]].shape;
  const int64_t element = prem_type_bytes(task->definition->ports[p].type);
  const int64_t index[3] = {tile / (task->grid[1] * task->grid[2]),
                            tile / task->grid[2] % task->grid[1], tile % task->grid[2]};
  const int64_t unit = task->definition->ports[p].access == PREM_IN ? 16 : 1;
  int64_t origin[4], at[4], bytes = 0;
  for (int d = 0; d < 4; ++d) {
    origin[d] = w->base[d];
    for (int k = 0; k < 3; ++k)
      origin[d] += w->step[d][k] * index[k];
  }
  for (at[0] = 0; at[0] < shape[0]; ++at[0])
    for (at[1] = 0; at[1] < shape[1]; ++at[1])
      for (at[2] = 0; at[2] < shape[2]; ++at[2])
        for (int64_t unit_at = 0; unit_at < shape[3] * element; unit_at += unit) {
          bool is_touched = false;
          for (int64_t byte = unit_at; byte < unit_at + unit; ++byte) {
            at[3] = byte / element;
            bool is_inside = at[3] < shape[3];
            for (int d = 0; d < 4; ++d)
              is_inside &= at[d] >= origin[d] && at[d] < origin[d] + w->extent[d];
            is_touched |= is_inside;
          }
          bytes += is_touched ? unit : 0;
        }
  return bytes;
}

static void compare_bytes(const char *source) {
  OWNED(prem_schedule) *s = schedule_from_text(source);
  for (int32_t t = 0; t < s->task_count; ++t) {
    const prem_task *task = &s->tasks[t];
    ck_assert_int_gt(task->tile_count, 1);
    for (int32_t tile = 0; tile < task->tile_count; ++tile) {
      int64_t expected[PREM_PHASE_COUNT] = {0};
      for (int p = 0; p < task->definition->port_count; ++p)
        expected[task->definition->ports[p].access == PREM_IN ? PREM_PREFETCH : PREM_WRITEBACK] +=
            bytes_by_hand(s, task, p, tile);
      for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase)
        ck_assert_int_eq(prem_task_phase_bytes(s, task, (prem_phase)phase, tile), expected[phase]);
    }
  }
}

TEST(phase_bytes) {
  compare_bytes(HEAD
                "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 7, 23 ]; },\n"
                "  { name = \"y\"; type = \"f32\"; shape = [ 7, 23 ]; },\n"
                "  { name = \"c\"; type = \"c64\"; shape = [ 3, 5, 7 ]; },\n"
                "  { name = \"v\"; type = \"f32\"; shape = [ 101 ]; } );\n"
                "tasks = ( { name = \"a\"; kernel = \"conv2d\"; blocks = 1; tile = [ 3, 5 ];\n"
                "    arrays: { in = \"x\"; out = \"y\"; }; },\n"
                "  { name = \"b\"; kernel = \"conv2d\"; blocks = 1; tile = [ 2, 6 ];\n"
                "    arrays: { in = \"x\"; out = \"new\"; }; },\n"
                "  { name = \"d\"; kernel = \"kcf_multiply\"; blocks = 1; tile = [ 2, 2, 3 ];\n"
                "    arrays: { a = \"c\"; b = \"c\"; out = \"new\"; }; },\n"
                "  { name = \"e\"; kernel = \"vector_increment\"; blocks = 1; tile = [ 9 ];\n"
                "    arrays: { in = \"v\"; out = \"new\"; }; } );");
}

TEST(abstract_tasks_move_nothing) {
  OWNED(prem_schedule) *s = schedule_from_text(HEAD "tasks = ( { name = \"a\"; kernel = \"none\"; "
                                                    "blocks = 1; tiles = 2; prefetch: { }; } );");
  ck_assert(s->bound);
  ck_assert_ptr_null(s->tasks[0].definition);
  ck_assert_int_eq(prem_task_phase_bytes(s, &s->tasks[0], PREM_PREFETCH, 0), 0);
}
