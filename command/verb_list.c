/* SPDX-License-Identifier: Apache-2.0 */
/* ttprem list: the names that schedule files and options may use. */
#include "command/command.h"

static const struct argp argp = {
    .children = command_common_children,
    .doc = "List the kernels and policies that a schedule file may name, the backends and the "
           "modes.\v" COMMAND_EXIT_DOC,
};

static const char *const mode_summaries[PREM_MODE_COUNT] = {
    [PREM_MODE_TT] = "time-triggered: each phase at its instant",
    [PREM_MODE_FREE] = "the same tiles, each as soon as it can",
    [PREM_MODE_LOCK] = "event-triggered PREM: memory phases take their demand as a token",
    [PREM_MODE_LEGACY] = "the best ordinary untiled kernels, all begun together",
    [PREM_MODE_LAUNCHED] = "the same kernels from the first launch on, that cost included",
    [PREM_MODE_GRAPH] = "the same, launched at once as a CUDA graph",
    [PREM_MODE_PRIORITY] = "as legacy, on streams with priorities: the file's first task highest",
    [PREM_MODE_PARTITION] = "as legacy, each task on SMs of its own (green contexts)",
    [PREM_MODE_COPY] = "a limit: the bytes that legacy has to move, copied; computes nothing",
    [PREM_MODE_GATED_GRAPH] = "as graph, but launched before its start, which it waits for",
};

static void line(const char *name, const char *summary) {
  char head[64];
  snprintf(head, sizeof head, "  %-22s ", name);
  command_print_wrapped(head, summary);
}

int verb_list(int argc, char **argv) {
  command_parse(&argp, argc, argv, NULL);
  puts("kernels");
  line("none", "abstract: planned, checked and simulated without data");
  const prem_registry *registry = prem_registry_builtin();
  for (int32_t i = 0; i < registry->count; ++i)
    line(registry->kernels[i]->name, registry->kernels[i]->summary);
  puts("policies");
  for (const prem_policy_info *policy = prem_policy_list(); policy->name; ++policy)
    line(policy->name, policy->summary);
  puts("backends");
  const prem_backend *backend;
  for (int32_t i = 0; (backend = prem_backend_at(i)); ++i)
    line(prem_backend_name(backend), prem_backend_summary(backend));
  puts("modes");
  for (int i = 0; i < PREM_MODE_COUNT; ++i)
    line(prem_mode_name((prem_mode)i), mode_summaries[i]);
  return COMMAND_DONE;
}
