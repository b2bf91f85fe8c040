/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heat maps of the KCF tracker's operators: each beside 0 to 3 instances of every other one, free
 * and on time.
 *
 * All operators work windows of the same size. The others have so many tiles that they are at work
 * as long as the one that is watched. The plan is the same for all pairs: a round has a slot for
 * each task's prefetch, then for all computes, then for each task's writeback, and every slot holds
 * the longest such phase of any operator. Who the neighbours are changes nothing in it.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/common/scenario.h"
#include "experiments/common/tables.h"
#include "prem/base/numbers.h"

enum { COLUMNS = 64, CHANNELS = 8, MAX_OTHERS = 3, LONGEST = 8, GPU_THREADS = 224 };

/** Which arrays an operator takes. */
typedef enum operand_kind {
  OPERANDS_TWO,     /* a, b and out of one shape */
  OPERANDS_ONE,     /* in, out of one shape */
  OPERANDS_FACTOR,  /* b without a's channels */
  OPERANDS_SUMMED,  /* out without in's channels */
  OPERANDS_REDUCED, /* out one number a tile */
} operand_kind;

typedef struct kcf_operator {
  const char *name; /* kcf_NAME is the kernel */
  operand_kind kind;
} kcf_operator;

static const kcf_operator operators[] = {
    {"sqr_norm", OPERANDS_REDUCED}, {"sqr_magnitude", OPERANDS_ONE},
    {"conjugate", OPERANDS_ONE},    {"sum_channels", OPERANDS_SUMMED},
    {"multiply", OPERANDS_TWO},     {"divide", OPERANDS_TWO},
    {"add", OPERANDS_TWO},          {"multiply_constant", OPERANDS_ONE},
    {"add_constant", OPERANDS_ONE}, {"multiply_channels", OPERANDS_FACTOR},
};
enum { OPERATORS = sizeof operators / sizeof *operators };

/** One operator beside so many instances of another one. */
typedef struct corunners {
  const kcf_operator *own, *other;
  int32_t others;       /* instances */
  int64_t others_tiles; /* of one of their blocks */
} corunners;

typedef struct heat_map {
  prem_scenario_request request;
  bool gpu;
  int32_t blocks;     /* of each task */
  int32_t max_others; /* instances that find room */
  int32_t min_others;
  int32_t tile_rows;
  int64_t tiles; /* of a block of the one that is watched, one of them to warm up */
  int64_t clock_step_ns;
  int64_t slot_ns[PREM_PHASE_COUNT], warmup_ns;
  double tile_ns[OPERATORS]; /* alone and free */
  prem_table *tables[2];     /* of the request's modes */
  struct {
    double response_ns, phases_ns; /* of the one in hand, alone: what its row is compared with */
    double slowdown, phases;       /* the most with co-runners */
    double jitter_pct[OPERATORS * OPERATORS * MAX_OTHERS];
    int32_t jitter_count; /* one of each set of co-runners */
  } seen[2];
} heat_map;

/* ---- the schedule --------------------------------------------------------------------------- */

static void write_array(FILE *file, const char *task, const char *port, const char *shape,
                        uint64_t seed) {
  fprintf(file,
          "  { name = \"%s_%s\"; type = \"c64\"; shape = [ %s ]; fill = \"random\"; seed = %" PRIu64
          "; },\n",
          task, port, shape, seed % 1000 + 1);
}

/* A tile is tile_rows rows of COLUMNS, of one channel or a part of them of each. */
static void write_arrays(FILE *file, const heat_map *map, const char *task,
                         const kcf_operator *operator, int64_t tiles) {
  const int64_t all = tiles * map->blocks;
  const uint64_t seed = map->request.context->seed;
  char shape[96], factor[96];
  snprintf(shape, sizeof shape, "%" PRId64 ", %" PRId32 ", %d", all, map->tile_rows, COLUMNS);
  snprintf(factor, sizeof factor, "%" PRId32 ", %d", map->tile_rows, COLUMNS);
  if (operator->kind == OPERANDS_SUMMED)
    snprintf(shape, sizeof shape, "%d, %" PRId64 ", %d", CHANNELS,
             all * (map->tile_rows / CHANNELS), COLUMNS);
  write_array(file, task, "a", shape, seed);
  if (operator->kind == OPERANDS_TWO)
    write_array(file, task, "b", shape, seed + 1);
  if (operator->kind == OPERANDS_FACTOR)
    write_array(file, task, "b", factor, seed + 1);
}

static void write_task(FILE *file, const heat_map *map, const char *task,
                       const kcf_operator *operator, int32_t place) {
  fprintf(file, "  { name = \"%s\"; kernel = \"kcf_%s\"; blocks = \"%" PRId32 "-%" PRId32 "\";\n",
          task, operator->name, place * map->blocks, (place + 1) * map->blocks - 1);
  if (operator->kind == OPERANDS_SUMMED)
    fprintf(file, "    tile = [ %" PRId32 ", %d ];\n", map->tile_rows / CHANNELS, COLUMNS);
  else
    fprintf(file, "    tile = [ 1, %" PRId32 ", %d ];\n", map->tile_rows, COLUMNS);
  if (operator->kind == OPERANDS_TWO || operator->kind == OPERANDS_FACTOR)
    fprintf(file, "    arrays: { a = \"%s_a\"; b = \"%s_b\"; out = \"new\"; };\n", task, task);
  else
    fprintf(file, "    arrays: { in = \"%s_a\"; out = \"new\"; };\n", task);
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    fprintf(file, "    %s: { wcet_ns = %" PRId64 "L; };\n", prem_phase_name((prem_phase)p),
            map->slot_ns[p]);
  fputs("  },\n", file);
}

/* From the start of a round to the slot of a task's phase. */
static int64_t slot_at(const heat_map *map, int32_t place, prem_phase phase) {
  const int64_t tasks = map->max_others + 1;
  switch (phase) {
  case PREM_PREFETCH:
    return place * map->slot_ns[PREM_PREFETCH];
  case PREM_COMPUTE:
    return (place + 1) * map->slot_ns[PREM_PREFETCH];
  default:
    return tasks * map->slot_ns[PREM_PREFETCH] + map->slot_ns[PREM_COMPUTE] +
           place * map->slot_ns[PREM_WRITEBACK];
  }
}

static int64_t round_ns(const heat_map *map) {
  return slot_at(map, map->max_others + 1, PREM_WRITEBACK);
}

static void write_runs(FILE *file, const heat_map *map, const char *task, int32_t place,
                       int64_t tiles) {
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    fprintf(file,
            "    { task = \"%s\"; phase = \"%s\"; count = %" PRId32 "; start_ns = %" PRId64
            "L; repeat = %" PRId64 "; step_ns = %" PRId64 "L; tile = %" PRId32 "; },\n",
            task, prem_phase_name((prem_phase)p), map->blocks,
            map->warmup_ns + slot_at(map, place, (prem_phase)p), tiles - 1, round_ns(map),
            map->blocks);
}

/* libconfig has no comma behind a list's last element. */
static void end_list(FILE *file) {
  fseek(file, -2, SEEK_CUR);
  fputs("\n);\n", file);
}

static const char *const other_names[MAX_OTHERS] = {"other1", "other2", "other3"};

static void write_schedule(FILE *file, const heat_map *map, const corunners *with) {
  const int64_t max = with->others_tiles > map->tiles ? with->others_tiles : map->tiles;
  fputs("version = 1;\nname = \"kcf_heat_map\";\nplatform: { ", file);
  if (map->gpu)
    fprintf(file, "sms = %" PRId32 "; blocks_per_sm = %" PRId32 "; block_threads = %d;",
            map->blocks, map->max_others + 1, GPU_THREADS);
  else
    fprintf(file, "blocks = %" PRId32 ";", map->max_others + 1);
  fprintf(file,
          " clock_step_ns = %" PRId64 "L;\n"
          "  resources = ( { name = \"memory\"; capacity = 1; per = \"task\"; } ); };\n"
          "arrays = (\n",
          map->clock_step_ns);
  write_arrays(file, map, "own", with->own, map->tiles);
  for (int32_t i = 0; i < with->others; ++i)
    write_arrays(file, map, other_names[i], with->other, with->others_tiles);
  end_list(file);
  fputs("tasks = (\n", file);
  write_task(file, map, "own", with->own, 0);
  for (int32_t i = 0; i < with->others; ++i)
    write_task(file, map, other_names[i], with->other, i + 1);
  end_list(file);
  fprintf(file,
          "plan: { hyperperiod_ns = %" PRId64 "L; warmup_tiles = 1; warmup_ns = %" PRId64
          "L; runs = (\n",
          map->warmup_ns + (max - 1) * round_ns(map), map->warmup_ns);
  write_runs(file, map, "own", 0, map->tiles);
  for (int32_t i = 0; i < with->others; ++i)
    write_runs(file, map, other_names[i], i + 1, with->others_tiles);
  end_list(file);
  fputs("};\n", file);
}

static char *schedule_text(const heat_map *map, const corunners *with) {
  char *text = NULL;
  size_t length = 0;
  FILE *file = open_memstream(&text, &length);
  if (!file)
    return NULL;
  write_schedule(file, map, with);
  const bool whole = !ferror(file);
  if (fclose(file) == 0 && whole)
    return text;
  free(text);
  return NULL;
}

static prem_status run_corunners(const prem_scenario_request *request, const heat_map *map,
                                 const corunners *with, prem_measured *out, prem_diag *diag) {
  prem_scenario_request own = *request;
  char *text = schedule_text(map, with);
  own.text = text;
  *out = (prem_measured){0};
  const prem_status status = text ? prem_scenario_run(&own, out, diag) : PREM_ERR_MEMORY;
  free(text);
  return status;
}

/* ---- how long phases are -------------------------------------------------------------------- */

/* Alone and free. A slot holds what 99 of 100 phases of the longest operator need, and a half more;
 * the first tiles, cold, have ten rounds of them. */
static prem_status find_slots(heat_map *map, prem_diag *diag) {
  int64_t max_ns[PREM_PHASE_COUNT] = {0};
  prem_scenario_request request = map->request;
  request.modes[0] = PREM_MODE_FREE;
  request.mode_count = 1;
  prem_status status = PREM_OK;
  for (int o = 0; o < OPERATORS && status == PREM_OK; ++o) {
    const corunners alone = {.own = &operators[o]};
    prem_measured measured;
    status = run_corunners(&request, map, &alone, &measured, diag);
    const prem_lengths lengths = prem_lengths_of(&measured.outcomes[0]);
    map->tile_ns[o] = (double)prem_tile_ns(lengths.typical);
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      if (lengths.max[p] > max_ns[p])
        max_ns[p] = lengths.max[p];
    prem_measured_free(&measured);
  }
  for (int p = 0; p < PREM_PHASE_COUNT && status == PREM_OK; ++p)
    map->slot_ns[p] = prem_round_up(max_ns[p] * 3 / 2 + 1, map->clock_step_ns);
  map->warmup_ns = 10 * round_ns(map);
  return status;
}

/* So many that the others are at work as long as the one that is watched, and a quarter longer; at
 * least as many as it has, since on time all have the same rounds. */
static int64_t tiles_to_cover(const heat_map *map, int own, int other) {
  const double ratio = map->tile_ns[other] > 0.0 ? map->tile_ns[own] / map->tile_ns[other] : 1.0;
  const double min = ratio > 1.0 ? 1.25 * ratio : 1.25;
  return (int64_t)ceil((double)map->tiles * (min < LONGEST ? min : LONGEST));
}

/* ---- the tables ----------------------------------------------------------------------------- */

static prem_table *begin_table(prem_findings *findings, prem_mode mode) {
  const bool on_time = mode == PREM_MODE_TT;
  prem_table *table = prem_findings_table(
      findings, prem_mode_name(mode),
      on_time ? "Operators beside others, on time" : "Operators beside others, free", NULL);
  prem_table_columns(table, "operator; beside; mean [us]; jitter [%]; slowdown; phases of a tile "
                            "[us]; slowdown of phases; covered [%]");
  return table;
}

static double mean_of(const prem_times *times) {
  return times->count > 0 ? times->sum_ns / (double)times->count : 0.0;
}

/* Of a tile: all its phases together. */
static double median_phases_ns(const prem_outcome *outcome) {
  double sum_ns = 0.0;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    sum_ns += (double)prem_times_at(&outcome->phase[p], 0.5);
  return sum_ns;
}

/* The part of a tile's phases in which another task's phase ran. */
static double mean_covered_pct(const prem_outcome *outcome) {
  double covered = 0.0, all = 0.0;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    const double weight = mean_of(&outcome->phase[p]);
    covered += weight * mean_of(&outcome->beside[p]) / 10.0;
    all += weight;
  }
  return all > 0.0 ? covered / all : 0.0;
}

static double jitter_pct(const prem_summary *times) {
  return times->mean > 0.0 ? 100.0 * (double)(times->max - times->min) / times->mean : 0.0;
}

static double max_of(double a, double b) {
  return a > b ? a : b;
}

/* The row of a mode; the first one of an operator is the one alone. */
static void add_row(heat_map *map, int mode, const corunners *with, const prem_outcome *outcome) {
  prem_table *table = map->tables[mode];
  const prem_summary *response = &outcome->row->tasks[0].response_ns;
  const double phases_ns = median_phases_ns(outcome);
  char beside[64] = "alone";
  if (with->others > 0)
    snprintf(beside, sizeof beside, "%" PRId32 " %s", with->others, with->other->name);
  else {
    map->seen[mode].response_ns = (double)response->p50;
    map->seen[mode].phases_ns = phases_ns;
  }
  const double slowdown = (double)response->p50 / map->seen[mode].response_ns;
  const double phases = phases_ns / map->seen[mode].phases_ns;
  prem_table_row(table, TEXT(with->own->name), TEXT(beside), REAL(response->mean / 1e3),
                 REAL(jitter_pct(response)), REAL(slowdown), REAL(phases_ns / 1e3), REAL(phases),
                 REAL(mean_covered_pct(outcome)));
  map->seen[mode].slowdown = max_of(map->seen[mode].slowdown, slowdown);
  map->seen[mode].phases = max_of(map->seen[mode].phases, phases);
  if (with->others > 0)
    map->seen[mode].jitter_pct[map->seen[mode].jitter_count++] = jitter_pct(response);
}

static void add_charts(prem_findings *findings) {
  static const struct {
    const char *column, *title;
  } maps[] = {
      {"jitter", "Jitter of an operator (row) beside others (column), in % of its mean"},
      {"slowdown", "Median of an operator beside others, of its median alone"},
      {"slowdown of phases", "Median phases of a tile beside others, of the same alone"},
  };
  for (size_t m = 0; m < sizeof maps / sizeof *maps; ++m)
    for (int on_time = 0; on_time < 2; ++on_time) {
      char title[128];
      snprintf(title, sizeof title, "%s: %s", on_time ? "On time" : "Free", maps[m].title);
      const prem_chart chart = {.kind = PREM_CHART_HEAT_MAP,
                                .title = title,
                                .table = prem_mode_name(on_time ? PREM_MODE_TT : PREM_MODE_FREE),
                                .x = "beside",
                                .y = maps[m].column,
                                .series = "operator"};
      prem_findings_chart(findings, &chart);
    }
}

/* ---- measuring ------------------------------------------------------------------------------ */

static prem_status measure_corunners(heat_map *map, const corunners *with, prem_diag *diag) {
  prem_measured measured;
  const prem_status status = run_corunners(&map->request, map, with, &measured, diag);
  for (int m = 0; m < map->request.mode_count && status == PREM_OK; ++m)
    add_row(map, m, with, &measured.outcomes[m]);
  prem_measured_free(&measured);
  return status;
}

static prem_status measure_operator(heat_map *map, int own, prem_diag *diag) {
  const corunners alone = {.own = &operators[own]};
  prem_status status = measure_corunners(map, &alone, diag);
  for (int other = 0; other < OPERATORS; ++other)
    for (int32_t others = map->min_others; others <= map->max_others && status == PREM_OK;
         ++others) {
      const corunners with = {.own = &operators[own],
                              .other = &operators[other],
                              .others = others,
                              .others_tiles = tiles_to_cover(map, own, other)};
      status = measure_corunners(map, &with, diag);
    }
  return status;
}

static void lay_out(heat_map *map, const prem_experiment_context *context) {
  const prem_machine *machine = context->machine;
  map->gpu = strcmp(machine->backend, "cuda") == 0;
  map->blocks = map->gpu ? machine->cores : 1;
  const int32_t room = machine->max_blocks / map->blocks - 1;
  map->max_others = room > MAX_OTHERS ? MAX_OTHERS : room;
  map->tile_rows = map->gpu ? 16 : 32;
  map->min_others = context->quick ? map->max_others : 1;
  map->tiles = map->gpu ? 5 : 9;
  map->clock_step_ns = machine->clock_step_ns > 0 ? machine->clock_step_ns : 1;
  map->warmup_ns = map->clock_step_ns;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    map->slot_ns[p] = map->clock_step_ns;
  const int64_t sets = OPERATORS * (int64_t)(map->max_others - map->min_others + 1);
  map->request.all = OPERATORS * (2 + sets);
  map->request.repeat = context->quick ? 30 : map->gpu ? 50 : 200;
}

static int compare_reals(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Half of all pairs have no more. */
static double typical_jitter_pct(heat_map *map, int mode) {
  const int32_t count = map->seen[mode].jitter_count;
  qsort(map->seen[mode].jitter_pct, (size_t)count, sizeof *map->seen[mode].jitter_pct,
        compare_reals);
  return map->seen[mode].jitter_pct[count / 2];
}

static void conclude(heat_map *map, prem_findings *findings) {
  prem_findings_verdict(
      findings,
      "Beside others an operator takes up to %.2f times as long as alone when all run free, and "
      "%.2f times on time; its phases up to %.2f and %.2f times. Half of all pairs have a jitter "
      "of at most %.3g %% free, and %.3g %% on time.",
      map->seen[0].slowdown, map->seen[1].slowdown, map->seen[0].phases, map->seen[1].phases,
      typical_jitter_pct(map, 0), typical_jitter_pct(map, 1));
  prem_findings_note(
      findings,
      "On time an operator waits for its slots: its mean is %.2f us a round, whoever is beside it.",
      (double)round_ns(map) / 1e3);
  prem_findings_note(findings,
                     "Others have enough tiles to be at work as long as the operator in the row; "
                     "covered is the part of its phases in which a phase of theirs ran.");
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  int64_t done = 0;
  heat_map map = {.request = {.context = context,
                              .findings = findings,
                              .modes = {PREM_MODE_FREE, PREM_MODE_TT},
                              .mode_count = 2,
                              .discard = 1,
                              .task = 0,
                              .done = &done}};
  lay_out(&map, context);
  if (map.max_others < 1) {
    prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, "kcf_heat_map",
                  "needs 2 blocks that run at once on each of %" PRId32
                  " cores or SMs, the machine has %" PRId32,
                  map.blocks, context->machine->max_blocks);
    return PREM_ERR_UNAVAILABLE;
  }
  for (int m = 0; m < map.request.mode_count; ++m)
    map.tables[m] = begin_table(findings, map.request.modes[m]);
  prem_status status = find_slots(&map, diag);
  for (int own = 0; own < OPERATORS && status == PREM_OK; ++own)
    status = measure_operator(&map, own, diag);
  add_charts(findings);
  if (status == PREM_OK)
    conclude(&map, findings);
  return status;
}

const prem_experiment prem_kcf_heat_map_experiment = {
    .name = "kcf_heat_map",
    .title = "Operators of the KCF tracker beside each other",
    .question = "Which operators disturb which, and does scheduling make the map flat?",
    .backends = "cuda cpu",
    .run = run};
