/* SPDX-License-Identifier: Apache-2.0 */
#include "experiments/machine/queue_kinds/queue_kinds.cu"

template <int... kind> static bool emulate_all(std::integer_sequence<int, kind...>) {
  return (emulated(work_on<lane_queue<(queue_kind)kind>>) && ...);
}
static const bool are_emulated =
    emulate_all(std::make_integer_sequence<int, QUEUE_RING>()) && emulated(work_on<warp_ring>) &&
    emulated(count_items);
