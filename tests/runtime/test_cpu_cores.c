/* SPDX-License-Identifier: Apache-2.0 */
/* On which hardware threads blocks run: those that the process may use, of machines that are made
 * up, and none where the system does not tell. */
#include <dlfcn.h>
#include <hwloc.h>

#include "runtime/cpu/cpu.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

/* ---- what the system says -------------------------------------------------------------------- */

typedef enum refusing { NOTHING, MAKING, LOADING, TELLING } refusing;

static refusing refused;
static const char *allowed; /* a list as of hwloc */
static char pinned[32];
static int pins;

/* The ones that the library calls. */
int hwloc_topology_init(hwloc_topology_t *out) {
  int (*next)(hwloc_topology_t *);
  *(void **)&next = dlsym(RTLD_NEXT, "hwloc_topology_init");
  return refused == MAKING ? -1 : next(out);
}

int hwloc_topology_load(hwloc_topology_t topology) {
  int (*next)(hwloc_topology_t);
  *(void **)&next = dlsym(RTLD_NEXT, "hwloc_topology_load");
  return refused == LOADING ? -1 : next(topology);
}

int hwloc_get_cpubind(hwloc_topology_t topology, hwloc_cpuset_t set, int flags) {
  (void)topology;
  ck_assert_int_eq(flags, HWLOC_CPUBIND_THREAD);
  hwloc_bitmap_list_sscanf(set, allowed);
  return refused == TELLING ? -1 : 0;
}

int hwloc_set_cpubind(hwloc_topology_t topology, hwloc_const_cpuset_t set, int flags) {
  (void)topology;
  ck_assert_int_eq(flags, HWLOC_CPUBIND_THREAD);
  hwloc_bitmap_list_snprintf(pinned, sizeof pinned, set);
  ++pins;
  return 0;
}

static prem_cpu_cores cores;

static void find(const char *machine, const char *list) {
  setenv("HWLOC_SYNTHETIC", machine, 1);
  allowed = list;
  prem_cpu_cores_find(&cores);
}

static void set_up(void) {
  refused = NOTHING;
  pins = 0;
}

static void tear_down(void) {
  prem_cpu_cores_free(&cores);
}

/* ---- which ones ------------------------------------------------------------------------------ */

static const struct {
  const char *machine, *allowed;
  int32_t count;
  unsigned units[8];
} machines[] = {
    {"core:4 pu:2", "0-7", 8, {0, 2, 4, 6, 1, 3, 5, 7}},
    {"core:4 pu:2", "1-3,7", 4, {1, 2, 7, 3}},
    {"core:2 pu:4", "1-2,4-7", 6, {1, 4, 2, 5, 6, 7}},
    {"package:2 core:2 pu:1", "0-3", 4, {0, 1, 2, 3}},
    {"core:3 pu:1", "2", 1, {2}},
    {"core:3 pu:1", "", 0, {0}},
};

GROUP("cores", .set_up = set_up, .tear_down = tear_down);

TESTS(each_core_has_one_before_any_has_two, (int)(sizeof machines / sizeof *machines)) {
  find(machines[_i].machine, machines[_i].allowed);
  ck_assert_int_eq(cores.count, machines[_i].count);
  for (int32_t i = 0; i < cores.count; ++i)
    ck_assert_uint_eq(cores.units[i], machines[_i].units[i]);
}

/* More blocks than there are begin again with the first. */
TEST(blocks_go_round) {
  static const char *const places[] = {"1", "2", "7", "3", "1", "2"};
  find("core:4 pu:2", "1-3,7");
  for (int32_t block = 0; block < 6; ++block) {
    prem_cpu_cores_pin(&cores, block);
    ck_assert_str_eq(pinned, places[block]);
  }
}

TESTS_FROM(who_is_told_nothing_pins_nothing, MAKING, TELLING + 1) {
  refused = (refusing)_i;
  find("core:4 pu:2", "0-7");
  ck_assert_int_eq(cores.count, 0);
  prem_cpu_cores_pin(&cores, 1);
  ck_assert_int_eq(pins, 0);
}
