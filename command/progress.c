/* SPDX-License-Identifier: Apache-2.0 */
#include "command/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "command/command.h"
#include "prem/base/clock.h"

/* Often enough to look alive; an estimate from less than a second would jump. */
static const double every_s = 0.1, estimate_after_s = 1;
enum { LINE_BYTES = 512, DEFAULT_COLUMNS = 80 };

void progress_begin(progress *line) {
  *line =
      (progress){.wanted = !command_quiet && isatty(STDERR_FILENO), .began_s = prem_host_clock_s()};
}

double progress_seconds(const progress *line) {
  return prem_host_clock_s() - line->began_s;
}

/* A longer line would wrap, and could not be taken back. */
static int columns(void) {
  struct winsize size;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || size.ws_col == 0)
    return DEFAULT_COLUMNS - 1;
  return size.ws_col < LINE_BYTES ? size.ws_col - 1 : LINE_BYTES - 1;
}

static void format_left(char *text, size_t bytes, double seconds) {
  if (seconds < 90)
    snprintf(text, bytes, ", about %.0f s left", seconds);
  else if (seconds < 90 * 60)
    snprintf(text, bytes, ", about %.0f min left", seconds / 60);
  else
    snprintf(text, bytes, ", about %.0f h left", seconds / 3600);
}

/* Blanks instead of escape sequences: they work on every terminal. */
static void put(progress *line, const char *text, int length) {
  fprintf(stderr, "\r%.*s%*s", length, text,
          line->shown_columns > length ? line->shown_columns - length : 0, "");
  fflush(stderr);
  line->shown_columns = length;
}

void progress_show(progress *line, double part, const char *format, ...) {
  double now = prem_host_clock_s(), spent_s = now - line->began_s;
  if (!line->wanted || now - line->shown_s < every_s)
    return;
  line->shown_s = now;
  char text[LINE_BYTES], done[64] = "", left[64] = "";
  if (part >= 0)
    snprintf(done, sizeof done, ", %d %%", (int)(100 * (part < 1 ? part : 1)));
  if (part > 0 && part < 1 && spent_s >= estimate_after_s)
    format_left(left, sizeof left, spent_s * (1 - part) / part);
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text - sizeof done - sizeof left, format, values);
  va_end(values);
  strcat(strcat(text, done), left);
  int length = (int)strlen(text), room = columns();
  put(line, text, length < room ? length : room);
}

void progress_end(progress *line) {
  if (!line->shown_columns)
    return;
  put(line, "", 0);
  fputc('\r', stderr);
  fflush(stderr);
}
