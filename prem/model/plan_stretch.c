/* SPDX-License-Identifier: Apache-2.0 */
/* One plan, another offset between its starts. */
#include "prem/model/private.h"

#include <stdlib.h>

#include "prem/base/numbers.h"

int64_t prem_plan_offset_ns(const prem_plan *plan) {
  int64_t offset_ns = 0;
  for (int32_t i = 0; i < plan->affine_count; ++i) {
    const prem_affine *run = &plan->affine[i];
    offset_ns = prem_common_divisor(offset_ns, run->start_ns - plan->warmup_ns);
    if (run->count > 1)
      offset_ns = prem_common_divisor(offset_ns, run->block_step_ns);
    if (run->repeat > 1)
      offset_ns = prem_common_divisor(offset_ns, run->step_ns);
  }
  for (int32_t i = 0; i < plan->starts_count; ++i)
    for (int64_t k = 0; k < plan->starts[i].count; ++k)
      if (plan->starts[i].start_ns[k] >= 0)
        offset_ns = prem_common_divisor(offset_ns, plan->starts[i].start_ns[k] - plan->warmup_ns);
  return offset_ns;
}

/* Counted from `origin_ns` all are multiples of `from_ns`. False: beyond what a time may be. */
static bool stretch_from(int64_t *ns, int64_t origin_ns, int64_t from_ns, int64_t to_ns) {
  const prem_wide stretched = origin_ns + (prem_wide)((*ns - origin_ns) / from_ns) * to_ns;
  if (stretched > PREM_MAX_NS || stretched < -PREM_MAX_NS)
    return false;
  *ns = (int64_t)stretched;
  return true;
}

static bool stretch(int64_t *step_ns, int64_t from_ns, int64_t to_ns) {
  return stretch_from(step_ns, 0, from_ns, to_ns);
}

static bool stretch_run(prem_affine *run, int64_t origin_ns, int64_t from_ns, int64_t to_ns) {
  return stretch_from(&run->start_ns, origin_ns, from_ns, to_ns) &&
         stretch(&run->block_step_ns, from_ns, to_ns) && stretch(&run->step_ns, from_ns, to_ns);
}

static prem_status copy_stretched(const prem_plan *plan, int64_t from_ns, int64_t to_ns,
                                  prem_plan *out) {
  prem_status status = PREM_OK;
  for (int32_t i = 0; i < plan->affine_count && status == PREM_OK; ++i) {
    prem_affine run = plan->affine[i];
    status = stretch_run(&run, plan->warmup_ns, from_ns, to_ns) ? prem_plan_add_affine(out, &run)
                                                                : PREM_ERR_ARGUMENT;
  }
  for (int32_t i = 0; i < plan->starts_count && status == PREM_OK; ++i) {
    status = prem_plan_add_starts(out, &plan->starts[i]);
    prem_starts *starts = status == PREM_OK ? &out->starts[out->starts_count - 1] : NULL;
    for (int64_t k = 0; starts && k < starts->count && status == PREM_OK; ++k)
      if (starts->start_ns[k] >= 0 &&
          !stretch_from(&starts->start_ns[k], plan->warmup_ns, from_ns, to_ns))
        status = PREM_ERR_ARGUMENT;
  }
  return status;
}

/* The plan of one-shot tasks is as long as its last phase. */
static prem_status find_length(const prem_schedule *schedule, prem_plan *plan, prem_diag *diag) {
  prem_slot *slots = NULL;
  int64_t count = 0, last_ns = plan->warmup_ns;
  const int64_t grid_ns =
      plan->clock_step_ns > 0 ? plan->clock_step_ns : schedule->platform.clock_step_ns;
  prem_status status = prem_plan_expand(schedule, plan, &slots, &count, diag);
  for (int64_t i = 0; i < count; ++i)
    if (!(slots[i].flags & PREM_SLOT_WARMUP) && slots[i].planned_ns + slots[i].length_ns > last_ns)
      last_ns = slots[i].planned_ns + slots[i].length_ns;
  free(slots);
  plan->hyperperiod_ns = prem_round_up(last_ns, grid_ns);
  return status;
}

prem_status prem_plan_stretch(const prem_schedule *schedule, const prem_plan *plan, int64_t to_ns,
                              prem_plan **out, prem_diag *diag) {
  *out = NULL;
  const int64_t from_ns = prem_plan_offset_ns(plan);
  if (from_ns <= 0 || to_ns <= 0 || schedule->period_lcm_ns > 0)
    return PREM_ERR_ARGUMENT;
  prem_plan *made = prem_plan_new();
  if (!made)
    return PREM_ERR_MEMORY;
  const prem_plan empty = *made;
  *made = *plan;
  made->affine = empty.affine;
  made->affine_count = 0;
  made->starts = empty.starts;
  made->starts_count = 0;
  made->modes = NULL;
  made->mode_count = 0;
  made->gates = false; /* the windows are elsewhere now */
  made->closed = NULL;
  made->closed_count = 0;
  prem_status status = copy_stretched(plan, from_ns, to_ns, made);
  if (status == PREM_OK)
    status = find_length(schedule, made, diag);
  if (status == PREM_OK)
    *out = made;
  else
    prem_plan_free(made);
  return status;
}
