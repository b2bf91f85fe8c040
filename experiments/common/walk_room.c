/* SPDX-License-Identifier: Apache-2.0 */
/* Lists in the host's memory, and the threads that walk them. */
#include "experiments/common/walk_room.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "experiments/common/cores.h"
#include "experiments/common/walk_order.h"

enum { HUGE_BYTES = 2 << 20 };

prem_status prem_walk_room_open(int64_t bytes, uint64_t seed, void **out) {
  const size_t whole = ((size_t)bytes + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
  prem_walk_room *room = calloc(1, sizeof *room);
  uint32_t *words = room ? aligned_alloc(HUGE_BYTES, whole) : NULL;
  if (!words) {
    free(room);
    return PREM_ERR_MEMORY;
  }
  /* With small pages the walks would measure the translation of addresses. */
  madvise(words, whole, MADV_HUGEPAGE);
  *room = (prem_walk_room){.words = words, .bytes = bytes, .seed = seed};
  room->core_count = prem_cores_list(room->cores, PREM_WALK_KERNELS);
  *out = room;
  return PREM_OK;
}

void prem_walk_room_close(void *opened) {
  prem_walk_room *room = opened;
  free(room->words);
  free(room);
}

void prem_walk_room_make(prem_walk_room *room, int64_t bytes, int32_t kernels,
                         prem_walk_order order, uint32_t node_words) {
  if (room->made_bytes == bytes && room->made_kernels >= kernels && room->made_order == order)
    return;
  const uint32_t nodes = (uint32_t)(bytes / (int64_t)sizeof *room->words / node_words);
  const int random = order == PREM_WALK_RANDOM;
  const uint32_t first = prem_walk_node(0, nodes, random, room->seed);
  uint32_t at = first;
  for (uint32_t visit = 1; visit <= nodes; ++visit) {
    const uint32_t next = visit < nodes ? prem_walk_node(visit, nodes, random, room->seed) : first;
    for (int32_t kernel = 0; kernel < kernels; ++kernel)
      room->words[((size_t)kernel * nodes + at) * node_words] = next;
    at = next;
  }
  room->made_bytes = bytes;
  room->made_kernels = kernels;
  room->made_order = order;
}

prem_status prem_walk_room_run(const prem_walk_room *room, int32_t kernels, void *(*work)(void *),
                               void *walks, size_t walk_bytes, prem_diag *diag) {
  pthread_t threads[PREM_WALK_KERNELS];
  int error = 0;
  int32_t started = 0;
  for (; started < kernels && !error; started += !error)
    error = prem_core_start(&threads[started], room->cores[started], work,
                            (char *)walks + (size_t)started * walk_bytes);
  for (int32_t i = 0; i < started; ++i)
    pthread_join(threads[i], NULL);
  if (!error)
    return PREM_OK;
  return prem_experiment_refuse(diag, PREM_ERR_MACHINE, "no thread can be started: %s",
                                strerror(error));
}
