/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long does it take to say why 10 million phases were late, all for the same cause? Seconds,
 * and the most memory that the process held, with and without. bench_causes [RECORDS]
 */
#include <inttypes.h>
#include <sys/resource.h>
#include <time.h>

#include "tests/common/chain_trace.h"

enum { BLOCKS = 132, TILES = 64 };

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static long max_mb(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

static int64_t slow_handover(int64_t hyperperiod, int32_t task) {
  return hyperperiod == 0 && task == 1 ? INT64_C(1000000000) : 0;
}

/* What is late is late for good: there is no idle time. */
int main(int argc, char **argv) {
  const int64_t wanted = argc > 1 ? atoll(argv[1]) : 10000000;
  const int64_t each = (int64_t)CHAIN_TASKS * PREM_PHASE_COUNT * BLOCKS * TILES;
  const chain_run run = {.blocks = BLOCKS,
                         .tiles = TILES,
                         .hyperperiods = (wanted + each - 1) / each,
                         .asks_twice = true,
                         .delay_ns = slow_handover};
  prem_schedule *schedule = chain_schedule(&run);
  prem_trace *trace = chain_trace(&run, schedule);
  prem_late_causes causes[CHAIN_TASKS * PREM_PHASE_COUNT] = {{{0}, 0, 0}};
  prem_first_causes first = {0};
  const long before_mb = max_mb();
  const double began_s = now_s();
  const prem_status status = prem_find_causes(schedule, trace, 0, 32, 0, causes, &first);
  const double took_s = now_s() - began_s;
  printf("%" PRId64 " records, %" PRId64
         " late: %.2f s, at most %ld MB, %ld MB before: %s, %" PRId64 " first causes\n",
         trace->record_count, first.count > 0 ? first.causes[0].late : 0, took_s, max_mb(),
         before_mb, prem_status_text(status), first.count);
  prem_first_causes_free(&first);
  prem_trace_free(trace);
  prem_schedule_free(schedule);
  return status == PREM_OK ? 0 : 1;
}
