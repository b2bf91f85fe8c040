/* SPDX-License-Identifier: Apache-2.0 */
#include "experiments/machine/execution_models/execution_models.cu"

namespace {

thread_local unsigned char scratch[MODEL_THREADS * 64] __attribute__((aligned(128)));

template <int workload, int... stage> bool emulate_stages(std::integer_sequence<int, stage...>) {
  return (emulated(work_stage<workload, stage>) && ...) && emulated(work_on<workload>);
}
template <int... workload> bool emulate_all(std::integer_sequence<int, workload...>) {
  return (emulate_stages<workload>(std::make_integer_sequence<int, MODEL_STAGES>()) && ...);
}
const bool are_emulated = emulate_all(std::make_integer_sequence<int, MODEL_WORKLOADS>());

} // namespace
