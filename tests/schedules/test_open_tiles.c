/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks whose file leaves their tiles open, and open buffers: what is chosen, how near to the best
 * of all tiles that is, and that a plan keeps it. */
#include "tests/common/running.h"
#include "tests/common/suite.h"

#define HEAD                                                                                       \
  "version = 1; name = \"open\"; platform: { blocks = %d; buffers = %s; scratch_bytes = %dL; };\n" \
  "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ %d, %d ]; } );\n"                          \
  "tasks = ( "
#define TIMES                                                                                      \
  "prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 20L; }; writeback: { wcet_ns = 10L; };"

static const char *image_task(const char *name, const char *kernel, const char *more) {
  return text("{ name = \"%s\"; kernel = \"%s\"; arrays: { in = \"x\"; out = \"new\"; }; %s " TIMES
              " }",
              name, kernel, more);
}

/* NULL: refused. */
static prem_schedule *open_image(int blocks, const char *buffers, int scratch, const int shape[2],
                                 const char *kernel, const char *tile) {
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_schedule *schedule =
      schedule_from_text_lenient(text(HEAD "%s );", blocks, buffers, scratch, shape[0], shape[1],
                                      image_task("a", kernel, tile)),
                                 diag);
  if (schedule && schedule->bound && prem_check(schedule, NULL, diag) == PREM_OK &&
      prem_diag_errors(diag) == 0)
    return schedule;
  prem_schedule_free(schedule);
  return NULL;
}

static int64_t moved_by(const prem_schedule *schedule) {
  const prem_task *task = &schedule->tasks[0];
  return task->tile_count * ((int64_t)task->in_bytes + task->out_bytes);
}

/* ---- what is chosen -------------------------------------------------------------------------- */

static const struct {
  const char *kernel;
  int shape[2], scratch;
} images[] = {{"conv2d", {40, 56}, 4096},      {"conv2d", {24, 200}, 8192},
              {"conv2d_7x7", {40, 56}, 6144},  {"conv2d_7x7", {33, 130}, 16384},
              {"conv2d_7x7", {90, 20}, 8192},  {"conv2d", {7, 9}, 65536},
              {"conv2d_7x7", {64, 64}, 12000}, {"conv2d", {100, 30}, 5000}};
enum { IMAGES = sizeof images / sizeof images[0] };

/* On one block, beside every tile that is legal and fits: none moves much less. */
TESTS(no_tile_moves_much_less, IMAGES) {
  OWNED(prem_schedule) *chosen =
      open_image(1, "1", images[_i].scratch, images[_i].shape, images[_i].kernel, "");
  ck_assert_ptr_nonnull(chosen);
  ck_assert(chosen->tasks[0].tile_open);
  ck_assert_int_le(prem_block_scratch_bytes(chosen, 0), images[_i].scratch);
  int64_t least = INT64_MAX;
  int legal = 0;
  for (int rows = 1; rows <= images[_i].shape[0]; ++rows)
    for (int columns = 1; columns <= images[_i].shape[1]; columns += columns < 8 ? 1 : 3) {
      OWNED(prem_schedule) *one =
          open_image(1, "1", images[_i].scratch, images[_i].shape, images[_i].kernel,
                     text("tile = [ %d, %d ];", rows, columns));
      if (one && moved_by(one) < least)
        least = moved_by(one);
      legal += one != NULL;
    }
  ck_assert_int_gt(legal, 10);
  ck_assert_double_le((double)moved_by(chosen), 1.10 * (double)least);
}

/* The last round has work for all blocks, as far as rows can be dealt out. */
TESTS(all_blocks_have_work_in_the_last_round, 24) {
  const int blocks = 2 + _i % 6, shape[2] = {96 + 7 * _i, 64};
  OWNED(prem_schedule) *chosen = open_image(blocks, "2", 16384, shape, "conv2d", "");
  ck_assert_ptr_nonnull(chosen);
  const prem_task *task = &chosen->tasks[0];
  const int rounds = (task->tile_count + blocks - 1) / blocks;
  ck_assert_int_gt(task->tile_count, (rounds - 1) * blocks + blocks / 2);
}

TEST(several_buffers_have_smaller_tiles) {
  const int shape[2] = {256, 64};
  int before = INT32_MAX;
  for (int buffers = 1; buffers <= 4; ++buffers) {
    OWNED(prem_schedule) *chosen = open_image(2, text("%d", buffers), 32768, shape, "conv2d", "");
    ck_assert_ptr_nonnull(chosen);
    ck_assert_int_lt(chosen->tasks[0].in_bytes, before);
    before = chosen->tasks[0].in_bytes;
  }
}

/* A row of two, and one that nobody waits for: it has twice the time, so half of the tiles. */
TEST(the_longest_row_has_more_blocks) {
  OWNED(prem_schedule) *schedule = schedule_from_text(text(
      HEAD "%s, %s, %s );", 12, "1", 65536, 48, 64, image_task("first", "conv2d", ""),
      "{ name = \"next\"; kernel = \"conv2d\"; arrays: { in = \"first.out\"; out = \"new\"; }; "
      "after = ( { task = \"first\"; } ); " TIMES " }",
      image_task("other", "conv2d", "")));
  ck_assert_int_ge(schedule->tasks[0].tile_count, 7); /* two thirds of the blocks */
  ck_assert_int_eq(schedule->tasks[1].tile_count, schedule->tasks[0].tile_count);
  ck_assert_int_eq(schedule->tasks[2].tile_count, 4);
}

/* Element by element; `first` is read by both others. */
static prem_schedule *open_spectra(const char *after, const char *all, const char *next) {
  const char *spectrum = "{ name = \"%s\"; kernel = \"kcf_conjugate\"; arrays: { in = \"%s\"; out "
                         "= \"new\"; }; %s %s " TIMES " }";
  const char *behind = text("after = ( { task = \"first\"; %s } ); %s", after, next);
  return schedule_from_text(
      text("version = 1; name = \"open\"; platform: { blocks = 12; buffers = 1; scratch_bytes = "
           "8192L; };\narrays = ( { name = \"x\"; type = \"c64\"; shape = [ 6, 8, 32 ]; } );\n"
           "tasks = ( %s, %s, %s );",
           text(spectrum, "first", "x", all, ""), text(spectrum, "next", "first.out", all, behind),
           text(spectrum, "other", "first.out", all, "after = ( { task = \"first\"; } );")));
}

/* All blocks are taken, so both go on where the first one was, with its tiles. */
TEST(what_goes_on_tile_by_tile_needs_no_message) {
  OWNED(prem_schedule) *schedule = open_spectra("", "", "");
  const prem_task *tasks = schedule->tasks;
  for (int t = 1; t <= 2; ++t) {
    ck_assert(tasks[t].after[0].per_block);
    ck_assert_int_eq(tasks[t].block_count, tasks[0].block_count);
    ck_assert_mem_eq(tasks[t].blocks, tasks[0].blocks,
                     (size_t)tasks[0].block_count * sizeof *tasks[0].blocks);
    ck_assert_mem_eq(tasks[t].grid, tasks[0].grid, sizeof tasks[0].grid);
  }
  OWNED(prem_diag) *diag = prem_diag_new();
  bool changed = true;
  ck_assert_int_eq(prem_schedule_deal(schedule, &changed, diag), PREM_OK);
  ck_assert(!changed && tasks[1].after[0].per_block && tasks[2].after[0].per_block);
}

/* Six tiles leave six blocks for the second of a fork, which has to be told. */
TEST(a_fork_goes_on_elsewhere) {
  OWNED(prem_schedule) *schedule = open_spectra("", "tile = [ 1, 8, 32 ];", "");
  ck_assert(schedule->tasks[1].after[0].per_block != schedule->tasks[2].after[0].per_block);
}

/* Where the file says so, or names the blocks, or other tiles. */
TEST(a_message_that_the_file_wants) {
  static const struct {
    const char *after, *all, *next;
  } files[] = {{"per = \"job\";", "", ""},
               {"lag_ns = 1L;", "", ""},
               {"", "", "blocks = \"0-11\";"},
               {"", "blocks = \"0-11\";", ""},
               {"", "", "tile = [ 1, 1, 32 ];"}};
  for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
    OWNED(prem_schedule) *schedule = open_spectra(files[i].after, files[i].all, files[i].next);
    ck_assert(!schedule->tasks[1].after[0].per_block);
  }
}

/* A halo is what others write. */
TEST(neighbours_need_a_message) {
  OWNED(prem_schedule) *schedule = schedule_from_text(text(
      HEAD "%s, %s );", 12, "1", 65536, 48, 64, image_task("first", "conv2d", ""),
      "{ name = \"next\"; kernel = \"conv2d\"; arrays: { in = \"first.out\"; out = \"new\"; }; "
      "after = ( { task = \"first\"; } ); " TIMES " }"));
  ck_assert(!schedule->tasks[1].after[0].per_block);
}

/* One task after the other has all blocks; tasks beside each other share them by their bytes. */
TEST(tasks_beside_each_other_share_the_blocks) {
  const char *arrays = "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 96, 128 ]; },\n"
                       "{ name = \"y\"; type = \"f32\"; shape = [ 32, 128 ]; } );\n";
  const char *head = "version = 1; name = \"open\"; platform: { blocks = 16; buffers = 1; };\n";
  const char *form =
      "{ name = \"%s\"; kernel = \"conv2d\"; arrays: { in = \"%s\"; out = \"new\"; };"
      " %s " TIMES " }";
  OWNED(prem_schedule) *beside =
      schedule_from_text(text("%s%stasks = ( %s, %s );\n", head, arrays, text(form, "a", "x", ""),
                              text(form, "b", "y", "")));
  ck_assert_int_eq(beside->tasks[0].tile_count, 12);
  ck_assert_int_eq(beside->tasks[1].tile_count, 4);
  OWNED(prem_schedule) *row =
      schedule_from_text(text("%s%stasks = ( %s, %s );\n", head, arrays, text(form, "a", "x", ""),
                              text(form, "b", "a.out", "after = ( { task = \"a\"; } );")));
  ck_assert_int_ge(row->tasks[0].tile_count, 15);
  ck_assert_int_ge(row->tasks[1].tile_count, 15);
}

/* ---- anew ------------------------------------------------------------------------------------ */

static void assert_same_tiles(const prem_schedule *a, const prem_schedule *b) {
  ck_assert_int_eq(a->platform.buffers, b->platform.buffers);
  for (int32_t t = 0; t < a->task_count; ++t) {
    const prem_task *one = &a->tasks[t], *other = &b->tasks[t];
    ck_assert_int_eq(one->tile_count, other->tile_count);
    ck_assert_mem_eq(one->tile, other->tile, sizeof one->tile);
    ck_assert_int_eq(one->in_bytes, other->in_bytes);
    ck_assert_int_eq(one->block_count, other->block_count);
    ck_assert_mem_eq(one->blocks, other->blocks, (size_t)one->block_count * sizeof *one->blocks);
  }
  for (int32_t i = 0; i < a->array_count; ++i)
    ck_assert_mem_eq(a->arrays[i].shape, b->arrays[i].shape, sizeof a->arrays[i].shape);
}

/* Laid out in other ways and back again it is as it was read, though the size of `b`'s output
 * follows from its tiles; a way that is not possible is refused, and others are possible then. */
TEST(laid_out_anew_and_back_all_is_as_it_was) {
  const char *source =
      text(HEAD "%s, %s );", 3, "\"auto\"", 16384, 61, 47, image_task("a", "conv2d", ""),
           "{ name = \"b\"; kernel = \"tile_sum\"; arrays: { in = \"a.out\"; out = \"new\"; };"
           " after = ( { task = \"a\"; } ); " TIMES " }");
  const prem_registry *registry = prem_registry_builtin();
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_schedule) *schedule = schedule_from_text(source);
  OWNED(prem_schedule) *fresh = schedule_from_text(source);
  const int64_t sums = schedule->arrays[schedule->tasks[1].arrays[1]].shape[3];
  static const prem_layout layouts[] = {{1, 100}, {3, 50}, {2, 300}, {1, 25}};
  bool has_changed = false;
  for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; ++i) {
    ck_assert_int_eq(prem_schedule_lay_out(schedule, registry, &layouts[i], diag), PREM_OK);
    ck_assert_int_eq(schedule->platform.buffers, layouts[i].buffers);
    ck_assert_int_eq(prem_check(schedule, NULL, diag), PREM_OK);
    has_changed |= schedule->arrays[schedule->tasks[1].arrays[1]].shape[3] != sums;
  }
  ck_assert(has_changed);
  schedule->platform.scratch_bytes = 64;
  ck_assert_int_eq(prem_schedule_lay_out(schedule, registry, &layouts[0], diag), PREM_ERR_INVALID);
  ck_assert(!schedule->bound);
  schedule->platform.scratch_bytes = 16384;
  ck_assert_int_eq(prem_schedule_lay_out(schedule, registry, &(prem_layout){2, 100}, diag),
                   PREM_OK);
  assert_same_tiles(schedule, fresh);
}

TEST(a_kernel_without_a_tile_stays_without_one) {
  OWNED(prem_schedule) *schedule = schedule_from_text(
      "version = 1; name = \"n\"; platform: { blocks = 1; };\n"
      "tasks = ( { name = \"a\"; kernel = \"noop\"; tiles = 4; compute: { wcet_ns = 1L; }; } );\n");
  ck_assert(!schedule->tasks[0].tile_open);
  ck_assert_int_eq(schedule->tasks[0].tile_rank, 0);
}

TEST(where_no_tile_fits_that_is_said) {
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_schedule) *schedule = schedule_from_text_lenient(
      text(HEAD "%s );", 1, "1", 256, 20, 20, image_task("a", "conv2d_7x7", "")), diag);
  const prem_problem *problem = prem_diag_at(diag, 0);
  ck_assert_str_eq(text("E%03d: %s: %s", problem->code, problem->key, problem->reason),
                   "E031: tasks.a.tile: is left out, and none that kernel 'conv2d_7x7' takes fits "
                   "the 256 bytes that a block's scratchpad has for each of 1 buffers; name one, "
                   "or give more scratch_bytes");
}

/* Two, or one where the tile that is named leaves no room for two. */
TEST(open_buffers_are_two_or_as_many_as_fit) {
  const int shape[2] = {64, 64};
  OWNED(prem_schedule) *two = open_image(1, "\"auto\"", 16384, shape, "conv2d", "");
  OWNED(prem_schedule) *one =
      open_image(1, "\"auto\"", 8192, shape, "conv2d", "tile = [ 14, 62 ];");
  ck_assert_int_eq(two->platform.buffers, 2);
  ck_assert_int_eq(one->platform.buffers, 1);
  ck_assert(two->platform.buffers_open && one->platform.buffers_open);
}

/* ---- what a plan keeps ----------------------------------------------------------------------- */

static char *saved(prem_schedule *schedule, char path[]) {
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_plan *plan = NULL;
  ck_assert_int_eq(prem_plan_make(schedule, NULL, NULL, &plan, diag), PREM_OK);
  prem_schedule_set_plan(schedule, plan);
  close(mkstemps(path, 4));
  ck_assert_int_eq(prem_schedule_save(schedule, path, diag), PREM_OK);
  return path;
}

/* Also where it is not what would be chosen: tiles for twice the blocks, three buffers. */
TESTS(what_is_saved_is_read_again, 2) {
  OWNED(prem_diag) *diag = prem_diag_new();
  char first[] = "/tmp/ttprem-test-XXXXXX.cfg", path[] = "/tmp/ttprem-test-XXXXXX.cfg";
  const char *source = text(HEAD "%s, %s );", 3, "\"auto\"", 16384, 61, 47,
                            image_task("a", "conv2d", ""), image_task("b", "conv2d_7x7", ""));
  OWNED(prem_schedule) *schedule = NULL;
  FILE *file = fdopen(mkstemps(first, 4), "w");
  fputs(source, file);
  fclose(file);
  ck_assert_int_eq(prem_schedule_load(first, NULL, &schedule, diag), PREM_OK);
  unlink(first);
  if (_i) {
    schedule->platform.buffers = 3;
    schedule->platform.tile_pct = 200;
  }
  ck_assert_int_eq(prem_schedule_bind(schedule, prem_registry_builtin(), diag), PREM_OK);
  OWNED(prem_schedule) *again = NULL;
  ck_assert_int_eq(prem_schedule_load(saved(schedule, path), NULL, &again, diag), PREM_OK);
  unlink(path);
  ck_assert_int_eq(prem_schedule_bind(again, prem_registry_builtin(), diag), PREM_OK);
  assert_checked(again);
  ck_assert_int_eq(again->platform.buffers, _i ? 3 : 2);
  for (int t = 0; t < 2; ++t) {
    ck_assert(again->tasks[t].tile_open);
    ck_assert_int_eq(again->tasks[t].tile_rank, 2);
    ck_assert_mem_eq(again->tasks[t].tile, schedule->tasks[t].tile, 2 * sizeof(int32_t));
    ck_assert_int_eq(again->tasks[t].tile_count, schedule->tasks[t].tile_count);
  }
}

/* Byte for byte as without any of this. */
TEST(a_plan_of_what_is_named_keeps_nothing) {
  char path[] = "/tmp/ttprem-test-XXXXXX.cfg", all[4096];
  const int shape[2] = {64, 64};
  OWNED(prem_schedule) *schedule = open_image(2, "1", 16384, shape, "conv2d", "tile = [ 8, 62 ];");
  FILE *file = fopen(saved(schedule, path), "r");
  all[fread(all, 1, sizeof all - 1, file)] = '\0';
  fclose(file);
  unlink(path);
  ck_assert_ptr_nonnull(strstr(all, "plan"));
  ck_assert_ptr_null(strstr(all, "tiles = ("));
  ck_assert_ptr_null(strstr(strstr(all, "plan"), "buffers"));
}

#define PLAN " plan: { hyperperiod_ns = 100L; %s runs = (); };\n"

TEST(a_plan_that_does_not_fit_the_file_is_refused) {
  static const struct {
    const char *buffers, *task, *plan, *reason;
  } cases[] = {
      {"1", "tile = [ 8, 8 ];", "tiles = ( { task = \"a\"; tile = [ 8, 8 ]; } );",
       "E025: plan.tiles[0].task: 'a' leaves no tile open in `tasks`; leave it out"},
      {"1", "",
       "tiles = ( { task = \"a\"; tile = [ 8, 8 ]; }, { task = \"a\"; tile = [ 4, 8 ]; } );",
       "E025: plan.tiles[1].task: 'a' has its tile further up; leave it out"},
      {"1", "", "tiles = ( { task = \"b\"; tile = [ 8, 8 ]; } );",
       "E024: plan.tiles[0].task: there is no task 'b' in `tasks`"},
      {"1", "", "tiles = ( { task = \"a\"; tile = [ 8 ]; } );",
       "E031: tasks.a.tile: has 1 dimensions, 2 are needed here: the array's"},
      {"3", "", "buffers = 2;",
       "E025: plan.buffers: stands beside platform.buffers = 3, which is not \"auto\"; leave it "
       "out"},
      {"\"auto\"", "", "buffers = 17;", NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    OWNED(prem_diag) *diag = prem_diag_new();
    OWNED(prem_schedule) *schedule =
        schedule_from_text_lenient(text(HEAD "%s );" PLAN, 2, cases[i].buffers, 16384, 32, 32,
                                        image_task("a", "conv2d", cases[i].task), cases[i].plan),
                                   diag);
    ck_assert_uint_ge(prem_diag_errors(diag), 1);
    const prem_problem *problem = prem_diag_at(diag, 0);
    if (cases[i].reason)
      ck_assert_str_eq(text("E%03d: %s: %s", problem->code, problem->key, problem->reason),
                       cases[i].reason);
  }
}
