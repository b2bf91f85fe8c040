/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled into the executive in front of all else (see witness.cu): at each start of a phase of
 * one block a word says so, which others see, and now and then there is a delay before the start.
 */
#ifndef WITNESS_CUH
#define WITNESS_CUH

#include <stdint.h>

#define TTPREM_WITNESS

enum {
  WITNESS_UNITS =
      3, /* the starter, the writer, the compute warps: numbers as the executive's DELAY_... */
  WITNESS_LINE = 16,  /* words of 8 bytes: no two units share a line */
  WITNESSED_BLOCK = 0 /* of the plan */
};

/** What the executive is told. A word: bits 63 to 32 the low bits of the start's stamp, 31 to 1
 * those of the instant, bit 0: the start was delayed. */
struct witness_setup {
  uint64_t *device, *host; /* [WITNESS_UNITS][WITNESS_LINE]; NULL: nobody watches */
  uint32_t one_in;         /* of so many starts one is delayed; 0: none is */
  uint32_t delay_ns;
};

/** Each file of the executive has a setup of its own: it gives how to set it, and they are set
 * together. */
typedef void (*witness_setter)(const witness_setup *setup);
void witness_register(witness_setter setter);

#ifdef __CUDACC__
static __constant__ witness_setup witness;

static void witness_set(const witness_setup *setup) {
  cudaMemcpyToSymbol(witness, setup, sizeof *setup);
}

namespace {
const struct witness_registration {
  witness_registration() { witness_register(witness_set); }
} witness_registered;
} // namespace

static __device__ __forceinline__ int64_t witness_now_ns(void) {
  int64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

/* Drawn by the instant, so that both calls agree. */
static __device__ __forceinline__ bool witness_delays(int64_t due_ns) {
  const uint32_t drawn = (uint32_t)(due_ns >> 5) * 2654435761u >> 8;
  return witness.one_in != 0 && drawn % witness.one_in == 0;
}

template <class state>
static __device__ __forceinline__ void fault_dwell(const state *own, int32_t who,
                                                   int64_t due_ns = 0) {
  if (own->plan_block != WITNESSED_BLOCK || who >= WITNESS_UNITS || due_ns == 0 ||
      !witness_delays(due_ns))
    return;
  const int64_t until_ns = witness_now_ns() + witness.delay_ns;
  while (witness_now_ns() < until_ns) {
  }
}

/** It has started. One lane. */
template <class state>
static __device__ __forceinline__ void witness_tell(const state *own, int32_t who, int64_t due_ns,
                                                    int64_t stamp_ns) {
  if (own->plan_block != WITNESSED_BLOCK || witness.device == nullptr || due_ns == 0)
    return;
  const uint64_t word =
      (uint64_t)(uint32_t)stamp_ns << 32 | ((uint32_t)due_ns & ~1u) | witness_delays(due_ns);
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(witness.device + who * WITNESS_LINE),
               "l"(word)
               : "memory");
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(witness.host + who * WITNESS_LINE),
               "l"(word)
               : "memory");
}
#endif
#endif
