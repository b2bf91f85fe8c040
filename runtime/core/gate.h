/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The gate: may a memory phase of a best-effort task begin now? Not if its bound reaches into a
 * closed window. C and CUDA device code include it; it allocates nothing and waits for nothing.
 *
 * A bound counts from the gate's reading of the clock to the phase's last byte. Who reads a clock
 * that goes in steps adds one step to it, since the reading may be so old. Readings of one gate
 * never go back.
 *
 * The list of windows is looked at only when the next one has passed.
 */
#ifndef TTPREM_RUNTIME_CORE_GATE_H
#define TTPREM_RUNTIME_CORE_GATE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define PREM_GATE_CODE static __host__ __device__ __forceinline__
#else
#define PREM_GATE_CODE static inline
#endif

/** [start, end), from the hyperperiod's start. */
typedef struct prem_gate_window {
  int64_t start_ns, end_ns;
} prem_gate_window;

/** The closed windows of every hyperperiod. They are sorted and disjoint, begin in the hyperperiod,
 *  and the last one ends before the first one begins anew. */
typedef struct prem_gate_list {
  const prem_gate_window *windows; /* [count] */
  int32_t count;
  int64_t hyperperiod_ns;
} prem_gate_list;

/** What one who asks keeps: the window that is next or open, on the clock. */
typedef struct prem_memory_gate {
  int64_t start_ns, end_ns;
  int64_t epoch_ns; /* of its hyperperiod */
  int32_t index;    /* in the list */
} prem_memory_gate;

PREM_GATE_CODE void prem_gate_look(prem_memory_gate *gate, const prem_gate_list *list) {
  gate->start_ns = gate->epoch_ns + list->windows[gate->index].start_ns;
  gate->end_ns = gate->epoch_ns + list->windows[gate->index].end_ns;
}

/** The longest time between two windows, those of the next hyperperiod included. */
PREM_GATE_CODE int64_t prem_gate_longest_gap_ns(const prem_gate_list *list) {
  int64_t longest_ns = list->count > 0 ? 0 : INT64_MAX;
  for (int32_t w = 0; w < list->count; ++w) {
    const bool is_last = w + 1 == list->count;
    const int64_t next_ns =
        list->windows[is_last ? 0 : w + 1].start_ns + (is_last ? list->hyperperiod_ns : 0);
    if (next_ns - list->windows[w].end_ns > longest_ns)
      longest_ns = next_ns - list->windows[w].end_ns;
  }
  return longest_ns;
}

/** @param epoch_ns  where the first hyperperiod begins. The windows of one before it hold as well,
 *                   since they may reach over its end. */
PREM_GATE_CODE prem_memory_gate prem_gate_new(const prem_gate_list *list, int64_t epoch_ns) {
  prem_memory_gate gate = {INT64_MAX, INT64_MAX, epoch_ns - list->hyperperiod_ns, 0};
  if (list->count > 0)
    prem_gate_look(&gate, list);
  return gate;
}

/** Go on to the window after the one that is next or open. Before that one has ended only where it
 *  is known that nothing critical is left to run in it. */
PREM_GATE_CODE void prem_gate_next(prem_memory_gate *gate, const prem_gate_list *list) {
  if (++gate->index == list->count) {
    gate->index = 0;
    gate->epoch_ns += list->hyperperiod_ns;
  }
  prem_gate_look(gate, list);
}

/** Go on to the window that a reading is before or in: at most two lists of steps, however long
 *  nobody asked. */
PREM_GATE_CODE void prem_gate_pass(prem_memory_gate *gate, const prem_gate_list *list,
                                   int64_t now_ns) {
  const int64_t behind_ns = now_ns - gate->epoch_ns;
  if (behind_ns >= 2 * list->hyperperiod_ns) {
    gate->epoch_ns += (behind_ns / list->hyperperiod_ns - 1) * list->hyperperiod_ns;
    gate->index = 0;
    prem_gate_look(gate, list);
  }
  while (now_ns >= gate->end_ns)
    prem_gate_next(gate, list);
}

/**
 * The instant from which a phase may begin as far as the window in the way goes: `now_ns` if it may
 * begin now, else that window's end. Ask again then: the next window may be too near as well.
 *
 * @param now_ns    the reading of the clock
 * @param bound_ns  from it to the phase's last byte, at least 1
 */
PREM_GATE_CODE int64_t prem_gate_ask(prem_memory_gate *gate, const prem_gate_list *list,
                                     int64_t now_ns, int64_t bound_ns) {
  if (now_ns >= gate->end_ns)
    prem_gate_pass(gate, list, now_ns);
  return gate->start_ns - now_ns >= bound_ns ? now_ns : gate->end_ns;
}

/** How far a phase that was let in, and ended at an instant, reaches into the window that it was to
 *  end before; 0: it does not. Before the gate is asked again. */
PREM_GATE_CODE int64_t prem_gate_overrun_ns(const prem_memory_gate *gate, int64_t end_ns) {
  return end_ns > gate->start_ns ? end_ns - gate->start_ns : 0;
}

#endif
