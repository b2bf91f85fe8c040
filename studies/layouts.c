/* SPDX-License-Identifier: Apache-2.0 */
/* Which layout of what a file leaves open is fastest: see fit_parts.h. */
#include "studies/fit_parts.h"

#include <stdlib.h>

enum { PILOT_PART = 4 }; /* of the time */

/* The likeliest first. Tiles have turns and messages around them, so that few large ones may be
 * faster than one for each block. */
static const prem_layout layouts[] = {{1, 100}, {2, 100}, {1, 50}, {2, 50},
                                      {3, 100}, {2, 200}, {1, 25}, {2, 25}};
_Static_assert(sizeof layouts / sizeof layouts[0] <= PREM_FIT_LAYOUTS, "there is room for all");

/* Those that the file leaves open. */
static void list_layouts(const prem_schedule *schedule, prem_fit *result) {
  const bool has_buffers = schedule->platform.buffers_open;
  bool has_tiles = false;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    has_tiles |= schedule->tasks[t].tile_open;
  for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; ++i) {
    const bool is_other = (has_tiles || layouts[i].tile_pct == 100) &&
                          (has_buffers || layouts[i].buffers == layouts[0].buffers);
    if (is_other && (has_tiles || has_buffers))
      result->layouts[result->layout_count++].layout =
          (prem_layout){has_buffers ? layouts[i].buffers : schedule->platform.buffers,
                        has_tiles ? layouts[i].tile_pct : schedule->platform.tile_pct};
  }
}

/* The kernels of its tasks, each of which is bound. free() its `kernels`. */
static prem_registry registry_of(const prem_schedule *schedule) {
  prem_registry own = {0};
  const prem_kernel **kernels =
      (const prem_kernel **)calloc((size_t)schedule->task_count + 1, sizeof(void *));
  own.kernels = kernels;
  for (int32_t t = 0; kernels && t < schedule->task_count; ++t)
    if (schedule->tasks[t].definition &&
        !prem_registry_find(&own, schedule->tasks[t].definition->name))
      kernels[own.count++] = schedule->tasks[t].definition;
  return own;
}

/* How long all tasks take together, each as fast as it can: the shortest of a few runs, disturbed
 * ones included. What is not possible takes 0. */
static prem_status try_layout(prem_fitting *all, const prem_registry *registry,
                              prem_fit_layout *tried) {
  const bool is_long = prem_fit_scenario(all) == PREM_RESIDENT; /* one launch has them all */
  prem_profile *seen = NULL;
  prem_diag *whole = all->diag, *own = prem_diag_new();
  all->diag = own;
  prem_status status = prem_schedule_lay_out(all->schedule, registry, &tried->layout, own);
  if (status == PREM_OK && all->schedule->platform.buffers != tried->layout.buffers)
    status = PREM_ERR_INVALID; /* there is no room for so many */
  if (status == PREM_OK)
    status = prem_fit_look(all, PREM_CORUNNING, is_long ? PREM_FIT_PILOTS : 1, &seen);
  if (status == PREM_OK && !is_long)
    status = prem_fit_measure_more(all, PREM_CORUNNING, PREM_FIT_PILOTS, &seen);
  if (status == PREM_OK)
    tried->makespan_ns = seen->makespan_ns[PREM_CORUNNING].min;
  prem_profile_free(seen);
  all->diag = whole;
  prem_diag_free(own);
  return status == PREM_ERR_MEMORY || status == PREM_ERR_INTERRUPTED ? status : PREM_OK;
}

prem_status prem_fit_choose_layout(prem_fitting *all) {
  prem_fit *result = all->result;
  const double limit_s = all->options->time_limit_s / PILOT_PART;
  const prem_layout first = {all->schedule->platform.buffers, all->schedule->platform.tile_pct};
  list_layouts(all->schedule, result);
  if (result->layout_count == 0)
    return PREM_OK;
  prem_registry registry = registry_of(all->schedule);
  prem_status status = registry.kernels ? PREM_OK : PREM_ERR_MEMORY;
  int32_t tried = 0;
  all->is_mixed = true;
  for (int32_t i = 0; i < result->layout_count && status == PREM_OK && !prem_fit_is_stopped(all);
       ++i) {
    prem_fit_layout *now = &result->layouts[i];
    if (i > 0 && prem_fit_passed_s(all) > limit_s)
      break;
    prem_fit_begin(all, "trying layouts");
    status = try_layout(all, &registry, now);
    tried += now->makespan_ns > 0;
    if (now->makespan_ns > 0 &&
        (result->layout < 0 || now->makespan_ns < result->layouts[result->layout].makespan_ns))
      result->layout = i;
  }
  all->is_mixed = false;
  const prem_fit_layout *best = result->layout < 0 ? NULL : &result->layouts[result->layout];
  if (status == PREM_OK)
    status =
        prem_schedule_lay_out(all->schedule, &registry, best ? &best->layout : &first, all->diag);
  free((void *)registry.kernels);
  if (best && status == PREM_OK)
    prem_fit_tell(
        all,
        "layout: %d buffers, tiles for %d %% of the blocks: %.1f us in mode free, the least of %d",
        best->layout.buffers, best->layout.tile_pct, (double)best->makespan_ns / 1e3, tried);
  return status;
}
