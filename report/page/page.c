/* SPDX-License-Identifier: Apache-2.0 */
/* The page: what was read, as JSON, and the scripts that show it. */
#include "prem/base/fail.h"
#include "ttprem/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/json_pieces.h"
#include "report/page/assets.h"
#include "report/page/data.h"
#include "report/page/samples.h"
#include "ttprem/output.h"

struct prem_report {
  json_t *documents, *refused; /* what the page is given */
  json_t *read;                /* paths, those beside the results as well */
};

void prem_report_free(prem_report *report) {
  if (!report)
    return;
  json_decref(report->documents);
  json_decref(report->refused);
  json_decref(report->read);
  free(report);
}

prem_report *prem_report_new(void) {
  prem_report *report = malloc(sizeof *report);
  if (!report)
    return NULL;
  *report = (prem_report){json_array(), json_array(), json_array()};
  if (report->documents && report->refused && report->read)
    return report;
  prem_report_free(report);
  return NULL;
}

/* ---- reading -------------------------------------------------------------------------------- */

static prem_status refuse_unread(const char *path, int error, prem_diag *diag) {
  return prem_fail(diag, PREM_ERR_IO, 0, (prem_place){.file = path}, "", "cannot be read: %s",
                   strerror(error));
}

static prem_status load(const char *path, json_t **out, prem_diag *diag) {
  bool is_stdin = strcmp(path, "-") == 0;
  FILE *file = is_stdin ? stdin : fopen(path, "rb");
  if (!file)
    return refuse_unread(path, errno, diag);
  json_error_t error;
  errno = 0;
  *out = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
  int unread = ferror(file) ? errno : 0; /* as a folder is */
  if (!is_stdin)
    fclose(file);
  if (*out)
    return PREM_OK;
  if (unread)
    return refuse_unread(path, unread, diag);
  if (!error.text[0]) /* whatever else is wrong is told */
    return PREM_ERR_MEMORY;
  bool cut = json_error_code(&error) == json_error_premature_end_of_input;
  return prem_fail(diag, PREM_ERR_PARSE, 0, (prem_place){path, error.line}, "", "%s: %s",
                   cut ? "is cut short" : "is no JSON", error.text);
}

/** The path of a file named in the document at `path`, beside which it lies; free with free(). */
static char *beside(const char *path, const char *name) {
  const char *slash = strrchr(path, '/');
  char *made = NULL;
  int folder = slash ? (int)(slash - path) + 1 : 0;
  return asprintf(&made, "%.*s%s", folder, path, name) < 0 ? NULL : made;
}

static bool note_read(prem_report *report, const char *path) {
  return json_array_append_new(report->read, json_string_nocheck(path)) == 0;
}

/** It may be compressed. */
static bool note_read_beside(prem_report *report, const char *path) {
  char *compressed = NULL;
  if (asprintf(&compressed, "%s.gz", path) < 0)
    return false;
  const bool noted = note_read(report, path) && note_read(report, compressed);
  free(compressed);
  return noted;
}

/** A path from the root says where somebody keeps his files: of those in a text the folders go. */
static json_t *without_folders(const char *from) {
  char *made = strdup(from), *to = made;
  if (!made)
    return NULL;
  for (const char *at = from; *at;) {
    const bool begins = at == from || strchr(" '\"=", at[-1]);
    const size_t length = begins && *at == '/' ? strcspn(at, " '\"") : 0;
    const char *name = at;
    for (size_t i = 0; i + 1 < length; ++i)
      if (at[i] == '/')
        name = at + i + 1;
    *to++ = *name;
    at = name + 1;
  }
  *to = '\0';
  json_t *object = text(made);
  free(made);
  return object;
}

/** Pages are sent to others. */
static bool hide_folders(json_t *root) {
  json_t *provenance = json_object_get(root, "provenance");
  const char *command = json_string_value(json_object_get(provenance, "command"));
  return !command || json_object_set_new(provenance, "command", without_folders(command)) == 0;
}

typedef json_t *read_beside(const json_t *result, const char *path, prem_diag *diag);

/** What the named file holds; null without a name, or when it cannot be used. NULL: no memory. */
static json_t *side_json(prem_report *report, const json_t *result, const char *path,
                         const char *name, read_beside *read, prem_diag *diag) {
  if (!name)
    return json_null();
  if (strchr(name, '/')) { /* whoever wrote the document chose it */
    prem_diag_add(
        diag, PREM_WARNING, 0, (prem_place){.file = path}, "",
        "names the file '%.100s'; only files beside it are read, by names without '/': what "
        "it holds is left out",
        name);
    return json_null();
  }
  char *file = beside(path, name);
  const bool noted = file && note_read_beside(report, file);
  json_t *made = noted ? read(result, file, diag) : NULL;
  free(file);
  return made || !noted ? made : json_null();
}

static json_t *document_json(prem_report *report, prem_document kind, json_t *root,
                             const char *path, prem_diag *diag) {
  bool result = kind == PREM_DOCUMENT_RESULT;
  json_t *object = json_object();
  bool whole = hide_folders(root);
  whole &= put(object, "file", without_folders(path));
  whole &= put(object, result ? "result" : "findings", json_incref(root));
  if (result) {
    const json_t *row = json_array_get(json_object_get(root, "rows"), 0);
    const json_t *phases = json_object_get(root, "phases");
    whole &= put(object, "samples",
                 side_json(report, root, path, json_string_value(json_object_get(row, "samples")),
                           prem_report_samples, diag));
    whole &= put(object, "phases",
                 side_json(report, root, path, json_string_value(json_object_get(phases, "file")),
                           prem_report_phases, diag));
  }
  return finished(object, whole);
}

static prem_status add(prem_report *report, const char *path, prem_diag *diag) {
  json_t *root = NULL;
  prem_status status = load(path, &root, diag);
  if (status != PREM_OK)
    return status;
  prem_document kind = prem_report_check(root, path, diag);
  if (kind == PREM_DOCUMENT_BROKEN)
    status = PREM_ERR_PARSE;
  else if (json_array_append_new(report->documents,
                                 document_json(report, kind, root, path, diag)) != 0)
    status = PREM_ERR_MEMORY;
  json_decref(root);
  return status;
}

/** A page that left something out in silence would be read as whole. */
static void note_refusal(prem_report *report, const char *path, const char *reason) {
  json_t *refusal = json_object();
  bool whole = put(refusal, "file", without_folders(path));
  whole &= put(refusal, "reason", text(reason));
  json_array_append_new(report->refused, finished(refusal, whole));
}

prem_status prem_report_add(prem_report *report, const char *path, prem_diag *diag) {
  size_t before = prem_diag_count(diag);
  prem_status status = note_read(report, path) ? add(report, path, diag) : PREM_ERR_MEMORY;
  if (status != PREM_OK)
    note_refusal(report, path,
                 prem_diag_count(diag) > before ? prem_diag_at(diag, before)->reason
                                                : prem_status_text(status));
  return status;
}

/* ---- writing -------------------------------------------------------------------------------- */

/** JSON within a script element: '<' could end it. Nothing but texts has one. */
static int write_escaped(const char *bytes, size_t count, void *file) {
  for (size_t i = 0; i < count; ++i) {
    if (bytes[i] == '<')
      fputs("\\u003c", file);
    else
      putc_unlocked(bytes[i], file);
  }
  return ferror((FILE *)file) ? -1 : 0;
}

/** ASCII alone: nothing in it ends a line of a script. */
static bool write_documents(FILE *file, const prem_report *report) {
  const size_t how = JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15);
  fputs("{\"documents\":", file);
  bool whole = json_dump_callback(report->documents, write_escaped, file, how) == 0;
  fputs(",\"refused\":", file);
  whole &= json_dump_callback(report->refused, write_escaped, file, how) == 0;
  fputc('}', file);
  return whole;
}

static void write_asset(FILE *file, const char *element, prem_asset asset) {
  fprintf(file, "<%s>\n", element);
  fwrite(asset.bytes, 1, asset.count, file);
  fprintf(file, "</%s>\n", element);
}

static const char *title_of(const prem_report *report) {
  const json_t *first = json_array_get(report->documents, 0);
  const json_t *result = json_object_get(first, "result");
  const json_t *named = result ? json_object_get(json_object_get(result, "schedule"), "name")
                               : json_object_get(json_object_get(first, "findings"), "title");
  return json_string_value(named);
}

static void write_text(FILE *file, const char *bytes) {
  for (; *bytes; ++bytes)
    if (*bytes == '<' || *bytes == '&')
      fprintf(file, "&#%d;", *bytes);
    else
      fputc(*bytes, file);
}

/** The policy forbids everything that would need a network. False: not all is there. */
static bool write_page(FILE *file, const prem_report *report) {
  fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
        "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
        file);
  write_text(file, title_of(report));
  fputs(" - ttprem report</title>\n", file);
  /* Of the charts that the page carries. */
  const prem_asset notice = prem_report_notice();
  fputs("<style>\n/* The charts of this page are drawn by uPlot.\n\n", file);
  fwrite(notice.bytes, 1, notice.count, file);
  fputs("\n*/\n</style>\n", file);
  for (int i = 0; i < PREM_REPORT_STYLES; ++i)
    write_asset(file, "style", prem_report_style(i));
  fprintf(file,
          "</head>\n<body data-ttprem=\"%s\">\n"
          "<noscript>This report is drawn by scripts that it carries with it; they are switched "
          "off here.</noscript>\n<script type=\"application/json\" id=\"documents\">",
          prem_version());
  const bool whole = write_documents(file, report);
  fputs("</script>\n", file);
  for (int i = 0; i < PREM_REPORT_SCRIPTS; ++i)
    write_asset(file, "script", prem_report_script(i));
  fputs("</body>\n</html>\n", file);
  return whole;
}

static prem_status keep_what_was_read(const prem_report *report, const char *path,
                                      prem_diag *diag) {
  for (size_t i = 0; i < json_array_size(report->read); ++i) {
    const char *input = json_string_value(json_array_get(report->read, i));
    if (strcmp(input, "-") == 0 || !prem_output_same(path, input))
      continue;
    return prem_fail(diag, PREM_ERR_INVALID, 0, (prem_place){.file = path}, "",
                     "is read for the page (%s), and would be written over; name another file",
                     input);
  }
  return PREM_OK;
}

prem_status prem_report_write(const prem_report *report, const char *path, prem_diag *diag) {
  if (json_array_size(report->documents) == 0)
    return PREM_ERR_ARGUMENT;
  if (keep_what_was_read(report, path, diag) != PREM_OK)
    return PREM_ERR_INVALID;
  prem_output output = {0};
  char reason[160];
  prem_status status = prem_output_open(&output, path, reason, sizeof reason);
  if (status == PREM_OK) {
    if (write_page(output.file, report) || ferror(output.file)) /* which is seen at the commit */
      status = prem_output_commit(&output, reason, sizeof reason);
    else
      status = PREM_ERR_MEMORY;
  }
  prem_output_abandon(&output);
  if (status != PREM_OK && status != PREM_ERR_MEMORY)
    return prem_fail(diag, status, 0, (prem_place){.file = path}, "", "cannot be written: %s",
                     reason);
  return status;
}
