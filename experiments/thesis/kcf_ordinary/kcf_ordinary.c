/* SPDX-License-Identifier: Apache-2.0 */
/* The KCF tracker's operators as ordinary kernels beside each other: the thesis's Fig 4.15. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "experiments/common/tables.h"
#include "experiments/thesis/ordinary/ordinary.h"

/* In the order of the tiles' experiment, kcf_heat_map. */
static const prem_ordinary_work operators[] = {
    PREM_ORDINARY_KCF_SQR_NORM,     PREM_ORDINARY_KCF_SQR_MAGNITUDE,
    PREM_ORDINARY_KCF_CONJUGATE,    PREM_ORDINARY_KCF_SUM_CHANNELS,
    PREM_ORDINARY_KCF_MULTIPLY,     PREM_ORDINARY_KCF_DIVIDE,
    PREM_ORDINARY_KCF_ADD,          PREM_ORDINARY_KCF_MULTIPLY_CONSTANT,
    PREM_ORDINARY_KCF_ADD_CONSTANT, PREM_ORDINARY_KCF_MULTIPLY_CHANNELS};
enum {
  OPERATORS = sizeof operators / sizeof *operators,
  MAX_OTHERS = PREM_ORDINARY_KERNELS - 1,
  RUNS = 1000,
  QUICK_RUNS = 30
};

typedef struct operator_map {
  const prem_experiment_context *context;
  prem_findings *findings;
  prem_table *table, *ranks;
  int64_t runs, elsewhere, done, all;
  double alone_ns;                                    /* of the operator in hand */
  double suffers[OPERATORS][2];                       /* sums over its row: jitter, slow-down */
  double disturbs[OPERATORS][2];                      /* over its column */
  double suffering[OPERATORS], disturbing[OPERATORS]; /* cells of them */
  double max;                                         /* largest slow-down */
  int own_max, other_max;
} operator_map;

static void begin_tables(operator_map *map) {
  prem_findings *findings = map->findings;
  prem_table *table = map->table = prem_findings_table(
      findings, "operators", "Operators as ordinary kernels on two SMs, beside others", NULL);
  prem_table_columns(table, "operator; beside; mean [us]; least [us]; longest [us]; jitter [%]; "
                            "slowdown; runs; elsewhere");
  prem_chart chart = {
      .kind = PREM_CHART_HEAT_MAP,
      .title =
          "Fig 4.15a: mean time of an operator (row) beside others (column), of the same alone",
      .table = "operators",
      .x = "beside",
      .y = "slowdown",
      .series = "operator"};
  prem_findings_chart(findings, &chart);
  chart.title = "Fig 4.15b: jitter of an operator (row) beside others (column), in % of its mean";
  chart.y = "jitter";
  prem_findings_chart(findings, &chart);
}

/* Each once: the others are over when they are, as in the original. */
static prem_status measure_corunners(operator_map *map, int own, int other, int32_t others,
                                     prem_diag *diag) {
  prem_ordinary_work works[PREM_ORDINARY_KERNELS] = {operators[own]};
  for (int32_t i = 1; i <= others; ++i)
    works[i] = operators[other];
  prem_ordinary_found found;
  const prem_status status =
      prem_ordinary_find(map->context, works, 1 + others, false, map->runs, &found, diag);
  if (status != PREM_OK)
    return status;
  char beside[64] = "alone";
  if (others)
    snprintf(beside, sizeof beside, "%" PRId32 " %s", others, prem_ordinary_name(operators[other]));
  else
    map->alone_ns = found.own.mean_ns;
  const double slowdown = found.own.mean_ns / map->alone_ns;
  prem_table_row(map->table, TEXT(prem_ordinary_name(operators[own])), TEXT(beside),
                 REAL(found.own.mean_ns / 1e3), REAL(found.own.min_ns / 1e3),
                 REAL(found.own.max_ns / 1e3), REAL(found.own.jitter_pct), REAL(slowdown),
                 INT(found.runs), INT(found.elsewhere));
  map->elsewhere += found.elsewhere;
  prem_findings_output(map->findings, found.right);
  if (others && isfinite(slowdown)) {
    ++map->suffering[own];
    ++map->disturbing[other];
    map->suffers[own][0] += found.own.jitter_pct;
    map->suffers[own][1] += slowdown;
    map->disturbs[other][0] += found.own.jitter_pct;
    map->disturbs[other][1] += slowdown;
    if (slowdown > map->max) {
      map->max = slowdown;
      map->own_max = own;
      map->other_max = other;
    }
  }
  prem_experiment_progress(map->context, ++map->done, map->all);
  return PREM_OK;
}

static prem_status measure_operator(operator_map *map, int own, prem_diag *diag) {
  prem_status status = measure_corunners(map, own, 0, 0, diag);
  const int32_t min = map->context->quick ? MAX_OTHERS : 1;
  for (int other = 0; other < OPERATORS; ++other)
    for (int32_t others = min; others <= MAX_OTHERS && status == PREM_OK; ++others)
      status = measure_corunners(map, own, other, others, diag);
  return status;
}

/* Jitter against jitter, time against time: the thesis ranks operators by both. */
static void add_ranks(operator_map *map) {
  prem_table *table = prem_table_begin(
      map->findings, "ranks", "How much operators suffer and disturb: means over their cells", NULL,
      "operator; its jitter [%]; its slowdown; jitter of others [%]; slowdown of others");
  for (int o = 0; o < OPERATORS; ++o) {
    prem_table_add_text(table, prem_ordinary_name(operators[o]));
    for (int which = 0; which < 2; ++which)
      prem_table_add_real(table, map->suffers[o][which] /= map->suffering[o]);
    for (int which = 0; which < 2; ++which)
      prem_table_add_real(table, map->disturbs[o][which] /= map->disturbing[o]);
  }
}

/* The operator of the largest (or, with a sign, least) number. */
static const char *top(double numbers[OPERATORS][2], int which) {
  int best = 0;
  for (int o = 1; o < OPERATORS; ++o)
    if (numbers[o][which] > numbers[best][which])
      best = o;
  return prem_ordinary_name(operators[best]);
}

static void tell(operator_map *map) {
  add_ranks(map);
  prem_findings_verdict(
      map->findings,
      "As ordinary kernels on two SMs operators take up to %.2f times as long beside others (%s "
      "beside %s). %s has the largest jitter in the mean, %s the largest slowdown; %s makes that "
      "of others largest in jitter, %s in time.",
      map->max, prem_ordinary_name(operators[map->own_max]),
      prem_ordinary_name(operators[map->other_max]), top(map->suffers, 0), top(map->suffers, 1),
      top(map->disturbs, 0), top(map->disturbs, 1));
  prem_findings_note(map->findings,
                     "Original: multiply_channels and sqr_norm are the most sensitive in jitter; "
                     "conjugate, add_constant, sqr_norm and multiply_constant add most of it, and "
                     "multiply, divide, multiply_channels and sqr_magnitude most time. It gives "
                     "two maps as pictures, without numbers.");
  prem_findings_note(
      map->findings,
      "Two blocks of 512 threads a kernel, every one once a run, as there; kcf_heat_map has tiles, "
      "whose neighbours are at work all the time. %" PRId64
      " runs more had a block elsewhere than on its SM of the two; they do not count.",
      map->elsewhere);
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  operator_map map = {
      .context = context, .findings = findings, .runs = context->quick ? QUICK_RUNS : RUNS};
  map.all = OPERATORS * (1 + (int64_t)OPERATORS * (context->quick ? 1 : MAX_OTHERS));
  begin_tables(&map);
  prem_experiment_progress(context, 0, map.all);
  prem_status status = PREM_OK;
  for (int own = 0; own < OPERATORS && status == PREM_OK; ++own)
    status = measure_operator(&map, own, diag);
  if (status == PREM_OK)
    tell(&map);
  return status;
}

const prem_experiment prem_kcf_ordinary_experiment = {
    .name = "kcf_ordinary",
    .title = "Operators of the KCF tracker as ordinary kernels beside each other",
    .question = "Which operators disturb which, as ordinary kernels that start together?",
    .backends = "cuda",
    .run = run};
