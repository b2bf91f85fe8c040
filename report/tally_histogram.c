/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms of a live session as gnuplot reads them: `plot FILE index 0` has ages, `index 1`
 * latenesses. */
#include "ttprem/tally.h"

#include <inttypes.h>

typedef const prem_tally_times *choice(const prem_tally_stream *stream);

static const prem_tally_times *age_of(const prem_tally_stream *stream) {
  return &stream->age;
}

static const prem_tally_times *lateness_of(const prem_tally_stream *stream) {
  return &stream->lateness;
}

/* Buckets in which there is nothing have no line. */
static void write_buckets(const prem_tally *tally, choice *of, int64_t width_ns, FILE *file) {
  const int32_t first = tally->schedule->live_input_count;
  for (int64_t i = 0; i < PREM_TALLY_BUCKETS; ++i) {
    int64_t all = 0;
    for (int32_t s = first; s < tally->stream_count; ++s)
      all += of(&tally->streams[s])->buckets[i];
    if (all == 0)
      continue;
    fprintf(file, "%" PRId64, i * width_ns / 1000);
    for (int32_t s = first; s < tally->stream_count; ++s)
      fprintf(file, " %" PRId64, of(&tally->streams[s])->buckets[i]);
    fputc('\n', file);
  }
}

static void write_numbers(const prem_tally *tally, choice *of, FILE *file) {
  for (int32_t s = tally->schedule->live_input_count; s < tally->stream_count; ++s) {
    const prem_tally_times *times = of(&tally->streams[s]);
    fprintf(file, "# %s: %" PRId64 " results", tally->streams[s].name, times->count);
    if (times->count > 0)
      fprintf(file, ", min %.3f avg %.3f max %.3f us", (double)times->min_ns / 1000,
              times->sum_ns / (double)times->count / 1000, (double)times->max_ns / 1000);
    fprintf(file, ", overflow above %" PRId64 " us: %" PRId64 "\n",
            PREM_TALLY_BUCKETS * times->width_ns / 1000, times->over);
  }
}

static void write_block(const prem_tally *tally, const char *name, choice *of, FILE *file) {
  const int32_t first = tally->schedule->live_input_count;
  if (first == tally->stream_count)
    return;
  const int64_t width_ns = of(&tally->streams[first])->width_ns; /* all outputs have the same */
  fprintf(file, "# %s of results; buckets of %" PRId64 " us, each from its number on\n", name,
          width_ns / 1000);
  write_numbers(tally, of, file);
  fputs("# us", file);
  for (int32_t s = tally->schedule->live_input_count; s < tally->stream_count; ++s)
    fprintf(file, " %s", tally->streams[s].name);
  fputc('\n', file);
  write_buckets(tally, of, width_ns, file);
}

void prem_tally_write_histogram(const prem_tally *tally, FILE *file) {
  fprintf(file, "# %s, backend %s, mode %s\n", tally->schedule->name, tally->backend,
          prem_mode_name(tally->mode));
  write_block(tally, "age", age_of, file);
  fputs("\n\n", file);
  write_block(tally, "lateness", lateness_of, file);
}
