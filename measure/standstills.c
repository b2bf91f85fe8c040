/* SPDX-License-Identifier: Apache-2.0 */
/* Stops in a trace: see standstills.h. Time is cut into bins, so that records need no order. */
#include "measure/standstills.h"

#include <stdlib.h>

#include "prem/base/numbers.h"

enum { BIN_NS = 1000, MAX_BINS = 1 << 20, BINS_OF_STOP = 8 };

/** What happens in a bin of time. */
typedef struct bin {
  int32_t begun, ended; /* phases */
} bin;

void prem_standstills_merge(prem_standstills *to, const prem_standstills *from) {
  to->watched_ns += from->watched_ns;
  to->count += from->count;
  to->sum_ns += from->sum_ns;
  to->longest_ns = prem_max_i64(to->longest_ns, from->longest_ns);
}

double prem_standstills_share_pct(const prem_standstills *standstills) {
  return standstills->watched_ns > 0
             ? 100.0 * (double)standstills->sum_ns / (double)standstills->watched_ns
             : 0;
}

/* A phase may begin before S, by the start of its warm-up. */
static size_t bin_of(int64_t at_ns, int64_t bin_ns) {
  return at_ns > 0 ? (size_t)(at_ns / bin_ns) : 0;
}

static int64_t last_end_ns(const prem_trace *trace) {
  int64_t last_ns = 0;
  for (int64_t i = 0; i < trace->record_count; ++i)
    last_ns = prem_max_i64(last_ns, trace->records[i].end_ns);
  return last_ns;
}

static void find_standstills(const bin *bins, size_t count, int64_t bin_ns, int64_t min_ns,
                             prem_standstills *standstills) {
  int64_t under_way = 0, quiet_ns = 0;
  for (size_t i = 0; i < count; ++i) {
    if (bins[i].begun == 0 && bins[i].ended == 0) {
      quiet_ns += under_way > 0 ? bin_ns : 0;
      continue;
    }
    const prem_standstills found = {.count = 1, .longest_ns = quiet_ns, .sum_ns = quiet_ns};
    if (found.sum_ns >= min_ns)
      prem_standstills_merge(standstills, &found);
    quiet_ns = 0;
    under_way += bins[i].begun - bins[i].ended;
  }
}

prem_status prem_trace_standstills(const prem_trace *trace, int64_t min_ns,
                                   prem_standstills *standstills) {
  const int64_t last_ns = last_end_ns(trace);
  int64_t bin_ns = BIN_NS;
  while (last_ns / bin_ns > MAX_BINS)
    bin_ns *= 2;
  if (bin_ns * BINS_OF_STOP > min_ns && bin_ns > BIN_NS)
    return PREM_OK;
  const size_t count = bin_of(last_ns, bin_ns) + 1;
  bin *bins = calloc(count, sizeof *bins);
  if (!bins)
    return PREM_ERR_MEMORY;
  for (int64_t i = 0; i < trace->record_count; ++i) {
    ++bins[bin_of(trace->records[i].start_ns, bin_ns)].begun;
    ++bins[bin_of(trace->records[i].end_ns, bin_ns)].ended;
  }
  find_standstills(bins, count, bin_ns, min_ns, standstills);
  standstills->watched_ns += last_ns;
  free(bins);
  return PREM_OK;
}
