/* SPDX-License-Identifier: Apache-2.0 */
/* ctest: threads */
/* What the thesis's experiments share: its values, walks over elements, ordinary kernels, chapters;
 * and the list of all experiments. */
#include <math.h>
#include <unistd.h>

#include "experiments/common/elements.h"
#include "experiments/common/originals.h"
#include "experiments/common/walk_order.h"
#include "experiments/common/walk_room.h"
#include "experiments/experiment_list.h"
#include "experiments/thesis/ordinary/ordinary.h"
#include "report/findings/parts.h"
#include "report/findings/tables.h"
#include "tests/common/suite.h"

/* ---- what others published ------------------------------------------------------------------ */

static const char *const shipped[] = {
#define SHIPPED(name, path) path,
#include "experiments/common/shipped.def"
#undef SHIPPED
};
enum { FILES = sizeof shipped / sizeof *shipped };

/* A figure or table of the thesis has more of it, with where its raw data are. */
TESTS(every_original_is_a_whole_table_with_its_source, FILES) {
  prem_findings *findings = prem_findings_new("f", "F", "?");
  char figure[64];
  snprintf(figure, sizeof figure, "%s", strrchr(shipped[_i], '/') + 1);
  char *end = strrchr(figure, '.');
  const bool is_original = strcmp(end, ".tsv") == 0;
  *end = '\0';
  if (!is_original) {
    prem_findings_free(findings);
    return;
  }
  const bool is_figure = strstr(figure, "_4_") != NULL;
  ck_assert_str_eq(prem_original_add(findings, figure, NULL), figure);
  ck_assert_str_eq(prem_original_add(findings, figure, "original"), "original");
  ck_assert_ptr_nonnull(prem_find_table(findings, "original"));
  const prem_table *table = prem_find_table(findings, figure);
  ck_assert_ptr_nonnull(table);
  ck_assert_ptr_nonnull(strstr(table->source, is_figure ? "tt-gpu" : "TX2"));
  ck_assert_int_ge(table->column_count, is_figure ? 3 : 2);
  ck_assert_int_gt(prem_table_rows(table), is_figure ? 4 : 1);
  ck_assert_int_eq(prem_findings_judge(findings, NULL), PREM_OK);
  for (int64_t row = 0; row < prem_table_rows(table) && is_figure; ++row)
    ck_assert_int_ne(prem_table_value(table, row, table->column_count - 1)->kind, PREM_VALUE_TEXT);
  prem_findings_free(findings);
}

TEST(no_other_has_an_original) {
  OWNED(prem_findings) *findings = prem_findings_new("f", "F", "?");
  ck_assert_ptr_null(prem_original_add(findings, "convolution", NULL));
  ck_assert_ptr_null(prem_find_table(findings, "convolution"));
}

TEST(table_4_1_is_the_published_one) {
  static const double mean_ms[] = {0.657, 2.675, 2.397, 2.670, 2.874};
  static const double jitter_pct[] = {1.84, 6.47, 1.47, 0.15, 0.04};
  OWNED(prem_findings) *findings = prem_findings_new("f", "F", "?");
  prem_original_add(findings, "table_4_1", NULL);
  const prem_table *table = prem_find_table(findings, "table_4_1");
  ck_assert_int_eq(prem_table_rows(table), 5);
  const int64_t mean = prem_find_column(table, "mean"), jitter = prem_find_column(table, "jitter");
  ck_assert_str_eq(table->columns[mean].unit, "us");
  for (int row = 0; row < 5; ++row) {
    ck_assert_double_eq_tol(prem_value_number(prem_table_value(table, row, mean)) / 1e3,
                            mean_ms[row], 0.0006);
    ck_assert_double_eq_tol(prem_value_number(prem_table_value(table, row, jitter)),
                            jitter_pct[row], 0.006);
  }
  ck_assert_ptr_null(prem_original_add(findings, "fig_9_9", NULL));
}

/* ---- walks over elements -------------------------------------------------------------------- */

static void no_progress(void *context, int64_t done, int64_t all) {
  (void)context, (void)done, (void)all;
}

static const volatile sig_atomic_t go_on = 0;

static prem_experiment_context cpu_context(void) {
  return (prem_experiment_context){.backend = prem_backend_find("cpu"),
                                   .seed = 3,
                                   .quick = true,
                                   .stop = &go_on,
                                   .progress = no_progress};
}

TEST(a_core_walks_the_whole_list_as_often_as_asked) {
  const prem_experiment_context context = cpu_context();
  prem_elements *elements = NULL;
  ck_assert_int_eq(prem_elements_open(&context, 64 * 1024, 0, &elements, NULL), PREM_OK);
  for (int order = 0; order < 2; ++order)
    for (int part = 0; part < 2; ++part) {
      const prem_walk walk = {.bytes = 3001 * PREM_ELEMENT_BYTES,
                              .order = (prem_walk_order)order,
                              .kernels = 1,
                              .threads = 1,
                              .steps = part ? 1234 : 0};
      prem_walk_time time;
      ck_assert_int_eq(
          prem_elements_measure(elements, &walk, (prem_element_repeats){7, 9, 0}, &time, NULL),
          PREM_OK);
      ck_assert(time.right);
      ck_assert(time.together);
      ck_assert_int_eq(time.repeats, 7);
      ck_assert_double_gt(time.min_ns, 0);
      ck_assert_double_le(time.min_ns, time.mean_ns);
      ck_assert_double_le(time.mean_ns, time.max_ns);
      ck_assert(isnan(time.mean_cycles));
    }
  prem_elements_close(elements);
}

/* The same part again would be in a cache, however long the list. */
TEST(a_part_of_a_list_goes_on_where_it_ended) {
  void *elements = NULL;
  prem_element_step step;
  bool together;
  ck_assert_int_eq(prem_walk_room_open(64 * 1024, 3, &elements), PREM_OK);
  for (int order = 0; order < 2; ++order) {
    prem_walk walk = {.bytes = 3001 * PREM_ELEMENT_BYTES,
                      .order = (prem_walk_order)order,
                      .kernels = 1,
                      .threads = 1,
                      .steps = 100,
                      .repeats = 4};
    for (int launch = 0; launch < 3; ++launch) {
      ck_assert_int_eq(prem_cpu_elements_walk(elements, &walk, &step, &together, NULL), PREM_OK);
      walk.begun += 500; /* with the unmeasured repetition */
      ck_assert_uint_eq(step.last, prem_walk_node((uint32_t)walk.begun, 3001, order, 3));
      ck_assert_uint_eq(step.last, prem_element_first(&walk, 0, 3));
    }
  }
  prem_walk_room_close(elements);
}

TEST(a_budget_is_kept_by_repeating_less) {
  prem_budget budget = {.end_ns = prem_host_clock_ns() - 1};
  prem_experiment_context context = cpu_context();
  context.budget = &budget;
  prem_elements *elements = NULL;
  const prem_walk walk = {.bytes = 4096, .kernels = 1, .threads = 1};
  prem_walk_time time;
  ck_assert_int_eq(prem_elements_open(&context, 64 * 1024, 0, &elements, NULL), PREM_OK);
  ck_assert_int_eq(
      prem_elements_measure(elements, &walk, (prem_element_repeats){8, 8, 0}, &time, NULL),
      PREM_OK);
  ck_assert_int_eq(time.repeats, 1); /* never none: every row is there */
  ck_assert_int_eq(budget.rows, 1);
  ck_assert_int_eq(budget.fewer, 1);
  ck_assert_double_eq_tol(budget.min, 0.125, 1e-9);
  budget.end_ns = prem_host_clock_ns() + INT64_C(60000000000);
  ck_assert_int_eq(
      prem_elements_measure(elements, &walk, (prem_element_repeats){8, 8, 0}, &time, NULL),
      PREM_OK);
  ck_assert_int_eq(time.repeats, 8);
  ck_assert_int_eq(budget.rows, 2);
  ck_assert_int_eq(budget.fewer, 1);
  prem_elements_close(elements);
}

TEST(each_row_has_an_equal_part_of_what_is_left) {
  prem_experiment_context context = cpu_context();
  ck_assert_int_eq(prem_experiment_row_end_ns(&context), INT64_MAX);
  const int64_t now_ns = prem_host_clock_ns(), minute_ns = INT64_C(60000000000);
  prem_budget budget = {.end_ns = now_ns + minute_ns};
  context.budget = &budget;
  prem_experiment_progress(&context, 2, 8);
  const int64_t row_ns = prem_experiment_row_end_ns(&context) - now_ns;
  ck_assert_int_le(row_ns, minute_ns / 6 + minute_ns / 60);
  ck_assert_int_ge(row_ns, minute_ns / 6 - minute_ns / 60);
  prem_experiment_progress(&context, 8, 8); /* more rows than were said */
  ck_assert_int_gt(prem_experiment_row_end_ns(&context) - now_ns, minute_ns / 2);
}

TEST(threads_begin_side_by_side_and_end_where_the_list_leads) {
  const prem_walk whole = {.bytes = 1024, .kernels = 1, .threads = 32};
  for (int32_t thread = 0; thread < 32; ++thread) {
    ck_assert_uint_eq(prem_element_first(&whole, thread, 1), (uint32_t)thread);
    ck_assert_uint_eq(prem_element_last(&whole, thread, 1), (uint32_t)thread);
  }
  /* 5 steps of 32 elements each */
  const prem_walk part = {.bytes = 1024, .kernels = 1, .threads = 32, .steps = 5};
  ck_assert_uint_eq(prem_element_last(&part, 3, 1), 163);
  const prem_walk random = {
      .bytes = 1024, .order = PREM_WALK_RANDOM, .kernels = 1, .threads = 4, .steps = 64};
  /* a quarter of the list each: one ends where the next begins */
  for (int32_t thread = 0; thread < 4; ++thread)
    ck_assert_uint_eq(prem_element_last(&random, thread, 9),
                      prem_element_first(&random, (thread + 1) % 4, 9));
}

/* ---- ordinary kernels ----------------------------------------------------------------------- */

static prem_ordinary_arrays arrays_of(prem_ordinary_work work) {
  const int64_t floats = prem_ordinary_floats(work);
  float *room = calloc((size_t)(3 * floats + prem_ordinary_out_floats(work)), sizeof *room);
  prem_ordinary_fill(room, 3 * floats, 1);
  return (prem_ordinary_arrays){room, room + floats, room + 2 * floats, room + 3 * floats};
}

TESTS(every_ordinary_kernel_computes, PREM_ORDINARY_WORKS) {
  const prem_ordinary_work work = (prem_ordinary_work)_i;
  prem_ordinary_arrays arrays = arrays_of(work);
  prem_ordinary_reference(work, &arrays);
  int64_t finite = 0,
          there = 0; /* counted: an assertion for each of them takes longer than all else */
  for (int64_t i = 0; i < prem_ordinary_out_floats(work); ++i) {
    finite += isfinite(arrays.out[i]) != 0;
    there += arrays.out[i] != 0;
  }
  ck_assert_int_eq(finite, prem_ordinary_out_floats(work));
  ck_assert_int_gt(there, 100);
  ck_assert_ptr_nonnull(prem_ordinary_name(work));
  free(arrays.a);
}

TEST(ordinary_kernels_compute_what_they_are_called) {
  prem_ordinary_arrays x = arrays_of(PREM_ORDINARY_KCF_DIVIDE);
  prem_ordinary_reference(PREM_ORDINARY_KCF_DIVIDE, &x);
  for (int i = 0; i < 100; ++i) { /* quotient times divisor */
    const float *q = x.out + 2 * i, *b = x.b + 2 * i;
    ck_assert_float_eq_tol(q[0] * b[0] - q[1] * b[1], x.a[2 * i], 1e-5F);
    ck_assert_float_eq_tol(q[0] * b[1] + q[1] * b[0], x.a[2 * i + 1], 1e-5F);
  }
  free(x.a);
  x = arrays_of(PREM_ORDINARY_GEMM);
  prem_ordinary_reference(PREM_ORDINARY_GEMM, &x);
  float sum = 0;
  for (int k = 0; k < 128; ++k)
    sum += x.a[5 * 128 + k] * x.b[k * 128 + 7];
  ck_assert_float_eq_tol(x.out[5 * 128 + 7], sum, 1e-3F);
  free(x.a);
  x = arrays_of(PREM_ORDINARY_GRAMSCHM);
  prem_ordinary_reference(PREM_ORDINARY_GRAMSCHM, &x);
  for (int a = 0; a < 32; ++a)
    for (int b = 0; b < a; ++b) {
      float dot = 0;
      for (int i = 0; i < 256; ++i)
        dot += x.out[a * 256 + i] * x.out[b * 256 + i];
      ck_assert_float_eq_tol(dot, 0.0F, 1e-2F);
    }
  free(x.a);
}

/* ---- chapters ------------------------------------------------------------------------------- */

TEST(every_chapter_is_an_experiment_of_the_list) {
  int32_t count = 0, gpu_s = 0, cpu_s = 0;
  const prem_chapter *chapter;
  for (; (chapter = prem_chapter_at(count)) != NULL; ++count) {
    ck_assert_ptr_eq(prem_experiment_find(chapter->experiment->name), chapter->experiment);
    ck_assert_int_eq(chapter->gpu_s > 0, prem_experiment_serves(chapter->experiment, "cuda"));
    ck_assert_int_eq(chapter->cpu_s > 0, prem_experiment_serves(chapter->experiment, "cpu"));
    gpu_s += chapter->gpu_s;
    cpu_s += chapter->cpu_s;
    for (int32_t other = 0; other < count; ++other)
      ck_assert_ptr_ne(prem_chapter_at(other)->experiment, chapter->experiment);
  }
  ck_assert_int_gt(count, 15);
  ck_assert_ptr_null(prem_chapter_at(-1));
  ck_assert_int_le(gpu_s, 8 * 60);
  ck_assert_int_le(cpu_s, 4 * 60 + 30);
}

/* ---- the list of experiments ---------------------------------------------------------------- */

TEST(experiments_are_found_by_name) {
#define PREM_EXPERIMENT(ROOM, NAME) SOURCE_DIR "/experiments/" #ROOM "/" #NAME "/README.md",
#define PREM_SWEEP                  PREM_EXPERIMENT
  static const char *const readmes[] = {
#include "experiments/experiments.def"
  };
#undef PREM_EXPERIMENT
#undef PREM_SWEEP
  int count = 0;
  const prem_experiment *experiment;
  for (; (experiment = prem_experiment_at(count)) != NULL; ++count) {
    ck_assert_ptr_eq(prem_experiment_find(experiment->name), experiment);
    ck_assert_uint_eq(strspn(experiment->name, "abcdefghijklmnopqrstuvwxyz0123456789_"),
                      strlen(experiment->name));
    ck_assert_uint_gt(strlen(experiment->title), 0);
    ck_assert_int_eq(experiment->question[strlen(experiment->question) - 1], '?');
    ck_assert(prem_experiment_serves(experiment, "cuda") ||
              prem_experiment_serves(experiment, "cpu"));
    ck_assert(!prem_experiment_serves(experiment, "cud"));
    ck_assert(!prem_experiment_serves(experiment, ""));
    ck_assert_msg(access(readmes[count], R_OK) == 0, "%s: not there", readmes[count]);
  }
  ck_assert_int_gt(count, 7);
  ck_assert_ptr_null(prem_experiment_at(-1));
  ck_assert_ptr_null(prem_experiment_find("none"));
}

TEST(tables_are_written_a_row_at_a_time) {
  OWNED(prem_findings) *findings = prem_findings_new("f", "F", "?");
  prem_table *table = prem_findings_table(findings, "t", "T", NULL);
  prem_table_columns(table, "mode; largest - mean [ns]; share [% of all]");
  ck_assert_int_eq(table->column_count, 3);
  ck_assert_str_eq(table->columns[0].name, "mode");
  ck_assert_str_eq(table->columns[0].unit, "");
  ck_assert_str_eq(table->columns[1].name, "largest - mean");
  ck_assert_str_eq(table->columns[1].unit, "ns");
  ck_assert_str_eq(table->columns[2].unit, "% of all");
  prem_table_row(table, TEXT("tt"), INT(7), REAL(0.5));
  ck_assert_int_eq(prem_table_rows(table), 1);
  ck_assert_int_eq(prem_table_value(table, 0, 0)->kind, PREM_VALUE_TEXT);
  ck_assert_int_eq(prem_table_value(table, 0, 1)->kind, PREM_VALUE_INT);
  ck_assert_int_eq(prem_table_value(table, 0, 2)->kind, PREM_VALUE_REAL);
}
