/* SPDX-License-Identifier: Apache-2.0 */
/* Equal convolutions side by side, as the thesis on time-triggered tiles had them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/common/scenario.h"
#include "prem/base/numbers.h"

enum { THESIS_KERNELS = 4, CPU_LATE_NS = 2000, WARMUP_TILES = 1, COLD_NS = 10000 };

static void lay_out_on_gpu(prem_convolutions *convolutions) {
  convolutions->blocks = 2;
  convolutions->sms = 2;
  convolutions->blocks_per_sm = THESIS_KERNELS;
  convolutions->block_threads = 512;
  convolutions->tile_rows = 2;
}

/* A tile of 2 rows would be over before a core has looked at the clock a few times; and the shorter
 * a run, the more of them come through without an interruption. */
static void lay_out_on_cpu(prem_convolutions *convolutions, const prem_machine *machine) {
  if (machine->max_blocks > 0 && machine->max_blocks < THESIS_KERNELS)
    convolutions->kernels = machine->max_blocks;
  convolutions->blocks = 1;
  convolutions->rows = 256;
  convolutions->tile_rows = 16;
  convolutions->late_ns = CPU_LATE_NS;
}

prem_convolutions prem_convolutions_of(const prem_machine *machine, bool quick) {
  const int64_t step_ns = machine->clock_step_ns > 0 ? machine->clock_step_ns : 1;
  prem_convolutions convolutions = {.kernels = THESIS_KERNELS,
                                    .rows = quick ? 256 : 1024,
                                    .columns = 1020,
                                    .tile_columns = 510,
                                    .clock_step_ns = step_ns,
                                    .late_ns = step_ns,
                                    .wcet_ns = {step_ns, step_ns, step_ns},
                                    .policy = "tile_kernelwise"};
  if (strcmp(machine->backend, "cuda") == 0)
    lay_out_on_gpu(&convolutions);
  else
    lay_out_on_cpu(&convolutions, machine);
  convolutions.capacity = convolutions.kernels * convolutions.blocks;
  return convolutions;
}

int64_t prem_convolutions_tiles(const prem_convolutions *convolutions) {
  const int64_t tiles = (int64_t)(convolutions->rows / convolutions->tile_rows) *
                        (convolutions->columns / convolutions->tile_columns);
  return tiles / convolutions->blocks;
}

/* ---- the schedule file ---------------------------------------------------------------------- */

static void write_platform(FILE *file, const prem_convolutions *convolutions) {
  fputs("platform: { ", file);
  if (convolutions->sms)
    fprintf(file, "sms = %" PRId32 "; blocks_per_sm = %" PRId32 "; block_threads = %" PRId32 ";",
            convolutions->sms, convolutions->blocks_per_sm, convolutions->block_threads);
  else
    fprintf(file, "blocks = %" PRId32 ";", convolutions->kernels * convolutions->blocks);
  fprintf(file,
          " clock_step_ns = %" PRId64 "L; late_ns = %" PRId64 "L;\n"
          "  resources = ( { name = \"memory\"; capacity = %" PRId32 "; per = \"%s\"; } ); };\n",
          convolutions->clock_step_ns, convolutions->late_ns, convolutions->capacity,
          convolutions->per_task ? "task" : "block");
}

static void write_tasks(FILE *file, const prem_convolutions *convolutions) {
  const int64_t *wcet_ns = convolutions->wcet_ns;
  fprintf(file,
          "arrays = ( { name = \"image\"; type = \"f32\"; shape = [ %" PRId32 ", %" PRId32 " ];\n"
          "  fill = \"random\"; seed = 7; } );\n",
          convolutions->rows + 2, convolutions->columns + 2);
  fprintf(file,
          "tasks = ( { name = \"conv\"; copies = %" PRId32 "; kernel = \"conv2d\";\n"
          "  blocks = %" PRId32 "; tile = [ %" PRId32 ", %" PRId32 " ];\n"
          "  arrays: { in = \"image\"; out = \"new\"; };\n"
          "  prefetch: { wcet_ns = %" PRId64 "L; }; compute: { wcet_ns = %" PRId64
          "L; }; writeback: { wcet_ns = %" PRId64 "L; }; } );\n",
          convolutions->kernels, convolutions->blocks, convolutions->tile_rows,
          convolutions->tile_columns, wcet_ns[PREM_PREFETCH], wcet_ns[PREM_COMPUTE],
          wcet_ns[PREM_WRITEBACK]);
}

static void write_policy(FILE *file, const prem_convolutions *convolutions) {
  fprintf(file, "policy: { use = \"%s\";", convolutions->policy);
  if (convolutions->prefetch_offset_ns)
    fprintf(file, " prefetch_offset_ns = %" PRId64 "L;", convolutions->prefetch_offset_ns);
  if (convolutions->writeback_offset_ns)
    fprintf(file, " writeback_offset_ns = %" PRId64 "L;", convolutions->writeback_offset_ns);
  if (convolutions->warmup_ns)
    fprintf(file, " warmup_tiles = %d; warmup_ns = %" PRId64 "L;", WARMUP_TILES,
            convolutions->warmup_ns);
  fputs(" };\n", file);
}

char *prem_convolutions_text(const prem_convolutions *convolutions) {
  char *text = NULL;
  size_t length = 0;
  FILE *file = open_memstream(&text, &length);
  if (!file)
    return NULL;
  fputs("version = 1;\nname = \"convolutions\";\n", file);
  write_platform(file, convolutions);
  write_tasks(file, convolutions);
  write_policy(file, convolutions);
  const bool whole = !ferror(file);
  if (fclose(file) == 0 && whole)
    return text;
  free(text);
  return NULL;
}

/* ---- running them --------------------------------------------------------------------------- */

prem_status prem_convolutions_run(const prem_scenario_request *request,
                                  const prem_convolutions *convolutions, prem_measured *out,
                                  prem_diag *diag) {
  char *text = prem_convolutions_text(convolutions);
  prem_scenario_request own = *request;
  own.text = text;
  *out = (prem_measured){0};
  const prem_status status = text ? prem_scenario_run(&own, out, diag) : PREM_ERR_MEMORY;
  free(text);
  return status;
}

prem_convolutions prem_convolutions_alone(const prem_convolutions *convolutions) {
  prem_convolutions one = *convolutions;
  one.rows = convolutions->rows / convolutions->blocks;
  one.kernels = one.blocks = 1;
  return one;
}

prem_status prem_convolutions_lengths(const prem_scenario_request *request,
                                      const prem_convolutions *convolutions, prem_lengths *out,
                                      prem_diag *diag) {
  prem_scenario_request free_running = *request;
  free_running.modes[0] = PREM_MODE_FREE;
  free_running.mode_count = 1;
  prem_measured measured;
  const prem_status status = prem_convolutions_run(&free_running, convolutions, &measured, diag);
  *out = prem_lengths_of(&measured.outcomes[0]);
  prem_measured_free(&measured);
  return status;
}

void prem_convolutions_expect(prem_convolutions *convolutions,
                              const int64_t phase_ns[PREM_PHASE_COUNT]) {
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    const int64_t min_ns = phase_ns[p] > 0 ? phase_ns[p] : 1;
    convolutions->wcet_ns[p] = prem_round_up(min_ns, convolutions->clock_step_ns);
  }
}

int64_t prem_convolutions_warmup_ns(const prem_convolutions *convolutions) {
  const int64_t blocks = (int64_t)convolutions->kernels * convolutions->blocks;
  return prem_round_up(COLD_NS + blocks * prem_tile_ns(convolutions->wcet_ns),
                       convolutions->clock_step_ns);
}
