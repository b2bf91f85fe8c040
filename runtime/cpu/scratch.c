/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block's scratchpad: input buffers, then output buffers, with a red zone before each and after
 * the last one. They are looked at when a run is over, by the caller's thread, so that they cost no
 * measured time. Who broke one is then found by computing all tiles anew, each alone.
 */
#include "prem/base/fail.h"
#include "runtime/core/red_zones.h"
#include "runtime/cpu/cpu.h"

#include <stdlib.h>
#include <string.h>

enum { ZONE_BYTES = 4 * PREM_RED_ZONE_BYTES };

static size_t buffer_bytes(const prem_cpu_block *block, int32_t buffer) {
  const bool is_input = buffer < block->cpu->program->schedule->platform.buffers;
  return (size_t)(is_input ? block->program->in_bytes : block->program->out_bytes);
}

/* Where the zone before a buffer begins; with the count of all buffers that of the last one. */
static size_t zone_offset(const prem_cpu_block *block, int32_t buffer) {
  const int32_t inputs = block->cpu->program->schedule->platform.buffers;
  const int32_t in = buffer < inputs ? buffer : inputs;
  return (size_t)buffer * ZONE_BYTES + (size_t)in * buffer_bytes(block, 0) +
         (size_t)(buffer - in) * buffer_bytes(block, inputs);
}

unsigned char *prem_cpu_input_buffer(const prem_cpu_block *block, int32_t buffer) {
  return block->scratch ? block->scratch + zone_offset(block, buffer) + ZONE_BYTES : NULL;
}

unsigned char *prem_cpu_output_buffer(const prem_cpu_block *block, int32_t buffer) {
  const int32_t inputs = block->cpu->program->schedule->platform.buffers;
  return prem_cpu_input_buffer(block, inputs + buffer);
}

bool prem_cpu_scratch_new(prem_cpu_block *block) {
  if (!block->program || block->program->in_bytes + block->program->out_bytes == 0)
    return true;
  const int32_t buffers = 2 * block->cpu->program->schedule->platform.buffers;
  const size_t bytes = zone_offset(block, buffers) + ZONE_BYTES;
  block->scratch = aligned_alloc(128, bytes); /* a multiple of 128, as each buffer and zone */
  if (!block->scratch)
    return false;
  memset(block->scratch, PREM_POISON, bytes); /* touched here: it lies near this core */
  for (int32_t b = 0; b <= buffers; ++b)
    prem_red_zone_fill(block->scratch + zone_offset(block, b), ZONE_BYTES);
  return true;
}

prem_status prem_cpu_judge_stores(const prem_cpu *cpu, prem_diag *diag) {
  const int32_t buffers = 2 * cpu->program->schedule->platform.buffers;
  for (int32_t i = 0; i < cpu->block_count; ++i) {
    const prem_cpu_block *block = &cpu->blocks[i];
    for (int32_t b = 0; block->scratch && b <= buffers; ++b) {
      if (!prem_red_zone_broken(block->scratch + zone_offset(block, b), ZONE_BYTES))
        continue;
      const prem_status status = prem_find_stray(cpu->arrays, diag);
      if (status)
        return status;
      return prem_fail(diag, PREM_ERR_WRONG, 31, (prem_place){0}, "run",
                       "a compute on block %d wrote outside of its buffers; which one, none of the "
                       "tiles shows when it is computed again",
                       block->number);
    }
  }
  return PREM_OK;
}
