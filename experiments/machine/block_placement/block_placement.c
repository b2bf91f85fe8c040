/* SPDX-License-Identifier: Apache-2.0 */
/* Which SM a block lands on. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "experiments/common/experiment.h"
#include "experiments/machine/block_placement/placements.h"
#include "report/findings/tables.h"

#ifdef TTPREM_CUDA

enum { CASES = 6, LAUNCHES = 20, QUICK_LAUNCHES = 5, EXAMPLE_BLOCKS = 264 };

typedef struct placement_case {
  const char *name;
  prem_launching launching;
} placement_case;

/** What all launches of a case have in common, and where they differ. */
typedef struct placement_facts {
  int32_t fewest_sms, max_sms; /* SMs that had a block */
  int32_t max_on_one;          /* blocks on one SM at the same time */
  int64_t same, placed, asked; /* blocks: on the same SM as in the first launch; anywhere */
  int64_t as_planned;          /* on SM b % SMs */
} placement_facts;

static int32_t block_count(const prem_launching *launching) {
  return launching->kernels * launching->blocks;
}

static void fill_cases(placement_case *cases, int32_t sms, int64_t scratch_bytes) {
  const placement_case all[CASES] = {
      {"1 kernel of a block for each SM", {1, sms, 128, 0, false}},
      {"1 kernel of 2 blocks", {1, 2, 512, 0, false}},
      {"4 kernels of 2 blocks at once", {4, 2, 512, 0, false}},
      {"4 kernels of a block for each SM at once", {4, sms, 512, 0, false}},
      {"plan blocks claimed, a block for each SM", {1, sms, 512, scratch_bytes, true}},
      {"plan blocks claimed, 2 blocks for each SM",
       {1, 2 * sms, 512, scratch_bytes / 2 - 1024, true}},
  };
  for (int i = 0; i < CASES; ++i)
    cases[i] = all[i];
}

/** Blocks on the SM of number `which`, at the time at which that one begins. */
static int32_t corunners(const prem_block_place *placements, int32_t count, int32_t which) {
  int32_t blocks = 0;
  const int64_t at_ns = placements[which].begin_ns;
  for (int32_t i = 0; i < count; ++i)
    blocks += placements[i].sm == placements[which].sm && placements[i].begin_ns <= at_ns &&
              placements[i].end_ns > at_ns;
  return blocks;
}

static int32_t count_sms(const prem_block_place *placements, int32_t count, int32_t sms) {
  int32_t used = 0;
  for (int32_t sm = 0; sm < sms; ++sm) {
    int32_t i = 0;
    while (i < count && placements[i].sm != sm)
      ++i;
    used += i < count;
  }
  return used;
}

static void add_launch(placement_facts *facts, const prem_launching *launching,
                       const prem_block_place *first, const prem_block_place *now, int32_t sms,
                       bool is_first) {
  const int32_t count = block_count(launching);
  const int32_t used = count_sms(now, count, sms);
  facts->fewest_sms = is_first || used < facts->fewest_sms ? used : facts->fewest_sms;
  facts->max_sms = used > facts->max_sms ? used : facts->max_sms;
  for (int32_t i = 0; i < count; ++i) {
    if (now[i].sm < 0)
      continue;
    const int32_t together = corunners(now, count, i);
    facts->max_on_one = together > facts->max_on_one ? together : facts->max_on_one;
    ++facts->placed;
    facts->same += now[i].sm == first[i].sm;
    facts->as_planned += now[i].sm == i % launching->blocks % sms;
  }
  facts->asked += count;
}

static void add_row(prem_table *table, const placement_case *one, const placement_facts *facts) {
  prem_table_row(table, TEXT(one->name), INT(block_count(&one->launching)), INT(facts->fewest_sms),
                 INT(facts->max_sms), INT(facts->max_on_one),
                 REAL(100.0 * (double)facts->same / (double)facts->placed),
                 REAL(100.0 * (double)facts->as_planned / (double)facts->asked));
}

static void add_example(prem_table *table, const placement_case *one,
                        const prem_block_place *placements) {
  const int32_t count = block_count(&one->launching);
  for (int32_t i = 0; i < count && i < EXAMPLE_BLOCKS; ++i)
    prem_table_row(table, TEXT(one->name), INT(i / one->launching.blocks), INT(i),
                   REAL(placements[i].sm < 0 ? (double)NAN : (double)placements[i].sm));
}

static prem_status measure_case(const prem_experiment_context *context, const placement_case *one,
                                int32_t sms, prem_block_place *first, prem_block_place *now,
                                placement_facts *facts, prem_diag *diag) {
  const int32_t launches = context->quick ? QUICK_LAUNCHES : LAUNCHES;
  *facts = (placement_facts){0};
  for (int32_t launch = 0; launch < launches; ++launch) {
    prem_block_place *into = launch == 0 ? first : now;
    if (prem_experiment_stopped(context))
      return PREM_ERR_INTERRUPTED;
    prem_status status = prem_gpu_place(&one->launching, into, diag);
    if (status != PREM_OK)
      return status;
    add_launch(facts, &one->launching, first, into, sms, launch == 0);
  }
  return PREM_OK;
}

static prem_table *begin_table(prem_findings *findings) {
  prem_table *table = prem_table_begin(findings, "placement", "Where blocks land", NULL,
                                       "launch; blocks; SMs used, fewest; most; most blocks on an "
                                       "SM; same SM in every launch [%]; on SM b % SMs [%]");
  return table;
}

static prem_table *begin_example(prem_findings *findings) {
  prem_table *table = prem_table_begin(findings, "example",
                                       "The SM of each block, in the first launch of each kind",
                                       NULL, "launch; kernel; block; SM");
  prem_chart_add(findings, PREM_CHART_POINTS, "example",
                 "The SM of each block, in the first launch of each kind", "block", "SM", "launch",
                 0);
  return table;
}

static void tell(prem_findings *findings, const placement_facts *facts) {
  const placement_facts *full = &facts[3], *ordinary = &facts[0], *claimed = &facts[4];
  prem_findings_verdict(findings,
                        "Ordinary blocks were on the same SM as in the first launch in %.1f %% of "
                        "cases (%.1f %% for 4 kernels at once) and %.1f %% were on SM b %% SMs; "
                        "plan blocks that are claimed are on it in %.1f %%.",
                        100.0 * (double)ordinary->same / (double)ordinary->placed,
                        100.0 * (double)full->same / (double)full->placed,
                        100.0 * (double)ordinary->as_planned / (double)ordinary->asked,
                        100.0 * (double)claimed->as_planned / (double)claimed->asked);
  for (int i = 4; i < CASES; ++i)
    if (facts[i].placed < facts[i].asked)
      prem_findings_note(findings,
                         "%" PRId64 " of %" PRId64
                         " plan blocks were not claimed on their SM, which got too few blocks; the "
                         "executive gives these to any block that is left, and counts them.",
                         facts[i].asked - facts[i].placed, facts[i].asked);
  prem_findings_note(findings, "The rule of the claims is the executive's; nothing about placement "
                               "is promised by CUDA. The original (thesis, TX2) gives no numbers.");
}

static prem_status measure(const prem_experiment_context *context, prem_findings *findings,
                           prem_block_place *first, prem_block_place *now, int32_t sms,
                           prem_diag *diag) {
  placement_case cases[CASES];
  placement_facts facts[CASES];
  fill_cases(cases, sms, prem_gpu_scratch_bytes());
  prem_table *table = begin_table(findings), *example = begin_example(findings);
  for (int i = 0; i < CASES; ++i) {
    prem_status status = measure_case(context, &cases[i], sms, first, now, &facts[i], diag);
    if (status != PREM_OK)
      return status;
    add_row(table, &cases[i], &facts[i]);
    add_example(example, &cases[i], first);
    prem_experiment_progress(context, i + 1, CASES);
  }
  tell(findings, facts);
  return PREM_OK;
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  const int32_t sms = prem_gpu_sm_count();
  const size_t room = 4 * (size_t)sms + 8; /* the most blocks of a case */
  prem_block_place *first = calloc(room, sizeof *first), *now = calloc(room, sizeof *now);
  prem_status status = PREM_ERR_MEMORY;
  if (first && now)
    status = measure(context, findings, first, now, sms, diag);
  free(first);
  free(now);
  return status;
}

#else

/** Never called: there is no backend cuda in this build. */
static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  (void)context, (void)findings, (void)diag;
  return PREM_ERR_UNAVAILABLE;
}

#endif

const prem_experiment prem_block_placement_experiment = {
    .name = "block_placement",
    .title = "Placement of blocks on SMs",
    .question = "Which SM does a block land on, and is it the same one every time?",
    .backends = "cuda",
    .run = run,
};
