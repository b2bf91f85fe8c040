/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sweeps run twice: first without measuring, which judges every expression and counts the runs,
 * then in earnest. What is measured is NAN the first time.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/common/interference.h"
#include "experiments/common/probe.h"
#include "experiments/common/scenario.h"
#include "experiments/sweep/sweep_parts.h"
#include "prem/base/numbers.h"
#include "prem/base/suggest.h"

enum { MAX_DEPTH = 16, MAX_STEPS = 100000 };

/** What a run measured, until all its labels are given to others. */
struct kept_run {
  prem_measured measured;
  int32_t labels;
};

static prem_status run_steps(sweep_run *run, setting *steps);
static prem_status run_step(sweep_run *run, setting *step);

static prem_status each(sweep_run *run, setting *list,
                        prem_status (*take)(sweep_run *run, setting *at)) {
  prem_status status = PREM_OK;
  for (int i = 0; list && i < config_setting_length(list) && status == PREM_OK; ++i)
    status = take(run, config_setting_get_elem(list, (unsigned)i));
  return status;
}

/* ---- running a schedule --------------------------------------------------------------------- */

static void let_go(kept_run *kept) {
  if (!kept || --kept->labels > 0)
    return;
  prem_measured_free(&kept->measured);
  free(kept);
}

static void free_measured(prem_sweep_measured *measured) {
  free(measured->numbers);
  prem_findings_free(measured->found);
}

/* Whatever had this name before is forgotten. */
static bool keep(sweep_run *run, const char *name, kept_run *kept, prem_sweep_measured measured) {
  label *own = sweep_find_label(run, name, strlen(name));
  if (!own) {
    own = calloc(1, sizeof *own);
    if (!own)
      return false;
    snprintf(own->name, sizeof own->name, "%s", name);
    own->next = run->labels;
    run->labels = own;
  }
  if (kept)
    ++kept->labels;
  let_go(own->run);
  free_measured(&own->measured);
  own->run = kept;
  own->measured = measured;
  return true;
}

static bool find_modes(const sweep_run *run, setting *at, prem_scenario_request *request) {
  setting *modes = config_setting_get_member(at, "modes");
  const int count = modes ? config_setting_length(modes) : 0;
  if (count < 1 || count > PREM_MODE_COUNT) {
    prem_sweep_refuse(run->sweep, run->diag, at, "modes",
                      "%d modes; give one to %d of free, tt, lock, legacy", count, PREM_MODE_COUNT);
    return false;
  }
  for (int i = 0; i < count; ++i) {
    const char *name = config_setting_get_string_elem(modes, i);
    int mode = 0;
    while (mode < PREM_MODE_COUNT && strcmp(prem_mode_name((prem_mode)mode), name) != 0)
      ++mode;
    if (mode == PREM_MODE_COUNT) {
      prem_sweep_refuse(run->sweep, run->diag, at, "modes",
                        "unknown mode '%s'; there are free, tt, lock, legacy",
                        prem_show(name).text);
      return false;
    }
    request->modes[request->mode_count++] = (prem_mode)mode;
  }
  return true;
}

/* With `keep` a single mode is called so, and of several each KEEP_MODE. */
static void label_of(const char *keep, const prem_scenario_request *request, int32_t place,
                     char out[SWEEP_LABEL_BYTES]) {
  const char *mode = prem_mode_name(request->modes[place]);
  if (keep && request->mode_count == 1)
    snprintf(out, SWEEP_LABEL_BYTES, "%s", keep);
  else
    snprintf(out, SWEEP_LABEL_BYTES, "%s%s%s", keep ? keep : "", keep ? "_" : "", mode);
}

static bool is_odd_tile(const prem_trace_record *record) {
  return record->tile % 2 == 1;
}

static prem_status find_schedule(sweep_run *run, setting *at, char **text, char **path) {
  *path = sweep_expand(run, at, "path");
  if (*path)
    return PREM_OK;
  const char *name = prem_sweep_string(at, "schedule");
  char *template = name ? prem_sweep_text(run->sweep, name) : NULL;
  if (!template)
    return prem_sweep_refuse(run->sweep, run->diag, at, "schedule",
                             name ? "'%s' cannot be read" : "missing; name a schedule file%s",
                             name ? prem_show(name).text : "");
  const prem_sweep_names names = sweep_names_of(run);
  char reason[PREM_REASON_BYTES] = "";
  *text = prem_sweep_expand(template, &names, reason);
  free(template);
  return *text ? PREM_OK
               : prem_sweep_refuse(run->sweep, run->diag, at, "schedule", "%s: %s",
                                   prem_show(name).text, reason);
}

static prem_status measure(sweep_run *run, setting *at, prem_scenario_request *request,
                           kept_run *kept) {
  char *text = NULL, *path = NULL;
  prem_status status = find_schedule(run, at, &text, &path);
  request->text = text;
  request->path = path;
  if (status == PREM_OK && !run->dry) {
    const size_t before = prem_diag_errors(run->diag);
    status = prem_scenario_run(request, &kept->measured, run->diag);
    if (prem_diag_errors(run->diag) > before)
      prem_sweep_refuse(run->sweep, run->diag, at, NULL, "is the run whose schedule failed");
  } else if (status == PREM_OK) {
    ++run->all;
  }
  free(text);
  free(path);
  return status;
}

static prem_status run_schedule(sweep_run *run, setting *at, const char *keep_as,
                                prem_scenario_request *request) {
  kept_run *kept = calloc(1, sizeof *kept);
  if (!kept)
    return PREM_ERR_MEMORY;
  kept->labels = 1; /* ours */
  prem_status status = measure(run, at, request, kept);
  for (int32_t m = 0; m < request->mode_count && status == PREM_OK; ++m) {
    char name[SWEEP_LABEL_BYTES];
    label_of(keep_as, request, m, name);
    const prem_sweep_measured measured = {.result = kept->measured.result,
                                          .outcome = &kept->measured.outcomes[m]};
    if (!keep(run, name, kept, run->dry ? (prem_sweep_measured){0} : measured))
      status = PREM_ERR_MEMORY;
  }
  let_go(kept);
  return status;
}

/* A kernel by its name; PREM_ORDINARY_WORKS: there is none. */
static prem_ordinary_work ordinary_of(sweep_run *run, setting *at, const char *key) {
  char *name = sweep_expand(run, at, key);
  int work = 0;
  while (name && work < PREM_ORDINARY_WORKS &&
         strcmp(prem_ordinary_name((prem_ordinary_work)work), name) != 0)
    ++work;
  free(name);
  return name ? (prem_ordinary_work)work : PREM_ORDINARY_WORKS;
}

/* Ordinary kernels on two SMs; where they cannot be had, their numbers are not known, or they are
 * needed and that is the end. */
static prem_status measure_ordinary(sweep_run *run, const prem_ordinary_work *works, int32_t count,
                                    bool mapped, int64_t repeat, bool needed,
                                    prem_sweep_measured *out) {
  if (run->dry) {
    ++run->all;
    return PREM_OK;
  }
  prem_ordinary_found found;
  prem_experiment_progress(run->context, run->done, run->all);
  const prem_status status =
      prem_ordinary_find(run->context, works, count, mapped, repeat, &found, run->diag);
  if (status != PREM_OK)
    return status == PREM_ERR_UNAVAILABLE && !needed ? PREM_OK : status;
  prem_findings_output(run->findings, found.right);
  *out = (prem_sweep_measured){.is_ordinary = true, .ordinary = found};
  prem_experiment_progress(run->context, ++run->done, run->all);
  return PREM_OK;
}

static prem_status run_ordinary(sweep_run *run, setting *at, const char *keep_as, int64_t repeat) {
  prem_ordinary_work works[PREM_ORDINARY_KERNELS] = {ordinary_of(run, at, "ordinary")};
  const prem_ordinary_work other =
      prem_sweep_string(at, "beside") ? ordinary_of(run, at, "beside") : works[0];
  int64_t kernels, mapped;
  int needed = 0;
  config_setting_lookup_bool(at, "needed", &needed);
  if (!sweep_whole_of(run, at, "kernels", 1, 1, PREM_ORDINARY_KERNELS, &kernels) ||
      !sweep_whole_of(run, at, "mapped", 0, 0, 1, &mapped))
    return PREM_ERR_PARSE;
  if (works[0] == PREM_ORDINARY_WORKS || other == PREM_ORDINARY_WORKS || !keep_as)
    return prem_sweep_refuse(run->sweep, run->diag, at, "ordinary", "%s",
                             keep_as ? "there is no such kernel" : "needs `keep`");
  for (int64_t k = 1; k < kernels; ++k)
    works[k] = other;
  prem_sweep_measured measured = {0};
  const prem_status status =
      measure_ordinary(run, works, (int32_t)kernels, mapped != 0, repeat, needed, &measured);
  if (status != PREM_OK)
    return status;
  return keep(run, keep_as, NULL, measured) ? PREM_OK : PREM_ERR_MEMORY;
}

/* With the least room that all walks need, which is known when nothing was measured yet. */
static prem_status walk(sweep_run *run, const prem_walk *walk, bool is_elements,
                        prem_element_repeats repeats, prem_walk_time *out) {
  prem_status status = PREM_OK;
  if (is_elements && !run->elements)
    status = prem_elements_open(run->context, run->room_bytes, run->mapped_bytes, &run->elements,
                                run->diag);
  else if (!is_elements && !run->walker)
    status = prem_walker_open(run->context, run->room_bytes, run->mapped_bytes > 0, &run->walker,
                              run->diag);
  if (status != PREM_OK)
    return status;
  return is_elements ? prem_elements_measure(run->elements, walk, repeats, out, run->diag)
                     : prem_walk_measure(run->walker, walk, repeats.min, out, run->diag);
}

/* Threads that follow a list through memory, by neighbouring elements or by sectors. */
static prem_status run_walk(sweep_run *run, setting *at, const char *keep_as, int64_t repeat) {
  const bool is_gpu = prem_is_gpu(run->backend);
  const char *kind = prem_sweep_string(at, "walk");
  int64_t bytes, kernels, threads, steps, most, budget_ns, mapped;
  char *order = sweep_expand(run, at, "order");
  const bool is_random = order && strcmp(order, "random") == 0;
  const bool is_known = (strcmp(kind, "elements") == 0 || strcmp(kind, "sectors") == 0) && order &&
                        (is_random || strcmp(order, "sequential") == 0);
  free(order);
  if (!is_known || !keep_as)
    return prem_sweep_refuse(run->sweep, run->diag, at, "walk",
                             "a walk is by \"elements\" or \"sectors\", its `order` \"random\" or "
                             "\"sequential\", and it has a `keep`");
  if (!sweep_whole_of(run, at, "bytes", 0, 128, 1e12, &bytes) ||
      !sweep_whole_of(run, at, "kernels", 1, 1, PREM_WALK_KERNELS, &kernels) ||
      !sweep_whole_of(run, at, "threads", 1, 1, is_gpu || run->dry ? PREM_WALK_THREADS : 1,
                      &threads) ||
      !sweep_whole_of(run, at, "mapped", 0, 0, 1, &mapped) ||
      !sweep_whole_of(run, at, "steps", 0, 0, 1e9, &steps) ||
      !sweep_whole_of(run, at, "most", repeat, 1, 1e6, &most) ||
      !sweep_whole_of(run, at, "budget", 0, 0, 1e12, &budget_ns))
    return PREM_ERR_PARSE;
  const prem_walk own = {.bytes = bytes,
                         .order = is_random ? PREM_WALK_RANDOM : PREM_WALK_SEQUENTIAL,
                         .mapped = mapped != 0,
                         .kernels = (int32_t)kernels,
                         .threads = (int32_t)threads,
                         .steps = steps};
  prem_sweep_measured measured = {.is_walk = true};
  if (run->dry) {
    ++run->all;
    run->room_bytes = prem_max_i64(run->room_bytes, bytes * kernels);
    run->mapped_bytes = prem_max_i64(run->mapped_bytes, mapped * bytes * kernels);
  } else {
    prem_experiment_progress(run->context, run->done, run->all);
    const prem_status status =
        walk(run, &own, strcmp(kind, "elements") == 0,
             (prem_element_repeats){(int32_t)repeat, (int32_t)most, budget_ns}, &measured.walk);
    if (status != PREM_OK)
      return status;
    prem_findings_output(run->findings, measured.walk.right);
    prem_experiment_progress(run->context, ++run->done, run->all);
  }
  return keep(run, keep_as, NULL, measured) ? PREM_OK : PREM_ERR_MEMORY;
}

static prem_table *find_probed_table(const void *from, const char *name) {
  const sweep_table *own = sweep_find_table(from, name);
  return own ? own->table : NULL;
}

/* A measurement in C. What it has found when it is interrupted is kept as well. */
static prem_status run_probe(sweep_run *run, setting *at, const char *keep_as) {
  const char *name = prem_sweep_string(at, "probe");
  const prem_probe *probe = run->context->find_probe ? run->context->find_probe(name) : NULL;
  if (!probe || !keep_as)
    return prem_sweep_refuse(run->sweep, run->diag, at, "probe", "%s '%s'",
                             probe ? "`keep` is missing for" : "there is no probe",
                             prem_show(name).text);
  if (probe->table && !sweep_find_table(run, probe->table))
    return prem_sweep_refuse(run->sweep, run->diag, at, "probe", "'%s' needs a table '%s'", name,
                             probe->table);
  prem_sweep_measured measured = {.found = prem_findings_new(name, "", "")};
  prem_table *found = prem_table_begin(measured.found, "found", "", NULL, probe->columns);
  prem_status status = found ? PREM_OK : PREM_ERR_MEMORY;
  if (run->dry) {
    ++run->all;
  } else if (found) {
    prem_experiment_progress(run->context, run->done, run->all);
    status = probe->run(&(prem_probe_call){run->context, run->findings, run->diag, found,
                                           sweep_names_of(run), find_probed_table});
    prem_experiment_progress(run->context, ++run->done, run->all);
  }
  if (status != PREM_OK && status != PREM_ERR_INTERRUPTED)
    prem_findings_free(measured.found);
  else if (!keep(run, keep_as, NULL, measured))
    status = PREM_ERR_MEMORY;
  return status;
}

static prem_status run_it(sweep_run *run, setting *at) {
  const config_setting_t *root = config_root_setting(&run->sweep->own.config);
  prem_experiment_context context = *run->context;
  context.backend = run->backend;
  context.machine = run->machine;
  prem_scenario_request request = {.context = &context,
                                   .findings = run->findings,
                                   .discard = 1,
                                   .done = &run->done,
                                   .all = run->all};
  int64_t repeat, task;
  if (!sweep_whole_of(run, config_setting_get_member(at, "repeat") ? at : root, "repeat", 1, 1, 1e6,
                      &repeat) ||
      !sweep_whole_of(run, at, "task", -1, -1, PREM_MAX_TASKS, &task))
    return PREM_ERR_PARSE;
  int apart = 0;
  config_setting_lookup_bool(at, "apart", &apart);
  request.repeat = repeat;
  request.task = (int32_t)task;
  request.is_reference = apart ? is_odd_tile : NULL;
  char *keep_as = sweep_expand(run, at, "keep");
  if (!keep_as && prem_sweep_string(at, "keep"))
    return PREM_ERR_PARSE;
  const prem_status status =
      prem_sweep_string(at, "ordinary") ? run_ordinary(run, at, keep_as, repeat)
      : prem_sweep_string(at, "probe")  ? run_probe(run, at, keep_as)
      : prem_sweep_string(at, "walk")   ? run_walk(run, at, keep_as, repeat)
      : find_modes(run, at, &request)   ? run_schedule(run, at, keep_as, &request)
                                        : PREM_ERR_PARSE;
  free(keep_as);
  return status;
}

static prem_status add_number(prem_sweep_measured *all, double number) {
  double *more = realloc(all->numbers, (size_t)(all->number_count + 1) * sizeof *more);
  if (!more)
    return PREM_ERR_MEMORY;
  all->numbers = more;
  int64_t place = all->number_count++;
  for (; place > 0 && more[place - 1] > number; --place)
    more[place] = more[place - 1];
  more[place] = number;
  return PREM_OK;
}

/* Numbers of many rows, put together under a name: its min, max and percentiles. */
static prem_status tally(sweep_run *run, setting *at) {
  double number;
  char *name = sweep_expand(run, at, "name");
  if (!name || !sweep_number_of(run, at, "number", 0, &number)) {
    free(name);
    return PREM_ERR_PARSE;
  }
  label *own = sweep_find_label(run, name, strlen(name));
  if (!own && keep(run, name, NULL, (prem_sweep_measured){.is_tally = true}))
    own = run->labels;
  free(name);
  if (!own)
    return PREM_ERR_MEMORY;
  if (run->dry || isnan(number))
    return PREM_OK;
  return add_number(&own->measured, number);
}

/* Was what was measured right? The findings say so. */
static prem_status judge(sweep_run *run, setting *step) {
  double right;
  if (!sweep_number_of(run, step, "right", 1, &right))
    return PREM_ERR_PARSE;
  if (!run->dry && config_setting_get_member(step, "right"))
    prem_findings_output(run->findings, right == 1);
  return PREM_OK;
}

/* ---- steps ---------------------------------------------------------------------------------- */

static prem_status say(sweep_run *run, setting *step, const char *key,
                       void (*tell)(prem_findings *findings, const char *format, ...)) {
  char *text = sweep_expand(run, step, key);
  if (!text)
    return prem_sweep_string(step, key) ? PREM_ERR_PARSE : PREM_OK;
  if (!run->dry)
    tell(run->findings, "%s", text);
  free(text);
  return PREM_OK;
}

/* The steps while cores keep the host's memory busy; or, alone, the most that the memory gives.
 * What was read and written a second is kept. */
static prem_status run_under_load(sweep_run *run, setting *load, setting *steps) {
  int64_t first;
  double bytes_per_s = (double)NAN;
  char *kind = sweep_expand(run, load, "kind"), *keep_as = sweep_expand(run, load, "keep");
  int which = 0;
  while (kind && which < PREM_INTERFERENCE_COUNT &&
         strcmp(prem_interference_name((prem_interference_kind)which), kind) != 0)
    ++which;
  const bool is_most = kind && strcmp(kind, "most") == 0;
  prem_interference *interference = NULL;
  prem_status status = PREM_OK;
  if (!kind || !keep_as || !sweep_whole_of(run, load, "first", 0, 0, 1024, &first))
    status = PREM_ERR_PARSE;
  else if (which == PREM_INTERFERENCE_COUNT && !is_most)
    status = prem_sweep_refuse(run->sweep, run->diag, load, "kind",
                               "unknown load '%s'; there are none, sequential, random and most",
                               prem_show(kind).text);
  else if (!run->dry && is_most)
    status = prem_host_bandwidth(run->context, &bytes_per_s, run->diag);
  else if (!run->dry)
    status = prem_interference_begin((prem_interference_kind)which, (int32_t)first,
                                     run->context->seed, &interference, run->diag);
  if (status == PREM_OK)
    status = run_steps(run, steps);
  if (!run->dry && !is_most)
    bytes_per_s = prem_interference_end(interference);
  prem_sweep_measured measured = {.is_tally = true};
  if (status == PREM_OK && !isnan(bytes_per_s))
    status = add_number(&measured, bytes_per_s);
  if (status == PREM_OK && !keep(run, keep_as, NULL, measured))
    status = PREM_ERR_MEMORY;
  free(kind);
  free(keep_as);
  return status;
}

static prem_status run_named(sweep_run *run, setting *step, const char *name) {
  setting *own = sweep_root_of(&run->sweep->own, "parts"),
          *base = sweep_root_of(&run->sweep->base, "parts");
  setting *part = own ? config_setting_get_member(own, name) : NULL;
  if (!part && base)
    part = config_setting_get_member(base, name);
  return part ? run_step(run, part)
              : prem_sweep_refuse(run->sweep, run->diag, step, "part", "there is no part '%s'",
                                  prem_show(name).text);
}

static prem_status run_part(sweep_run *run, setting *step) {
  char *name = sweep_expand(run, step, "part");
  if (!name)
    return prem_sweep_string(step, "part") ? PREM_ERR_PARSE : PREM_OK;
  const prem_status status = run_named(run, step, name);
  free(name);
  return status;
}

static prem_status run_body(sweep_run *run, setting *step) {
  bool wanted;
  prem_status status = sweep_applies(run, step, &wanted);
  if (status != PREM_OK || !wanted)
    return status;
  const variable *before = run->variables;
  setting *with = config_setting_get_member(step, "with"),
          *set = config_setting_get_member(step, "set"),
          *what = config_setting_get_member(step, "run"),
          *count_of = config_setting_get_member(step, "tally"),
          *load = config_setting_get_member(step, "load");
  status = sweep_assign_all(run, with, true);
  if (status == PREM_OK)
    status = sweep_assign_all(run, set, false);
  if (status == PREM_OK && what)
    status = run_it(run, what);
  if (status == PREM_OK && prem_sweep_string(step, "row"))
    status = sweep_add_row(run, step);
  if (status == PREM_OK && count_of)
    status = tally(run, count_of);
  if (status == PREM_OK)
    status = judge(run, step);
  if (status == PREM_OK)
    status = say(run, step, "verdict", prem_findings_verdict);
  if (status == PREM_OK)
    status = say(run, step, "note", prem_findings_note);
  if (status == PREM_OK)
    status = run_part(run, step);
  if (status == PREM_OK)
    status = load ? run_under_load(run, load, config_setting_get_member(step, "steps"))
                  : run_steps(run, config_setting_get_member(step, "steps"));
  sweep_pop_to(run, before);
  return status;
}

enum { TASK, BLOCK, TILE, PHASE, START, END, WARMUP, RECORD_NAMES };
static const char *const record_names[RECORD_NAMES] = {
    "record_task",  "record_block", "record_tile",  "record_phase",
    "record_start", "record_end",   "record_warmup"};

static prem_status run_record(sweep_run *run, setting *step, const prem_trace_record *record) {
  const variable *before = run->variables;
  prem_sweep_value values[RECORD_NAMES] = {[TASK].number = record->task,
                                           [BLOCK].number = record->block,
                                           [TILE].number = record->tile,
                                           [PHASE].is_text = true,
                                           [START].number = (double)record->start_ns,
                                           [END].number = (double)record->end_ns,
                                           [WARMUP].number =
                                               (record->flags & PREM_SLOT_WARMUP) != 0};
  snprintf(values[PHASE].text, PREM_VALUE_BYTES, "%s", prem_phase_name((prem_phase)record->phase));
  prem_status status = PREM_OK;
  for (int i = 0; i < RECORD_NAMES && status == PREM_OK; ++i)
    status = sweep_push(run, record_names[i], &values[i]) ? PREM_OK : PREM_ERR_MEMORY;
  if (status == PREM_OK)
    status = run_body(run, step);
  sweep_pop_to(run, before);
  return status;
}

/* What a probe found, row by row; its columns are names. */
static prem_status run_found(sweep_run *run, setting *step, const prem_findings *found) {
  const variable *before = run->variables;
  const prem_table *table = found->tables[0];
  prem_status status = PREM_OK;
  for (int64_t row = run->dry ? -1 : 0;
       row < (run->dry ? 0 : prem_table_rows(table)) && status == PREM_OK; ++row) {
    for (int64_t c = 0; c < table->column_count && status == PREM_OK; ++c) {
      prem_sweep_value value;
      sweep_found(found, row, table->columns[c].name, &value);
      status = sweep_push(run, table->columns[c].name, &value) ? PREM_OK : PREM_ERR_MEMORY;
    }
    if (status == PREM_OK)
      status = run_body(run, step);
    sweep_pop_to(run, before);
  }
  return status;
}

/* Once for each record of the first run that counted. */
static prem_status run_records(sweep_run *run, setting *step) {
  const char *name = prem_sweep_string(step, "records");
  const label *own = sweep_find_label(run, name, strlen(name));
  if (!own)
    return prem_sweep_refuse(run->sweep, run->diag, step, "records", "there was no run '%s'",
                             prem_show(name).text);
  if (own->measured.found)
    return run_found(run, step, own->measured.found);
  const prem_trace *trace = own->measured.outcome ? own->measured.outcome->row->example : NULL;
  prem_status status = run->dry ? run_record(run, step, &(const prem_trace_record){0}) : PREM_OK;
  for (int64_t i = 0; trace && i < trace->record_count && status == PREM_OK; ++i)
    status = run_record(run, step, &trace->records[i]);
  return status;
}

/* The value itself, or, of a group, its number and what it sets. */
static prem_status choose(sweep_run *run, const char *name, setting *choice, int number,
                          bool *wanted) {
  prem_sweep_value value = {.number = number};
  *wanted = true;
  if (config_setting_is_group(choice)) {
    prem_status status =
        sweep_push(run, name, &value) ? sweep_assign_all(run, choice, true) : PREM_ERR_MEMORY;
    return status == PREM_OK ? sweep_applies(run, choice, wanted) : status;
  }
  if (config_setting_type(choice) == CONFIG_TYPE_STRING) {
    value.is_text = true;
    snprintf(value.text, sizeof value.text, "%s", config_setting_get_string(choice));
  } else if (!sweep_evaluate(run, choice, &value)) {
    return PREM_ERR_PARSE;
  }
  return sweep_push(run, name, &value) ? PREM_OK : PREM_ERR_MEMORY;
}

static prem_status run_choices(sweep_run *run, setting *step, setting *names, int which);

/* { from = 0; to = 99; } */
static prem_status run_range(sweep_run *run, setting *step, setting *range, int which) {
  int64_t from, to;
  if (!sweep_whole_of(run, range, "from", 0, -1e6, 1e6, &from) ||
      !sweep_whole_of(run, range, "to", from, -1e6, 1e6, &to))
    return PREM_ERR_PARSE;
  prem_status status = PREM_OK;
  for (int64_t i = from; i <= to && status == PREM_OK; ++i) {
    const variable *before = run->variables;
    status = sweep_push(run, config_setting_name(range), &(prem_sweep_value){.number = (double)i})
                 ? run_choices(run, step, config_setting_parent(range), which + 1)
                 : PREM_ERR_MEMORY;
    sweep_pop_to(run, before);
  }
  return status;
}

/* The first name is the outermost loop. What takes too long is refused before anything is measured;
 * after that it may be stopped. */
static prem_status run_choices(sweep_run *run, setting *step, setting *names, int which) {
  if (run->dry && ++run->steps > MAX_STEPS)
    return prem_sweep_refuse(run->sweep, run->diag, step, NULL,
                             "more than %d steps in all; let loops have fewer values", MAX_STEPS);
  if (!run->dry && !run->is_over && prem_experiment_stopped(run->context))
    return PREM_ERR_INTERRUPTED;
  if (!names || which == config_setting_length(names))
    return prem_sweep_string(step, "records") ? run_records(run, step) : run_body(run, step);
  setting *choices = config_setting_get_elem(names, (unsigned)which);
  if (config_setting_is_group(choices))
    return run_range(run, step, choices, which);
  prem_status status = PREM_OK;
  for (int i = 0; i < config_setting_length(choices) && status == PREM_OK; ++i) {
    const variable *before = run->variables;
    bool wanted;
    status = choose(run, config_setting_name(choices),
                    config_setting_get_elem(choices, (unsigned)i), i, &wanted);
    if (status == PREM_OK && wanted)
      status = run_choices(run, step, names, which + 1);
    sweep_pop_to(run, before);
  }
  return status;
}

/* A step on its own backend, whichever was asked for. */
static prem_status run_elsewhere(sweep_run *run, setting *step, const char *name) {
  const prem_backend *asked = run->backend, *backend = prem_backend_find(name);
  const prem_machine *own = run->machine;
  prem_machine machine;
  if (!backend)
    return prem_sweep_refuse(run->sweep, run->diag, step, "backend", "there is no backend '%s'",
                             prem_show(name).text);
  prem_status status = prem_backend_probe(backend, &machine, run->diag);
  if (status == PREM_OK)
    status = sweep_use_machine(run, backend, &machine);
  if (status == PREM_OK)
    status = run_choices(run, step, config_setting_get_member(step, "for"), 0);
  const prem_status back = sweep_use_machine(run, asked, own);
  return status == PREM_OK ? back : status;
}

static prem_status run_step(sweep_run *run, setting *step) {
  const char *backend = prem_sweep_string(step, "backend");
  if (run->depth == MAX_DEPTH)
    return prem_sweep_refuse(run->sweep, run->diag, step, NULL,
                             "steps in steps, or parts in parts, more than %d deep", MAX_DEPTH);
  ++run->depth;
  const prem_status status =
      backend ? run_elsewhere(run, step, backend)
              : run_choices(run, step, config_setting_get_member(step, "for"), 0);
  --run->depth;
  return status;
}

static prem_status run_steps(sweep_run *run, setting *steps) {
  return each(run, steps, run_step);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static prem_status judge_room(sweep_run *run) {
  int64_t needed;
  setting *root = config_root_setting(&run->sweep->own.config);
  if (!sweep_whole_of(run, root, "needs_blocks", 0, 0, 1e9, &needed))
    return PREM_ERR_PARSE;
  if (run->machine->max_blocks >= needed)
    return PREM_OK;
  prem_diag_add(run->diag, PREM_ERROR, 0, (prem_place){0}, run->sweep->name,
                "needs %" PRId64 " blocks that run at once, the machine has %" PRId32, needed,
                run->machine->max_blocks);
  return PREM_ERR_UNAVAILABLE;
}

/* An interruption ends all steps but those that are always done: they say what there is. */
static prem_status run_all_steps(sweep_run *run, setting *steps) {
  prem_status status = PREM_OK;
  for (int i = 0; i < config_setting_length(steps); ++i) {
    setting *step = config_setting_get_elem(steps, (unsigned)i);
    int always = 0;
    config_setting_lookup_bool(step, "always", &always);
    run->is_over = status == PREM_ERR_INTERRUPTED;
    if (status == PREM_OK || (run->is_over && always)) {
      const prem_status ended = run_step(run, step);
      status = ended == PREM_OK ? status : ended;
    }
  }
  return status;
}

static prem_status run_once(sweep_run *run) {
  const prem_sweep_file *file = &run->sweep->own;
  prem_status status = sweep_use_machine(run, run->context->backend, run->context->machine);
  if (status == PREM_OK)
    status = judge_room(run);
  if (status == PREM_OK)
    status = each(run, sweep_root_of(file, "tables"), sweep_begin_table);
  if (status == PREM_OK)
    status = each(run, sweep_root_of(file, "charts"), sweep_add_chart);
  return status == PREM_OK ? run_all_steps(run, sweep_root_of(file, "steps")) : status;
}

static void clear(sweep_run *run) {
  sweep_pop_to(run, NULL);
  prem_findings_free(run->hidden);
  prem_walker_close(run->walker);
  prem_elements_close(run->elements);
  while (run->labels) {
    label *own = run->labels;
    run->labels = own->next;
    let_go(own->run);
    free_measured(&own->measured);
    free(own);
  }
}

/* Labels stay: a run that is left out has no numbers, and is no unknown name. */
prem_status prem_sweep_run(const prem_sweep *sweep, const prem_experiment_context *context,
                           prem_findings *findings, prem_diag *diag) {
  sweep_run run = {.sweep = sweep,
                   .context = context,
                   .findings = findings,
                   .diag = diag,
                   .hidden = prem_findings_new("hidden", "", ""),
                   .dry = true};
  prem_status status = run_once(&run);
  sweep_pop_to(&run, NULL);
  run.dry = false;
  run.table_count = 0;
  if (status == PREM_OK)
    status = run_once(&run);
  clear(&run);
  return status;
}
