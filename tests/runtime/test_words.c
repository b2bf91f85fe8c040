/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that a GPU cannot write back in words of 4 bytes are refused, with what to do. */

#include "runtime/core/words.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

static const struct {
  const char *tasks, *words; /* NULL: nothing is refused */
} cases[] = {
    /* 64 bytes a row, in whole words */
    {"{ name = \"a\"; kernel = \"conv2d_u8\"; blocks = [ 0 ]; tile = [ 3, 12 ]; arrays: { in = "
     "\"x\"; out = \"y\"; "
     "}; }",
     NULL},
    {"{ name = \"a\"; kernel = \"conv2d_u8\"; blocks = [ 0 ]; tile = [ 3, 64 ]; arrays: { in = "
     "\"x\"; out = \"y\"; "
     "}; }",
     NULL},
    {"{ name = \"a\"; kernel = \"conv2d_u8\"; blocks = [ 0 ]; tile = [ 3, 6 ]; arrays: { in = "
     "\"x\"; out = \"y\"; "
     "}; }",
     "tasks.a.tile: tile 0 writes the elements 0 to 5 of the rows of array 'y' ('out', u8), the "
     "GPU writes 4 bytes at a time; let tiles be a multiple of 4 elements wide"},
    /* 62 bytes a row: what follows them is room */
    {"{ name = \"a\"; kernel = \"conv2d_u8\"; blocks = [ 0 ]; tile = [ 3, 64 ]; arrays: { in = "
     "\"x\"; out = \"new\"; }; }",
     NULL},
    {"{ name = \"a\"; kernel = \"conv2d_u8\"; blocks = [ 0 ]; tile = [ 3, 20 ]; arrays: { in = "
     "\"x\"; out = \"new\"; }; }",
     NULL},
    /* but not where a task reads on and wants zeros */
    {"{ name = \"a\"; kernel = \"conv2d_u8\"; blocks = [ 0 ]; tile = [ 3, 64 ]; arrays: { in = "
     "\"x\"; out = \"z\"; "
     "}; }, "
     "{ name = \"b\"; kernel = \"conv2d_u8\"; blocks = [ 0 ]; tile = [ 3, 64 ]; arrays: { in = "
     "\"z\"; out = \"w\"; "
     "}; after = ( { task = \"a\"; } ); }",
     "tasks.a.arrays.out: the rows of array 'z' have 62 u8, the GPU writes 4 bytes at a time, and "
     "task 'b' reads beyond their ends, where zeros have to stay; let rows have a multiple of 4 "
     "elements, or no window of that task hang over"},
    /* a halo, or a last tile that is a part only */
    {"{ name = \"a\"; kernel = \"conv2d_u8\"; blocks = [ 0 ]; tile = [ 3, 64 ]; "
     "arrays: { in = \"x\"; out = \"z\"; }; }, "
     "{ name = \"b\"; kernel = \"convert\"; blocks = [ 0 ]; tile = [ 3, 20 ]; "
     "arrays: { in = \"z\"; out = \"new\"; }; after = ( { task = \"a\"; } ); }",
     "task 'b' reads beyond their ends"},
    /* also where that task stands first in the file */
    {"{ name = \"b\"; kernel = \"convert\"; blocks = [ 0 ]; tile = [ 3, 20 ]; "
     "arrays: { in = \"z\"; out = \"new\"; }; after = ( { task = \"a\"; } ); }, "
     "{ name = \"a\"; kernel = \"conv2d_u8\"; blocks = [ 0 ]; tile = [ 3, 64 ]; "
     "arrays: { in = \"x\"; out = \"z\"; }; }",
     "task 'b' reads beyond their ends"},
    {"{ name = \"a\"; kernel = \"conv2d_u8\"; blocks = [ 0 ]; tile = [ 3, 64 ]; arrays: { in = "
     "\"x\"; out = \"z\"; "
     "}; }, { name = \"b\"; kernel = \"convert\"; blocks = [ 0 ]; tile = [ 3, 64 ]; arrays: { in = "
     "\"z\"; out = \"new\"; "
     "}; after = ( { task = \"a\"; } ); }",
     NULL},
    /* two elements a word */
    {"{ name = \"a\"; kernel = \"convert\"; blocks = [ 0 ]; tile = [ 3, 6 ]; arrays: { in = \"f\"; "
     "out = \"h\"; }; }",
     NULL},
    {"{ name = \"a\"; kernel = \"convert\"; blocks = [ 0 ]; tile = [ 3, 5 ]; arrays: { in = \"f\"; "
     "out = \"h\"; }; }",
     "tile 0 writes the elements 0 to 4 of the rows of array 'h' ('out', f16), the GPU writes 4 "
     "bytes at a time; let tiles be a multiple of 2 elements wide"},
    /* a word and more */
    {"{ name = \"a\"; kernel = \"conv2d\"; blocks = [ 0 ]; tile = [ 3, 1 ]; arrays: { in = \"f\"; "
     "out = \"new\"; }; }",
     NULL},
    {"{ name = \"a\"; kernel = \"convert\"; blocks = [ 0 ]; tile = [ 3, 3 ]; arrays: { in = \"f\"; "
     "out = \"i\"; }; }",
     NULL},
};

TESTS(rows_of_words, (int)(sizeof cases / sizeof *cases)) {
  OWNED(prem_schedule) *schedule = schedule_from_text(
      text("version = 1; name = \"words\"; platform: { blocks = 1; };\narrays = ( "
           "{ name = \"x\"; type = \"u8\"; shape = [ 9, 64 ]; }, "
           "{ name = \"y\"; type = \"u8\"; shape = [ 9, 64 ]; }, "
           "{ name = \"z\"; type = \"u8\"; shape = [ 7, 62 ]; }, "
           "{ name = \"w\"; type = \"u8\"; shape = [ 7, 62 ]; }, "
           "{ name = \"f\"; type = \"f32\"; shape = [ 9, 17 ]; }, "
           "{ name = \"h\"; type = \"f16\"; shape = [ 9, 17 ]; }, "
           "{ name = \"i\"; type = \"i32\"; shape = [ 9, 17 ]; } );\ntasks = ( %s );\n",
           cases[_i].tasks));
  OWNED(prem_diag) *diag = prem_diag_new();
  const prem_status status = prem_judge_words(schedule, diag);
  if (!cases[_i].words) {
    print_problems(diag);
    ck_assert_int_eq(status, PREM_OK);
    ck_assert_uint_eq(prem_diag_count(diag), 0);
  } else {
    ck_assert_int_eq(status, PREM_ERR_INVALID);
    ck_assert_uint_eq(prem_diag_count(diag), 1);
    char line[640];
    prem_problem_format(prem_diag_at(diag, 0), line, sizeof line);
    ck_assert_msg(strstr(line, cases[_i].words) && strstr(line, "E031"), "%s", line);
  }
}

/* Of windows as no kernel here has them: the first tile is in whole words, the next one is not. */
TESTS(windows_apart_and_over_each_other, 2) {
  static const int32_t steps[] = {6, 1};
  static const char *const words[] = {"tile 1 writes the elements 6 to 9 of",
                                      "tile 1 writes the elements 1 to 4 of"};
  OWNED(prem_schedule) *schedule = schedule_from_text(
      "version = 1; name = \"words\"; platform: { blocks = 1; };\n"
      "arrays = ( { name = \"x\"; type = \"u8\"; shape = [ 9, 64 ]; }, "
      "{ name = \"y\"; type = \"u8\"; shape = [ 9, 64 ]; } );\n"
      "tasks = ( { name = \"a\"; kernel = \"conv2d_u8\"; blocks = [ 0 ]; tile = [ 3, 8 ]; "
      "arrays: { in = \"x\"; out = \"y\"; }; } );\n");
  prem_window *window = &schedule->tasks[0].windows[1];
  window->extent[3] = 4;
  for (int k = 0; k < PREM_MAX_GRID; ++k)
    if (window->step[3][k] != 0)
      window->step[3][k] = steps[_i];
  OWNED(prem_diag) *diag = prem_diag_new();
  ck_assert_int_eq(prem_judge_words(schedule, diag), PREM_ERR_INVALID);
  ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 0)->reason, words[_i]));
}

/* What is shipped with bytes runs on a GPU as well. */
TESTS(schedules_that_a_gpu_runs, 2) {
  static const char *const files[] = {"schedules/examples/bytes.cfg", "tests/cuda/types.cfg"};
  OWNED(prem_schedule) *schedule = planned_schedule(text("%s/%s", SOURCE_DIR, files[_i]));
  OWNED(prem_diag) *diag = prem_diag_new();
  const prem_status status = prem_judge_words(schedule, diag);
  print_problems(diag);
  ck_assert_int_eq(status, PREM_OK);
}
