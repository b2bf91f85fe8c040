/* SPDX-License-Identifier: Apache-2.0 */
#include "experiments/machine/task_queue/task_queue.cu"

static const bool are_emulated = emulated(work_tasks) && emulated(serve) && emulated(one_thread);
