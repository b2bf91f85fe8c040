/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Errands on their way to the GPU and back: the host's half of device/serve.cuh.
 *
 * Who writes what: a sender the place of the ticket that it has drawn; one thread at a time, which
 * has `fetching`, what it has read of the messages that came back; the thread that runs the session
 * the clock's match, and all else between two runs, when no blocks are there. prem_errands_finish()
 * calls renew() when no senders are there either.
 */
#ifndef TTPREM_RUNTIME_CUDA_HOST_SERVERS_H
#define TTPREM_RUNTIME_CUDA_HOST_SERVERS_H

#include "runtime/core/arrivals.h"
#include "runtime/core/clock_match.h"
#include "runtime/core/errands.h"
#include "runtime/cuda/device/server.h"
#include "runtime/cuda/host/backend_parts.h"

/** A server's way to the GPU. */
typedef struct prem_cuda_server {
  _Atomic uint64_t *asked; /* [places][PREM_MESSAGE_WORDS], pinned; NULL: the task is no server */
  uint64_t places;
  _Atomic uint64_t tail;   /* the next ticket */
  prem_device_room *rooms; /* on the GPU */
  /* where tiles make tiles: on the GPU, and as it is before a run */
  prem_device_making *making, making_first;
  prem_ring_slot *slots_first;
} prem_cuda_server;

struct prem_cuda_servers {
  prem_cuda *cuda; /* of the best-effort tasks */
  prem_errands *errands;
  prem_cuda_server *of;    /* [task] */
  _Atomic uint64_t *ended; /* [ended_places][PREM_MESSAGE_WORDS], pinned */
  uint64_t ended_places, ended_head;
  atomic_flag fetching;
  prem_device_server_state *states; /* on the GPU, [server] */
  int32_t server_count;
  uint64_t *ended_ticket; /* on the GPU */
  prem_server_talk *talk; /* pinned */
  int64_t start_ns;       /* S on the GPU's clock; 0: not known yet */
  prem_clock_match match; /* the GPU's clock minus the host's */
  _Atomic int64_t offset_ns;
  int64_t asked_ns; /* when the question was put that has no answer; 0: there is none */
  int64_t next_ns;  /* when to ask again */
  prem_arrivals arrivals;
  bool is_running;
};

#endif
