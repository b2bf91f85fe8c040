/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operators of the KCF tracker against formulas written down once more, in double precision and
 * by other people's rules than the kernels': on the backends cpu and sim, in every mode, from files
 * to files. What is one rounding of an exact result has to be exact; all else within 1e-6 of it (a
 * sum: of the magnitudes that it adds up).
 */
/* ctest: threads */
#include "tests/common/folder.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

#include <complex.h>
#include <math.h>

#define TOLERANCE 1e-6
#define CONSTANT  0.3F

/* An array of channels x rows x columns, or with scales before them. */
typedef struct shape {
  const char *text, *tile;    /* as in the file */
  const char *one, *tile_one; /* without channels */
  int scales, channels, rows, columns;
  int norm_tiles; /* that `tile` makes */
} shape;

static const shape shapes[] = {
    {"31, 64, 64", "1, 64, 64", "64, 64", "4, 64", 1, 31, 64, 64, 31},
    {"3, 7, 5", "2, 3, 4", "7, 5", "3, 2", 1, 3, 7, 5, 12},
    {"1, 1, 1", "1, 1, 1", "1, 1", "1, 1", 1, 1, 1, 1, 1},
    {"2, 3, 9, 11", "1, 3, 4, 11", "2, 9, 11", "1, 9, 4", 2, 3, 9, 11, 6},
};

/* ---- files ----------------------------------------------------------------------------------- */

/* Numbers between -1 and 1, never near 0. */
static prem_c64 *put_random(const char *name, int count, unsigned seed) {
  prem_c64 *numbers = calloc((size_t)count, sizeof *numbers);
  srand(seed);
  for (int i = 0; i < 2 * count; ++i) {
    const float value = (float)(rand() % 16000 + 384) / 16384.0F;
    ((float *)numbers)[i] = rand() % 2 ? value : -value;
  }
  FILE *file = fopen(text("%s/%s.c64", folder, name), "wb");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite(numbers, sizeof *numbers, (size_t)count, file), (size_t)count);
  ck_assert_int_eq(fclose(file), 0);
  return numbers;
}

/* What a run has saved: exactly so many bytes. Free it. */
static void *saved(const char *name, const char *extension, size_t bytes) {
  FILE *file = fopen(text("%s/%s.%s", folder, name, extension), "rb");
  ck_assert_msg(file != NULL, "%s was not saved", name);
  unsigned char *content = malloc(bytes + 1);
  ck_assert_uint_eq(fread(content, 1, bytes + 1, file), bytes);
  fclose(file);
  return content;
}

/* ---- the schedule ---------------------------------------------------------------------------- */

#define PHASES                                                                                     \
  "prefetch: { wcet_ns = 40000L; }; compute: { wcet_ns = 40000L; }; "                              \
  "writeback: { wcet_ns = 40000L; };"

static const char *array_text(const char *name, const char *type, const char *dimensions,
                              const char *kind) {
  return text("{ name = \"%s\"; type = \"%s\"; shape = [ %s ]; %s = \"%s/%s.%s\"; }", name, type,
              dimensions, kind, folder, name, type);
}

static const char *task_text(const char *kernel, const char *tile, const char *inputs,
                             const char *more) {
  return text("{ name = \"%s\"; kernel = \"kcf_%s\"; blocks = [ 0, 1 ]; tile = [ %s ]; %s "
              "arrays: { %s out = \"%s\"; }; " PHASES " }",
              kernel, kernel, tile, more, inputs, kernel);
}

/* All operators at once, each from a, b, one to an array of its own name. */
static prem_schedule *schedule_of(const shape *of) {
  static const char *const outputs[] = {"add",           "multiply",         "divide",
                                        "conjugate",     "add_constant",     "multiply_constant",
                                        "sqr_magnitude", "multiply_channels"};
  static const char two[] = "a = \"a\"; b = \"b\";", single[] = "in = \"a\";";
  static const char constant[] = "args: { constant = 0.3; };";
  static char source[16384];
  size_t used = (size_t)snprintf(source, sizeof source,
                                 "version = 1; name = \"kcf\"; platform: { blocks = 2; };\n"
                                 "arrays = ( %s, %s, %s",
                                 array_text("a", "c64", of->text, "file"),
                                 array_text("b", "c64", of->text, "file"),
                                 array_text("one", "c64", of->one, "file"));
  for (size_t i = 0; i < sizeof outputs / sizeof *outputs; ++i)
    used += (size_t)snprintf(source + used, sizeof source - used, ", %s",
                             array_text(outputs[i], "c64", of->text, "save"));
  used += (size_t)snprintf(
      source + used, sizeof source - used, ", %s, %s, %s );\ntasks = ( %s, %s, %s, %s, %s,",
      array_text("sum_channels", "c64", of->one, "save"),
      array_text("sqr_norm", "f32", text("%d", of->norm_tiles), "save"),
      array_text("norm", "f32", "1", "save"), task_text("add", of->tile, two, ""),
      task_text("multiply", of->tile, two, ""), task_text("divide", of->tile, two, ""),
      task_text("conjugate", of->tile, single, ""),
      task_text("add_constant", of->tile, single, constant));
  used += (size_t)snprintf(
      source + used, sizeof source - used,
      "%s, %s, %s, %s, %s, { name = \"norm\"; kernel = \"vector_sum\"; blocks = [ 0 ]; tile = [ %d "
      "]; arrays: { in = \"sqr_norm\"; out = \"norm\"; }; after = ( { task = \"sqr_norm\"; } "
      "); " PHASES " } );",
      task_text("multiply_constant", of->tile, single, constant),
      task_text("sqr_magnitude", of->tile, single, ""),
      task_text("multiply_channels", of->tile, "a = \"a\"; b = \"one\";", ""),
      task_text("sum_channels", of->tile_one, single, ""),
      task_text("sqr_norm", of->tile, single, ""), of->norm_tiles);
  ck_assert_uint_lt(used, sizeof source);
  return schedule_from_text(source);
}

static void plan(prem_schedule *schedule) {
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_plan *made = NULL;
  if (prem_plan_make(schedule, NULL, NULL, &made, diag) != PREM_OK)
    abort_with("plan", diag);
  prem_schedule_set_plan(schedule, made);
  assert_checked(schedule);
}

/* ---- what is right --------------------------------------------------------------------------- */

static double complex number(prem_c64 x) {
  return (double)x.re + (double)x.im * I;
}

static void assert_exact(const char *what, int i, prem_c64 found, double complex right) {
  if (found.re != (float)creal(right) || found.im != (float)cimag(right))
    ck_abort_msg("%s[%d]: %.9g + %.9g i instead of %.9g + %.9g i", what, i, (double)found.re,
                 (double)found.im, creal(right), cimag(right));
}

static void assert_near(const char *what, int i, double complex found, double complex right,
                        double magnitude) {
  if (!(cabs(found - right) < TOLERANCE * magnitude))
    ck_abort_msg("%s[%d]: %.9g + %.9g i instead of %.9g + %.9g i", what, i, creal(found),
                 cimag(found), creal(right), cimag(right));
}

typedef struct operands {
  prem_c64 *a, *b, *one;
} operands;

static void judge_each(const shape *of, const operands *in, int count) {
  const int plane = of->rows * of->columns;
  const size_t bytes = (size_t)count * sizeof(prem_c64);
  FREED prem_c64 *add = saved("add", "c64", bytes), *multiply = saved("multiply", "c64", bytes);
  FREED prem_c64 *divide = saved("divide", "c64", bytes),
                 *conjugate = saved("conjugate", "c64", bytes);
  FREED prem_c64 *add_constant = saved("add_constant", "c64", bytes);
  FREED prem_c64 *multiply_constant = saved("multiply_constant", "c64", bytes);
  FREED prem_c64 *sqr_magnitude = saved("sqr_magnitude", "c64", bytes);
  FREED prem_c64 *multiply_channels = saved("multiply_channels", "c64", bytes);
  for (int i = 0; i < count; ++i) {
    const double complex a = number(in->a[i]), b = number(in->b[i]);
    const double complex one = number(in->one[i / (of->channels * plane) * plane + i % plane]);
    assert_exact("add", i, add[i], a + b);
    assert_exact("conjugate", i, conjugate[i], conj(a));
    assert_exact("add_constant", i, add_constant[i], a + (double)CONSTANT);
    assert_exact("multiply_constant", i, multiply_constant[i], a * (double)CONSTANT);
    assert_near("multiply", i, number(multiply[i]), a * b, cabs(a * b));
    assert_near("divide", i, number(divide[i]), a / b, cabs(a / b));
    assert_near("sqr_magnitude", i, number(sqr_magnitude[i]), cabs(a) * cabs(a), cabs(a) * cabs(a));
    assert_near("multiply_channels", i, number(multiply_channels[i]), a * one, cabs(a * one));
  }
}

static void judge_sum_channels(const shape *of, const operands *in) {
  const int plane = of->rows * of->columns;
  FREED prem_c64 *found =
      saved("sum_channels", "c64", (size_t)(of->scales * plane) * sizeof(prem_c64));
  for (int i = 0; i < of->scales * plane; ++i) {
    double complex sum = 0.0;
    double magnitude = 0.0;
    for (int channel = 0; channel < of->channels; ++channel) {
      const double complex x =
          number(in->a[(i / plane * of->channels + channel) * plane + i % plane]);
      sum += x;
      magnitude += cabs(x);
    }
    assert_near("sum_channels", i, number(found[i]), sum, magnitude);
  }
}

static void judge_norm(const shape *of, const operands *in, int count) {
  double norm = 0.0, shares = 0.0;
  for (int i = 0; i < count; ++i)
    norm += pow(cabs(number(in->a[i])), 2);
  norm /= of->rows * of->columns;
  FREED float *found = saved("norm", "f32", sizeof(float));
  FREED float *share = saved("sqr_norm", "f32", (size_t)of->norm_tiles * sizeof(float));
  for (int t = 0; t < of->norm_tiles; ++t)
    shares += (double)share[t];
  assert_near("sqr_norm", 0, shares, norm, norm);
  assert_near("norm", 0, (double)*found, norm, norm);
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* All outputs behind each other, to compare runs. */
static uint64_t bits_of_outputs(const prem_schedule *schedule) {
  uint64_t hash = 14695981039346656037u; /* FNV-1a */
  for (int32_t i = 0; i < schedule->array_count; ++i) {
    const prem_array *array = &schedule->arrays[i];
    const size_t bytes = (size_t)(array->shape[0] * array->shape[1] * array->shape[2] *
                                  array->shape[3] * prem_type_bytes(array->type));
    if (array->writer < 0)
      continue;
    unsigned char *content = saved(array->name, prem_type_name(array->type), bytes);
    for (size_t b = 0; b < bytes; ++b)
      hash = (hash ^ content[b]) * 1099511628211u;
    free(content);
  }
  return hash;
}

static void run_and_save(prem_session *session, const prem_schedule *schedule, prem_mode mode) {
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_verdict verdict;
  ck_assert_int_eq(prem_session_poison(session), PREM_OK);
  prem_trace_free(run_in(session, schedule, mode, 1));
  ck_assert_int_eq(prem_session_verify(session, &verdict), PREM_OK);
  ck_assert_msg(verdict.ok, "mode %s: %lld elements of '%s' differ from the kernel's reference",
                prem_mode_name(mode), (long long)verdict.wrong,
                verdict.array < 0 ? "" : schedule->arrays[verdict.array].name);
  if (prem_session_save(session, true, diag) != PREM_OK)
    abort_with("save", diag);
}

GROUP("kcf", .set_up = make_folder, .tear_down = remove_folder);

TESTS(operators_are_right_and_the_same_everywhere, (int)(sizeof shapes / sizeof *shapes)) {
  static const char *const backends[] = {"sim", "cpu"};
  static const prem_mode modes[] = {PREM_MODE_TT, PREM_MODE_FREE, PREM_MODE_LOCK};
  const shape *of = &shapes[_i];
  const int plane = of->rows * of->columns, count = of->scales * of->channels * plane;
  const operands in = {put_random("a", count, 1), put_random("b", count, 2),
                       put_random("one", of->scales * plane, 3)};
  OWNED(prem_schedule) *schedule = schedule_of(of);
  plan(schedule);
  uint64_t first_bits = 0;
  for (size_t b = 0; b < sizeof backends / sizeof *backends; ++b) {
    OWNED(prem_session) *session = open_on(backends[b], schedule);
    for (size_t m = 0; m < sizeof modes / sizeof *modes; ++m) {
      run_and_save(session, schedule, modes[m]);
      judge_each(of, &in, count);
      judge_sum_channels(of, &in);
      judge_norm(of, &in, count);
      const uint64_t bits = bits_of_outputs(schedule);
      if (b + m == 0)
        first_bits = bits;
      ck_assert_msg(bits == first_bits, "backend %s, mode %s: other bits", backends[b],
                    prem_mode_name(modes[m]));
    }
  }
  free(in.a);
  free(in.b);
  free(in.one);
}

/* A sum of as many small numbers as fit behind a large one, which floats added one after the other
 * would lose. */
TESTS(long_sums_keep_small_terms, 2) {
  enum { COUNT = 100000 };
  const char *name = _i ? "tile_sum" : "vector_sum";
  const prem_kernel *kernel = prem_registry_find(prem_registry_builtin(), name);
  float *terms = calloc(COUNT, sizeof *terms), out = 0.0F;
  for (int i = 0; i < COUNT; ++i)
    terms[i] = i == 0 ? 16777216.0F : 1.0F;
  OWNED(prem_schedule) *schedule = schedule_from_text(
      text("version = 1; name = \"sum\"; platform: { blocks = 1; };\n"
           "arrays = ( { name = \"v\"; type = \"f32\"; shape = [ %d ]; } );\n"
           "tasks = ( { name = \"s\"; kernel = \"%s\"; blocks = [ 0 ]; tile = [ %d ]; "
           "arrays: { in = \"v\"; out = \"new\"; }; } );",
           COUNT, name, COUNT));
  const prem_array_view arrays[] = {{terms, {1, 1, 1, COUNT}}, {&out, {1, 1, 1, 1}}};
  kernel->reference(schedule->tasks[0].params, arrays);
  const double right = 16777216.0 + COUNT - 1;
  ck_assert_double_le(fabs((double)out - right), TOLERANCE * right);
  free(terms);
}
