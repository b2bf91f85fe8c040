/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intruders: a schedule in modes tt and free while somebody else works beside it.
 *
 * Every round has a turn of each intruder, none included; in a turn the modes alternate launch by
 * launch. A launch runs many hyperperiods, so that a scheduler that gives the processor to others
 * for milliseconds has the time to do so.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "experiments/common/expression.h"
#include "experiments/common/scenario.h"
#include "experiments/common/shipped.h"
#include "experiments/thesis/intruders/visits.h"
#include "prem/base/numbers.h"

enum {
  KERNELS = 4,     /* of the thesis */
  COLD_NS = 10000, /* more of the first tiles, */
  ROUNDS = 3,
  SAMPLES = 400, /* hyperperiods of a mode in a turn; in ten launches */
  QUICK_SAMPLES = 50,
  LAUNCHES = 10,
  DISCARD = 2,       /* hyperperiods of a launch */
  MIN_SPARE_SMS = 2, /* the watcher's and one that moves data */
  MIN_SMS = 130      /* of a GPU that the figure leaves so many of */
};

typedef struct intruder_study {
  const prem_experiment_context *context;
  prem_findings *findings;
  prem_diag *diag;
  const prem_probe_call *call;
  prem_schedule *schedule;
  prem_session *session;
  prem_intruder *intruder;
  prem_visits visits;
  prem_visit *now;
  int64_t rounds, samples, turns;
} intruder_study;

/* ---- the schedule --------------------------------------------------------------------------- */

static bool is_gpu(const intruder_study *study) {
  return prem_is_gpu(study->context->backend);
}

static void figure_path(const prem_experiment_context *context, char *out, size_t out_bytes) {
  snprintf(out, out_bytes, "%s/figures/h200_conv2d_x4_spare.cfg", context->schedules);
}

/* A value of convolutions.cfg.in. */
typedef struct named_value {
  const char *name;
  double number;
  const char *text; /* NULL: a number */
} named_value;

static bool find_value(const void *from, const char *name, prem_sweep_value *out, char *reason) {
  const named_value *at = from;
  while (at->name && strcmp(at->name, name) != 0)
    ++at;
  *out = (prem_sweep_value){.is_text = at->text != NULL, .number = at->number};
  snprintf(out->text, sizeof out->text, "%s", at->text ? at->text : "");
  snprintf(reason, PREM_REASON_BYTES, "there is no '%s'", name);
  return at->name != NULL;
}

/** The thesis's convolutions, as convolutions.exp has them for its other experiments. */
typedef struct convolutions {
  int32_t kernels, blocks, rows; /* blocks: of a kernel */
  const char *policy, *per;
  int32_t capacity;
  int64_t phase_ns[PREM_PHASE_COUNT], warmup_ns;
} convolutions;

/* Free with free(). */
static char *write_convolutions(const intruder_study *study, const convolutions *all,
                                int64_t step_ns) {
  const bool gpu = is_gpu(study);
  const named_value values[] = {{"gpu", gpu, NULL},
                                {"kernels", all->kernels, NULL},
                                {"blocks", all->blocks, NULL},
                                {"rows", all->rows, NULL},
                                {"columns", 1020, NULL},
                                {"tile_rows", gpu ? 2 : 16, NULL},
                                {"tile_columns", 510, NULL},
                                {"clock_step", (double)step_ns, NULL},
                                {"late", gpu ? (double)step_ns : 2000, NULL},
                                {"capacity", all->capacity, NULL},
                                {"per", 0, all->per},
                                {"prefetch", (double)all->phase_ns[PREM_PREFETCH], NULL},
                                {"compute", (double)all->phase_ns[PREM_COMPUTE], NULL},
                                {"writeback", (double)all->phase_ns[PREM_WRITEBACK], NULL},
                                {"policy", 0, all->policy},
                                {"offsets", 0, ""},
                                {"warmup", (double)all->warmup_ns, NULL},
                                {0}};
  const prem_sweep_names names = {find_value, values};
  char reason[PREM_REASON_BYTES];
  return prem_sweep_expand(prem_shipped_text("convolutions.cfg.in"), &names, reason);
}

/* How long phases take of one kernel on one block, which has as many tiles as with others. */
static prem_status find_lengths(intruder_study *study, const convolutions *all, int64_t step_ns,
                                prem_scenario_request request, prem_lengths *out) {
  convolutions alone = *all;
  alone.rows = all->rows / all->blocks;
  alone.kernels = alone.blocks = 1;
  char *text = write_convolutions(study, &alone, step_ns);
  prem_measured measured = {0};
  request.text = text;
  request.modes[0] = PREM_MODE_FREE;
  request.mode_count = 1;
  const prem_status status =
      text ? prem_scenario_run(&request, &measured, study->diag) : PREM_ERR_MEMORY;
  *out = prem_lengths_of(&measured.outcomes[0]);
  prem_measured_free(&measured);
  free(text);
  return status;
}

/* One kernel at a time at the memory, each phase as long as 99 of 100 take alone; the first tiles
 * are cold. */
static prem_status prepare_convolutions(intruder_study *study, prem_scenario_request *request) {
  const prem_machine *machine = study->context->machine;
  const int64_t step_ns = prem_max_i64(machine->clock_step_ns, 1);
  const int32_t room = machine->max_blocks > 0 ? machine->max_blocks : KERNELS;
  convolutions all = {.kernels = is_gpu(study) ? KERNELS : prem_min_i32(KERNELS, room),
                      .blocks = is_gpu(study) ? 2 : 1,
                      .rows = is_gpu(study) && !study->context->quick ? 1024 : 256,
                      .policy = "tile_kernelwise",
                      .per = "block",
                      .phase_ns = {step_ns, step_ns, step_ns}};
  prem_lengths alone;
  int64_t tile_ns = 0;
  all.capacity = all.kernels * all.blocks;
  prem_status status = find_lengths(study, &all, step_ns, *request, &alone);
  if (status != PREM_OK)
    return status;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    all.phase_ns[p] = prem_round_up(prem_max_i64(alone.planned[p], 1), step_ns);
    tile_ns += all.phase_ns[p];
  }
  all.warmup_ns = prem_round_up(COLD_NS + all.capacity * tile_ns, step_ns);
  all.policy = "phase_kernelwise";
  all.per = "task";
  all.capacity = 1;
  char *text = write_convolutions(study, &all, step_ns);
  request->text = text;
  status = text ? prem_scenario_prepare(request, &study->schedule, study->diag) : PREM_ERR_MEMORY;
  free(text);
  return status;
}

/* The figure fills a large GPU but for a few SMs; on others and on a CPU it is the thesis's
 * convolutions. */
static prem_status prepare(intruder_study *study) {
  const prem_experiment_context *context = study->context;
  char path[4096];
  figure_path(context, path, sizeof path);
  prem_scenario_request request = {.context = context,
                                   .findings = study->findings,
                                   .path = path,
                                   .repeat = 20,
                                   .discard = 1,
                                   .task = -1};
  if (is_gpu(study) && context->machine->cores >= MIN_SMS && access(path, R_OK) == 0)
    return prem_scenario_prepare(&request, &study->schedule, study->diag);
  return prepare_convolutions(study, &request);
}

static prem_status judge_room(const intruder_study *study, int32_t spare_sms) {
  if (!is_gpu(study) || spare_sms >= MIN_SPARE_SMS)
    return PREM_OK;
  return prem_experiment_refuse(study->diag, PREM_ERR_UNAVAILABLE,
                                "the schedule leaves %d SMs of this GPU; an intruder needs %d",
                                (int)spare_sms, (int)MIN_SPARE_SMS);
}

/* ---- sessions ------------------------------------------------------------------------------- */

/* All visits are to the same session. */
static prem_status open_session(intruder_study *study) {
  prem_status status =
      prem_session_open(study->context->backend, study->schedule, &study->session, study->diag);
  for (int kind = 0; kind < PREM_INTRUDER_COUNT; ++kind)
    study->visits.of[kind].variant.session = study->session;
  return status;
}

static prem_status open_visits(intruder_study *study) {
  for (int kind = 0; kind < PREM_INTRUDER_COUNT; ++kind) {
    prem_variant *variant = &study->visits.of[kind].variant;
    variant->schedule = study->schedule;
    if (prem_variant_forget(variant) != PREM_OK)
      return PREM_ERR_MEMORY;
  }
  return open_session(study);
}

static void close_visits(intruder_study *study) {
  for (int kind = 0; kind < PREM_INTRUDER_COUNT; ++kind) {
    prem_visit *visit = &study->visits.of[kind];
    visit->variant.session = NULL;
    prem_variant_close(&visit->variant);
    for (int m = 0; m < PREM_MODE_COUNT; ++m)
      prem_times_free(&visit->launch_ns[m]);
  }
  prem_session_close(study->session);
}

/* ---- turns ---------------------------------------------------------------------------------- */

static prem_status keep_trace(void *context, const prem_trace *trace, prem_mode mode) {
  prem_visit *visit = ((intruder_study *)context)->now;
  if (trace->launch_ns >= 0 && !prem_times_add(&visit->launch_ns[mode], trace->launch_ns))
    return PREM_ERR_MEMORY;
  return prem_trace_standstills(trace, PREM_STOP_NS, &visit->standstills[mode]);
}

/* Enough for every phase of a launch. */
static int64_t records_of_launch(const intruder_study *study) {
  int64_t tiles = 0;
  for (int32_t t = 0; t < study->schedule->task_count; ++t)
    tiles += study->schedule->tasks[t].tile_count;
  return PREM_PHASE_COUNT * tiles * (DISCARD + study->samples / LAUNCHES + 1);
}

static prem_status interleave(intruder_study *study, prem_visit *visit, int64_t round,
                              prem_diag *diag) {
  const prem_interleave_options options = {.backend = study->context->backend,
                                           .modes = {PREM_MODE_TT, PREM_MODE_FREE},
                                           .mode_count = 2,
                                           .sampling.scenario = PREM_RESIDENT,
                                           .sampling.samples = study->samples,
                                           .sampling.rounds = 1,
                                           .sampling.discard = DISCARD,
                                           .sampling.seed = study->context->seed + (uint64_t)round,
                                           .sampling.max_records = records_of_launch(study),
                                           .stop = study->context->stop,
                                           .on_trace = keep_trace,
                                           .trace_context = study};
  study->now = visit;
  return prem_interleave(&visit->variant, 1, &options, diag);
}

/* Why there is no visit of this kind: a note instead of an end. */
static void leave_out(intruder_study *study, prem_intruder_kind kind, const char *how,
                      const prem_diag *diag) {
  const size_t count = prem_diag_count(diag);
  study->visits.of[kind].took_place = false;
  study->visits.of[kind].warned = true; /* all that there is to say is said here */
  prem_findings_note(study->findings, "Not measured beside %s, %s: %s.",
                     prem_intruder_name(kind, study->visits.backend), how,
                     count > 0 ? prem_diag_at(diag, count - 1)->reason : "no reason was given");
}

static void pass_on(const prem_diag *from, prem_diag *to) {
  for (size_t i = 0; i < prem_diag_count(from); ++i) {
    const prem_problem *problem = prem_diag_at(from, i);
    prem_diag_add(to, problem->severity, problem->code, (prem_place){0}, problem->key, "%s",
                  problem->reason);
  }
}

/* A run that an intruder makes fail says something about the intruder; the session is lost. */
static prem_status run_failed(intruder_study *study, prem_intruder_kind kind, prem_diag *diag) {
  leave_out(study, kind, "where a run failed", diag);
  prem_session_close(study->session);
  study->session = NULL;
  return open_session(study);
}

static prem_status take_turn(intruder_study *study, prem_intruder_kind kind, int64_t round) {
  prem_visit *visit = &study->visits.of[kind];
  prem_diag *diag = prem_diag_new();
  prem_status status = prem_intruder_begin(study->intruder, kind, diag);
  if (status == PREM_OK) {
    const prem_status observed = interleave(study, visit, round, diag);
    status = prem_intruder_end(study->intruder, &visit->done, diag);
    if (observed == PREM_ERR_MACHINE && kind != PREM_INTRUDER_NONE && status == PREM_OK)
      status = run_failed(study, kind, diag);
    else
      status = observed == PREM_OK ? status : observed;
  } else if (status == PREM_ERR_UNAVAILABLE) {
    leave_out(study, kind, "which there cannot be", diag);
    status = PREM_OK;
  }
  if (status != PREM_OK || !visit->warned)
    pass_on(diag, study->diag);
  visit->warned |= prem_diag_count(diag) > 0;
  prem_diag_free(diag);
  return status;
}

/* Each round begins with another one: whatever drifts meets all of them. */
static prem_status take_turns(intruder_study *study) {
  prem_status status = PREM_OK;
  const int64_t all = study->rounds * PREM_INTRUDER_COUNT;
  for (int64_t turn = 0; turn < all && status == PREM_OK; ++turn) {
    const int64_t round = turn / PREM_INTRUDER_COUNT;
    const int kind = (int)((turn + round) % PREM_INTRUDER_COUNT);
    if (prem_experiment_stopped(study->context))
      return PREM_ERR_INTERRUPTED;
    if (study->visits.of[kind].took_place)
      status = take_turn(study, (prem_intruder_kind)kind, round);
    prem_experiment_progress(study->context, turn + 1, all);
  }
  return status;
}

/* ---- the experiment ------------------------------------------------------------------------- */

static prem_status visit_all(intruder_study *study) {
  const int32_t spare_sms = study->context->machine->cores - study->schedule->platform.sms;
  prem_status status = judge_room(study, spare_sms);
  if (status == PREM_OK)
    status = prem_intruder_open(study->context, spare_sms, &study->intruder, study->diag);
  if (status == PREM_OK)
    status = open_visits(study);
  if (status == PREM_OK)
    status = take_turns(study);
  if (status == PREM_OK || status == PREM_ERR_INTERRUPTED)
    prem_visits_give(&study->visits, study->call);
  return status;
}

static prem_status measure(const prem_probe_call *call) {
  const prem_experiment_context *context = call->context;
  if (context->part)
    return prem_other_process_play(context, call->diag);
  intruder_study study = {.context = context,
                          .findings = call->findings,
                          .diag = call->diag,
                          .call = call,
                          .rounds = context->quick ? 1 : ROUNDS,
                          .samples = context->quick ? QUICK_SAMPLES : SAMPLES};
  study.visits.backend = prem_backend_name(context->backend);
  study.visits.clock_step_ns = context->machine->clock_step_ns;
  for (int kind = 0; kind < PREM_INTRUDER_COUNT; ++kind)
    study.visits.of[kind].took_place =
        prem_intruder_serves((prem_intruder_kind)kind, study.visits.backend);
  prem_status status = prepare(&study);
  study.visits.schedule = study.schedule;
  if (status == PREM_OK)
    status = visit_all(&study);
  close_visits(&study);
  prem_intruder_close(study.intruder);
  prem_schedule_free(study.schedule);
  return status;
}

const prem_probe prem_visits_probe = {PREM_VISIT_COLUMNS, measure, "distribution"};
