/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of outputs that cut their array into parts, against counting how often each element is
 * written. */

#include "prem/model/cover.h"
#include "tests/common/rounds.h"
#include "tests/common/suite.h"

enum { MAX_EDGE = 7 };

static uint64_t state;

/* 0 .. below - 1 */
static int draw(int below) {
  state = state * 6364136223846793005U + 1442695040888963407U;
  return (int)((state >> 33) % (uint64_t)below);
}

typedef struct drawn {
  int32_t grid[PREM_MAX_GRID];
  prem_window window;
  int64_t shape[4];
} drawn;

/* Mostly what a kernel would give, and often a little wrong. */
static drawn draw_one(void) {
  drawn it = {.grid = {1, 1, 1}};
  int32_t reached[4];
  for (int d = 0; d < 4; ++d) {
    it.shape[d] = 1 + draw(MAX_EDGE);
    it.window.extent[d] = reached[d] = 1 + draw(3);
    it.window.base[d] = draw(5) == 0 ? draw(5) - 2 : 0;
  }
  for (int k = 0; k < PREM_MAX_GRID; ++k) {
    const int d = draw(4);
    it.grid[k] = 1 + draw(4);
    it.window.step[d][k] = reached[d] + (draw(6) == 0 ? draw(3) - 1 : 0);
    reached[d] *= it.grid[k];
    if (draw(4) == 0) { /* the other way */
      it.window.base[d] += it.window.step[d][k] * (it.grid[k] - 1);
      it.window.step[d][k] *= -1;
    }
  }
  for (int d = 0; d < 4; ++d)
    if (draw(4) != 0 && reached[d] > 1)
      it.shape[d] = reached[d] - draw(2);
  return it;
}

/* How many windows an element is in, for all of them; true: in one each. */
static bool is_cut(const drawn *it) {
  for (int64_t i0 = 0; i0 < it->shape[0]; ++i0)
    for (int64_t i1 = 0; i1 < it->shape[1]; ++i1)
      for (int64_t i2 = 0; i2 < it->shape[2]; ++i2)
        for (int64_t i3 = 0; i3 < it->shape[3]; ++i3) {
          const int64_t at[4] = {i0, i1, i2, i3};
          int count = 0;
          for (int32_t t = 0; t < it->grid[0] * it->grid[1] * it->grid[2]; ++t) {
            const int64_t index[] = {t / it->grid[2] / it->grid[1], t / it->grid[2] % it->grid[1],
                                     t % it->grid[2]};
            bool is_in = true;
            for (int d = 0; d < 4; ++d) {
              int64_t first = it->window.base[d];
              for (int k = 0; k < PREM_MAX_GRID; ++k)
                first += it->window.step[d][k] * index[k];
              is_in &= at[d] >= first && at[d] < first + it->window.extent[d];
            }
            count += is_in;
          }
          if (count != 1)
            return false;
        }
  return true;
}

/* Does every window meet the array? Of others it is asked that they go on as these do. */
static bool do_all_meet(const drawn *it) {
  for (int d = 0; d < 4; ++d) {
    int64_t least = it->window.base[d], most = it->window.base[d];
    for (int k = 0; k < PREM_MAX_GRID; ++k) {
      const int64_t way = it->window.step[d][k] * (it->grid[k] - 1);
      least += way < 0 ? way : 0;
      most += way > 0 ? way : 0;
    }
    if (least + it->window.extent[d] <= 0 || most >= it->shape[d])
      return false;
  }
  return true;
}

GROUP("cover", .timeout_s = 300);

TEST(as_counted) {
  int cut = 0, odd = 0;
  const int rounds = ROUNDS(20000);
  state = 11;
  for (int round = 0; round < rounds; ++round) {
    const drawn it = draw_one();
    char reason[256] = "";
    const bool found = prem_is_cut(it.grid, &it.window, it.shape, "out", reason, sizeof reason);
    const bool expected = is_cut(&it);
    ck_assert(found == (reason[0] == '\0'));
    if (found != expected && (found || do_all_meet(&it)))
      ck_abort_msg("round %d: counted %d, judged %d: %s", round, expected, found, reason);
    cut += expected;
    odd += !expected && do_all_meet(&it);
  }
  ck_assert_int_gt(cut, rounds / 20);
  ck_assert_int_gt(odd, rounds / 20);
}

/* An index that moves the window in two dimensions, all windows within the array: never cut. */
TEST(never_cut_along_a_diagonal) {
  state = 12;
  for (int round = 0; round < ROUNDS(20000); ++round) {
    drawn it = draw_one();
    const int k = draw(PREM_MAX_GRID), d = draw(4), e = (d + 1 + draw(3)) % 4;
    it.grid[k] = 2 + draw(3);
    it.window.step[d][k] = 1 + draw(3);
    it.window.step[e][k] = 1 + draw(3);
    for (int axis = 0; axis < 4; ++axis) { /* the array is what the windows reach */
      it.window.base[axis] = 0;
      it.shape[axis] = it.window.extent[axis];
      for (int n = 0; n < PREM_MAX_GRID; ++n) {
        const int64_t way = it.window.step[axis][n] * (it.grid[n] - 1);
        it.window.base[axis] -= way < 0 ? way : 0;
        it.shape[axis] += way < 0 ? -way : way;
      }
    }
    char reason[256];
    ck_assert(!prem_is_cut(it.grid, &it.window, it.shape, "out", reason, sizeof reason));
    ck_assert(!is_cut(&it));
  }
}

/* 2^30 tiles. Numbers at the ends of their types overflow nothing. */
TEST(large) {
  const int32_t grid[] = {1 << 10, 1 << 10, 1 << 10};
  prem_window window = {.extent = {1, 1, 4, 1024}};
  int64_t shape[] = {1, 1, INT64_C(1) << 22, INT64_C(1) << 30};
  window.step[2][0] = 4096;
  window.step[2][1] = 4;
  window.step[3][2] = 1024;
  char reason[256];
  ck_assert(!prem_is_cut(grid, &window, shape, "out", reason, sizeof reason));
  ck_assert_str_eq(reason, "column 1048576 of 'out' is in no tile's window");
  shape[3] = 1 << 20;
  ck_assert(prem_is_cut(grid, &window, shape, "out", reason, sizeof reason));
  window.step[2][0] = INT64_MAX;
  ck_assert(!prem_is_cut(grid, &window, shape, "out", reason, sizeof reason));
  ck_assert_str_eq(reason, "row 4096 of 'out' is in no tile's window");
  window.base[2] = INT64_MIN;
  ck_assert(!prem_is_cut(grid, &window, shape, "out", reason, sizeof reason));
}
