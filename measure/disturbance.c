/* SPDX-License-Identifier: Apache-2.0 */
/* Watching the machine: see disturbance.h. NVML is asked only where it is there. */
#include "measure/disturbance.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/** NVML's own names, see its manual: functions that return 0 on success. */
typedef struct nvml {
  void *library, *device;
  int (*clock)(void *device, int which, unsigned *mhz);
  int (*reasons)(void *device, unsigned long long *mask);
  int (*processes)(void *device, unsigned *count, void *list);
  int (*shutdown)(void);
} nvml;

/** The rounds' mean makespans of one variant in one mode, those of cold caches apart. */
typedef struct drift {
  int64_t count_before, warm_before;
  double sum_before, min_ns, max_ns;
} drift;

struct prem_disturbance {
  bool is_cpu, is_cuda;
  const prem_variant *variants;
  int32_t variant_count;
  drift *drifts; /* [variant][mode] */
  int64_t switches, switches_before;
  int64_t stolen_ticks, stolen_before;
  bool is_searched; /* for the GPU, found or not */
  nvml gpu;
  unsigned min_mhz[3], max_mhz[3]; /* by NVML's numbers: 1 SM, 2 memory */
  unsigned long long throttled;
  unsigned others;
};

enum {
  NVML_SM_CLOCK = 1,
  NVML_MEMORY_CLOCK = 2,
  /* power cap, hardware slowdown, thermal slowdowns, power brake */
  NVML_THROTTLED = 0x4 | 0x8 | 0x20 | 0x40 | 0x80,
  NVML_TOO_SMALL = 7,
  RUNS_PER_SWITCH = 100, /* one involuntary switch in so many runs is still calm */
  DRIFT_PCT = 10,
  MIN_OF_ROUND = 10, /* samples, for a mean that says something */
  AWAY_NS = 500000,  /* no tile of a hyperperiod waits so long for its memory */
  CLOCK_PCT = 2      /* a boost clock moves by a step now and then */
};

/* ---- the host ------------------------------------------------------------------------------- */

static int64_t involuntary_switches(void) {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
}

/* Ticks that the hypervisor gave to others while we wanted to run, over all cores. */
static int64_t stolen_ticks(void) {
  FILE *file = fopen("/proc/stat", "r");
  long long ticks;
  if (!file)
    return 0;
  const int read = fscanf(file, "cpu %*d %*d %*d %*d %*d %*d %*d %lld", &ticks); /* the eighth */
  fclose(file);
  return read == 1 ? ticks : 0;
}

/* ---- the GPU -------------------------------------------------------------------------------- */

static void *symbol(void *library, const char *name) {
  return dlsym(library, name);
}

static void close_gpu(nvml *gpu) {
  if (gpu->shutdown)
    gpu->shutdown();
  if (gpu->library)
    dlclose(gpu->library);
  *gpu = (nvml){0};
}

/* By its UUID: NVML's numbers are those of the bus and know nothing of CUDA_VISIBLE_DEVICES. */
static void open_gpu(nvml *gpu, const char *uuid) {
  void *library = gpu->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return;
  int (*init)(void) = NULL;
  int (*find)(const char *, void **) = NULL;
  /* POSIX: a data pointer holds a function; through memory, as its example does. */
  *(void **)&init = symbol(library, "nvmlInit_v2");
  *(void **)&find = symbol(library, "nvmlDeviceGetHandleByUUID");
  *(void **)&gpu->clock = symbol(library, "nvmlDeviceGetClockInfo");
  *(void **)&gpu->reasons = symbol(library, "nvmlDeviceGetCurrentClocksThrottleReasons");
  *(void **)&gpu->processes = symbol(library, "nvmlDeviceGetComputeRunningProcesses_v3");
  if (!init || !find || init() != 0) {
    close_gpu(gpu);
    return;
  }
  *(void **)&gpu->shutdown = symbol(library, "nvmlShutdown");
  if (find(uuid, &gpu->device) != 0)
    close_gpu(gpu);
}

static void look_at_clock(prem_disturbance *all, int which) {
  unsigned mhz = 0;
  if (!all->gpu.clock || all->gpu.clock(all->gpu.device, which, &mhz) != 0)
    return;
  if (all->min_mhz[which] == 0 || mhz < all->min_mhz[which])
    all->min_mhz[which] = mhz;
  if (mhz > all->max_mhz[which])
    all->max_mhz[which] = mhz;
}

/* The GPU that the variants opened, which is known only when they are open. */
static void find_gpu(prem_disturbance *all) {
  for (int32_t i = 0; i < all->variant_count && !all->is_searched; ++i)
    if (all->variants[i].session) {
      all->is_searched = true;
      open_gpu(&all->gpu, prem_session_machine(all->variants[i].session)->uuid);
    }
}

void prem_disturbance_look(prem_disturbance *all) {
  if (all->is_cuda && !all->is_searched)
    find_gpu(all);
  if (!all->gpu.device)
    return;
  look_at_clock(all, NVML_SM_CLOCK);
  look_at_clock(all, NVML_MEMORY_CLOCK);
  unsigned long long mask = 0;
  if (all->gpu.reasons && all->gpu.reasons(all->gpu.device, &mask) == 0)
    all->throttled |= mask & NVML_THROTTLED;
  unsigned count = 0;
  const int said = all->gpu.processes ? all->gpu.processes(all->gpu.device, &count, NULL) : -1;
  if ((said == 0 || said == NVML_TOO_SMALL) && count > 1 && count - 1 > all->others)
    all->others = count - 1; /* one of them is this process */
}

/* ---- rounds --------------------------------------------------------------------------------- */

static void end_round_of(drift *one, const prem_variant_times *seen) {
  const int64_t count = seen->makespan.count - one->count_before;
  const int64_t warm = seen->warm.count - one->warm_before;
  const double sum_ns = seen->warm.sum_ns - one->sum_before;
  one->count_before = seen->makespan.count;
  one->warm_before = seen->warm.count;
  one->sum_before = seen->warm.sum_ns;
  if (count < MIN_OF_ROUND || warm < count / 2)
    return;
  const double mean_ns = sum_ns / (double)warm;
  if (one->min_ns == 0 || mean_ns < one->min_ns)
    one->min_ns = mean_ns;
  if (mean_ns > one->max_ns)
    one->max_ns = mean_ns;
}

void prem_disturbance_round(void *context, int64_t round, bool begins) {
  (void)round;
  prem_disturbance *all = context;
  if (begins) {
    all->switches_before = involuntary_switches();
    all->stolen_before = stolen_ticks();
    return;
  }
  all->switches += involuntary_switches() - all->switches_before;
  all->stolen_ticks += stolen_ticks() - all->stolen_before;
  for (int32_t i = 0; i < all->variant_count; ++i)
    for (int m = 0; m < PREM_MODE_COUNT; ++m)
      end_round_of(&all->drifts[i * PREM_MODE_COUNT + m], &all->variants[i].observed[m]);
}

static double worst_drift_pct(const prem_disturbance *all, prem_mode *of) {
  double worst = 1;
  for (int32_t i = 0; i < all->variant_count * PREM_MODE_COUNT; ++i) {
    const drift *one = &all->drifts[i];
    if (one->min_ns == 0 || one->max_ns / one->min_ns <= worst)
      continue; /* it had no round that says something, or drifted less */
    worst = one->max_ns / one->min_ns;
    *of = (prem_mode)(i % PREM_MODE_COUNT);
  }
  return 100 * (worst - 1);
}

/* ---- the whole ------------------------------------------------------------------------------ */

prem_disturbance *prem_disturbance_new(const char *backend, const prem_variant *variants,
                                       int32_t count) {
  prem_disturbance *all = calloc(1, sizeof *all);
  if (!all)
    return NULL;
  all->is_cpu = strcmp(backend, "cpu") == 0;
  all->is_cuda = strcmp(backend, "cuda") == 0;
  all->variants = variants;
  all->variant_count = count;
  all->drifts = calloc((size_t)count * PREM_MODE_COUNT + 1, sizeof *all->drifts);
  if (!all->drifts) {
    free(all);
    return NULL;
  }
  return all;
}

void prem_disturbance_free(prem_disturbance *all) {
  if (!all)
    return;
  close_gpu(&all->gpu);
  free(all->drifts);
  free(all);
}

static void PREM_PRINTF(3, 4) add_reason(char *text, size_t bytes, const char *format, ...) {
  size_t used = strlen(text);
  if (used > 0) {
    if (used + 2 >= bytes)
      return;
    memcpy(text + used, "; ", 3);
    used += 2;
  }
  va_list args;
  va_start(args, format);
  vsnprintf(text + used, bytes - used, format, args);
  va_end(args);
}

static void judge_host(const prem_disturbance *all, int64_t runs, char *text, size_t bytes) {
  if (all->switches > runs / RUNS_PER_SWITCH)
    add_reason(text, bytes, "other processes took a core %lld times in %lld runs",
               (long long)all->switches, (long long)runs);
  if (all->stolen_ticks > 0)
    add_reason(text, bytes, "the hypervisor took %lld ms",
               (long long)(all->stolen_ticks * 1000 / sysconf(_SC_CLK_TCK)));
}

static void judge_gpu(const prem_disturbance *all, char *text, size_t bytes) {
  static const char *const names[] = {"", "SM", "memory"};
  if (all->throttled)
    add_reason(text, bytes, "the GPU throttled its clocks (NVML reasons 0x%llx)", all->throttled);
  for (int which = NVML_SM_CLOCK; which <= NVML_MEMORY_CLOCK; ++which)
    if (all->min_mhz[which] < all->max_mhz[which] * (1 - CLOCK_PCT / 100.0))
      add_reason(text, bytes, "the %s clock moved from %u to %u MHz", names[which],
                 all->min_mhz[which], all->max_mhz[which]);
  if (all->others > 0)
    add_reason(text, bytes, "%u other processes on the GPU", all->others);
}

/* What the tiles take moves by microseconds: whoever is away for longer, something else had the
 * GPU. Only on time and free: locks are held for as long as they are. */
static void judge_away(const prem_disturbance *all, char *text, size_t bytes) {
  static const prem_mode modes[] = {PREM_MODE_TT, PREM_MODE_FREE};
  int64_t longest_ns = 0, usual_ns = 0;
  for (int32_t i = 0; i < all->variant_count; ++i)
    for (size_t m = 0; m < sizeof modes / sizeof modes[0]; ++m) {
      const prem_times *warm = &all->variants[i].observed[modes[m]].warm;
      const int64_t half_ns = warm->count > 0 ? prem_times_percentile(warm, 500) : 0;
      if (warm->count > 0 && warm->max_ns - half_ns > longest_ns - usual_ns) {
        longest_ns = warm->max_ns;
        usual_ns = half_ns;
      }
    }
  if (longest_ns - usual_ns > AWAY_NS)
    add_reason(
        text, bytes,
        "something had the GPU for %.1f ms (a hyperperiod took %.3f ms, half of them at most "
        "%.3f)",
        (double)(longest_ns - usual_ns) * 1e-6, (double)longest_ns * 1e-6, (double)usual_ns * 1e-6);
}

bool prem_disturbance_none(const prem_disturbance *all, int64_t runs, char *text, size_t bytes) {
  text[0] = '\0';
  if (all->is_cpu)
    judge_host(all, runs, text, bytes);
  if (all->is_cuda) {
    judge_gpu(all, text, bytes);
    judge_away(all, text, bytes);
  }
  prem_mode drifted = PREM_MODE_TT;
  const double drift_pct = worst_drift_pct(all, &drifted);
  if (drift_pct > DRIFT_PCT)
    add_reason(text, bytes, "the rounds' mean times differ by %.1f %%, most in mode %s", drift_pct,
               prem_mode_name(drifted));
  return text[0] == '\0';
}
