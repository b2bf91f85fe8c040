/* SPDX-License-Identifier: Apache-2.0 */
/* The session's thread of a live session on the GPU: it tells the courier that the host lives and
 * what time it is, goes on with large outputs, and ends the session when all blocks and the courier
 * have left. What it calls of CUDA never waits: tests/cuda/live_calls.sh has the list. */
#include "runtime/cuda/host/live.h"

#include <sched.h>

#include "prem/base/clock.h"

enum {
  LOOK_NS = 5000000,   /* between two looks at the GPU by copies and queries */
  SPIN_NS = 200000,    /* after something was under way it looks without a pause for so long */
  CLOCK_NS = 20000000, /* between two comparisons of the clocks, a us of drift at most */
  GAP_NS = 500000      /* the courier, which looks every few us, did not look for so long */
};

/* ---- clocks ---------------------------------------------------------------------------------- */

/* A question after the time that is under way. The answer lies between its two instants here. */
typedef struct clock_question {
  uint64_t number;
  int64_t asked_ns;
  int64_t next_ns;
} clock_question;

void prem_cuda_live_take_answer(prem_cuda_live *live, int64_t asked_ns, int64_t there_ns,
                                int64_t heard_ns) {
  pthread_mutex_lock(&live->match_lock);
  prem_clock_match_add(&live->match, asked_ns, there_ns, heard_ns,
                       live->cuda->device.launch.clock_step_ns);
  pthread_mutex_unlock(&live->match_lock);
}

/* By the GPU's clock: how soon the answer was seen here is the host's affair. */
static void count_gap(prem_cuda_live *live, int64_t asked_ns, int64_t there_ns) {
  pthread_mutex_lock(&live->match_lock);
  const int64_t lay_ns = there_ns - prem_clock_match_offset_ns(&live->match) - asked_ns;
  live->gaps += lay_ns >= GAP_NS;
  if (lay_ns > live->gap_max_ns)
    live->gap_max_ns = lay_ns;
  pthread_mutex_unlock(&live->match_lock);
}

static void compare_clocks(prem_cuda_live *live, clock_question *question, int64_t s_ns) {
  prem_courier_talk *talk = live->talk;
  const int64_t now = prem_host_clock_ns();
  if (question->asked_ns > 0 &&
      __atomic_load_n(&talk->pong, __ATOMIC_ACQUIRE) == question->number) {
    atomic_store_explicit(&live->heard_ns, now, memory_order_relaxed);
    const int64_t there_ns = __atomic_load_n(&talk->pong_ns, __ATOMIC_RELAXED);
    prem_cuda_live_take_answer(live, question->asked_ns, there_ns, now);
    count_gap(live, question->asked_ns, there_ns);
    __atomic_store_n(&talk->base_ns, s_ns - prem_clock_match_offset_ns(&live->match),
                     __ATOMIC_RELAXED);
    question->asked_ns = 0;
  } else if (question->asked_ns == 0 && now >= question->next_ns) {
    question->next_ns = now + CLOCK_NS;
    question->asked_ns = prem_host_clock_ns();
    __atomic_store_n(&talk->ping, ++question->number, __ATOMIC_RELEASE);
  }
}

/* ---- the session's thread -------------------------------------------------------------------- */

void prem_cuda_live_leave(prem_cuda_live *live) {
  __atomic_store_n(&live->talk->leave, PREM_COURIER_LEAVES, __ATOMIC_RELEASE);
}

/* @return whether a stream's kernel has ended; an error of the device ends all. */
bool prem_cuda_live_has_ended(prem_cuda_live *live, cudaStream_t stream) {
  const cudaError_t error = cudaStreamQuery(stream);
  if (error != cudaSuccess && error != cudaErrorNotReady)
    live->error = error;
  return error != cudaErrorNotReady;
}

/* Blocks are stopped where one has raised a fault, or the host wants it. */
static void stop_if_asked(prem_cuda_live *live, int64_t now, int64_t *look_ns) {
  if (live->stop_by_ns == INT64_MAX && atomic_load(&live->is_asked_to_leave)) {
    __atomic_store_n(&live->talk->leave, PREM_COURIER_STOPS_ALL, __ATOMIC_RELEASE);
    prem_cuda_stop_blocks(live->cuda); /* the courier may be what hangs */
    live->stop_by_ns = now + PREM_CUDA_LAST_GRACE_NS;
  }
  if (now < *look_ns)
    return;
  *look_ns = now + LOOK_NS;
  if (live->stop_by_ns == INT64_MAX && prem_cuda_has_to_end(live->cuda))
    live->stop_by_ns = now + PREM_CUDA_LAST_GRACE_NS;
}

/* Blocks and courier have left. Asked before results are looked for: none comes behind it. */
static bool have_left(prem_cuda_live *live) {
  if (!prem_cuda_live_has_ended(live, live->cuda->stream))
    return false;
  if (live->stop_by_ns != INT64_MAX || live->error != cudaSuccess)
    prem_cuda_live_leave(live);
  return prem_cuda_live_has_ended(live, live->serving);
}

/* Blocks that raise a fault make all others leave, often before anybody here looks for it. */
static bool has_raised_fault(prem_cuda_live *live) {
  const bool can_look =
      live->error == cudaSuccess && live->cuda->gpu->loss == PREM_CUDA_THERE &&
      !atomic_load(&live->is_asked_to_leave); /* which makes them leave in the same way */
  return can_look && (live->stop_by_ns != INT64_MAX || prem_cuda_has_to_end(live->cuda));
}

static void pause_for(bool is_idle, int64_t now, int64_t busy_until_ns) {
  if (is_idle && now > busy_until_ns)
    nanosleep(&(struct timespec){.tv_nsec = PREM_CUDA_NAP_NS}, NULL);
  else
    sched_yield();
}

void *prem_cuda_live_watch(void *argument) {
  prem_cuda_live *live = argument;
  const int64_t s_ns = live->talk->s_ns;
  int64_t look_ns = prem_host_clock_ns() + LOOK_NS, busy_until_ns = 0;
  clock_question question = {0};
  uint64_t beat = 0;
  pthread_setname_np(pthread_self(), "prem-live");
  live->error = prem_cuda_enter(live->cuda->gpu);
  while (live->error == cudaSuccess) {
    const int64_t now = prem_host_clock_ns();
    bool is_idle = true;
    __atomic_store_n(&live->talk->host_beat, ++beat, __ATOMIC_RELAXED);
    compare_clocks(live, &question, s_ns);
    const bool has_ended = have_left(live);
    const cudaError_t error = prem_cuda_live_fetch(live, &is_idle);
    if (error != cudaSuccess) {
      live->error = error;
      break;
    }
    busy_until_ns = is_idle ? busy_until_ns : now + SPIN_NS;
    stop_if_asked(live, now, &look_ns);
    if (has_ended && (is_idle || live->stop_by_ns != INT64_MAX))
      break;
    if (now > live->stop_by_ns) {
      live->cuda->gpu->loss = PREM_CUDA_HELD;
      break;
    }
    pause_for(is_idle && question.asked_ns == 0, now, busy_until_ns);
  }
  prem_cuda_live_leave(live);
  atomic_store(&live->has_failed, has_raised_fault(live) || live->error != cudaSuccess ||
                                      live->cuda->gpu->loss != PREM_CUDA_THERE);
  atomic_store(&live->is_over, true);
  return NULL;
}
