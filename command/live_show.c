/* SPDX-License-Identifier: Apache-2.0 */
/* What a live session shows while it runs, and what it writes. */
#include <inttypes.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "command/live_host.h"
#include "prem/base/numbers.h"

enum { LINE_BYTES = 512, DEFAULT_COLUMNS = 80 };

static bool is_stdout(const char *path) {
  return path && !strcmp(path, "-");
}

FILE *live_show_file(const live_host *host) {
  const live_options *options = host->options;
  const bool is_taken = is_stdout(host->measure->trace) || is_stdout(options->histogram) ||
                        is_stdout(options->timeline);
  return is_taken ? stderr : stdout;
}

/* ---- each second ---------------------------------------------------------------------------- */

static int columns(int descriptor) {
  struct winsize size;
  if (ioctl(descriptor, TIOCGWINSZ, &size) || size.ws_col < 2)
    return DEFAULT_COLUMNS - 1;
  return size.ws_col - 1;
}

/* In the place of the line before: blanks work on every terminal. */
static void rewrite(live_host *host, const char *text, int length, FILE *file) {
  const int left = host->shown_columns > length ? host->shown_columns - length : 0;
  fprintf(file, "\r%.*s%*s", length, text, left, "");
  host->shown_columns = length;
  host->has_line = true;
}

static void show_line(live_host *host, int64_t at_ns, const prem_tally_second_ages *ages) {
  FILE *file = live_show_file(host);
  char text[LINE_BYTES];
  if (command_quiet)
    return;
  if (isatty(fileno(file))) {
    const int room = prem_min_i32(columns(fileno(file)), LINE_BYTES - 1);
    int length = prem_tally_line(host->tally, ages, at_ns, false, text, sizeof text);
    if (length > room)
      length = prem_tally_line(host->tally, ages, at_ns, true, text, sizeof text);
    rewrite(host, text, prem_min_i32(length, room), file);
  } else {
    prem_tally_line(host->tally, ages, at_ns, false, text, sizeof text);
    fprintf(file, "%s\n", text);
  }
  fflush(file);
  host->has_lost_reader |= ferror(file) != 0;
}

/* Who scrapes it never sees half of it. */
static bool write_metrics(live_host *host) {
  command_output output;
  if (!command_output_open(&output, host->options->metrics))
    return false;
  prem_tally_write_metrics(host->tally, output.file);
  return command_output_commit(&output);
}

static void renew_metrics(live_host *host) {
  if (host->options->metrics && !host->has_lost_metrics)
    host->has_lost_metrics = !write_metrics(host);
}

void live_show_second(live_host *host, int64_t at_ns) {
  prem_tally_second_ages ages;
  prem_tally_look(host->tally, host->live);
  prem_tally_second(host->tally, &ages);
  show_line(host, at_ns, &ages);
  renew_metrics(host);
}

/* ---- in the end ----------------------------------------------------------------------------- */

static int write_histogram(const live_host *host) {
  command_output output;
  if (!host->options->histogram)
    return COMMAND_DONE;
  if (!command_output_open(&output, host->options->histogram))
    return COMMAND_INVALID;
  prem_tally_write_histogram(host->tally, output.file);
  return command_output_commit(&output) ? COMMAND_DONE : COMMAND_INVALID;
}

static int write_trace(const live_host *host) {
  command_output output;
  if (!host->measure->trace)
    return COMMAND_DONE;
  if (!command_output_open(&output, host->measure->trace))
    return COMMAND_INVALID;
  prem_trace_write_csv(host->trace, host->schedule, 0, true, output.file);
  return command_output_commit(&output) ? COMMAND_DONE : COMMAND_INVALID;
}

/* Where the phases that there was room for end. */
static int64_t last_end_ns(const prem_trace *trace) {
  int64_t last_ns = 0;
  for (int64_t i = 0; i < trace->record_count; ++i)
    last_ns = prem_max_i64(last_ns, trace->records[i].end_ns);
  return last_ns;
}

/* Phases as `ttprem trace` draws them, from the session's opening on, and the host beside them. */
static prem_status draw_timeline(const live_host *host, FILE *phases, FILE *out, prem_diag *diag) {
  const int64_t zero_ns = host->tally->state.zero_ns;
  const prem_trace_options options = {.format = PREM_TRACE_PERFETTO,
                                      .run = -1,
                                      .late_ns = host->schedule->platform.late_ns,
                                      .shift_ns = prem_max_i64(zero_ns - host->opened_ns, 0)};
  const int64_t until_ns = host->trace->lost > 0 ? zero_ns + last_end_ns(host->trace) : PREM_MAX_NS;
  prem_status status = prem_trace_write_csv(host->trace, host->schedule, 0, true, phases);
  rewind(phases);
  if (status == PREM_OK)
    status = prem_trace_convert(phases, "the session's trace", &options, out, diag);
  if (status == PREM_OK)
    prem_trace_add_host(host->schedule, host->events, host->event_count, zero_ns - options.shift_ns,
                        until_ns, out);
  return status;
}

static int write_timeline(const live_host *host) {
  const char *path = host->options->timeline;
  command_output output;
  if (!path)
    return COMMAND_DONE;
  FILE *phases = tmpfile();
  if (!phases)
    return command_fail(COMMAND_INVALID,
                        "cannot write %s: no temporary file for the phases (TMPDIR, or /tmp)",
                        path);
  int status = COMMAND_INVALID;
  if (command_output_open(&output, path)) {
    prem_diag *diag = prem_diag_new();
    status = sampling_failed(draw_timeline(host, phases, output.file, diag), diag, path);
    if (status == COMMAND_DONE && !command_output_commit(&output))
      status = COMMAND_INVALID;
    command_output_abandon(&output);
  }
  fclose(phases);
  return status;
}

int live_show_all(live_host *host) {
  FILE *file = live_show_file(host);
  if (host->has_line)
    fputc('\n', file);
  if (file == stdout || !command_quiet)
    prem_tally_print(host->tally, file);
  fflush(file);
  renew_metrics(host);
  int status = host->has_lost_metrics ? COMMAND_INVALID : COMMAND_DONE;
  status = command_join_status(status, write_histogram(host));
  if (host->trace)
    prem_trace_sort(host->trace);
  status = command_join_status(status, write_trace(host));
  status = command_join_status(status, write_timeline(host));
  if (host->trace && host->trace->lost > 0)
    command_note("the trace has the first %" PRId64 " phases; %" PRId64
                 " more found no room and are in the counts alone",
                 host->trace->record_count, host->trace->lost);
  return status;
}
