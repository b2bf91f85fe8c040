/* SPDX-License-Identifier: Apache-2.0 */
#include "experiments/live/ways/live_schedule.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ttprem/prepare.h"

enum { TEXT_BYTES = 4096, MAX_TILE = 8192 /* floats: two of 32 KiB fit any scratchpad */ };

/* So long a phase may take by the plan. Only by the plan: a phase that takes longer makes the next
 * one begin later, which is what these rows measure. */
typedef struct windows {
  int64_t move_ns, compute_ns;
} windows;

typedef struct schedule_text {
  char text[TEXT_BYTES];
  size_t used;
} schedule_text;

PREM_PRINTF(2, 3)
static void add(schedule_text *to, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const int length = vsnprintf(to->text + to->used, sizeof to->text - to->used, format, args);
  va_end(args);
  const size_t left = sizeof to->text - to->used - 1;
  to->used += length < 0 ? 0 : (size_t)length < left ? (size_t)length : left;
}

static int64_t up_to_step(int64_t ns, int64_t step_ns) {
  return (ns + step_ns - 1) / step_ns * step_ns;
}

static windows windows_on(const prem_machine *machine) {
  const bool is_gpu = strcmp(machine->backend, "cuda") == 0;
  const int64_t step_ns = machine->clock_step_ns > 0 ? machine->clock_step_ns : 1;
  const int64_t least_ns = machine->dispatch_ns, move_ns = is_gpu ? 640 : 20000,
                compute_ns = is_gpu ? 128 : 10000;
  return (windows){up_to_step(move_ns > least_ns ? move_ns : least_ns, step_ns),
                   up_to_step(compute_ns > least_ns ? compute_ns : least_ns, step_ns)};
}

static void add_platform(schedule_text *to, const prem_way_setup *setup,
                         const prem_machine *machine) {
  const bool is_gpu = strcmp(machine->backend, "cuda") == 0;
  const int32_t sms = machine->cores > 0 ? machine->cores : setup->blocks;
  add(to, "version = 1;\nname = \"live\";\nplatform: {");
  if (is_gpu && setup->blocks > sms)
    add(to, " sms = %d; blocks_per_sm = %d;", sms, (setup->blocks + sms - 1) / sms);
  else
    add(to, " blocks = %d;", setup->blocks);
  if (is_gpu)
    add(to, " block_threads = %d;", setup->threads);
  if (is_gpu && setup->buffers > 0) /* frames in a row: a block moves while it computes */
    add(to, " buffers = 2;");
  if (machine->scratch_bytes > 0)
    add(to, " scratch_bytes = %" PRId64 "L;",
        is_gpu && setup->blocks > sms ? machine->scratch_bytes / 4 / 1024 * 1024
                                      : machine->scratch_bytes);
  if (machine->clock_step_ns > 0)
    add(to, " clock_step_ns = %" PRId64 "L;", machine->clock_step_ns);
  if (machine->precedence_ns > 0)
    add(to, " precedence_ns = %" PRId64 "L;", machine->precedence_ns);
  add(to, " resources = ( { name = \"memory\"; capacity = %d; } ); };\n", setup->blocks);
}

static void add_phases(schedule_text *to, windows w) {
  add(to,
      " prefetch: { wcet_ns = %" PRId64 "L; }; compute: { wcet_ns = %" PRId64
      "L; }; writeback: { wcet_ns = %" PRId64 "L; }; }",
      w.move_ns, w.compute_ns, w.move_ns);
}

static void add_vector(schedule_text *to, const char *name, int32_t count) {
  add(to, "{ name = \"%s\"; type = \"f32\"; shape = [ %d ]; }", name, count);
}

/* A part for each block; larger ones go in several. */
static int32_t part_of(int32_t count, int32_t blocks) {
  const int32_t part = ((count + blocks - 1) / blocks + 3) / 4 * 4;
  return part < MAX_TILE ? part : MAX_TILE;
}

static int32_t used_blocks(int32_t count, int32_t tile, int32_t blocks) {
  const int32_t tiles = (count + tile - 1) / tile;
  return tiles < blocks ? tiles : blocks;
}

static void add_increment(schedule_text *to, const prem_way_setup *setup, windows w) {
  const bool is_empty = setup->work == PREM_WORK_EMPTY;
  const int32_t count = is_empty ? setup->blocks * PREM_EMPTY_FLOATS : setup->size;
  const int32_t tile = part_of(count, setup->blocks);
  add(to, "arrays = ( ");
  add_vector(to, "x", count);
  add(to, ", ");
  add_vector(to, "z", count);
  add(to,
      " );\ntasks = ( { name = \"increment\"; kernel = \"vector_increment\"; blocks = \"0-%d\"; "
      "tile = [ %d ]; arrays: { in = \"x\"; out = \"z\"; };",
      used_blocks(count, tile, setup->blocks) - 1, tile);
  add_phases(to, w);
  add(to, " );\n");
}

/* Of one block a tile as long as the vector; else tiles' sums, and their sum. */
static void add_sum(schedule_text *to, const prem_way_setup *setup, windows w) {
  const bool is_one = setup->blocks == 1;
  const int32_t tile = is_one ? setup->size : part_of(setup->size, setup->blocks);
  const int32_t tiles = (setup->size + tile - 1) / tile;
  add(to, "arrays = ( ");
  add_vector(to, "x", setup->size);
  add(to, ", ");
  add_vector(to, "z", 1);
  add(to,
      " );\ntasks = ( { name = \"parts\"; kernel = \"vector_sum\"; blocks = \"0-%d\"; tile = [ %d "
      "]; arrays: { in = \"x\"; out = \"%s\"; };",
      used_blocks(setup->size, tile, setup->blocks) - 1, tile, is_one ? "z" : "new");
  add_phases(to, w);
  if (!is_one) {
    add(to,
        ",\n{ name = \"total\"; kernel = \"vector_sum\"; blocks = [ 0 ]; tile = [ %d ]; arrays: { "
        "in = \"parts.out\"; out = \"z\"; }; after = ( { task = \"parts\"; } );",
        tiles);
    add_phases(to, w);
  }
  add(to, " );\n");
}

/* Tiles of the product that share the rows and columns of its factors among the blocks. */
static void add_product(schedule_text *to, const prem_way_setup *setup, windows w) {
  int32_t rows = setup->size, columns = setup->size;
  for (int32_t tiles = 1; tiles * 2 <= setup->blocks && rows > 4; tiles *= 2)
    if (rows >= columns)
      rows /= 2;
    else
      columns /= 2;
  const int32_t tiles = setup->size / rows * (setup->size / columns);
  add(to, "arrays = ( ");
  for (const char *name = "xyz"; *name; ++name)
    add(to, "{ name = \"%c\"; type = \"f32\"; shape = [ %d, %d ]; }%s", *name, setup->size,
        setup->size, name[1] ? ", " : " );\n");
  add(to,
      "tasks = ( { name = \"product\"; kernel = \"matmul\"; blocks = \"0-%d\"; tile = [ %d, %d ]; "
      "arrays: { a = \"x\"; b = \"y\"; out = \"z\"; };",
      (tiles < setup->blocks ? tiles : setup->blocks) - 1, rows, columns);
  add_phases(to, w);
  add(to, " );\n");
}

/* A task for each command. `x` starts hyperperiods; of the others those are skipped whose frames
 * have not come. All on one block, one behind the other. */
static void add_commands(schedule_text *to, const prem_way_setup *setup, windows w) {
  const int32_t side = PREM_WORK_TILE;
  add(to, "arrays = ( ");
  add_vector(to, "x", PREM_EMPTY_FLOATS);
  add(to, ", ");
  add_vector(to, "z", PREM_EMPTY_FLOATS);
  for (const char *name = "xz"; *name; ++name)
    add(to, ", { name = \"%c1\"; type = \"f32\"; shape = [ %d ]; }", *name, setup->size);
  for (const char *name = "xyz"; *name; ++name)
    add(to, ", { name = \"%c2\"; type = \"f32\"; shape = [ %d, %d ]; }", *name, side, side);
  add(to, ", ");
  add_vector(to, "x3", setup->size);
  add(to, ", ");
  add_vector(to, "z3", 1);
  add(to,
      " );\ntasks = ( { name = \"empty\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = [ "
      "%d ]; arrays: { in = \"x\"; out = \"z\"; };",
      PREM_EMPTY_FLOATS);
  add_phases(to, w);
  add(to,
      ",\n{ name = \"increment\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = [ %d ]; "
      "arrays: { in = \"x1\"; out = \"z1\"; };",
      setup->size);
  add_phases(to, w);
  add(to,
      ",\n{ name = \"product\"; kernel = \"matmul\"; blocks = [ 0 ]; tile = [ %d, %d ]; arrays: { "
      "a = \"x2\"; b = \"y2\"; out = \"z2\"; };",
      side, side);
  add_phases(to, w);
  add(to,
      ",\n{ name = \"sum\"; kernel = \"vector_sum\"; blocks = [ 0 ]; tile = [ %d ]; arrays: { in = "
      "\"x3\"; out = \"z3\"; };",
      setup->size);
  add_phases(to, w);
  add(to, " );\nlive: { inputs = ( { array = \"x\"; kind = \"trigger\"; }");
  static const char *const inputs[] = {"x1", "x2", "y2", "x3"}, *const outputs[] = {"z1", "z2",
                                                                                    "z3"};
  for (size_t i = 0; i < sizeof inputs / sizeof *inputs; ++i)
    add(to, ", { array = \"%s\"; kind = \"queuing\"; missing = \"skip\"; }", inputs[i]);
  add(to, " );\n outputs = ( { array = \"z\"; kind = \"queuing\"; }");
  for (size_t o = 0; o < sizeof outputs / sizeof *outputs; ++o)
    add(to, ", { array = \"%s\"; kind = \"queuing\"; }", outputs[o]);
  add(to, " ); };\n");
}

static void add_ports(schedule_text *to, const prem_way_setup *setup) {
  char buffers[32] = "";
  if (setup->buffers > 0)
    snprintf(buffers, sizeof buffers, " buffers = %d;", setup->buffers);
  add(to,
      "live: { inputs = ( { array = \"x\"; kind = \"trigger\";%s }%s );\n"
      "  outputs = ( { array = \"z\"; kind = \"queuing\";%s } ); };\n",
      buffers, setup->work == PREM_WORK_PRODUCT ? ", { array = \"y\"; kind = \"queuing\"; }" : "",
      buffers);
}

prem_status prem_live_schedule_make(const prem_way_setup *setup, const prem_machine *machine,
                                    prem_schedule **out, prem_diag *diag) {
  *out = NULL;
  schedule_text text = {.used = 0};
  const windows w = windows_on(machine);
  add_platform(&text, setup, machine);
  switch (setup->work) {
  case PREM_WORK_EMPTY:
  case PREM_WORK_INCREMENT:
    add_increment(&text, setup, w);
    break;
  case PREM_WORK_PRODUCT:
    add_product(&text, setup, w);
    break;
  case PREM_WORK_SUM:
    add_sum(&text, setup, w);
    break;
  default:
    add_commands(&text, setup, w);
  }
  if (setup->work != PREM_WORK_MIXED)
    add_ports(&text, setup);
  prem_status status = prem_schedule_load_text("live", text.text, out, diag);
  if (status == PREM_OK)
    status = prem_prepare(*out, prem_registry_builtin(), machine, NULL, diag);
  if (status != PREM_OK) {
    prem_schedule_free(*out);
    *out = NULL;
  }
  return status;
}
