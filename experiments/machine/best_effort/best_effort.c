/* SPDX-License-Identifier: Apache-2.0 */
/* Critical tasks beside a full load: longest response against load kept. What `ttprem fit` or
 * `ttprem plan`, and then `ttprem isolate` do, one file after the other; their `points` are this
 * one's. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "experiments/common/probe.h"
#include "experiments/common/scenario.h"
#include "ttprem/fit.h"
#include "ttprem/isolation.h"

enum { ROUNDS = 5, MAX_RECORDS = 4 << 20, FIT_S = 30, QUICK_FIT_S = 5 };

/** A file, and so many hyperperiods of each company and mode. */
typedef struct workload {
  const char *folder, *name;
  int64_t hyperperiods, quick;
  const prem_mode *modes;
  int mode_count;
} workload;

static const prem_mode all[] = {PREM_MODE_TT,          PREM_MODE_FREE,     PREM_MODE_LEGACY,
                                PREM_MODE_GATED_GRAPH, PREM_MODE_PRIORITY, PREM_MODE_PARTITION},
                       few[] = {PREM_MODE_TT, PREM_MODE_PARTITION};
enum { ALL = sizeof all / sizeof *all, FEW = 2 };
static const workload of_gpu[] = {{"figures", "best_effort_300", 20000, 400, all, ALL},
                                  {"figures", "best_effort_100", 20000, 400, few, FEW},
                                  {"figures", "best_effort_kcf", 5000, 100, all, ALL},
                                  {"figures", "best_effort_chain", 5000, 100, all, ALL},
                                  {"figures", "best_effort_product", 5000, 100, all, ALL},
                                  {"figures", "best_effort_reads", 5000, 100, all, ALL},
                                  {"figures", "best_effort_computes", 5000, 100, all, ALL}};
static const workload of_cpu[] = {{"examples", "beside_a_load", 1000, 50, all, FEW}};

static prem_status refuse(prem_diag *diag, const char *what, const char *reason) {
  prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, what, "%s", reason);
  return PREM_ERR_MACHINE;
}

static prem_status fit(const prem_experiment_context *context, prem_schedule *schedule,
                       prem_diag *diag) {
  const prem_fit_options options = {.late = 1e-5,
                                    .margin = -1,
                                    .time_limit_s = context->quick ? QUICK_FIT_S : FIT_S,
                                    .seed = context->seed,
                                    .stop = context->stop};
  prem_fit *fit = NULL;
  prem_status status = prem_schedule_bind(schedule, prem_registry_builtin(), diag);
  if (status == PREM_OK)
    status = prem_fit_schedule(schedule, context->backend, context->machine, &options, &fit, diag);
  prem_fit_free(fit);
  return status;
}

/* The figures have no times of their own: they are the machine's. */
static prem_status open_workload(const prem_experiment_context *context, const workload *of,
                                 prem_schedule **out, prem_diag *diag) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%s/%s.cfg", context->schedules, of->folder, of->name);
  if (access(path, R_OK))
    return refuse(diag, path,
                  "it is not there; --schedules=DIR names the folder with figures/ and examples/");
  const prem_scenario_request request = {.context = context, .path = path};
  if (!prem_is_gpu(context->backend))
    return prem_scenario_prepare(&request, out, diag);
  const prem_status status = prem_schedule_load(path, NULL, out, diag);
  return status == PREM_OK ? fit(context, *out, diag) : status;
}

static void add_value(prem_table *to, const prem_value *value) {
  prem_table_row(to, (prem_cell){.text = value->text,
                                 .whole = value->kind == PREM_VALUE_INT,
                                 .integer = value->integer,
                                 .real = value->real});
}

static void take_points(const workload *of, const prem_load_isolation *isolation,
                        prem_findings *findings, prem_table *to) {
  const prem_findings *of_load = isolation->findings;
  const prem_table *points = prem_find_table(of_load, "points");
  for (int64_t row = 0; points && row < prem_table_rows(points); ++row)
    for (int64_t c = 0; c < to->column_count; ++c)
      add_value(to, prem_table_value(points, row, prem_find_column(points, to->columns[c].name)));
  for (int64_t i = 0; i < of_load->note_count && strncmp(of_load->notes[i], "Left out", 8) == 0;
       ++i)
    prem_findings_note(findings, "%s: %s", of->name, of_load->notes[i]);
  if (!isolation->valid)
    prem_findings_note(findings, "%s: not valid: %s", of->name, isolation->disturbed);
  prem_findings_output(findings, isolation->output_ok);
}

static prem_status isolate(const prem_experiment_context *context, const workload *of,
                           const prem_schedule *schedule, prem_findings *findings, prem_table *to,
                           prem_diag *diag) {
  prem_isolate_options options = {
      .mode_count = of->mode_count,
      .sampling = {.scenario = schedule->measure.scenario,
                   .samples = context->quick ? of->quick : of->hyperperiods,
                   .discard = prem_is_sim(context->backend) ? 0 : schedule->measure.discard,
                   .rounds = ROUNDS,
                   .seed = context->seed,
                   .max_records = MAX_RECORDS},
      .sentinel = prem_is_gpu(context->backend),
      .stop = context->stop};
  memcpy(options.modes, of->modes, (size_t)of->mode_count * sizeof *of->modes);
  prem_load_isolation *isolation = NULL;
  prem_status status = prem_isolate_load(schedule, context->backend, &options, &isolation, diag);
  if (status == PREM_OK && isolation->nothing[0])
    status = refuse(diag, of->name, isolation->nothing);
  if (status == PREM_OK)
    take_points(of, isolation, findings, to);
  prem_load_isolation_free(isolation);
  return status;
}

static prem_status measure(const prem_experiment_context *context, const workload *of,
                           prem_findings *findings, prem_table *to, prem_diag *diag) {
  prem_schedule *schedule = NULL;
  prem_status status = open_workload(context, of, &schedule, diag);
  if (status == PREM_OK)
    status = isolate(context, of, schedule, findings, to, diag);
  prem_schedule_free(schedule);
  return status;
}

static prem_status measure_all(const prem_probe_call *call) {
  const prem_experiment_context *context = call->context;
  const workload *of = prem_is_gpu(context->backend) ? of_gpu : of_cpu;
  const int64_t count = prem_is_gpu(context->backend) ? sizeof of_gpu / sizeof *of_gpu : 1;
  prem_status status = PREM_OK;
  for (int64_t i = 0; i < count && status == PREM_OK; ++i) {
    status = measure(context, &of[i], call->findings, call->found, call->diag);
    prem_experiment_progress(context, i + 1, count);
  }
  return status;
}

const prem_probe prem_isolations_probe = {
    "workload [text]; load [text]; company [text]; mode [text]; jobs; p50_ns; p9999_ns; "
    "longest_ns; alone_p9999_ns; alone_longest_ns; load_kept; open_share",
    measure_all, NULL};
