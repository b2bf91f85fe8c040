/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays: storage, filling, references in order, verifying, saving. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "prem/model/private.h"
#include "runtime/core/arrays.h"

#include "tests/common/suite.h"

enum { ARRAYS = 6, TASKS = 4 };

/* out[i] = in[0] + in[i] + 1: on equal numbers its output tells how often it ran, and where `out`
 * is `in` it goes wrong. */
static void add_first(const void *params, const prem_array_view *arrays) {
  (void)params;
  const float *in = (const float *)arrays[0].data;
  const int64_t *shape = arrays[1].shape;
  for (int64_t i = 0; i < shape[0] * shape[1] * shape[2] * shape[3]; ++i)
    ((float *)arrays[1].data)[i] = in[0] + in[i] + 1.0F;
}

static void all_nine(const void *params, const prem_array_view *arrays) {
  (void)params;
  for (int64_t i = 0; i < arrays[0].shape[3]; ++i)
    ((float *)arrays[0].data)[i] = 9.0F;
}

static const prem_port in_out[] = {{"in", PREM_IN, PREM_F32}, {"out", PREM_OUT, PREM_F32}};
static prem_kernel adder = {
    .name = "adder", .ports = in_out, .port_count = 2, .reference = add_first};
static prem_kernel nine = {
    .name = "nine", .ports = &in_out[1], .port_count = 1, .reference = all_nine};

/* A bound schedule made by hand: arrays of 1 x 5 zeros, tasks without anything. */
typedef struct world {
  prem_array arrays[ARRAYS];
  prem_task tasks[TASKS];
  int32_t ports[TASKS][2];
  prem_after after[TASKS][2];
  prem_schedule schedule;
  prem_diag *diag;
} world;

static world w;

static void make_world(void) {
  memset(&w, 0, sizeof w);
  for (int32_t a = 0; a < ARRAYS; ++a) {
    w.arrays[a] = (prem_array){.rank = 1, .shape = {1, 1, 1, 5}, .writer = -1};
    w.arrays[a].place = (prem_place){"made.cfg", a + 10};
    snprintf(w.arrays[a].name, PREM_NAME_BYTES, "array%d", (int)a);
  }
  for (int32_t t = 0; t < TASKS; ++t) {
    snprintf(w.tasks[t].name, PREM_NAME_BYTES, "task%d", (int)t);
    w.tasks[t].place = (prem_place){"made.cfg", t + 20};
    w.tasks[t].arrays = w.ports[t];
    w.tasks[t].after = w.after[t];
  }
  w.schedule = (prem_schedule){.arrays = w.arrays, .tasks = w.tasks};
  w.diag = prem_diag_new();
}

static void free_world(void) {
  prem_diag_free(w.diag);
}

static void use_adder(int32_t task, int32_t in, int32_t out) {
  w.tasks[task].definition = &adder;
  w.ports[task][0] = in;
  w.ports[task][1] = out;
  if (w.arrays[out].writer < 0)
    w.arrays[out].writer = task;
}

static void use_nine(int32_t task, int32_t out) {
  w.tasks[task].definition = &nine;
  w.ports[task][0] = out;
  if (w.arrays[out].writer < 0)
    w.arrays[out].writer = task;
}

static void follow(int32_t task, int32_t predecessor) {
  w.after[task][w.tasks[task].after_count++] = (prem_after){.task = predecessor};
}

static prem_arrays *open_world(int32_t arrays, int32_t tasks) {
  prem_arrays *opened = NULL;
  w.schedule.array_count = arrays;
  w.schedule.task_count = tasks;
  ck_assert_int_eq(prem_arrays_new(&w.schedule, &opened, w.diag), PREM_OK);
  ck_assert_uint_eq(prem_diag_count(w.diag), 0);
  return opened;
}

static prem_status open_fails(int32_t arrays, int32_t tasks) {
  prem_arrays *opened = (prem_arrays *)&w;
  w.schedule.array_count = arrays;
  w.schedule.task_count = tasks;
  const prem_status status = prem_arrays_new(&w.schedule, &opened, w.diag);
  ck_assert_int_ne(status, PREM_OK);
  ck_assert_ptr_null(opened);
  return status;
}

static float *floats(const prem_storage *storage) {
  return (float *)(void *)storage->base;
}

static void assert_problem(size_t index, int code, int line, const char *key, const char *words) {
  ck_assert_uint_gt(prem_diag_count(w.diag), index);
  const prem_problem *problem = prem_diag_at(w.diag, index);
  ck_assert_int_eq(problem->code, code);
  ck_assert_int_eq(problem->line, line);
  ck_assert_str_eq(problem->key, key);
  ck_assert_msg(strstr(problem->reason, words), "\"%s\" lacks \"%s\"", problem->reason, words);
}

/* ---- storage and filling ----------------------------------------------------------------------*/

GROUP("arrays", .set_up = make_world, .tear_down = free_world);

TEST(rows_are_aligned) {
  static const int64_t columns[ARRAYS] = {1, 3, 4, 5, 1022, 1026};
  for (int32_t a = 0; a < ARRAYS; ++a) {
    memcpy(w.arrays[a].shape, (int64_t[4]){1, 2, 3, columns[a]}, sizeof w.arrays[a].shape);
    w.arrays[a].type = a % 2 ? PREM_C64 : PREM_F32;
  }
  OWNED(prem_arrays) *opened = open_world(ARRAYS, 0);
  for (int32_t a = 0; a < ARRAYS; ++a) {
    const prem_storage *storage = &opened->storage[a];
    ck_assert_uint_eq((uintptr_t)storage->base % 128, 0);
    ck_assert_int_eq(storage->pitch_bytes % 16, 0);
    ck_assert_int_eq(storage->element_bytes, a % 2 ? 8 : 4);
    ck_assert_int_ge(storage->pitch_bytes, columns[a] * storage->element_bytes);
    ck_assert_int_lt(storage->pitch_bytes, columns[a] * storage->element_bytes + 16);
    ck_assert_int_eq(storage->row_count, 6);
    const int64_t last[4] = {0, 1, 2, columns[a] - 1};
    ck_assert_int_eq(prem_storage_at(storage, last) - storage->base,
                     5 * storage->pitch_bytes + (columns[a] - 1) * storage->element_bytes);
    ck_assert_ptr_null(opened->reference[a].base);
  }
}

/* The numbers come from a program of its own in another language. */
TEST(random_numbers_are_the_same_everywhere) {
  static const struct {
    uint64_t seed;
    float first[4], late;
  } cases[] = {
      {UINT64_C(0),
       {0x1.8882a0p-1F, -0x1.187620p-3F, -0x1.e4ee8cp-1F, 0x1.e22ee0p-1F},
       0x1.71dc50p-2F},
      {UINT64_C(7),
       {0x1.8ee240p-5F, -0x1.953828p-2F, 0x1.c39484p-1F, 0x1.886d40p-1F},
       0x1.7632c0p-2F},
      {UINT64_C(9223372036854775808),
       {-0x1.6f7770p-3F, 0x1.dafc74p-1F, -0x1.4a6bbcp-1F, 0x1.cef9b0p-2F},
       0x1.3dfeb0p-3F},
  };
  for (int32_t c = 0; c < 3; ++c) {
    w.arrays[c].fill = w.arrays[c + 3].fill = PREM_FILL_RANDOM;
    w.arrays[c].seed = w.arrays[c + 3].seed = cases[c].seed;
    w.arrays[c].shape[2] = 4116; /* rows of 3: numbers go on from row to row, past the padding */
    w.arrays[c].shape[3] = 3;
    w.arrays[c + 3].type = PREM_C64;
    w.arrays[c + 3].shape[3] = 2;
  }
  OWNED(prem_arrays) *opened = open_world(6, 0);
  for (int32_t c = 0; c < 3; ++c) {
    const prem_storage *storage = &opened->storage[c];
    for (int64_t i = 0; i < 4; ++i) {
      const int64_t at[4] = {0, 0, i / 3, i % 3};
      ck_assert_float_eq(*(float *)(void *)prem_storage_at(storage, at), cases[c].first[i]);
      ck_assert_float_eq(floats(&opened->storage[c + 3])[i], cases[c].first[i]);
    }
    const int64_t at[4] = {0, 0, 12345 / 3, 12345 % 3};
    ck_assert_float_eq(*(float *)(void *)prem_storage_at(storage, at), cases[c].late);
  }
}

TEST(random_numbers_fill_their_interval) {
  w.arrays[0].fill = PREM_FILL_RANDOM;
  w.arrays[0].shape[3] = 100000;
  OWNED(prem_arrays) *opened = open_world(1, 0);
  const float *values = floats(&opened->storage[0]);
  float min = 0.0F, max = 0.0F;
  double sum = 0.0;
  for (int64_t i = 0; i < 100000; ++i) {
    min = fminf(min, values[i]);
    max = fmaxf(max, values[i]);
    sum += (double)values[i];
  }
  ck_assert_float_ge(min, -1.0F);
  ck_assert_float_lt(max, 1.0F);
  ck_assert_float_lt(min, -0.999F);
  ck_assert_float_gt(max, 0.999F);
  ck_assert_double_lt(fabs(sum), 1000.0);
}

TEST(arrays_beyond_the_memory_are_refused) {
  w.arrays[0].shape[2] = INT64_C(1) << 20;
  w.arrays[0].shape[3] = INT64_C(1) << 20;
  ck_assert_int_eq(open_fails(1, 0), PREM_ERR_MEMORY);
  assert_problem(0, 0, 10, "arrays", "need 4398.0 GB");
}

static long machine_pages; /* 0: as it is */

/* The one that the library calls. */
long sysconf(int name) {
  long (*next)(int);
  *(void **)&next = dlsym(RTLD_NEXT, "sysconf");
  return machine_pages && name == _SC_PHYS_PAGES ? machine_pages : next(name);
}

/* A row is a page. One array that is written, so that it has a reference, and one that is not. */
TEST(arrays_may_fill_the_memory) {
  const int64_t columns = sysconf(_SC_PAGESIZE) / (int64_t)sizeof(float);
  memcpy(w.arrays[0].shape, (int64_t[4]){1, 1, 3, columns}, sizeof w.arrays[0].shape);
  memcpy(w.arrays[1].shape, (int64_t[4]){1, 1, 2, columns}, sizeof w.arrays[1].shape);
  use_nine(0, 1);
  machine_pages = 3 + 2 * 2;
  prem_arrays_free(open_world(2, 1));
  machine_pages -= 1;
  ck_assert_int_eq(open_fails(2, 1), PREM_ERR_MEMORY);
  assert_problem(0, 0, 10, "arrays", "make them smaller");
  machine_pages = 0;
}

/* ---- files ----------------------------------------------------------------------------------- */

TEST(every_broken_file_is_reported) {
  char missing[] = "/nowhere/frame.pgm", folder[] = "/tmp.png";
  w.arrays[1].fill = w.arrays[2].fill = PREM_FILL_FILE;
  w.arrays[1].file = missing;
  w.arrays[2].file = folder;
  ck_assert_int_eq(open_fails(3, 0), PREM_ERR_IO);
  ck_assert_uint_eq(prem_diag_count(w.diag), 2);
  assert_problem(0, 24, 11, "arrays.array1.file", "cannot open /nowhere/frame.pgm: No such file");
  assert_problem(1, 24, 12, "arrays.array2.file", "/tmp.png");
}

TEST(saving_goes_on_after_a_failure) {
  char nowhere[] = "/nowhere/a.f32", path[] = "/tmp/ttprem-arrays-XXXXXX.f32";
  close(mkstemps(path, 4));
  w.arrays[0].save = nowhere;
  w.arrays[1].save = path;
  w.arrays[1].fill = PREM_FILL_RANDOM;
  prem_arrays *opened = open_world(2, 0);
  ck_assert_int_eq(prem_arrays_save(opened, w.diag), PREM_ERR_IO);
  ck_assert_uint_eq(prem_diag_count(w.diag), 1);
  assert_problem(0, 0, 10, "arrays.array0.save", "cannot write /nowhere/a.f32");
  prem_arrays_free(opened);

  w.arrays[0].fill = PREM_FILL_FILE; /* what was saved can be read again */
  w.arrays[0].file = path;
  prem_diag_free(w.diag);
  w.diag = prem_diag_new();
  opened = open_world(2, 0);
  ck_assert_int_eq(memcmp(opened->storage[0].base, opened->storage[1].base, 20), 0);
  ck_assert_float_ne(floats(&opened->storage[0])[4], 0.0F);
  prem_arrays_free(opened);
  unlink(path);
}

/* ---- references ------------------------------------------------------------------------------ */

static void assert_reference(const prem_arrays *opened, int32_t array, float expected) {
  for (int64_t i = 0; i < 5; ++i)
    ck_assert_float_eq(floats(&opened->reference[array])[i], expected);
}

TEST(references_follow_the_data) {
  use_adder(0, 3, 4); /* written upside down in the file */
  use_adder(1, 2, 3);
  use_adder(2, 1, 2);
  use_adder(3, 0, 1);
  OWNED(prem_arrays) *opened = open_world(5, 4);
  assert_reference(opened, 1, 1.0F);
  assert_reference(opened, 2, 3.0F);
  assert_reference(opened, 3, 7.0F);
  assert_reference(opened, 4, 15.0F);
  ck_assert_ptr_null(opened->reference[0].base);
}

TEST(references_follow_after) {
  use_nine(0, 1); /* last, and it says so */
  follow(0, 2);
  use_adder(1, 1, 2); /* between the two that write its input */
  follow(1, 3);
  w.tasks[2].definition = NULL; /* abstract: joins the other two */
  follow(2, 1);
  use_adder(3, 0, 1);
  OWNED(prem_arrays) *opened = open_world(3, 4);
  assert_reference(opened, 1, 9.0F);
  assert_reference(opened, 2, 3.0F);
}

TEST(references_of_a_rewritten_array) {
  w.arrays[0].shape[3] = 4; /* a dense row, which references could use without a copy */
  use_nine(0, 0);
  use_adder(1, 0, 0); /* in place */
  follow(1, 0);
  OWNED(prem_arrays) *opened = open_world(1, 2);
  for (int64_t i = 0; i < 4; ++i)
    ck_assert_float_eq(floats(&opened->reference[0])[i], 19.0F);
}

TEST(references_are_dense) {
  memcpy(w.arrays[0].shape, (int64_t[4]){1, 2, 3, 7}, sizeof w.arrays[0].shape);
  memcpy(w.arrays[1].shape, (int64_t[4]){1, 2, 3, 7}, sizeof w.arrays[1].shape);
  w.arrays[0].fill = PREM_FILL_RANDOM;
  use_adder(0, 0, 1);
  OWNED(prem_arrays) *opened = open_world(2, 1);
  for (int64_t i = 0; i < 42; ++i) {
    const int64_t at[4] = {0, i / 21, i / 7 % 3, i % 7};
    const float in = *(float *)(void *)prem_storage_at(&opened->storage[0], at);
    const float out = *(float *)(void *)prem_storage_at(&opened->reference[1], at);
    ck_assert_float_eq(out, floats(&opened->storage[0])[0] + in + 1.0F);
  }
}

TEST(feedback_is_refused) {
  use_adder(0, 1, 2);
  use_adder(1, 2, 1);
  ck_assert_int_eq(open_fails(3, 2), PREM_ERR_INVALID);
  assert_problem(0, 45, 20, "tasks.task0.arrays", "reads array \"array1\"");
  assert_problem(1, 45, 21, "tasks.task1.arrays", "reads array \"array2\"");
}

/* Who only follows them has all that it reads, and is not named. */
TEST(who_follows_feedback_is_not_named) {
  use_adder(0, 1, 2);
  use_adder(1, 2, 1);
  use_nine(2, 3);
  follow(2, 0);
  ck_assert_int_eq(open_fails(4, 3), PREM_ERR_INVALID);
  assert_problem(0, 45, 20, "tasks.task0.arrays", "reads array \"array1\"");
  assert_problem(1, 45, 21, "tasks.task1.arrays", "reads array \"array2\"");
  ck_assert_uint_eq(prem_diag_count(w.diag), 2);
}

/* ---- verifying ------------------------------------------------------------------------------- */

/* One array of 2 x 3 x 5 written by `nine`, all elements right. */
static prem_arrays *open_right(prem_type type) {
  memcpy(w.arrays[1].shape, (int64_t[4]){1, 2, 3, 5}, sizeof w.arrays[1].shape);
  w.arrays[1].type = type;
  use_nine(0, 1);
  prem_arrays *opened = open_world(2, 1);
  memcpy(opened->storage[1].base, opened->reference[1].base,
         (size_t)(opened->storage[1].pitch_bytes * 6));
  prem_verdict verdict;
  prem_arrays_verify(opened, &verdict);
  ck_assert(verdict.ok);
  ck_assert_int_eq(verdict.array, -1);
  return opened;
}

static float *storage_float(const prem_storage *storage, int64_t i1, int64_t i2, int64_t i3) {
  const int64_t at[4] = {0, i1, i2, i3};
  return (float *)(void *)prem_storage_at(storage, at);
}

TEST(the_first_wrong_element_is_named) {
  OWNED(prem_arrays) *opened = open_right(PREM_F32);
  prem_verdict verdict;
  *storage_float(&opened->storage[1], 1, 2, 4) = 3.0F;
  *storage_float(&opened->storage[1], 1, 0, 3) = 2.5F;
  prem_arrays_verify(opened, &verdict);
  ck_assert(!verdict.ok);
  ck_assert_int_eq(verdict.wrong, 2);
  ck_assert_int_eq(verdict.array, 1);
  ck_assert_int_eq(memcmp(verdict.index, (int64_t[4]){0, 1, 0, 3}, sizeof verdict.index), 0);
  ck_assert_double_eq(verdict.found, 2.5);
  ck_assert_double_eq(verdict.expected, (double)*storage_float(&opened->reference[1], 1, 0, 3));
}

TEST(a_wrong_element_of_four_dimensions_is_named) {
  const int64_t at[4] = {2, 1, 3, 4};
  memcpy(w.arrays[1].shape, (int64_t[4]){3, 2, 4, 5}, sizeof w.arrays[1].shape);
  use_nine(0, 1);
  OWNED(prem_arrays) *opened = open_world(2, 1);
  prem_verdict verdict;
  memcpy(opened->storage[1].base, opened->reference[1].base,
         (size_t)(opened->storage[1].pitch_bytes * 3 * 2 * 4));
  *(float *)(void *)prem_storage_at(&opened->storage[1], at) = 3.0F;
  prem_arrays_verify(opened, &verdict);
  ck_assert_int_eq(verdict.wrong, 1);
  ck_assert_int_eq(memcmp(verdict.index, at, sizeof at), 0);
}

TEST(both_parts_of_a_complex_number_count_once) {
  OWNED(prem_arrays) *opened = open_right(PREM_C64);
  prem_verdict verdict;
  storage_float(&opened->storage[1], 0, 1, 2)[1] = 4.0F;
  storage_float(&opened->storage[1], 0, 1, 3)[0] = 5.0F;
  storage_float(&opened->storage[1], 0, 1, 3)[1] = 5.0F;
  prem_arrays_verify(opened, &verdict);
  ck_assert_int_eq(verdict.wrong, 2);
  ck_assert_int_eq(verdict.index[3], 2);
  ck_assert_double_eq(verdict.found, 4.0);
}

TEST(poison_is_seen_everywhere) {
  OWNED(prem_arrays) *opened = open_right(PREM_F32);
  prem_verdict verdict;
  const float before = floats(&opened->storage[0])[0];
  prem_arrays_poison(opened);
  ck_assert_float_eq(floats(&opened->storage[0])[0], before); /* nobody writes array 0 */
  ck_assert(isnan(floats(&opened->storage[1])[0]));
  prem_arrays_verify(opened, &verdict);
  ck_assert_int_eq(verdict.wrong, 30);
  ck_assert(isnan(verdict.found));
}

/** Also where the reference is a NaN: a GPU's, a CPU's and another one will do, the poison not. */
TEST(poison_is_no_result) {
  static const struct {
    uint32_t found;
    bool right;
  } cases[] = {{0x7FFFFFFFu, true}, {0xFFC00000u, true}, {0x7FC00001u, true}, {0xFFFFFFFFu, false}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
    OWNED(prem_arrays) *opened = open_right(PREM_F32);
    *storage_float(&opened->reference[1], 0, 0, 1) = -NAN;
    memcpy(storage_float(&opened->storage[1], 0, 0, 1), &cases[c].found, sizeof cases[c].found);
    *storage_float(&opened->storage[1], 0, 0, 2) += 1.0F; /* keeps the row from being equal */
    prem_verdict verdict;
    prem_arrays_verify(opened, &verdict);
    ck_assert_msg(verdict.wrong == (cases[c].right ? 1 : 2), "case %zu", c);
  }
}

/* Of a schedule that keeps them: found once, for all sessions; more arrays are found anew. */
TEST(references_are_kept_for_the_next_session) {
  struct prem_schedule_private own = {0};
  w.schedule.private_data = &own;
  use_nine(0, 1);
  use_adder(1, 1, 2);
  follow(1, 0);
  for (int kept = 0; kept < 2; ++kept) {
    nine.tolerance = 0.25;
    use_nine(0, 1);
    OWNED(prem_arrays) *first = open_world(3, 2);
    ck_assert_float_eq(floats(&first->reference[2])[4], 19.0F);
    use_adder(0, 0, 1); /* another reference than the first session's: 1, and so 3 */
    OWNED(prem_arrays) *next = open_world(3, 2);
    ck_assert_float_eq(floats(&next->reference[2])[4], kept ? 19.0F : 3.0F);
    ck_assert_double_eq(next->tolerance[1], kept ? 0.25 : 0.0);
    if (!kept)
      prem_schedule_keep_references(&w.schedule);
  }
  OWNED(prem_arrays) *more = open_world(4, 2);
  ck_assert_float_eq(floats(&more->reference[2])[4], 3.0F);
  nine.tolerance = 0;
  free(own.references);
}

TEST(tolerances) {
  static const struct {
    float expected, found;
    double tolerance;
    bool right;
  } cases[] = {
      {0.0F, -0.0F, 0.0, false},        {NAN, NAN, 0.0, true},
      {1.0F, 1.0000001F, 0.0, false},   {1.0F, 1.0000001F, 1e-6, true},
      {1.0F, 1.001F, 1e-6, false},      {-1000.0F, -1000.0005F, 1e-6, true},
      {0.0F, -0.0F, 1e-6, true},        {0.0F, 1e-30F, 1e-6, false},
      {NAN, NAN, 1e-6, true},           {NAN, -NAN, 0.0, true},
      {NAN, 1.0F, 1e-6, false},         {1.0F, NAN, 1e-6, false},
      {INFINITY, INFINITY, 1e-6, true}, {INFINITY, 1.0F, 1e-6, false},
      {1.0F, INFINITY, 1e-6, false},    {-INFINITY, INFINITY, 1e-6, false},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
    nine.tolerance = cases[c].tolerance;
    w.arrays[1].writer = -1;
    OWNED(prem_arrays) *opened = open_right(PREM_F32);
    nine.tolerance = 0.0;
    *storage_float(&opened->reference[1], 0, 0, 1) = cases[c].expected;
    *storage_float(&opened->storage[1], 0, 0, 1) = cases[c].found;
    *storage_float(&opened->reference[1], 0, 0, 2) = 1.0F; /* keeps the row from being equal */
    *storage_float(&opened->storage[1], 0, 0, 2) = 2.0F;
    prem_verdict verdict;
    prem_arrays_verify(opened, &verdict);
    ck_assert_msg(verdict.wrong == (cases[c].right ? 1 : 2), "case %zu", c);
  }
}
