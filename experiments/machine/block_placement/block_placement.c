/* SPDX-License-Identifier: Apache-2.0 */
/* Which SM a block lands on. */
#include <math.h>
#include <stdlib.h>

#include "experiments/common/probe.h"
#include "experiments/machine/block_placement/placements.h"

#ifdef TTPREM_CUDA

enum { LAUNCHES = 20, QUICK_LAUNCHES = 5, EXAMPLE_BLOCKS = 264 };

/** What all launches of a case have in common, and where they differ. */
typedef struct placement_facts {
  int32_t fewest_sms, max_sms; /* SMs that had a block */
  int32_t max_on_one;          /* blocks on one SM at the same time */
  int64_t same, placed, asked; /* blocks: on the same SM as in the first launch; anywhere */
  int64_t as_planned;          /* on SM b % SMs */
} placement_facts;

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
  const int32_t count = launching->kernels * launching->blocks;
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

/** `first` and `now` have room for all blocks. */
static prem_status launch_all(const prem_probe_call *call, const prem_launching *launching,
                              int32_t sms, prem_block_place *first, prem_block_place *now,
                              placement_facts *facts) {
  const int32_t launches = call->context->quick ? QUICK_LAUNCHES : LAUNCHES;
  for (int32_t launch = 0; launch < launches; ++launch) {
    prem_block_place *into = launch == 0 ? first : now;
    if (prem_experiment_stopped(call->context))
      return PREM_ERR_INTERRUPTED;
    const prem_status status = prem_gpu_place(launching, into, call->diag);
    if (status != PREM_OK)
      return status;
    add_launch(facts, launching, first, into, sms, launch == 0);
  }
  return PREM_OK;
}

static void give(const prem_probe_call *call, const prem_launching *launching,
                 const placement_facts *facts, const prem_block_place *first) {
  const int32_t count = launching->kernels * launching->blocks;
  char name[96];
  prem_probe_text(call, "launch", name, sizeof name);
  prem_table_row(call->found, INT(count), INT(facts->fewest_sms), INT(facts->max_sms),
                 INT(facts->max_on_one), INT(facts->same), INT(facts->placed), INT(facts->asked),
                 INT(facts->as_planned));
  for (int32_t i = 0; i < count && i < EXAMPLE_BLOCKS; ++i)
    prem_table_row(prem_probe_table(call, "example"), TEXT(name), INT(i / launching->blocks),
                   INT(i), REAL(first[i].sm < 0 ? (double)NAN : (double)first[i].sm));
}

static prem_status measure(const prem_probe_call *call) {
  const int32_t sms = prem_gpu_sm_count(), a_sm = (int32_t)prem_probe_whole(call, "a_sm", 0, 2);
  prem_launching launching = {.kernels = (int32_t)prem_probe_whole(call, "kernels", 1, 4),
                              .blocks = a_sm > 0 ? a_sm * sms : 2,
                              .threads = (int32_t)prem_probe_whole(call, "threads", 32, 1024),
                              .claimed = prem_probe_whole(call, "claimed", 0, 1) == 1};
  if (launching.claimed)
    launching.scratch_bytes =
        a_sm > 1 ? prem_gpu_scratch_bytes() / a_sm - 1024 : prem_gpu_scratch_bytes();
  const size_t count = (size_t)launching.kernels * (size_t)launching.blocks;
  prem_block_place *places = calloc(2 * count, sizeof *places);
  placement_facts facts = {0};
  if (!places)
    return PREM_ERR_MEMORY;
  const prem_status status = launch_all(call, &launching, sms, places, places + count, &facts);
  if (status == PREM_OK)
    give(call, &launching, &facts, places);
  free(places);
  return status;
}

#else

/** Never called: there is no backend cuda in this build. */
static prem_status measure(const prem_probe_call *call) {
  (void)call;
  return PREM_ERR_UNAVAILABLE;
}

#endif

const prem_probe prem_placement_probe = {
    "blocks; fewest; most; on_one; same; placed; asked; as_planned", measure, "example"};
