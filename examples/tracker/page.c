/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <ttprem/output.h>

#include "html.h"
#include "scored.h"

static const char style[] =
    ":root{color-scheme:light dark}"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:75rem;margin:0 auto;padding:0 12px 3rem}"
    "h1{font-size:1.5rem;line-height:1.2}h2{font-size:1.15rem;margin:2rem 0 .5rem}"
    "figure{margin:1rem 0}figcaption{font-size:.9rem}"
    "img,video{width:100%;height:auto;display:block}"
    ".wide{overflow-x:auto}pre{font-size:.75rem;line-height:1.35;overflow-x:auto}"
    "pre span{display:block;white-space:normal;font:.9rem/1.5 system-ui,sans-serif}"
    "pre span.name{font-weight:bold}"
    "img.drawn{background:#fff}"
    "table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums;width:100%}"
    "td,th{padding:3px 0 3px 8px;text-align:right;border-bottom:1px solid #8885}"
    "td:first-child,th:first-child{text-align:left;padding-left:0;overflow-wrap:anywhere}"
    "tbody th{padding-top:.8rem}"
    ".curves{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,360px),1fr));"
    "gap:1rem}svg{width:100%;height:auto}"
    ".way{color:#b08d00}.truth{color:#2a8fd0}.track{color:#c98a00}.lost{color:#d55e00}";

/* ---- pictures ---- */

static void write_base64(FILE *file, const uint8_t *bytes, size_t count) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < count; i += 3) {
    const size_t left = count - i;
    const uint32_t three = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                           (left > 2 ? (uint32_t)bytes[i + 2] : 0);
    const char four[4] = {digits[three >> 18], digits[three >> 12 & 63],
                          left > 1 ? digits[three >> 6 & 63] : '=',
                          left > 2 ? digits[three & 63] : '='};
    fwrite(four, 1, 4, file);
  }
}

static prem_status write_picture(FILE *file, const page_picture *of) {
  char *png = NULL;
  size_t bytes = 0;
  FILE *memory = open_memstream(&png, &bytes);
  if (!memory)
    return PREM_ERR_MEMORY;
  const bool encoded = canvas_encode_png(of->picture, memory);
  if (fclose(memory) == 0 && encoded) {
    fprintf(file, "<figure><img width='%" PRId32 "' height='%" PRId32 "' alt='", of->picture->width,
            of->picture->height);
    html_text(file, of->caption);
    fprintf(file, "' src='data:image/png;base64,");
    write_base64(file, (const uint8_t *)png, bytes);
    fprintf(file, "'>\n<figcaption>");
    html_text(file, of->caption);
    fprintf(file, "</figcaption></figure>\n");
  }
  free(png);
  return encoded ? PREM_OK : PREM_ERR_MEMORY;
}

/* ---- what something else drew ---- */

static prem_status no_file(const char *path, const char *reason, prem_diag *diag) {
  prem_diag_add(diag, PREM_ERROR, 0, (prem_place){path, 0}, "", "%s", reason);
  return PREM_ERR_ARGUMENT;
}

/* All of it, and a 0 behind it; free it. NULL: errno says why. */
static char *read_all(const char *path, size_t *bytes) {
  FILE *file = fopen(path, "rb");
  char *all = NULL;
  size_t room = 0;
  *bytes = 0;
  if (!file)
    return NULL;
  for (size_t got = 1; got > 0; *bytes += got) {
    room = room ? 2 * room : 1 << 16;
    char *larger = realloc(all, room);
    if (!larger)
      break;
    all = larger;
    got = fread(all + *bytes, 1, room - 1 - *bytes, file);
  }
  const bool good = all && feof(file) && !ferror(file);
  fclose(file);
  if (good)
    all[*bytes] = '\0';
  else
    free(all);
  return good ? all : NULL;
}

/* A table's rows have columns, two spaces or more between them. All else are words, which are
 * broken where the page ends; what is not indented is a name. */
static void write_text(FILE *file, char *text) {
  fputs("<pre>", file);
  for (char *line = text, *next; line && *line; line = next) {
    next = strchr(line, '\n');
    if (next)
      *next++ = '\0';
    const char *words = line + strspn(line, " ");
    const bool is_row = !*words || words - line > 2 || strstr(words, "  ");
    fputs(is_row ? "" : words == line ? "<span class='name'>" : "<span>", file);
    html_text(file, is_row ? line : words);
    fputs(is_row ? "\n" : "</span>", file);
  }
  fputs("</pre>\n", file);
}

static prem_status write_file(FILE *file, const page_file *of, prem_diag *diag) {
  const char *dot = strrchr(of->path, '.');
  const bool is_text = dot && strcmp(dot, ".txt") == 0, is_svg = dot && strcmp(dot, ".svg") == 0;
  if (!is_text && !is_svg && !(dot && strcmp(dot, ".png") == 0))
    return no_file(of->path, "is none of .svg, .png, .txt, and cannot be shown", diag);
  size_t bytes;
  char *all = read_all(of->path, &bytes);
  if (!all)
    return no_file(of->path, strerror(errno), diag);
  if (of->heading) {
    fputs("<h2>", file);
    html_text(file, of->heading);
    fputs("</h2>\n", file);
  }
  if (is_text) {
    write_text(file, all);
  } else {
    fprintf(file, "<figure><img class='drawn' alt='");
    html_text(file, of->path);
    fprintf(file, "' src='data:image/%s;base64,", is_svg ? "svg+xml" : "png");
    write_base64(file, (const uint8_t *)all, bytes);
    fprintf(file, "'></figure>\n");
  }
  free(all);
  return PREM_OK;
}

/* ---- the table ---- */

static void write_numbers(FILE *file, const scored *of, const char *what, const score *numbers) {
  if (numbers->frames == 0)
    return;
  fprintf(file, "<tr><td>");
  html_text(file, of->tracker);
  fprintf(file, "%s", of->backend[0] ? ", " : "");
  html_text(file, of->backend);
  fprintf(file,
          "%s</td><td>%.3f</td><td>%.3f</td><td>%.3f</td><td>%.2f</td><td>%" PRId64 "</td></tr>\n",
          what, numbers->p20, numbers->p5, numbers->auc, numbers->centre_error, numbers->frames);
}

/* How many of the list, from the first on, have one sequence. */
static size_t same_sequence(const scored *list, size_t count) {
  size_t same = 1;
  while (same < count && strcmp(list[same].sequence, list[0].sequence) == 0)
    ++same;
  return same;
}

static void write_table(FILE *file, const scored *list, size_t count) {
  fprintf(file, "<h2>Scores</h2>\n<div class='wide'><table><thead><tr><th>tracker</th>"
                "<th>P20</th><th>P5</th><th>AUC</th><th>CLE</th><th>frames</th></tr></thead>\n");
  for (size_t i = 0; i < count;) {
    const size_t same = same_sequence(list + i, count - i);
    fprintf(file, "<tbody><tr><th colspan='6'>");
    html_text(file, list[i].sequence);
    fprintf(file, "</th></tr>\n");
    for (const scored *of = list + i; of < list + i + same; ++of) {
      write_numbers(file, of, "", &of->one_pass);
      write_numbers(file, of, ": mean of several starts", &of->robust);
      write_numbers(file, of, ": when it was published", &of->streaming);
    }
    fprintf(file, "</tbody>\n");
    i += same;
  }
  fprintf(file, "</table></div>\n<p>P20, P5: share of frames whose centre is at most 20 or 5 px "
                "off. AUC: area under the success curve, 0.952 at best. CLE: mean distance of the "
                "centres, px. A box counts in its own frame, however late it came, if not said "
                "otherwise.</p>\n");
}

/* ---- the page ---- */

static void write_curves(FILE *file, const scored *list, size_t count) {
  for (size_t i = 0; i < count;) {
    const size_t same = same_sequence(list + i, count - i);
    fprintf(file, "<h2>");
    html_text(file, list[i].sequence);
    fprintf(file, "</h2>\n<div class='curves'>\n");
    curves_write(file, CURVE_PRECISION, list + i, same);
    curves_write(file, CURVE_SUCCESS, list + i, same);
    fprintf(file, "</div>\n");
    i += same;
  }
}

static prem_status write_body(FILE *file, const page *of, prem_diag *diag) {
  prem_status status = PREM_OK;
  fprintf(file, "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>\n"
                "<meta name='viewport' content='width=device-width,initial-scale=1'>\n<title>");
  html_text(file, of->title);
  fprintf(file, "</title>\n<style>%s</style></head><body>\n<h1>", style);
  html_text(file, of->title);
  fprintf(file, "</h1>\n");
  if (of->text) {
    fprintf(file, "<p>");
    html_text(file, of->text);
    fprintf(file, "</p>\n");
  }
  if (of->count > 0)
    write_table(file, of->list, of->count);
  if (of->picture_count > 0)
    fprintf(file,
            "<h2>Pictures</h2>\n<p>Each set: the last frame with all of the way, then frames from "
            "the first to the last. Boxes: <b class='truth'>blue, dashed</b> where the target "
            "is, <b class='track'>orange</b> what the tracker said, <b class='lost'>red, "
            "dashed</b> where it had lost it; <b class='way'>yellow</b> the way, in the "
            "small ones of 60 frames.</p>\n");
  for (size_t i = 0; i < of->picture_count && status == PREM_OK; ++i)
    status = write_picture(file, &of->pictures[i]);
  for (size_t i = 0; i < of->file_count && status == PREM_OK; ++i)
    status = write_file(file, &of->files[i], diag);
  if (of->film) {
    fprintf(file, "<video controls muted loop src='");
    html_text(file, of->film);
    fprintf(file, "'></video>\n");
  }
  write_curves(file, of->list, of->count);
  fprintf(file, "</body></html>\n");
  return status;
}

prem_status page_write(const page *of, const char *path, prem_diag *diag) {
  char reason[160] = "";
  prem_output output;
  prem_status status = prem_output_open(&output, path, reason, sizeof reason);
  if (status == PREM_OK) {
    status = write_body(output.file, of, diag);
    if (status != PREM_OK)
      prem_output_abandon(&output);
    else
      status = prem_output_commit(&output, reason, sizeof reason);
  }
  if (status == PREM_ERR_IO)
    prem_diag_add(diag, PREM_ERROR, 0, (prem_place){path, 0}, "", "%s", reason);
  return status;
}
