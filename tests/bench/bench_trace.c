/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converting a trace of 10 million records, as `ttprem trace` does: seconds, and the most memory
 * that the process held. bench_trace [RECORDS]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "ttprem/base.h"
#include "ttprem/trace_file.h"

enum { BLOCKS = 132, TILES = 1000, STEP_NS = 32 };

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/** A run as an H200 would record it: 132 blocks, each with prefetches beside computes. */
static void write_trace(FILE *file, int64_t records) {
  fputs("run,task,block,tile,phase,release_ns,ready_ns,start_ns,end_ns\n", file);
  for (int64_t i = 0; i < records; ++i) {
    int64_t round = i / (BLOCKS * PREM_PHASE_COUNT), block = i / PREM_PHASE_COUNT % BLOCKS;
    int phase = (int)(i % PREM_PHASE_COUNT);
    int64_t start_ns = 928 * round;
    fprintf(file,
            "%" PRId64 ",conv.%" PRId64 ",%" PRId64 ",%" PRId64 ",%s,%" PRId64 ",%" PRId64
            ",%" PRId64 ",%" PRId64 "\n",
            round / TILES, block % 4, block, round % TILES, prem_phase_name((prem_phase)phase),
            start_ns, start_ns, start_ns + STEP_NS * (block / 50), start_ns + 800);
  }
}

static int convert(FILE *in, prem_trace_format format, const char *name, int64_t records) {
  const prem_trace_options options = {.format = format, .run = -1, .late_ns = STEP_NS};
  FILE *out = fopen("/dev/null", "w");
  rewind(in);
  double began_s = now_s();
  prem_status status = prem_trace_convert(in, name, &options, out, NULL);
  double took_s = now_s() - began_s;
  fclose(out);
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf("%-8s %" PRId64 " records: %.2f s, at most %ld MB: %s\n", name, records, took_s,
         usage.ru_maxrss / 1024, prem_status_text(status));
  return status == PREM_OK ? 0 : 1;
}

int main(int argc, char **argv) {
  int64_t records = argc > 1 ? atoll(argv[1]) : 10000000;
  FILE *trace = tmpfile();
  if (!trace)
    return 1;
  write_trace(trace, records);
  int status = convert(trace, PREM_TRACE_CSV, "csv", records);
  status |= convert(trace, PREM_TRACE_PERFETTO, "perfetto", records);
  fclose(trace);
  return status;
}
