/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interference matrix: a phase of one task beside a phase of others, with nothing else at work.
 *
 * A round is cut into slots, each long enough for any phase. The victim's phases take three slots,
 * in order, and so do the others'. Rounds come by turns: in one the six slots are apart, in the
 * next the pair in question shares a slot, and no other pair does. So both kinds see the same
 * machine.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/common/scenario.h"
#include "experiments/common/tables.h"
#include "prem/base/numbers.h"

enum { APART_SLOTS = 2 * PREM_PHASE_COUNT, PAIR_SLOTS = APART_SLOTS - 1, BLOCKS_PER_SM = 4 };
#define TURN_SLOTS (APART_SLOTS + PAIR_SLOTS)

/** Where the others are. */
typedef struct neighbours {
  const char *name;
  char blocks[32]; /* as a schedule file has it */
  int32_t count;
} neighbours;

typedef struct interference {
  prem_scenario_request request;
  int32_t sms; /* 0: a CPU */
  int32_t blocks;
  int32_t turns, tile_rows, block_threads; /* turns: two rounds each */
  int64_t clock_step_ns;
  int64_t slot_ns, warmup_ns;
  neighbours places[2];
  int32_t place_count;
  prem_table *table;
  double max; /* the largest slowdown of a median */
  char max_name[96];
  double min_covered; /* of the pairs that should meet, the least per mille of a phase */
} interference;

/* ---- the schedule --------------------------------------------------------------------------- */

static int32_t tiles_of_block(const interference *matrix) {
  return 1 + 2 * matrix->turns; /* the first is warm-up */
}

static void write_array(FILE *file, const interference *matrix, const char *name, int32_t blocks) {
  fprintf(file,
          "  { name = \"%s\"; type = \"f32\"; shape = [ %" PRId32
          ", 512 ]; fill = \"random\"; seed = %" PRId32 "; }",
          name, tiles_of_block(matrix) * matrix->tile_rows * blocks + 2, blocks);
}

static void write_task(FILE *file, const interference *matrix, const char *name, const char *blocks,
                       const char *array) {
  fprintf(file,
          "  { name = \"%s\"; kernel = \"conv2d\"; blocks = %s; together = true;\n"
          "    tile = [ %" PRId32 ", 510 ]; arrays: { in = \"%s\"; out = \"new\"; };\n",
          name, blocks, matrix->tile_rows, array);
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    fprintf(file, "    %s: { wcet_ns = %" PRId64 "L; };\n", prem_phase_name((prem_phase)p),
            matrix->slot_ns);
  fputs("  }", file);
}

/** Slots of the victim's and the others' phases in a round. */
typedef struct round_slots {
  int victim[PREM_PHASE_COUNT], others[PREM_PHASE_COUNT];
} round_slots;

static round_slots slots_apart(void) {
  return (round_slots){{0, 1, 2}, {3, 4, 5}};
}

/* What comes before the common slot, the slot, what comes after it. */
static round_slots slots_of_pair(int own, int other) {
  round_slots slots;
  int next = 0;
  for (int p = 0; p < own; ++p)
    slots.victim[p] = next++;
  for (int p = 0; p < other; ++p)
    slots.others[p] = next++;
  slots.victim[own] = slots.others[other] = next++;
  for (int p = own + 1; p < PREM_PHASE_COUNT; ++p)
    slots.victim[p] = next++;
  for (int p = other + 1; p < PREM_PHASE_COUNT; ++p)
    slots.others[p] = next++;
  return slots;
}

/* Every second round of a task: `round` 0 or 1 of a turn. */
static void write_runs(FILE *file, const interference *matrix, const char *name, int32_t blocks,
                       const int slot[PREM_PHASE_COUNT], int round) {
  const int64_t from_ns = matrix->warmup_ns + (round ? APART_SLOTS : 0) * matrix->slot_ns;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    fprintf(file,
            "    { task = \"%s\"; phase = \"%s\"; count = %" PRId32 "; start_ns = %" PRId64
            "L; repeat = %" PRId32 "; step_ns = %" PRId64 "L;\n      tile = %" PRId32
            "; tile_per_repeat = %" PRId32 "; },\n",
            name, prem_phase_name((prem_phase)p), blocks, from_ns + slot[p] * matrix->slot_ns,
            matrix->turns, TURN_SLOTS * matrix->slot_ns, (1 + round) * blocks, 2 * blocks);
}

static void write_plan(FILE *file, const interference *matrix, int32_t others_blocks, int own,
                       int other) {
  fprintf(file,
          "plan: { hyperperiod_ns = %" PRId64 "L; warmup_tiles = 1; warmup_ns = %" PRId64
          "L;\n  runs = (\n",
          matrix->warmup_ns + matrix->turns * TURN_SLOTS * matrix->slot_ns, matrix->warmup_ns);
  const round_slots slots[2] = {slots_apart(), slots_of_pair(own, other)};
  for (int round = 0; round < 2; ++round) {
    write_runs(file, matrix, "victim", 1, slots[round].victim, round);
    write_runs(file, matrix, "others", others_blocks, slots[round].others, round);
  }
  fseek(file, -2, SEEK_CUR); /* no comma behind the last one */
  fputs("\n  );\n};\n", file);
}

static char *schedule_text(const interference *matrix, const neighbours *place, int own,
                           int other) {
  char *text = NULL;
  size_t length = 0;
  FILE *file = open_memstream(&text, &length);
  if (!file)
    return NULL;
  fputs("version = 1;\nname = \"interference\";\nplatform: { ", file);
  if (matrix->sms)
    fprintf(file, "sms = %" PRId32 "; blocks_per_sm = %d; block_threads = %" PRId32 ";",
            matrix->sms, BLOCKS_PER_SM, matrix->block_threads);
  else
    fprintf(file, "blocks = %" PRId32 ";", matrix->blocks);
  fprintf(file,
          " clock_step_ns = %" PRId64 "L;\n"
          "  resources = ( { name = \"memory\"; capacity = %" PRId32 "; } ); };\narrays = (\n",
          matrix->clock_step_ns, matrix->blocks);
  write_array(file, matrix, "own", 1);
  fputs(",\n", file);
  write_array(file, matrix, "theirs", place->count);
  fputs("\n);\ntasks = (\n", file);
  write_task(file, matrix, "victim", "[ 0 ]", "own");
  fputs(",\n", file);
  write_task(file, matrix, "others", place->blocks, "theirs");
  fputs("\n);\n", file);
  write_plan(file, matrix, place->count, own, other);
  const bool whole = !ferror(file);
  if (fclose(file) == 0 && whole)
    return text;
  free(text);
  return NULL;
}

static prem_status run_pair(const interference *matrix, const neighbours *place, int own, int other,
                            prem_mode mode, prem_measured *out, prem_diag *diag) {
  char *text = schedule_text(matrix, place, own, other);
  prem_scenario_request request = matrix->request;
  request.text = text;
  request.modes[0] = mode;
  *out = (prem_measured){0};
  const prem_status status = text ? prem_scenario_run(&request, out, diag) : PREM_ERR_MEMORY;
  free(text);
  return status;
}

/* ---- the table ------------------------------------------------------------------------------ */

static prem_table *begin_table(prem_findings *findings) {
  prem_table *table = prem_findings_table(
      findings, "pairs", "A phase of one task while a phase of others is at work", NULL);
  prem_table_columns(
      table, "phase; beside; median apart [us]; p99 apart [us]; worst apart [us]; median [us]; p99 "
             "[us]; worst [us]; covered [%]; slowdown; slowdown of p99; slowdown of worst");
  return table;
}

static double ratio(int64_t a, int64_t b) {
  return b > 0 ? (double)a / (double)b : (double)NAN;
}

static void add_times(prem_table *table, const prem_times *times) {
  prem_table_row(table, REAL((double)prem_times_at(times, 0.5) / 1e3),
                 REAL((double)prem_times_at(times, 0.99) / 1e3), REAL((double)times->max_ns / 1e3));
}

static void add_row(interference *matrix, const neighbours *place, int own, int other,
                    const prem_outcome *outcome) {
  prem_table *table = matrix->table;
  const prem_times *times = &outcome->phase[own], *apart = &outcome->reference[own];
  const double covered = (double)prem_times_at(&outcome->beside[own], 0.5);
  const double slowdown = ratio(prem_times_at(times, 0.5), prem_times_at(apart, 0.5));
  char beside[64];
  snprintf(beside, sizeof beside, "%s, %s", prem_phase_name((prem_phase)other), place->name);
  prem_table_row(table, TEXT(prem_phase_name((prem_phase)own)), TEXT(beside));
  add_times(table, apart);
  add_times(table, times);
  prem_table_row(table, REAL(covered / 10.0), REAL(slowdown),
                 REAL(ratio(prem_times_at(times, 0.99), prem_times_at(apart, 0.99))),
                 REAL(ratio(times->max_ns, apart->max_ns)));
  if (covered < matrix->min_covered)
    matrix->min_covered = covered;
  if (slowdown > matrix->max) {
    matrix->max = slowdown;
    snprintf(matrix->max_name, sizeof matrix->max_name, "%s beside %s",
             prem_phase_name((prem_phase)own), beside);
  }
}

/* On a CPU the longest ones are those that the operating system broke into: no matter of pairs. */
static void add_charts(prem_findings *findings, bool gpu) {
  static const char *const columns[] = {"slowdown", "slowdown of p99", "slowdown of worst"};
  static const char *const titles[] = {
      "Median of a phase (row) beside others' phase (column), of its median apart",
      "The same of the times that 99 of 100 keep", "The same of the longest seen"};
  for (int i = 0; i < (gpu ? 3 : 2); ++i) {
    const prem_chart chart = {.kind = PREM_CHART_HEAT_MAP,
                              .title = titles[i],
                              .table = "pairs",
                              .x = "beside",
                              .y = columns[i],
                              .series = "phase"};
    prem_findings_chart(findings, &chart);
  }
}

/* ---- measuring ------------------------------------------------------------------------------ */

/* A slot holds the longest phase that 99 of 100 tiles have when all of them run free, and a half
 * more.
 */
static prem_status find_slot(interference *matrix, const neighbours *place, prem_diag *diag) {
  prem_measured measured;
  const prem_status status =
      run_pair(matrix, place, PREM_PREFETCH, PREM_PREFETCH, PREM_MODE_FREE, &measured, diag);
  const prem_lengths lengths = prem_lengths_of(&measured.outcomes[0]);
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    const int64_t wanted_ns = prem_round_up(lengths.planned[p] * 3 / 2, matrix->clock_step_ns);
    matrix->slot_ns = wanted_ns > matrix->slot_ns ? wanted_ns : matrix->slot_ns;
  }
  prem_measured_free(&measured);
  return status;
}

/* The victim has one block and one tile a round: the odd ones are in the rounds apart. */
static bool is_apart(const prem_trace_record *record) {
  return record->tile % 2 == 1;
}

static prem_status run_place(interference *matrix, const neighbours *place, prem_diag *diag) {
  prem_status status = PREM_OK;
  for (int pair = 0; pair < PREM_PHASE_COUNT * PREM_PHASE_COUNT && status == PREM_OK; ++pair) {
    const int own = pair / PREM_PHASE_COUNT, other = pair % PREM_PHASE_COUNT;
    prem_measured measured;
    status = run_pair(matrix, place, own, other, PREM_MODE_TT, &measured, diag);
    if (status == PREM_OK)
      add_row(matrix, place, own, other, &measured.outcomes[0]);
    prem_measured_free(&measured);
  }
  return status;
}

static void lay_out(interference *matrix, const prem_machine *machine, bool quick) {
  const bool gpu = strcmp(machine->backend, "cuda") == 0;
  matrix->clock_step_ns = machine->clock_step_ns > 0 ? machine->clock_step_ns : 1;
  matrix->slot_ns = matrix->warmup_ns = matrix->clock_step_ns;
  matrix->turns = quick ? 16 : 64;
  matrix->tile_rows = gpu ? 2 : 16;
  if (gpu) {
    matrix->sms = machine->cores;
    matrix->blocks = machine->cores * BLOCKS_PER_SM;
    matrix->block_threads = 512;
    neighbours *same = &matrix->places[matrix->place_count++];
    *same = (neighbours){.name = "same SM", .count = BLOCKS_PER_SM - 1};
    snprintf(same->blocks, sizeof same->blocks, "[ %" PRId32 ", %" PRId32 ", %" PRId32 " ]",
             matrix->sms, 2 * matrix->sms, 3 * matrix->sms);
  } else {
    matrix->blocks = machine->max_blocks;
  }
  neighbours *apart = &matrix->places[matrix->place_count++];
  *apart = (neighbours){.name = gpu ? "other SMs" : "other cores",
                        .count = (gpu ? matrix->sms : matrix->blocks) - 1};
  snprintf(apart->blocks, sizeof apart->blocks, "\"1-%" PRId32 "\"", apart->count);
}

static prem_status measure(interference *matrix, prem_diag *diag) {
  prem_status status = PREM_OK;
  for (int32_t i = 0; i < matrix->place_count && status == PREM_OK; ++i)
    status = find_slot(matrix, &matrix->places[i], diag);
  /* All the first tiles, cold, one phase after the other. */
  matrix->warmup_ns = 10 * PREM_PHASE_COUNT * matrix->slot_ns;
  for (int32_t i = 0; i < matrix->place_count && status == PREM_OK; ++i)
    status = run_place(matrix, &matrix->places[i], diag);
  return status;
}

static void conclude(const interference *matrix, prem_findings *findings) {
  prem_findings_verdict(findings, "The most disturbed is a %s: %.2f times the median it has apart.",
                        matrix->max_name, matrix->max);
  prem_findings_note(
      findings, "The victim is one block; the others are three blocks of the same SM, or one on "
                "every other SM or core.");
  prem_findings_note(
      findings,
      "Phases of a pair start together and end as they do: covered is the part of the "
      "victim's phase in which another one ran, %.0f %% for the least covered pair.",
      matrix->min_covered / 10.0);
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  if (context->machine->max_blocks < 2) {
    prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, "interference_matrix",
                  "needs 2 blocks that run at once, the machine has %" PRId32,
                  context->machine->max_blocks);
    return PREM_ERR_UNAVAILABLE;
  }
  int64_t done = 0;
  interference matrix = {.request = {.context = context,
                                     .findings = findings,
                                     .mode_count = 1,
                                     .repeat = context->quick ? 30 : 50,
                                     .discard = 1,
                                     .task = 0,
                                     .is_reference = is_apart,
                                     .done = &done},
                         .table = begin_table(findings),
                         .min_covered = 1000.0};
  lay_out(&matrix, context->machine, context->quick);
  matrix.request.all = matrix.place_count * (1 + PREM_PHASE_COUNT * PREM_PHASE_COUNT);
  const prem_status status = measure(&matrix, diag);
  add_charts(findings, matrix.sms > 0);
  if (status == PREM_OK)
    conclude(&matrix, findings);
  return status;
}

const prem_experiment prem_interference_matrix_experiment = {
    .name = "interference_matrix",
    .title = "Interference of phase pairs",
    .question = "Which phases disturb which, on the same SM and on others?",
    .backends = "cuda cpu",
    .run = run};
