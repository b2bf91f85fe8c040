/* SPDX-License-Identifier: Apache-2.0 */
/* What all rooms share: arithmetic, chance, lists, order, errors. */
#include <stdbool.h>

#include "prem/base/fail.h"
#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "prem/base/random.h"
#include "prem/base/sorting.h"
#include "ttprem/base.h"
#include "ttprem/runtime.h"

#include "tests/common/suite.h"

/* ---- numbers -------------------------------------------------------------------------------- */

GROUP("numbers");

TEST(the_smaller_and_the_larger) {
  ck_assert_int_eq(prem_min_i32(-1, 1), -1);
  ck_assert_int_eq(prem_max_i32(-1, 1), 1);
  ck_assert_int_eq(prem_min_i64(INT64_MIN, INT64_MAX), INT64_MIN);
  ck_assert_int_eq(prem_max_i64(INT64_MIN, INT64_MAX), INT64_MAX);
  ck_assert(prem_min_wide((prem_wide)INT64_MAX + 1, INT64_MAX) == INT64_MAX);
  ck_assert(prem_max_wide((prem_wide)INT64_MAX + 1, INT64_MAX) > INT64_MAX);
}

TEST(division_rounds_as_it_says) {
  for (int64_t value = -20; value <= 20; ++value) {
    const int64_t below = prem_div_floor(value, 6), above = prem_div_ceil(value, 6);
    ck_assert(6 * below <= value && value < 6 * (below + 1));
    ck_assert(6 * (above - 1) < value && value <= 6 * above);
    ck_assert_int_eq(prem_round_up(value, 6), 6 * above);
  }
  ck_assert_int_eq(prem_round_up(INT64_MAX - 7, 8), INT64_MAX - 7);
}

/* Counts of 64 bits of which a GPU tells the lower half. */
TEST(a_number_is_known_by_its_lower_half) {
  const int64_t tops[] = {0, INT32_MAX, INT64_C(3) * INT32_MAX, INT64_MAX - INT64_C(2) * INT32_MAX};
  for (size_t i = 0; i < sizeof tops / sizeof *tops; ++i)
    for (int64_t way = -100; way <= 100; ++way)
      for (int64_t off = 0; off <= 1000; off += 250)
        ck_assert_int_eq(
            prem_nearest_with_low(tops[i] + off, (int32_t)(uint32_t)(uint64_t)(tops[i] + way)),
            tops[i] + way);
}

TEST(the_common_divisor_has_no_sign) {
  ck_assert_int_eq(prem_common_divisor(0, 0), 0);
  ck_assert_int_eq(prem_common_divisor(0, 32), 32);
  ck_assert_int_eq(prem_common_divisor(-48, 32), 16);
  ck_assert_int_eq(prem_common_divisor(48, -7), 1);
}

/* ---- chance --------------------------------------------------------------------------------- */

/* The first five of seed 1234567, as other implementations of splitmix64 give them. */
TEST(each_status_has_its_words) {
  static const struct {
    prem_status status;
    const char *words;
  } all[] = {{PREM_OK, "done"},
             {PREM_ERR_MEMORY, "out of memory"},
             {PREM_ERR_IO, "a file cannot be read or written"},
             {PREM_ERR_PARSE, "the schedule file has errors"},
             {PREM_ERR_INVALID, "refused"},
             {PREM_ERR_INFEASIBLE, "no plan found"},
             {PREM_ERR_UNAVAILABLE, "not available here"},
             {PREM_ERR_INTERRUPTED, "interrupted"},
             {PREM_ERR_WRONG, "wrong result"},
             {PREM_ERR_ARGUMENT, "wrong argument"},
             {PREM_ERR_TIMEOUT, "not in time"},
             {PREM_ERR_FULL, "all buffers are in use"},
             {PREM_ERR_ENDED, "the live session is over"},
             {PREM_ERR_MACHINE, "the machine failed"},
             {(prem_status)12345, "unknown status"}};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
    ck_assert_str_eq(prem_status_text(all[i].status), all[i].words);
}

TEST(modes_and_phases_are_found_by_their_names) {
  for (int mode = 0; mode < PREM_MODE_COUNT; ++mode) {
    prem_mode found = PREM_MODE_COUNT;
    ck_assert(prem_mode_parse(prem_mode_name((prem_mode)mode), &found));
    ck_assert_int_eq(found, mode);
    ck_assert_int_eq(prem_mode_has_phases((prem_mode)mode),
                     mode == PREM_MODE_TT || mode == PREM_MODE_FREE || mode == PREM_MODE_LOCK);
    ck_assert_int_eq(prem_mode_computes((prem_mode)mode), mode != PREM_MODE_COPY);
  }
  prem_mode found = PREM_MODE_LOCK;
  ck_assert(!prem_mode_parse("no such mode", &found));
  ck_assert_int_eq(found, PREM_MODE_LOCK);
  ck_assert_str_eq(prem_mode_name(PREM_MODE_COUNT), "unknown");
  ck_assert_str_eq(prem_phase_name(PREM_WRITEBACK), "writeback");
  ck_assert_str_eq(prem_phase_name((prem_phase)PREM_PHASE_COUNT), "unknown");
}

TEST(engines_are_found_by_their_names) {
  for (int engine = 0; engine < PREM_ENGINE_COUNT; ++engine) {
    prem_engine found = PREM_ENGINE_COUNT;
    ck_assert(prem_engine_parse(prem_engine_name((prem_engine)engine), &found));
    ck_assert_int_eq(found, engine);
  }
  prem_engine found = PREM_ENGINE_BULK;
  ck_assert(!prem_engine_parse("no such engine", &found));
  ck_assert_int_eq(found, PREM_ENGINE_BULK);
  ck_assert_str_eq(prem_engine_name(PREM_ENGINE_COUNT), "unknown");
}

GROUP("chance");

TEST(splitmix64_gives_its_known_numbers) {
  const uint64_t known[] = {UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
                            UINT64_C(9817491932198370423), UINT64_C(4593380528125082431),
                            UINT64_C(16408922859458223821)};
  uint64_t state = 1234567;
  for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i)
    ck_assert_uint_eq(prem_random_next(&state), known[i]);
}

TEST(a_draw_stays_below_its_bound) {
  uint64_t state = 7, skipped = 7;
  for (int i = 0; i < 1000; ++i) {
    const int64_t drawn = prem_random_below(&state, 3);
    ck_assert(drawn >= 0 && drawn < 3);
    const double part = prem_random_unit(&state);
    ck_assert(part >= 0 && part < 1);
  }
  state = skipped;
  ck_assert_int_eq(prem_random_below(&state, 0), 0);
  prem_random_next(&skipped);
  ck_assert_uint_eq(state, skipped);
}

TEST(a_shuffle_keeps_all_and_reaches_every_order) {
  bool seen[3][3] = {{false}};
  uint64_t state = 1;
  for (int i = 0; i < 100; ++i) {
    int32_t order[3] = {0, 1, 2};
    prem_shuffle(order, 3, &state);
    ck_assert_int_eq(1 << order[0] | 1 << order[1] | 1 << order[2], 7);
    seen[order[0]][order[1]] = true;
  }
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b)
      ck_assert_int_eq(seen[a][b], a != b);
}

/* ---- lists ---------------------------------------------------------------------------------- */

GROUP("lists");

TEST(an_array_grows_and_keeps_what_it_has) {
  FREED int64_t *numbers = NULL;
  for (size_t i = 0; i < 1000; ++i) {
    int64_t *grown = prem_grow(numbers, i, sizeof *grown);
    ck_assert_ptr_nonnull(grown);
    ck_assert(i == 0 || (i & (i - 1)) == 0 || grown == numbers); /* full at powers of two only */
    numbers = grown;
    numbers[i] = (int64_t)i;
  }
  for (int64_t i = 0; i < 1000; ++i)
    ck_assert_int_eq(numbers[i], i);
}

TEST(too_large_an_array_is_refused_and_stays) {
  FREED char *small = prem_grow(NULL, 0, 1);
  ck_assert_ptr_nonnull(small);
  small[0] = 7;
  volatile size_t many = (size_t)1 << 61; /* doubled, its bytes are no size_t */
  ck_assert_ptr_null(prem_grow(small, many, 8));
  ck_assert_int_eq(small[0], 7);
}

TEST(a_list_counts_what_is_added) {
  prem_list list = {.size = sizeof(int32_t)};
  for (int32_t i = 0; i < 100; ++i) {
    int32_t *added = prem_list_add(&list);
    ck_assert_ptr_nonnull(added);
    *added = i;
  }
  ck_assert_int_eq(list.count, 100);
  for (int32_t i = 0; i < 100; ++i)
    ck_assert_int_eq(((int32_t *)list.items)[i], i);
  free(list.items);
}

TEST(appending_adds_one_after_the_other) {
  int32_t *list = NULL, *other = malloc(sizeof *other);
  int64_t count = 0;
  for (int32_t i = 0; i < 100; ++i)
    ck_assert(PREM_APPEND(list, count, 3 * i));
  ck_assert_int_eq(count, 100);
  for (int32_t i = 0; i < 100; ++i)
    ck_assert_int_eq(list[i], 3 * i);
  PREM_FREE(list, other, NULL);
}

TEST(without_memory_nothing_is_appended) {
  int64_t *list = NULL, count = INT64_C(1) << 61; /* doubled, its bytes are no size_t */
  ck_assert(!PREM_APPEND(list, count, 7));
  ck_assert(!list && count == INT64_C(1) << 61);
}

/* ---- order ---------------------------------------------------------------------------------- */

GROUP("order");

TEST(the_first_difference_decides) {
  const int64_t a[] = {1, INT64_MIN, 5}, b[] = {1, INT64_MAX, 4};
  ck_assert_int_lt(prem_by_numbers(a, b, 3), 0);
  ck_assert_int_gt(prem_by_numbers(b, a, 3), 0);
  ck_assert_int_eq(prem_by_numbers(a, b, 1), 0);
  ck_assert_int_gt(prem_by_numbers(a + 2, b + 2, 1), 0);
}

TEST(a_search_finds_the_first_that_is_not_before) {
  static const int64_t numbers[] = {2, 4, 4, 4, 9};
  static const int64_t sought[] = {1, 2, 3, 4, 5, 9, 10}, places[] = {0, 0, 1, 1, 4, 4, 5};
  for (int i = 0; i < 7; ++i) {
    int32_t low = 0, high = 5;
    PREM_BISECT(low, high, at, numbers[at] < sought[i]);
    ck_assert_int_eq(low, places[i]);
  }
}

/* ---- errors --------------------------------------------------------------------------------- */

GROUP("errors");

TEST(a_failure_is_an_error_and_its_status) {
  prem_diag *diag = prem_diag_new();
  const prem_place place = {.file = "a.cfg", .line = 3};
  ck_assert_int_eq(
      prem_fail(diag, PREM_ERR_INVALID, 31, place, prem_key("tasks.%s", "t").text, "is %d", 7),
      PREM_ERR_INVALID);
  char line[80];
  ck_assert_uint_eq(prem_diag_errors(diag), 1);
  prem_problem_format(prem_diag_at(diag, 0), line, sizeof line);
  ck_assert_str_eq(line, "a.cfg:3: E031: tasks.t: is 7");
  ck_assert_int_eq(prem_fail(NULL, PREM_ERR_IO, 0, place, NULL, "nobody listens"), PREM_ERR_IO);
  prem_diag_free(diag);
}
