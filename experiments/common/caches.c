/* SPDX-License-Identifier: Apache-2.0 */
/* The caches of the host's cores; a simulated machine has none. */
#include "experiments/common/caches.h"

#include <hwloc.h>
#include <string.h>

/** Those above the first core that this process may use. */
static int32_t find_above(hwloc_topology_t topology, prem_cache *caches) {
  static const char *const names[] = {"L1", "L2", "L3", "L4"};
  int32_t count = 0;
  hwloc_obj_t at = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PU, 0);
  for (; at && count < PREM_MAX_CACHES; at = at->parent)
    if (hwloc_obj_type_is_dcache(at->type) && at->attr->cache.size > 0)
      caches[count] = (prem_cache){.name = names[count],
                                   .path = PREM_WALK_L2,
                                   .bytes = (int64_t)at->attr->cache.size,
                                   .source = "hwloc"},
      ++count;
  return count;
}

static int32_t find_on_host(prem_cache *caches) {
  hwloc_topology_t topology;
  if (hwloc_topology_init(&topology) != 0)
    return 0;
  int32_t count = hwloc_topology_load(topology) == 0 ? find_above(topology, caches) : 0;
  hwloc_topology_destroy(topology);
  return count;
}

int32_t prem_caches_find(const prem_backend *backend, prem_cache *caches) {
#ifdef TTPREM_CUDA
  if (prem_is_gpu(backend))
    return prem_gpu_caches_find(caches);
#endif
  return strcmp(prem_backend_name(backend), "sim") == 0 ? 0 : find_on_host(caches);
}

int64_t prem_largest_cache_bytes(const prem_backend *backend) {
  prem_cache caches[PREM_MAX_CACHES];
  const int32_t count = prem_caches_find(backend, caches);
  return count ? caches[count - 1].bytes : 0;
}
