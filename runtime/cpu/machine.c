/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine is: its name, its clock, the cores that the process may use. */
#include "runtime/cpu/cpu.h"

#include <hwloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "prem/base/numbers.h"

/* ---- clock ---------------------------------------------------------------------------------- */

enum { CLOCK_READINGS = 2048, CLOCK_PATIENCE_NS = 10000000 };

/*
 * A clock that is seen standing still steps more coarsely than a reading takes: its step is the
 * smallest difference. Otherwise the step is hidden below the cost of a reading, and what all
 * differences have in common is the best that can be known of it.
 */
static void measure_clock(int64_t *step_ns, int64_t *read_ns) {
  int64_t smallest = INT64_MAX, common = 0;
  bool stood_still = false;
  const int64_t first = prem_host_clock_ns();
  int64_t before = first, readings = 0;
  do {
    const int64_t now = prem_host_clock_ns();
    const int64_t difference = now - before;
    if (difference == 0)
      stood_still = true;
    else if (difference < smallest)
      smallest = difference;
    common = prem_common_divisor(common, difference);
    before = now;
    ++readings;
  } while (readings < CLOCK_READINGS || (common == 0 && before - first < CLOCK_PATIENCE_NS));
  *read_ns = (before - first) / readings;
  if (smallest == INT64_MAX)
    *step_ns = 1;
  else
    *step_ns = stood_still ? smallest : common;
}

/* ---- name and cores ------------------------------------------------------------------------- */

/* Leaves it as it is where nobody knows. */
static void read_processor_name(char *out, size_t out_bytes) {
  FILE *file = fopen("/proc/cpuinfo", "re");
  if (!file)
    return;
  char line[256];
  while (fgets(line, sizeof line, file)) {
    const char *value = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || !value)
      continue;
    value += 1 + strspn(value + 1, " \t");
    snprintf(out, out_bytes, "%.*s", (int)strcspn(value, "\n"), value);
    break;
  }
  fclose(file);
}

static int32_t count_usable_cores(void) {
  const long configured = sysconf(_SC_NPROCESSORS_CONF);
  const size_t bits = configured > CPU_SETSIZE ? (size_t)configured : CPU_SETSIZE;
  cpu_set_t *set = CPU_ALLOC(bits);
  int count = 0;
  if (set && sched_getaffinity(0, CPU_ALLOC_SIZE(bits), set) == 0)
    count = CPU_COUNT_S(CPU_ALLOC_SIZE(bits), set);
  CPU_FREE(set);
  return count > 0 ? count : 1;
}

prem_status prem_cpu_probe(prem_machine *out, prem_diag *diag) {
  (void)diag;
  *out = (prem_machine){.backend = "cpu", .yields = true};
  out->cores = count_usable_cores();
  out->max_blocks = out->cores;
  char name[96] = "CPU";
  read_processor_name(name, sizeof name);
  snprintf(out->name, sizeof out->name, "%s, %d %s", name, (int)out->cores,
           out->cores == 1 ? "core" : "cores");
  measure_clock(&out->clock_step_ns, &out->clock_read_ns);
  return PREM_OK;
}

/* ---- pinning -------------------------------------------------------------------------------- */

/* The `rank`-th allowed hardware thread of a core, or -1. */
static int unit_of_core(hwloc_const_cpuset_t core, hwloc_const_cpuset_t allowed, int rank) {
  int unit = -1;
  do {
    unit = hwloc_bitmap_next(core, unit);
    if (unit >= 0 && hwloc_bitmap_isset(allowed, (unsigned)unit))
      --rank;
  } while (unit >= 0 && rank >= 0);
  return unit;
}

static void list_units(prem_cpu_cores *cores, hwloc_const_cpuset_t allowed) {
  const int core_count = hwloc_get_nbobjs_by_type(cores->topology, HWLOC_OBJ_CORE);
  bool found = true;
  for (int rank = 0; found; ++rank) {
    found = false;
    for (int c = 0; c < core_count; ++c) {
      const hwloc_obj_t core = hwloc_get_obj_by_type(cores->topology, HWLOC_OBJ_CORE, (unsigned)c);
      const int unit = unit_of_core(core->cpuset, allowed, rank);
      if (unit < 0)
        continue;
      cores->units[cores->count++] = (unsigned)unit;
      found = true;
    }
  }
}

void prem_cpu_cores_find(prem_cpu_cores *out) {
  *out = (prem_cpu_cores){0};
  if (hwloc_topology_init(&out->topology) != 0) {
    out->topology = NULL;
    return;
  }
  hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
  if (allowed && hwloc_topology_load(out->topology) == 0 &&
      hwloc_get_cpubind(out->topology, allowed, HWLOC_CPUBIND_THREAD) == 0 &&
      hwloc_bitmap_weight(allowed) > 0) {
    out->units = calloc((size_t)hwloc_bitmap_weight(allowed), sizeof *out->units);
    if (out->units)
      list_units(out, allowed);
  }
  hwloc_bitmap_free(allowed);
}

void prem_cpu_cores_free(prem_cpu_cores *cores) {
  if (cores->topology)
    hwloc_topology_destroy(cores->topology);
  free(cores->units);
  *cores = (prem_cpu_cores){0};
}

void prem_cpu_cores_pin(const prem_cpu_cores *cores, int32_t index) {
  if (cores->count == 0)
    return;
  hwloc_bitmap_t set = hwloc_bitmap_alloc();
  if (!set)
    return;
  hwloc_bitmap_only(set, cores->units[index % cores->count]);
  hwloc_set_cpubind(cores->topology, set, HWLOC_CPUBIND_THREAD);
  hwloc_bitmap_free(set);
}
