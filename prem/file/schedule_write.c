/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a schedule file: its own bytes up to the plan, then the plan. */
#include "prem/base/fail.h"
#include "prem/file/reader.h"

#include "ttprem/output.h"

#include <inttypes.h>
#include <stdio.h>

enum { LINE_BYTES = 100 };

/* ---- the plan -------------------------------------------------------------------------------- */

/* Names are quoted as libconfig reads them. */
void prem_write_text(FILE *out, const char *text) {
  fputc('"', out);
  for (; *text; ++text) {
    if (*text == '"' || *text == '\\')
      fputc('\\', out);
    fputc(*text, out);
  }
  fputc('"', out);
}

static void write_subject(FILE *out, const char *indent, const prem_schedule *schedule,
                          int32_t task, prem_phase phase, uint32_t chain) {
  fprintf(out, "%s  { task = ", indent);
  prem_write_text(out, schedule->tasks[task].name);
  fprintf(out, "; phase = \"%s\";", prem_phase_name(phase));
  if (chain & PREM_CHAIN_JOB)
    fputs(" chain = [ \"job\" ];", out);
  else if (chain)
    fprintf(out, " chain = [ %s%s%s ];", chain & PREM_CHAIN_COMPUTE ? "\"compute\"" : "",
            chain == (PREM_CHAIN_COMPUTE | PREM_CHAIN_WRITEBACK) ? ", " : "",
            chain & PREM_CHAIN_WRITEBACK ? "\"writeback\"" : "");
}

static void write_run(FILE *out, const char *indent, const prem_schedule *schedule,
                      const prem_affine *run) {
  prem_affine usual = prem_usual_run(schedule, run->task, run->phase);
  usual.tile = run->first_block;
  write_subject(out, indent, schedule, run->task, run->phase, run->chain);
  fprintf(out, "\n%s   ", indent);
  prem_write_values(out, PREM_KEY_run_first_block, PREM_KEY_run_job_step_ns, run, &usual);
  if (run->join_task >= 0) {
    fputs(" join: {", out);
    if (run->join_task != run->task) {
      fputs(" task = ", out);
      prem_write_text(out, schedule->tasks[run->join_task].name);
      fputc(';', out);
    }
    usual.join_job = run->job;
    prem_write_values(out, PREM_KEY_join_tile, PREM_KEY_join_job, run, &usual);
    fputs(" };", out);
  }
  fputs(" }", out);
}

/* So many times of an array, each `stride_bytes` behind the one before; `used` bytes stand in the
 * line. */
static void write_times(FILE *out, const char *indent, const int64_t *first_ns, int64_t count,
                        size_t stride_bytes, int used) {
  for (int64_t i = 0; i < count; ++i) {
    char number[32];
    const int64_t *time_ns =
        (const int64_t *)(const void *)((const char *)first_ns + (size_t)i * stride_bytes);
    const int length =
        snprintf(number, sizeof number, " %" PRId64 "L%s", *time_ns, i + 1 < count ? "," : "");
    if (used + length > LINE_BYTES) {
      used = fprintf(out, "\n%s     ", indent) - 1;
    }
    fputs(number, out);
    used += length;
  }
  fputs(" ];", out);
}

static void write_starts(FILE *out, const char *indent, const prem_schedule *schedule,
                         const prem_starts *starts) {
  write_subject(out, indent, schedule, starts->task, starts->phase, starts->chain);
  fprintf(out, " block = %d;\n%s    start_ns = [", starts->block, indent);
  write_times(out, indent, starts->start_ns, starts->count, sizeof *starts->start_ns, LINE_BYTES);
  fputs(" }", out);
}

/* "0-3,8", in the order of the tiles. */
static void write_block_ranges(FILE *out, const prem_task *task) {
  for (int32_t first = 0, last; first < task->block_count; first = last + 1) {
    for (last = first;
         last + 1 < task->block_count && task->blocks[last + 1] == task->blocks[last] + 1;)
      ++last;
    fprintf(out, "%s%" PRId32, first ? "," : "", task->blocks[first]);
    if (last > first)
      fprintf(out, "-%" PRId32, task->blocks[last]);
  }
}

static void write_dealt(FILE *out, const prem_schedule *schedule) {
  bool any = false;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    if (!task->blocks_open)
      continue;
    fputs(any ? ",\n    { task = " : "\n  blocks = (\n    { task = ", out);
    prem_write_text(out, task->name);
    fputs("; blocks = \"", out);
    write_block_ranges(out, task);
    fputs("\"; }", out);
    any = true;
  }
  if (any)
    fputs("\n  );", out);
}

/* What was chosen for tasks that leave their tiles open, and for open buffers. */
static void write_tiles(FILE *out, const prem_schedule *schedule) {
  bool any = false;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    if (!task->tile_open || task->tile_rank == 0)
      continue;
    fputs(any ? ",\n    { task = " : "\n  tiles = (\n    { task = ", out);
    prem_write_text(out, task->name);
    for (int32_t d = 0; d < task->tile_rank; ++d)
      fprintf(out, "%s%" PRId32, d ? ", " : "; tile = [ ", task->tile[d]);
    fputs(" ]; }", out);
    any = true;
  }
  if (any)
    fputs("\n  );", out);
  if (schedule->platform.buffers_open)
    fprintf(out, "\n  buffers = %" PRId32 ";", schedule->platform.buffers);
}

static void write_closed(FILE *out, const prem_plan *plan) {
  const prem_closed_window *closed = plan->closed;
  if (!plan->gates)
    return;
  fprintf(out, "\n  closed: { open_ns = %" PRId64 "L;\n    start_ns = [", plan->open_ns);
  write_times(out, "  ", closed ? &closed->start_ns : NULL, plan->closed_count, sizeof *closed, 0);
  fputs("\n    end_ns = [", out);
  write_times(out, "  ", closed ? &closed->end_ns : NULL, plan->closed_count, sizeof *closed, 0);
  fputs(" };", out);
}

/* `indent` stands before the keys of the plan. */
static void write_entries(FILE *out, const prem_schedule *schedule, const prem_plan *plan,
                          const char *indent) {
  if (plan->affine_count > 0) {
    fprintf(out, "\n%sruns = (", indent);
    for (int32_t i = 0; i < plan->affine_count; ++i) {
      fputs(i ? ",\n" : "\n", out);
      write_run(out, indent, schedule, &plan->affine[i]);
    }
    fprintf(out, "\n%s);", indent);
  }
  if (plan->starts_count > 0) {
    fprintf(out, "\n%sstarts = (", indent);
    for (int32_t i = 0; i < plan->starts_count; ++i) {
      fputs(i ? ",\n" : "\n", out);
      write_starts(out, indent, schedule, &plan->starts[i]);
    }
    fprintf(out, "\n%s);", indent);
  }
}

static void write_mode_plans(FILE *out, const prem_schedule *schedule) {
  const prem_plan *plan = schedule->plan;
  if (plan->mode_count == 0)
    return;
  fputs("\n  operating_modes = (", out);
  for (int32_t m = 0; m < plan->mode_count; ++m) {
    fprintf(out, "%s\n    { name = ", m ? "," : "");
    prem_write_text(out, plan->modes[m]->mode);
    fputs(";  policy = ", out);
    prem_write_text(out, plan->modes[m]->policy);
    fputc(';', out);
    write_entries(out, schedule, plan->modes[m], "      ");
    fputs("\n    }", out);
  }
  fputs("\n  );", out);
}

static void write_plan(FILE *out, const prem_schedule *schedule) {
  const prem_plan *plan = schedule->plan;
  fputs("plan: {\n  generator = ", out);
  prem_write_text(out, plan->generator);
  fputs(";  policy = ", out);
  prem_write_text(out, plan->policy);
  fputc(';', out);
  const struct {
    const char *key, *text;
  } origin[] = {{"machine", plan->machine},
                {"kernels", plan->kernels},
                {"profile", plan->profile},
                {"times", plan->times}};
  for (size_t i = 0; i < sizeof origin / sizeof origin[0]; ++i)
    if (origin[i].text[0]) {
      fprintf(out, "\n  %s = ", origin[i].key);
      prem_write_text(out, origin[i].text);
      fputc(';', out);
    }
  fprintf(out, "\n  hyperperiod_ns = %" PRId64 "L;", plan->hyperperiod_ns);
  if (plan->clock_step_ns > 0)
    fprintf(out, "  clock_step_ns = %" PRId64 "L;", plan->clock_step_ns);
  if (plan->warmup_tiles > 0)
    fprintf(out, "\n  warmup_tiles = %d;  warmup_ns = %" PRId64 "L;", plan->warmup_tiles,
            plan->warmup_ns);
  write_dealt(out, schedule);
  write_tiles(out, schedule);
  write_entries(out, schedule, plan, "  ");
  write_mode_plans(out, schedule);
  write_closed(out, schedule->plan);
  fputs("\n};\n", out);
}

/* ---- the file -------------------------------------------------------------------------------- */

static void write_schedule(FILE *out, const prem_schedule *schedule) {
  const struct prem_schedule_private *own = schedule->private_data;
  size_t kept = own->plan_offset < own->source_bytes ? own->plan_offset : own->source_bytes;
  fwrite(own->source, 1, kept, out);
  if (!schedule->plan)
    return;
  const bool is_appended = kept == own->source_bytes; /* maybe to a comment */
  if (is_appended && kept > 0 && own->source[kept - 1] != '\n')
    fputc('\n', out);
  write_plan(out, schedule);
}

prem_status prem_schedule_save(const prem_schedule *schedule, const char *path, prem_diag *diag) {
  const struct prem_schedule_private *own = schedule->private_data;
  if (own->plan_is_included || own->settings_follow)
    return prem_fail(
        diag, PREM_ERR_INVALID, 2, schedule->plan ? schedule->plan->place : (prem_place){0}, "plan",
        own->plan_is_included
            ? "the plan comes from an included file; put it into the schedule itself"
            : "settings stand after the plan and would be lost; make it the last group");
  prem_output output;
  char reason[160];
  prem_status status = prem_output_open(&output, path, reason, sizeof reason);
  if (status == PREM_OK) {
    write_schedule(output.file, schedule);
    status = prem_output_commit(&output, reason, sizeof reason);
  }
  if (status != PREM_OK)
    return prem_fail(diag, status, 0, (prem_place){path, 0}, NULL, "cannot be written: %s", reason);
  return status;
}
