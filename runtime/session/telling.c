/* SPDX-License-Identifier: Apache-2.0 */
/* How soon a successor begins: tasks that compute nothing on the same blocks, one after the other.
 */
#include "runtime/session/telling.h"

#include "prem/base/list.h"
#include "prem/base/sorting.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Each hyperperiod begins with all blocks idle, unless telling takes longer than it. Windows are
 * over at once, so that in mode tt as well nothing but the predecessors holds the successor up. */
enum { HYPERPERIOD_NS = 65536, WINDOW_NS = 64, DISCARD = 64, COUNTED = 512, TEXT_BYTES = 8192 };

typedef struct telling {
  const prem_precedence_setup *setup;
  prem_schedule *schedule;
  prem_session *session;
  prem_trace *trace;
  int64_t *end_ns, *first_ns, *last_ns; /* [hyperperiod] */
} telling;

/* ---- the schedule --------------------------------------------------------------------------- */

static void write_task(FILE *file, const prem_precedence_setup *setup, int32_t number) {
  const bool successor = number == setup->predecessors;
  fprintf(file,
          "%s{ name = \"t%" PRId32 "\"; kernel = \"noop\"; blocks = \"0-%" PRId32
          "\"; tiles = %" PRId32 "; compute: { wcet_ns = %dL; };",
          number ? ",\n  " : "", number, setup->blocks - 1, setup->blocks, WINDOW_NS);
  for (int32_t p = 0; successor && p < setup->predecessors; ++p)
    fprintf(file, "%s{ task = \"t%" PRId32 "\"; }", p ? ", " : " after = ( ", p);
  fputs(successor ? " ); }" : " }", file);
}

static void write_schedule(FILE *file, const prem_precedence_setup *setup) {
  fprintf(file,
          "version = 1;  name = \"precedence\";  platform: { blocks = %" PRId32 "; };\ntasks = ( ",
          setup->blocks);
  for (int32_t t = 0; t <= setup->predecessors; ++t)
    write_task(file, setup, t);
  fprintf(file, " );\nplan: { hyperperiod_ns = %dL;  runs = ( ", HYPERPERIOD_NS);
  for (int32_t t = 0; t <= setup->predecessors; ++t)
    fprintf(file,
            "%s{ task = \"t%" PRId32 "\"; phase = \"compute\"; start_ns = %" PRId64
            "L; count = %" PRId32 "; }",
            t ? ",\n  " : "", t, (int64_t)t * WINDOW_NS, setup->blocks);
  fputs(" ); };\n", file);
}

static prem_status make_schedule(telling *t, prem_diag *diag) {
  char text[TEXT_BYTES];
  FILE *file = fmemopen(text, sizeof text, "w");
  if (!file)
    return PREM_ERR_MEMORY;
  write_schedule(file, t->setup);
  if (fclose(file))
    return PREM_ERR_MEMORY;
  prem_status status = prem_schedule_load_text("precedence", text, &t->schedule, diag);
  return status ? status : prem_schedule_bind(t->schedule, prem_registry_builtin(), diag);
}

/* ---- the times ------------------------------------------------------------------------------ */

static void read_ends(telling *t) {
  for (int64_t i = 0; i < t->trace->record_count; ++i) {
    const prem_trace_record *record = &t->trace->records[i];
    if (record->task < t->setup->predecessors && record->end_ns > t->end_ns[record->hyperperiod])
      t->end_ns[record->hyperperiod] = record->end_ns;
  }
}

/* The clocks of two blocks differ by a little: a start before the end is one at it. */
static void read_starts(telling *t) {
  for (int64_t i = 0; i < t->trace->record_count; ++i) {
    const prem_trace_record *record = &t->trace->records[i];
    const int32_t h = record->hyperperiod;
    if (record->task < t->setup->predecessors)
      continue;
    const int64_t late_ns = record->start_ns > t->end_ns[h] ? record->start_ns - t->end_ns[h] : 0;
    t->first_ns[h] = late_ns < t->first_ns[h] ? late_ns : t->first_ns[h];
    t->last_ns[h] = late_ns > t->last_ns[h] ? late_ns : t->last_ns[h];
  }
}

static prem_latencies summarize(int64_t *times_ns, int64_t count) {
  qsort(times_ns, (size_t)count, sizeof *times_ns, prem_by_i64);
  return (prem_latencies){.p50_ns = times_ns[(count - 1) / 2],
                          .p99_ns = times_ns[(count * 99 + 99) / 100 - 1],
                          .max_ns = times_ns[count - 1]};
}

static prem_status read_times(telling *t, prem_precedence_times *out) {
  const int64_t all = t->trace->hyperperiods, count = all - DISCARD;
  *out = (prem_precedence_times){0};
  if (count < 1)
    return PREM_OK;
  t->end_ns = calloc((size_t)all, sizeof *t->end_ns);
  t->first_ns = malloc((size_t)all * sizeof *t->first_ns);
  t->last_ns = calloc((size_t)all, sizeof *t->last_ns);
  if (!t->end_ns || !t->first_ns || !t->last_ns)
    return PREM_ERR_MEMORY;
  for (int64_t h = 0; h < all; ++h)
    t->first_ns[h] = INT64_MAX;
  read_ends(t);
  read_starts(t);
  *out = (prem_precedence_times){.count = count,
                                 .first = summarize(t->first_ns + DISCARD, count),
                                 .last = summarize(t->last_ns + DISCARD, count)};
  return PREM_OK;
}

/* ---- measuring ------------------------------------------------------------------------------ */

static prem_status measure(telling *t, const prem_backend *backend, prem_precedence_times *out,
                           prem_diag *diag) {
  const prem_run_request request = {.mode = t->setup->mode,
                                    .hyperperiods = DISCARD + t->setup->hyperperiods,
                                    .stop = t->setup->stop};
  const int64_t records =
      request.hyperperiods * t->setup->blocks * ((int64_t)t->setup->predecessors + 1);
  prem_status status = make_schedule(t, diag);
  if (status == PREM_OK)
    status = prem_session_open(backend, t->schedule, &t->session, diag);
  if (status == PREM_OK)
    status = prem_trace_new(t->schedule, request.hyperperiods, records, &t->trace);
  if (status == PREM_OK)
    status = prem_session_run(t->session, &request, t->trace, diag);
  return status == PREM_OK ? read_times(t, out) : status;
}

prem_status prem_measure_precedence(const prem_backend *backend, const prem_precedence_setup *setup,
                                    prem_precedence_times *out, prem_diag *diag) {
  telling t = {.setup = setup};
  if (setup->blocks < 1 || setup->predecessors < 1 || setup->predecessors > PREM_MAX_PREDECESSORS ||
      setup->hyperperiods < 1)
    return PREM_ERR_ARGUMENT;
  const prem_status status = measure(&t, backend, out, diag);
  prem_trace_free(t.trace);
  prem_session_close(t.session);
  prem_schedule_free(t.schedule);
  PREM_FREE(t.end_ns, t.first_ns, t.last_ns);
  return status;
}

prem_status prem_measure_machine_precedence(const prem_backend *backend,
                                            const prem_machine *machine, int64_t *precedence_ns,
                                            prem_diag *diag) {
  const int32_t blocks =
      machine->cores < machine->max_blocks ? machine->cores : machine->max_blocks;
  const prem_precedence_setup setup = {.mode = PREM_MODE_FREE,
                                       .blocks =
                                           blocks < PREM_MAX_BLOCKS ? blocks : PREM_MAX_BLOCKS,
                                       .predecessors = 1,
                                       .hyperperiods = COUNTED};
  prem_precedence_times times;
  const prem_status status = prem_measure_precedence(backend, &setup, &times, diag);
  if (status == PREM_OK)
    *precedence_ns = machine->yields ? times.last.p50_ns : times.last.p99_ns;
  return status;
}
