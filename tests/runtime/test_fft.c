/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Fourier transforms against the sum that defines them, in double precision; and what holds for
 * any: there and back, sums, a single point. By the kernels' references, which test_kernels.c holds
 * against their tiles bit for bit.
 */
#include <complex.h>
#include <math.h>

/* Also the way that is meant for GPUs, by hand. */
#define PREM_FFT_SLIDES 1
#include "kernels/fft.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

#define TOLERANCE 3e-7 /* of relative L2 errors; promised are 1e-6 */

enum { LINES = 3, PLANES = 2 };

/* An array of `planes` x `rows` x `columns`, all or one dimension of which a kernel transforms. */
typedef struct form {
  const char *kernel;
  int planes, rows, columns;
} form;

static const form forms[] = {
    {"fft2_plane", PLANES, 16, 16},      {"fft2_plane", PLANES, 32, 32},
    {"fft2_plane", PLANES, 64, 64},      {"fft_rows", PLANES, LINES, 16},
    {"fft_rows", PLANES, LINES, 32},     {"fft_rows", PLANES, LINES, 64},
    {"fft_rows", PLANES, LINES, 128},    {"fft_rows", PLANES, LINES, 256},
    {"fft_rows", PLANES, LINES, 512},    {"fft_columns", PLANES, 16, LINES},
    {"fft_columns", PLANES, 32, LINES},  {"fft_columns", PLANES, 64, LINES},
    {"fft_columns", PLANES, 128, LINES}, {"fft_columns", PLANES, 256, LINES},
    {"fft_columns", PLANES, 512, LINES},
};
enum { FORMS = sizeof forms / sizeof *forms };

static int elements(const form *of) {
  return of->planes * of->rows * of->columns;
}

static bool transforms_rows(const form *of) {
  return strcmp(of->kernel, "fft_columns") != 0;
}

static bool transforms_columns(const form *of) {
  return strcmp(of->kernel, "fft_rows") != 0;
}

/* ---- by the kernels -------------------------------------------------------------------------- */

/* Free the result. */
static prem_c64 *transformed(const form *of, const prem_c64 *in, bool inverse) {
  OWNED(prem_schedule) *schedule = schedule_from_text(
      text("version = 1; name = \"fft\"; platform: { blocks = 1; };\n"
           "arrays = ( { name = \"a\"; type = \"c64\"; shape = [ %d, %d, %d ]; } );\n"
           "tasks = ( { name = \"f\"; kernel = \"%s\"; blocks = [ 0 ]; tile = [ %d, %d, %d ]; "
           "args: { inverse = %d; }; arrays: { in = \"a\"; out = \"new\"; }; } );",
           of->planes, of->rows, of->columns, of->kernel, of->planes, of->rows, of->columns,
           (int)inverse));
  const prem_kernel *kernel = prem_registry_find(prem_registry_builtin(), of->kernel);
  const int64_t count = elements(of);
  prem_c64 *from = calloc((size_t)count, sizeof *from), *to = calloc((size_t)count, sizeof *to);
  memcpy(from, in, (size_t)count * sizeof *from);
  const prem_array_view arrays[] = {{from, {1, of->planes, of->rows, of->columns}},
                                    {to, {1, of->planes, of->rows, of->columns}}};
  kernel->reference(schedule->tasks[0].params, arrays);
  free(from);
  return to;
}

/* Numbers between -1 and 1. */
static prem_c64 *random_points(int count, unsigned seed) {
  prem_c64 *points = calloc((size_t)count, sizeof *points);
  srand(seed);
  for (int i = 0; i < 2 * count; ++i)
    ((float *)points)[i] = (float)(rand() % 32768 - 16384) / 16384.0F;
  return points;
}

/* ---- in double precision --------------------------------------------------------------------- */

static double complex number(prem_c64 x) {
  return (double)x.re + (double)x.im * I;
}

/* One line of numbers that stand `step` apart, by the definition. */
static void define_line(double complex *line, int points, int step, bool inverse) {
  double complex sums[512];
  for (int k = 0; k < points; ++k) {
    sums[k] = 0.0;
    for (int n = 0; n < points; ++n)
      sums[k] += line[n * step] *
                 cexp((inverse ? 2.0 : -2.0) * acos(-1.0) * I * (k * n % points) / points);
  }
  for (int k = 0; k < points; ++k)
    line[k * step] = inverse ? sums[k] / points : sums[k];
}

/* Free the result. */
static double complex *defined(const form *of, const prem_c64 *in, bool inverse) {
  double complex *all = calloc((size_t)elements(of), sizeof *all);
  for (int i = 0; i < elements(of); ++i)
    all[i] = number(in[i]);
  for (int plane = 0; plane < of->planes; ++plane) {
    double complex *here = all + plane * of->rows * of->columns;
    for (int row = 0; row < of->rows && transforms_rows(of); ++row)
      define_line(here + row * of->columns, of->columns, 1, inverse);
    for (int column = 0; column < of->columns && transforms_columns(of); ++column)
      define_line(here + column, of->rows, of->columns, inverse);
  }
  return all;
}

/* |found - right| / |right|, of vectors. */
static double error_of(const prem_c64 *found, const double complex *right, int count) {
  double error = 0.0, norm = 0.0;
  for (int i = 0; i < count; ++i) {
    error += pow(cabs(number(found[i]) - right[i]), 2);
    norm += pow(cabs(right[i]), 2);
  }
  return sqrt(error / norm);
}

static void assert_near(const form *of, const char *what, const prem_c64 *found,
                        const double complex *right) {
  const double error = error_of(found, right, elements(of));
  ck_assert_msg(error <= TOLERANCE, "%s of %d x %d, %s: a relative error of %.3g", of->kernel,
                of->rows, of->columns, what, error);
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* Folded to the first eighth of a turn, where long doubles lose nothing. */
TEST(the_table_is_of_rounded_cosines) {
  ck_assert_int_eq((int)(sizeof prem_fft_cosines / sizeof *prem_fft_cosines),
                   512 / 8 * 7 + PREM_FFT_QUARTER);
  for (int k = 0; k < (int)(sizeof prem_fft_cosines / sizeof *prem_fft_cosines); ++k) {
    const int turn = k % 512, half = turn > 256 ? 512 - turn : turn;
    const int quarter = half > 128 ? 256 - half : half;
    const long double unit = acosl(-1.0L) / 256.0L;
    const long double cosine = quarter > 64 ? sinl(unit * (128 - quarter)) : cosl(unit * quarter);
    ck_assert_float_eq(prem_fft_cosines[k], (float)(half > 128 ? -cosine : cosine));
  }
}

TESTS(transforms_are_what_defines_them, FORMS) {
  const form *of = &forms[_i];
  FREED prem_c64 *in = random_points(elements(of), 1);
  for (int inverse = 0; inverse < 2; ++inverse) {
    FREED prem_c64 *found = transformed(of, in, inverse);
    double complex *right = defined(of, in, inverse);
    assert_near(of, inverse ? "inverse" : "forward", found, right);
    free(right);
  }
}

TESTS(there_and_back_is_where_it_began, FORMS) {
  const form *of = &forms[_i];
  FREED prem_c64 *in = random_points(elements(of), 2);
  FREED prem_c64 *there = transformed(of, in, false), *back = transformed(of, there, true);
  double complex *right = calloc((size_t)elements(of), sizeof *right);
  for (int i = 0; i < elements(of); ++i)
    right[i] = number(in[i]);
  assert_near(of, "there and back", back, right);
  free(right);
}

TESTS(a_sum_is_transformed_to_the_sum, FORMS) {
  const form *of = &forms[_i];
  const int count = elements(of);
  FREED prem_c64 *a = random_points(count, 3), *b = random_points(count, 4);
  FREED prem_c64 *sum = calloc((size_t)count, sizeof *sum);
  for (int i = 0; i < count; ++i)
    sum[i] = (prem_c64){a[i].re + 2.0F * b[i].re, a[i].im + 2.0F * b[i].im};
  FREED prem_c64 *of_a = transformed(of, a, false), *of_b = transformed(of, b, false);
  FREED prem_c64 *of_sum = transformed(of, sum, false);
  double complex *right = calloc((size_t)count, sizeof *right);
  for (int i = 0; i < count; ++i)
    right[i] = number(of_a[i]) + 2.0 * number(of_b[i]);
  assert_near(of, "a + 2 b", of_sum, right);
  free(right);
}

/* A 1 in front is 1 everywhere, exactly; one in another place has the magnitude 1 everywhere, and
 * other lines and planes stay 0. */
TESTS(a_point_is_transformed_to_a_wave, FORMS) {
  const form *of = &forms[_i];
  const int plane = of->rows * of->columns;
  for (int at = 0; at < plane; at += 1 + plane / 7) {
    FREED prem_c64 *in = calloc((size_t)elements(of), sizeof *in);
    in[at].re = 1.0F;
    FREED prem_c64 *found = transformed(of, in, false);
    for (int i = 0; i < elements(of); ++i) {
      const bool reached = i < plane &&
                           (transforms_columns(of) || i / of->columns == at / of->columns) &&
                           (transforms_rows(of) || i % of->columns == at % of->columns);
      if (at == 0 || !reached) {
        ck_assert_float_eq(found[i].re, reached ? 1.0F : 0.0F);
        ck_assert_float_eq(found[i].im, 0.0F);
      }
      ck_assert_double_le(fabs(cabs(number(found[i])) - (reached ? 1.0 : 0.0)), TOLERANCE);
    }
  }
}

/* fft2_plane transforms columns, then rows: what two tasks make of larger planes has its bits. */
TEST(columns_and_rows_make_planes) {
  for (int inverse = 0; inverse < 2; ++inverse)
    for (int side = 16; side <= 64; side *= 2) {
      const form planes = {"fft2_plane", PLANES, side, side};
      const form columns = {"fft_columns", PLANES, side, side};
      const form rows = {"fft_rows", PLANES, side, side};
      FREED prem_c64 *in = random_points(elements(&planes), 5);
      FREED prem_c64 *once = transformed(&planes, in, inverse);
      FREED prem_c64 *first = transformed(&columns, in, inverse);
      FREED prem_c64 *then = transformed(&rows, first, inverse);
      ck_assert_int_eq(memcmp(once, then, (size_t)elements(&planes) * sizeof *once), 0);
    }
}

/* Slid or not, by the table or not, the bits are the same; and rows may be further apart than they
 * are long. */
TESTS(slid_planes_are_the_same, 2) {
  enum { APART = 3 };
  const bool is_known = _i == 1;
  for (int inverse = 0; inverse < 2; ++inverse)
    for (int bits = 4; bits <= (is_known ? 5 : 6); ++bits) {
      const int side = 1 << bits, row = side + APART, plane = side * row + APART;
      const form of = {"fft2_plane", PLANES, side, side};
      FREED prem_c64 *in = random_points(elements(&of), 6);
      FREED prem_c64 *right = transformed(&of, in, inverse);
      FREED prem_fft_point *points = calloc((size_t)(PLANES * plane), sizeof *points);
      FREED prem_fft_point *found = calloc((size_t)(PLANES * plane), sizeof *found);
      for (int i = 0; i < elements(&of); ++i) {
        const int at = i / (side * side) * plane + i / side % side * row + i % side;
        points[at] = (prem_fft_point){in[i].re, in[i].im};
      }
      const prem_fft_plan plan = {bits, inverse ? -1.0F : 1.0F,
                                  inverse ? 1.0F / (float)side : 1.0F};
      const prem_fft_square from = {points, row, plane, 0}, to = {found, row, plane, 0};
      if (is_known)
        prem_fft_known_planes(&plan, from, to, PLANES);
      else
        prem_fft_square_planes(&plan, from, to, PLANES);
      for (int i = 0; i < elements(&of); ++i) {
        const int at = i / (side * side) * plane + i / side % side * row + i % side;
        ck_assert_uint_eq(prem_f32_bits(found[at].re), prem_f32_bits(right[i].re));
        ck_assert_uint_eq(prem_f32_bits(found[at].im), prem_f32_bits(right[i].im));
      }
      for (int i = 0; i < PLANES * plane; ++i) /* nothing beside the rows is touched */
        if (i % plane >= side * row || i % plane % row >= side) {
          ck_assert_float_eq(points[i].re, 0.0F);
          ck_assert_float_eq(found[i].re, 0.0F);
        }
    }
}
