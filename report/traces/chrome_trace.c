/* SPDX-License-Identifier: Apache-2.0 */
/* Chrome's JSON trace format, as its "Trace Event Format" describes it: complete events (X),
 * instants (i) of a thread, and metadata (M) that names process and threads. */
#include "report/traces/chrome_trace.h"

#include <inttypes.h>

enum { PROCESS = 1 };

static void write_string(FILE *file, const char *text) {
  putc_unlocked('"', file);
  for (; *text; ++text) {
    if ((unsigned char)*text < 0x20) {
      fprintf(file, "\\u%04x", (unsigned)*text);
      continue;
    }
    if (*text == '"' || *text == '\\')
      putc_unlocked('\\', file);
    putc_unlocked(*text, file);
  }
  putc_unlocked('"', file);
}

static void write_time(FILE *file, const char *key, int64_t ns) {
  fprintf(file, ",\"%s\":%" PRId64 ".%03" PRId64, key, ns / 1000, ns % 1000);
}

/** Up to its name and track; every event but the first stands behind a comma. */
static void begin_event(FILE *file, char type, uint64_t track, const char *name) {
  fprintf(file, ",\n{\"ph\":\"%c\",\"pid\":%d,\"tid\":%" PRIu64 ",\"name\":", type, PROCESS, track);
  write_string(file, name);
}

static void end_event(FILE *file, const prem_chrome_note *notes, int note_count) {
  fputs(",\"args\":{", file);
  for (int i = 0; i < note_count; ++i)
    fprintf(file, "%s\"%s\":%" PRId64, i ? "," : "", notes[i].name, notes[i].value);
  fputs("}}", file);
}

void prem_chrome_begin(FILE *file, const char *process) {
  fprintf(file,
          "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
          "{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_name\",\"args\":{\"name\":",
          PROCESS);
  write_string(file, process);
  fputs("}}", file);
}

void prem_chrome_track(FILE *file, uint64_t track, int32_t rank, const char *name) {
  begin_event(file, 'M', track, "thread_name");
  fputs(",\"args\":{\"name\":", file);
  write_string(file, name);
  fputs("}}", file);
  begin_event(file, 'M', track, "thread_sort_index");
  end_event(file, &(prem_chrome_note){"sort_index", rank}, 1);
}

void prem_chrome_slice(FILE *file, uint64_t track, const char *name, int64_t begin_ns,
                       int64_t end_ns, const prem_chrome_note *notes, int note_count) {
  begin_event(file, 'X', track, name);
  write_time(file, "ts", begin_ns);
  write_time(file, "dur", end_ns - begin_ns);
  end_event(file, notes, note_count);
}

void prem_chrome_instant(FILE *file, uint64_t track, const char *name, int64_t at_ns,
                         const prem_chrome_note *notes, int note_count) {
  begin_event(file, 'i', track, name);
  fputs(",\"s\":\"t\"", file);
  write_time(file, "ts", at_ns);
  end_event(file, notes, note_count);
}

void prem_chrome_end(FILE *file) {
  fputs("\n]}\n", file);
}
