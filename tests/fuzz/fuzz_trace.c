/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a trace, converted to both forms: refused with a reason of one line, or whole. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ttprem/trace_file.h"

static void judge_messages(prem_status status, const prem_diag *diag) {
  if ((status == PREM_ERR_PARSE) != (prem_diag_errors(diag) > 0))
    abort();
  for (size_t i = 0; i < prem_diag_count(diag); ++i) {
    char line[1024];
    prem_problem_format(prem_diag_at(diag, i), line, sizeof line);
    if (strchr(line, '\n'))
      abort();
  }
}

static prem_status convert(const uint8_t *data, size_t size, prem_trace_format format) {
  const prem_trace_options options = {.format = format, .run = -1};
  char *made = NULL;
  size_t made_bytes = 0;
  FILE *in = fmemopen((void *)data, size, "r");
  FILE *out = open_memstream(&made, &made_bytes);
  prem_diag *diag = prem_diag_new();
  if (!in || !out || !diag)
    abort();
  prem_status status = prem_trace_convert(in, "trace", &options, out, diag);
  judge_messages(status, diag);
  prem_diag_free(diag);
  fclose(in);
  fclose(out);
  free(made);
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) /* fmemopen() wants a byte */
    return 0;
  /* What Perfetto's form takes is a trace; only its order may be wrong as CSV. */
  if (convert(data, size, PREM_TRACE_PERFETTO) == PREM_OK &&
      convert(data, size, PREM_TRACE_CSV) != PREM_OK)
    abort();
  return 0;
}
