/* SPDX-License-Identifier: Apache-2.0 */
#include "track_log.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <ttprem/output.h>

static const char header[] = "frame,target,x,y,w,h,peak,status,published_ns";
static const char *const names[TRACK_STATUS_COUNT] = {"started", "tracked", "lost", "truth"};
enum { COLUMNS = 9, MAX_TARGET = 65535 };

const char *track_status_name(track_status status) {
  return names[status];
}

/* ---- rows ---- */

prem_status track_log_add(track_log *log, const track_row *row) {
  if (log->count == log->room) {
    const size_t room = log->room ? 2 * log->room : 256;
    track_row *rows = realloc(log->rows, room * sizeof *rows);
    if (!rows)
      return PREM_ERR_MEMORY;
    log->rows = rows;
    log->room = room;
  }
  log->rows[log->count++] = *row;
  return PREM_OK;
}

void track_log_free(track_log *log) {
  free(log->rows);
  *log = (track_log){0};
}

int32_t track_log_targets(const track_log *log) {
  int32_t targets = 0;
  for (size_t i = 0; i < log->count; ++i)
    if (log->rows[i].target >= targets)
      targets = log->rows[i].target + 1;
  return targets;
}

/* ---- writing ---- */

/* Every NaN alike, whatever its bits. */
static void write_real(FILE *file, float value) {
  if (isnan(value))
    fputs("nan,", file);
  else
    fprintf(file, "%.9g,", (double)value);
}

static void write_row(FILE *file, const track_row *row, bool times) {
  fprintf(file, "%" PRId64 ",%" PRId32 ",", row->frame, row->target);
  write_real(file, row->where.x);
  write_real(file, row->where.y);
  write_real(file, row->where.w);
  write_real(file, row->where.h);
  write_real(file, row->peak);
  fputs(names[row->status], file);
  if (times && row->published_ns != TRACK_NO_TIME)
    fprintf(file, ",%" PRId64 "\n", row->published_ns);
  else
    fputs(",-\n", file);
}

prem_status track_log_write(const track_log *log, const char *path, bool times, prem_diag *diag) {
  char reason[160];
  prem_output output;
  prem_status status = prem_output_open(&output, path, reason, sizeof reason);
  if (status == PREM_OK) {
    fprintf(output.file, "%s\n", header);
    for (size_t i = 0; i < log->count; ++i)
      write_row(output.file, &log->rows[i], times);
    status = prem_output_commit(&output, reason, sizeof reason);
  }
  if (status == PREM_ERR_IO)
    prem_diag_add(diag, PREM_ERROR, 0, (prem_place){path, 0}, "", "%s", reason);
  return status;
}

/* ---- reading ---- */

static bool read_integer(const char *text, int64_t low, int64_t high, int64_t *out) {
  char *end;
  errno = 0;
  const long long value = strtoll(text, &end, 10);
  *out = value;
  return *text && strchr("-0123456789", *text) && end != text && !*end && !errno && value >= low &&
         value <= high;
}

static bool read_real(const char *text, float *out) {
  char *end;
  *out = strtof(text, &end);
  return *text && strchr("-0123456789ni", *text) && end != text && !*end;
}

/* Zeros in the place of the commas; false unless there are as many as there must be. */
static bool split(char *line, char *cell[COLUMNS]) {
  int count = 0;
  cell[count++] = line;
  for (char *at = line; *at; ++at)
    if (*at == ',') {
      *at = 0;
      if (count == COLUMNS)
        return false;
      cell[count++] = at + 1;
    }
  return count == COLUMNS;
}

/* NULL, or the name of the column that is wrong. */
static const char *read_row(char *line, track_row *row) {
  char *cell[COLUMNS];
  int64_t target = 0;
  int status = 0;
  if (!split(line, cell))
    return "nine cells, with commas between them,";
  if (!read_integer(cell[0], 0, INT64_MAX, &row->frame))
    return "frame";
  if (!read_integer(cell[1], 0, MAX_TARGET, &target))
    return "target";
  row->target = (int32_t)target;
  float *const reals[] = {&row->where.x, &row->where.y, &row->where.w, &row->where.h, &row->peak};
  static const char *const real_names[] = {"x", "y", "w", "h", "peak"};
  for (int i = 0; i < 5; ++i)
    if (!read_real(cell[2 + i], reals[i]))
      return real_names[i];
  while (status < TRACK_STATUS_COUNT && strcmp(cell[7], names[status]) != 0)
    ++status;
  if (status == TRACK_STATUS_COUNT)
    return "status";
  row->status = (track_status)status;
  row->published_ns = TRACK_NO_TIME;
  if (strcmp(cell[8], "-") != 0 &&
      !read_integer(cell[8], INT64_MIN + 1, INT64_MAX, &row->published_ns))
    return "published_ns";
  return NULL;
}

static prem_status refuse(const char *path, int line, const char *what, prem_diag *diag) {
  prem_diag_add(diag, PREM_ERROR, 0, (prem_place){path, line}, "",
                line == 1 ? "is no track log: the first line must be %s" : "%s is missing or wrong",
                what);
  return PREM_ERR_PARSE;
}

static prem_status read_lines(FILE *file, const char *path, track_log *log, prem_diag *diag) {
  char text[512];
  prem_status status = PREM_OK;
  for (int line = 1; status == PREM_OK && fgets(text, sizeof text, file); ++line) {
    track_row row;
    const size_t length = strcspn(text, "\r\n");
    if (!text[length])
      return refuse(path, line, line == 1 ? header : "the line's end (it may be cut short)", diag);
    text[length] = 0;
    if (line == 1) {
      if (strcmp(text, header) != 0)
        return refuse(path, 1, header, diag);
      continue;
    }
    const char *wrong = read_row(text, &row);
    status = wrong ? refuse(path, line, wrong, diag) : track_log_add(log, &row);
  }
  return status;
}

prem_status track_log_read(const char *path, track_log *log, prem_diag *diag) {
  FILE *file = fopen(path, "re");
  *log = (track_log){0};
  if (!file) {
    prem_diag_add(diag, PREM_ERROR, 0, (prem_place){path, 0}, "", "%s", strerror(errno));
    return PREM_ERR_IO;
  }
  prem_status status = read_lines(file, path, log, diag);
  if (status == PREM_OK && ferror(file)) {
    prem_diag_add(diag, PREM_ERROR, 0, (prem_place){path, 0}, "", "cannot be read");
    status = PREM_ERR_IO;
  }
  if (status == PREM_OK && ftell(file) == 0)
    status = refuse(path, 1, header, diag);
  fclose(file);
  if (status != PREM_OK)
    track_log_free(log);
  return status;
}
