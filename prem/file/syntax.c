/* SPDX-License-Identifier: Apache-2.0 */
/* From bytes to libconfig's settings, and what to say when that fails. */
#include "prem/base/fail.h"
#include "prem/file/reader.h"

#include <stdio.h>
#include <string.h>

/* A line of the source, for an error that the scan cannot explain. */
static prem_shown source_line(const char *bytes, int line) {
  char text[PREM_NAME_BYTES] = "";
  const char *at = bytes;
  for (; at && line > 1; --line) {
    at = strchr(at, '\n');
    at += at != NULL;
  }
  if (at) {
    at += strspn(at, " \t");
    snprintf(text, sizeof text, "%.*s", (int)strcspn(at, "\n"), at);
  }
  return prem_show(text);
}

static void report_syntax(prem_reader *reader, const char *bytes, const config_t *config) {
  const char *text = config_error_text(config) ? config_error_text(config) : "syntax error";
  const char *included = config_error_file(config);
  const prem_token *surprise = reader->scan.surprised ? &reader->scan.surprise : NULL;
  const char *file =
      included ? prem_included_file(reader->schedule, reader->folder, included) : reader->file;
  prem_place place = {file, config_error_line(config)};
  prem_shown near = included ? prem_show("") : source_line(bytes, place.line);
  if (strstr(text, "element type"))
    prem_diag_add(reader->diag, PREM_ERROR, 10, place, NULL,
                  "an array of mixed types near '%s'; all its values must be of one type "
                  "(integers all with the suffix L, or all without)",
                  near.text);
  else if (strstr(text, "duplicate"))
    prem_diag_add(reader->diag, PREM_ERROR, 2, place, NULL, "duplicate key near '%s'; take one out",
                  near.text);
  else if (surprise)
    prem_diag_add(reader->diag, PREM_ERROR, 2, surprise->place, NULL, "%s near '%s'%s%s", text,
                  surprise->text, reader->scan.advice ? "; " : "",
                  reader->scan.advice ? reader->scan.advice : "");
  else
    prem_diag_add(reader->diag, PREM_ERROR, 2, place, NULL, "%s near '%s'", text, near.text);
}

prem_status prem_read_syntax(prem_reader *reader, const char *bytes, size_t count,
                             config_t *config) {
  const char *zero = memchr(bytes, '\0', count);
  if (zero) {
    prem_place place = {reader->file, 1};
    for (const char *p = bytes; *p; ++p)
      place.line += *p == '\n';
    return prem_fail(reader->diag, PREM_ERR_PARSE, 2, place, NULL,
                     "a zero byte; a schedule file is text");
  }
  prem_status status = prem_scan_source(reader->schedule, reader->file, bytes, count,
                                        reader->folder, &reader->scan, reader->diag);
  if (status != PREM_OK)
    return status;
  if (reader->scan.never_ends)
    return prem_fail(reader->diag, PREM_ERR_PARSE, 2, reader->scan.surprise.place, NULL,
                     "a comment or string that never ends: '%s'", reader->scan.surprise.text);
  if (reader->scan.task_count > PREM_MAX_TASKS && !reader->scan.surprised) {
    /* libconfig's tree of them would be many times as large as the file */
    return prem_fail(reader->diag, PREM_ERR_PARSE, 20, reader->scan.tasks, "tasks",
                     "%lld tasks, the limit is %d", (long long)reader->scan.task_count,
                     PREM_MAX_TASKS);
  }
  config_set_include_dir(config, reader->folder);
  if (config_read_string(config, bytes) == CONFIG_TRUE)
    return PREM_OK;
  report_syntax(reader, bytes, config);
  return PREM_ERR_PARSE;
}
