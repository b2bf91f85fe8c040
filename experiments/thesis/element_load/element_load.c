/* SPDX-License-Identifier: Apache-2.0 */
/* One thread walks lists of all sizes, with and without load of the CPU: Figs 4.1 and 4.5. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "experiments/common/elements.h"
#include "experiments/common/interference.h"
#include "experiments/common/tables.h"
#include "experiments/thesis/original/originals.h"

static const int64_t sizes_kib[] = {1,   4,   16,  32,  64,  128, 192,  256,  320,
                                    384, 448, 512, 576, 640, 768, 1024, 1280, 1536};
/** Of the largest cache. */
static const double parts[] = {0.25, 0.5, 0.75, 1.0, 1.5, 3.0};
enum {
  SIZES = sizeof sizes_kib / sizeof *sizes_kib,
  PARTS = sizeof parts / sizeof *parts,
  ORDERS = 2,
  MEMORIES = 2,
  MAX_MAPPED_KIB = 1536,
  PART_STEPS = 1 << 17
};

typedef struct load_study {
  const prem_experiment_context *context;
  prem_findings *findings;
  prem_diag *diag;
  prem_elements *elements;
  bool gpu, few;
  int memories;
  int64_t cache_bytes;
  double bandwidth, load[PREM_INTERFERENCE_COUNT];
  prem_table *tables[ORDERS];
  double alone_ns[ORDERS][MEMORIES][SIZES + PARTS];
  double within, beyond, mapped; /* largest slow-downs under load */
  double overhead_ns;
  int64_t done, all;
} load_study;

static void begin_table(load_study *study, prem_walk_order order) {
  const bool random = order == PREM_WALK_RANDOM;
  const char *title = random ? "Random walk of one thread under load of the CPU (Fig 4.5b)"
                             : "Sequential walk of one thread under load of the CPU (Fig 4.5a)";
  const char *name = prem_walk_order_name(order);
  prem_table *table = prem_findings_table(study->findings, name, title, NULL);
  prem_table_columns(table, "walk; list [KiB]; mean [ns]; least [ns]; largest [ns]; slow-down; "
                            "mean in cycles; repetitions");
  prem_findings_chart(study->findings,
                      &(prem_chart){.kind = PREM_CHART_LINES,
                                    .title = title,
                                    .table = name,
                                    .x = "list",
                                    .y = "mean",
                                    .low = "least",
                                    .high = "largest",
                                    .series = "walk",
                                    .log_x = true,
                                    .log_y = true,
                                    .beside = prem_original_add(study->findings,
                                                                random ? "fig_4_5b" : "fig_4_5a")});
  study->tables[order] = table;
}

static const char *memory_name(const load_study *study, int memory) {
  if (!study->gpu)
    return "host";
  return memory ? "mapped" : "device";
}

static void add_row(load_study *study, const prem_element_walk *walk, int memory,
                    prem_interference_kind load, const prem_element_time *time, double alone_ns) {
  prem_table *table = study->tables[walk->order];
  char name[64];
  snprintf(name, sizeof name, "%s, load %s", memory_name(study, memory),
           prem_interference_name(load));
  prem_table_row(table, TEXT(name), INT(walk->bytes / 1024), REAL(time->mean_ns),
                 REAL(time->min_ns), REAL(time->max_ns), REAL(time->mean_ns / alone_ns),
                 REAL(time->mean_cycles), INT(time->repeats));
}

/* The whole list where it is one of the original's, part after part of it beyond: one thread would
 * walk a list of 180 MB for a quarter of a minute. */
static bool walk_at(const load_study *study, int number, int memory, prem_element_walk *walk) {
  if (number < SIZES) {
    walk->bytes = sizes_kib[number] * 1024;
    return memory == 0 || number % 3 == 2; /* an access over the bus takes a microsecond */
  }
  walk->bytes = (int64_t)(parts[number - SIZES] * (double)study->cache_bytes) / 4096 * 4096;
  walk->steps = PART_STEPS;
  return memory == 0 && walk->bytes > sizes_kib[SIZES - 1] * 1024;
}

static prem_element_repeats repeats_of(const load_study *study, int number, int memory) {
  if (study->context->quick)
    return (prem_element_repeats){1, 3, 10000000};
  if (number >= SIZES)
    return (prem_element_repeats){3, 10, 100000000};
  return memory ? (prem_element_repeats){1, 100, 200000000}
                : (prem_element_repeats){10, 100, 50000000};
}

static prem_status measure_size(load_study *study, prem_walk_order order, int memory, int number,
                                prem_interference_kind load) {
  prem_element_walk walk = {.order = order, .mapped = memory == 1, .kernels = 1, .threads = 1};
  if (!walk_at(study, number, memory, &walk) || (study->context->quick && number % 3 != 2))
    return PREM_OK;
  prem_element_time time;
  const prem_status status = prem_elements_measure(
      study->elements, &walk, repeats_of(study, number, memory), &time, study->diag);
  if (status != PREM_OK)
    return status;
  double *alone_ns = &study->alone_ns[order][memory][number];
  if (load == PREM_INTERFERENCE_NONE)
    *alone_ns = time.mean_ns;
  add_row(study, &walk, memory, load, &time, *alone_ns);
  double *max = memory                             ? &study->mapped
                : walk.bytes <= study->cache_bytes ? &study->within
                                                   : &study->beyond;
  *max = fmax(*max, time.mean_ns / *alone_ns);
  study->few |= time.repeats < 10;
  study->overhead_ns = time.overhead_ns;
  prem_findings_output(study->findings, time.right);
  return PREM_OK;
}

static prem_status measure_under_load(load_study *study, prem_interference_kind load) {
  prem_interference *interference = NULL;
  prem_status status = prem_interference_begin(load, study->gpu ? 0 : 1, study->context->seed,
                                               &interference, study->diag);
  for (int order = 0; order < ORDERS; ++order)
    for (int memory = 0; memory < study->memories; ++memory)
      for (int i = 0; i < SIZES + PARTS && status == PREM_OK; ++i) {
        status = measure_size(study, (prem_walk_order)order, memory, i, load);
        prem_experiment_progress(study->context, ++study->done, study->all);
      }
  study->load[load] = prem_interference_end(interference);
  study->bandwidth = fmax(study->bandwidth, study->load[load]);
  return status;
}

static void tell_load(const load_study *study) {
  prem_table *table = prem_findings_table(
      study->findings, "load", "Load of the CPU, as a share of the memory's bandwidth", NULL);
  prem_table_columns(table, "load; read and written [GB/s]; share [%]; original [%]");
  for (int load = 1; load < PREM_INTERFERENCE_COUNT; ++load) {
    prem_table_row(table, TEXT(prem_interference_name((prem_interference_kind)load)),
                   REAL(study->load[load] * 1e-9), REAL(100 * study->load[load] / study->bandwidth),
                   INT(load == PREM_INTERFERENCE_SEQUENTIAL ? 70 : 17));
  }
  prem_findings_note(study->findings,
                     "The memory's bandwidth is the most that all cores read, or read and write, "
                     "here: %.1f GB/s. The original's shares are of its controller's cycles.",
                     study->bandwidth * 1e-9);
}

static void tell(const load_study *study) {
  if (study->gpu)
    prem_findings_verdict(study->findings,
                          "Load of all cores slows a thread's walks in device memory down by at "
                          "most %.2f times within L2 and %.2f times beyond it, and in mapped host "
                          "memory by up to %.2f times.",
                          study->within, study->beyond, study->mapped);
  else
    prem_findings_verdict(study->findings,
                          "Load of the other cores slows a walk down by at most %.2f times within "
                          "the shared cache and %.2f times beyond it.",
                          study->within, study->beyond);
  tell_load(study);
  prem_findings_note(study->findings,
                     "Original: device memory suffers beyond L2 alone, mapped memory always; GPU "
                     "and cores share one memory there. Here the GPU has its own.");
  prem_findings_note(study->findings,
                     "Lists up to 1.5 MB are walked as a whole; of longer ones %d elements a "
                     "repetition, each the part behind the last one, after all were touched. In "
                     "order neighbours share a line, so that most accesses hit however long the "
                     "list; at random those that find what is left in the cache. The loop's own "
                     "%.2f ns are subtracted.",
                     (int)PART_STEPS, study->overhead_ns);
  if (study->few)
    prem_findings_note(study->findings, "Fewer than 10 repetitions where the column says so.");
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  load_study study = {.context = context,
                      .findings = findings,
                      .diag = diag,
                      .within = 1,
                      .beyond = 1,
                      .mapped = 1};
  study.gpu = strcmp(prem_backend_name(context->backend), "cuda") == 0;
  study.memories = study.gpu ? MEMORIES : 1;
  study.cache_bytes = prem_elements_cache_bytes(context);
  study.all = (int64_t)PREM_INTERFERENCE_COUNT * ORDERS * study.memories * (SIZES + PARTS);
  const int64_t room_bytes = (int64_t)(parts[PARTS - 1] * (double)study.cache_bytes);
  const int64_t min_bytes = MAX_MAPPED_KIB * 1024;
  prem_experiment_progress(context, 0, study.all);
  prem_status status = prem_host_bandwidth(context, &study.bandwidth, diag);
  if (status == PREM_OK)
    status = prem_elements_open(context, room_bytes > min_bytes ? room_bytes : min_bytes,
                                study.gpu ? min_bytes : 0, &study.elements, diag);
  for (int order = 0; order < ORDERS; ++order)
    begin_table(&study, (prem_walk_order)order);
  for (int load = 0; load < PREM_INTERFERENCE_COUNT && status == PREM_OK; ++load)
    status = measure_under_load(&study, (prem_interference_kind)load);
  if (status == PREM_OK)
    tell(&study);
  prem_elements_close(study.elements);
  return status;
}

const prem_experiment prem_element_load_experiment = {
    .name = "element_load",
    .title = "Walks of one thread over lists of all sizes, under load of the CPU",
    .question = "Whose walks does load of the CPU slow down, from what size of the list on?",
    .backends = "cuda cpu",
    .run = run,
};
