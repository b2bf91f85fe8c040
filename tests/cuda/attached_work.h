/* SPDX-License-Identifier: Apache-2.0 */
/** An application's own CUDA graph: one kernel, as a node of a graph within the graph. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct attached_work {
  void *graph;             /* a cudaGraph_t */
  volatile int64_t *ns;    /* how long its kernel takes; may be changed at any time */
  volatile uint32_t *runs; /* how often that has ended */
} attached_work;

#ifdef __cplusplus
extern "C" {
#endif

/** @param calls_host  with a node that calls the host as well
 *  @return NULL, or why there is none. Free it once nothing runs it */
const char *attached_work_new(attached_work *out, bool calls_host);
/** The graph alone, of which a session has a clone. */
void attached_work_drop_graph(attached_work *work);
void attached_work_free(attached_work *work);

#ifdef __cplusplus
}
#endif
