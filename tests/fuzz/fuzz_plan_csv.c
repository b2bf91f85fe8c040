/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a plan in CSV: refused with a reason of one line, or a plan that comes out as CSV
 * and back in the same bytes. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ttprem/kernel.h"
#include "ttprem/plan_file.h"

static const char schedule_text[] =
    "version = 1; name = \"set\"; platform: { blocks = 2; buffers = 2; };"
    "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = [ 0, 1 ]; tiles = 3; period_ns = 5000L;"
    "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 200L; };"
    "    writeback: { wcet_ns = 100L; }; },"
    "  { name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 2; period_ns = 10000L;"
    "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 300L; }; } );"
    "live: { operating_modes = ( { name = \"day\"; }, { name = \"night\"; off = [ \"b\" ];"
    "    policy: { }; } ); };";

static void judge_messages(prem_status status, const prem_diag *diag) {
  if (status == PREM_ERR_PARSE && prem_diag_errors(diag) == 0)
    abort();
  for (size_t i = 0; i < prem_diag_count(diag); ++i) {
    char line[1024];
    prem_problem_format(prem_diag_at(diag, i), line, sizeof line);
    if (strchr(line, '\n'))
      abort();
  }
}

static bool take(prem_schedule *schedule, const void *data, size_t size) {
  FILE *in = fmemopen((void *)data, size, "r");
  prem_diag *diag = prem_diag_new();
  prem_plan *plan = NULL;
  if (!in || !diag)
    abort();
  const prem_status status = prem_plan_read_csv(schedule, in, "plan", &plan, diag);
  judge_messages(status, diag);
  prem_diag_free(diag);
  fclose(in);
  prem_schedule_set_plan(schedule, plan);
  return status == PREM_OK;
}

static char *give(const prem_schedule *schedule, size_t *bytes) {
  char *made = NULL;
  FILE *out = open_memstream(&made, bytes);
  if (!out)
    abort();
  const prem_status status = prem_plan_write_csv(schedule, out, NULL);
  fclose(out);
  if (status == PREM_OK)
    return made;
  free(made);
  return NULL; /* such as times that add up to too much */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  prem_schedule *schedule = NULL;
  size_t bytes = 0, more = 0;
  if (size == 0) /* fmemopen() wants a byte */
    return 0;
  if (prem_schedule_load_text("set", schedule_text, &schedule, NULL) != PREM_OK ||
      prem_schedule_bind(schedule, prem_registry_builtin(), NULL) != PREM_OK)
    abort();
  char *first = take(schedule, data, size) ? give(schedule, &bytes) : NULL;
  if (first) {
    if (!take(schedule, first, bytes))
      abort();
    char *second = give(schedule, &more);
    if (!second || more != bytes || memcmp(first, second, bytes) != 0)
      abort();
    free(second);
  }
  free(first);
  prem_schedule_free(schedule);
  return 0;
}
