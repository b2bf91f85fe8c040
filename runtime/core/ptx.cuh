/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The instructions of the GPU that C++ has no words for: all of them stand here, one function each.
 * So the code around them can be read without PTX, and can be run without a GPU: the emulated one
 * (tests/emulator) has a ptx.cuh of its own. The PTX ISA says what they do; what is said here is
 * what they are used for.
 *
 * Addresses in the scratchpad are numbers of 32 bits, as the copy engine and barriers want them.
 */
#ifndef TTPREM_RUNTIME_CORE_PTX_CUH
#define TTPREM_RUNTIME_CORE_PTX_CUH

#include <stdint.h>

#ifdef __CUDA_ARCH__
#define PREM_ARCH __CUDA_ARCH__
#else
#define PREM_ARCH 0
#endif

#define PREM_PTX static __device__ __forceinline__

/* ---- where and when -------------------------------------------------------------------------- */

/** The GPU's clock. */
PREM_PTX int64_t prem_clock_ns(void) {
  int64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

/** A pointer that was read from memory, in registers from here on. */
PREM_PTX const void *prem_at_hand(const void *pointer) {
  asm volatile("" : "+l"(pointer));
  return pointer;
}

/** The same bits as a double. */
PREM_PTX double prem_as_double(int64_t bits) {
  return __longlong_as_double(bits);
}

PREM_PTX uint32_t prem_smid(void) {
  uint32_t id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

PREM_PTX uint32_t prem_shared_address(const void *pointer) {
  return (uint32_t)__cvta_generic_to_shared(pointer);
}

/** The same pointer, kept in a register: the compiler, left to itself, works the address of a
 *  scratchpad out again at each use. */
PREM_PTX void *prem_shared_pointer(void *pointer) {
  uint32_t base;
  asm("mov.u32 %0, %1;" : "=r"(base) : "r"(prem_shared_address(pointer)));
  return __cvta_shared_to_generic(base);
}

/* ---- words that others write ------------------------------------------------------------------
 */

/* Other blocks: read and written in L2, ordered as said. */
PREM_PTX uint32_t prem_load_relaxed(const uint32_t *word) {
  uint32_t value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}
PREM_PTX uint64_t prem_load_relaxed(const uint64_t *word) {
  uint64_t value;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}
PREM_PTX void prem_store_relaxed(uint64_t *word, uint64_t value) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}
PREM_PTX int64_t prem_load_acquire(const int64_t *word) {
  int64_t value;
  asm volatile("ld.acquire.gpu.global.s64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}
PREM_PTX uint64_t prem_load_acquire(const uint64_t *word) {
  uint64_t value;
  asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}
PREM_PTX uint32_t prem_load_acquire(const uint32_t *word) {
  uint32_t value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}
PREM_PTX void prem_store_release(int64_t *word, int64_t value) {
  asm volatile("st.release.gpu.global.s64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}
PREM_PTX void prem_store_release(uint64_t *word, uint64_t value) {
  asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}
/** Add one; who sees it sees all that this thread wrote and saw before. */
PREM_PTX void prem_add_release(uint32_t *word) {
  asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(word) : "memory");
}

/** Add; what was there before. */
PREM_PTX uint64_t prem_add_relaxed(uint64_t *word, uint64_t value) {
  uint64_t was;
  asm volatile("atom.relaxed.gpu.global.add.u64 %0, [%1], %2;"
               : "=l"(was)
               : "l"(word), "l"(value)
               : "memory");
  return was;
}

/** Exchange; what was there before. */
PREM_PTX uint64_t prem_exchange_relaxed(uint64_t *word, uint64_t value) {
  uint64_t was;
  asm volatile("atom.relaxed.gpu.global.exch.b64 %0, [%1], %2;"
               : "=l"(was)
               : "l"(word), "l"(value)
               : "memory");
  return was;
}

/** Exchange if it is what was thought, and say whether it was; `*was` is what there was. */
PREM_PTX bool prem_swap_relaxed(uint64_t *word, uint64_t *was, uint64_t value) {
  uint64_t found;
  asm volatile("atom.relaxed.gpu.global.cas.b64 %0, [%1], %2, %3;"
               : "=l"(found)
               : "l"(word), "l"(*was), "l"(value)
               : "memory");
  const bool is_so = found == *was;
  *was = found;
  return is_so;
}

/* Two words of 8 bytes at one instant, at an address that 16 divides. */
PREM_PTX ulonglong2 prem_load_16_relaxed(const void *words) {
  ulonglong2 value;
  asm volatile("{\n\t.reg .b128 both;\n\t"
               "ld.relaxed.gpu.global.b128 both, [%2];\n\t"
               "mov.b128 {%0, %1}, both;\n\t}"
               : "=l"(value.x), "=l"(value.y)
               : "l"(words)
               : "memory");
  return value;
}
PREM_PTX void prem_store_16_relaxed(void *words, ulonglong2 value) {
  asm volatile("{\n\t.reg .b128 both;\n\t"
               "mov.b128 both, {%1, %2};\n\t"
               "st.relaxed.gpu.global.b128 [%0], both;\n\t}" ::"l"(words),
               "l"(value.x), "l"(value.y)
               : "memory");
}

/* The host, or any block: in the order of the whole system. */
PREM_PTX uint64_t prem_system_load_relaxed(const void *word) {
  uint64_t value;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}
PREM_PTX uint64_t prem_system_load_acquire(const void *word) {
  uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}
PREM_PTX void prem_system_store_relaxed(void *word, uint64_t value) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}
PREM_PTX void prem_system_store_release(void *word, uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

/** What another processor or block has written, not what a cache remembers of it. */
PREM_PTX int4 prem_load_fresh(const int4 *from) {
  int4 value;
  asm volatile("ld.volatile.global.v4.s32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(from)
               : "memory");
  return value;
}

/** Four words of the scratchpad at one instant. */
PREM_PTX uint4 prem_look_4(const uint32_t *words) {
  uint4 now;
  asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(now.x), "=r"(now.y), "=r"(now.z), "=r"(now.w)
               : "r"(prem_shared_address(words))
               : "memory");
  return now;
}

/** A word of the scratchpad that another warp writes, in a loop that does nothing else. */
PREM_PTX uint64_t prem_look(const uint64_t *word) {
  return *(const volatile uint64_t *)word;
}

/* ---- fences and meeting -----------------------------------------------------------------------
 */

/** What this thread, and those it met, did before stays before what follows, for its block; */
PREM_PTX void prem_block_fence(void) {
  asm volatile("fence.acq_rel.cta;" ::: "memory");
}
/** for all blocks; */
PREM_PTX void prem_gpu_fence(void) {
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
}
/** for the host and all blocks; */
PREM_PTX void prem_system_fence(void) {
  asm volatile("fence.acq_rel.sys;" ::: "memory");
}
/** the same, in the one order of all such fences. */
PREM_PTX void prem_system_fence_ordered(void) {
  asm volatile("fence.sc.sys;" ::: "memory");
}

/** What ordinary stores wrote is visible to bulk copies after this. */
PREM_PTX void prem_fence_async(void) {
#if PREM_ARCH >= 900
  asm volatile("fence.proxy.async;" ::: "memory");
#endif
}
/** The same of what they wrote to the scratchpad. */
PREM_PTX void prem_fence_async_scratch(void) {
#if PREM_ARCH >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/** So many threads of the block wait for each other, all of them with this number. */
PREM_PTX void prem_meet(int32_t threads) {
  asm volatile("bar.sync 1, %0;" ::"r"(threads) : "memory");
}

/** One lane of the warp that is to act for it; the compiler knows that it is one, so that what it
 *  does needs no loop over lanes. Always the same lane. */
PREM_PTX bool prem_elect(void) {
#if PREM_ARCH >= 900
  uint32_t elected;
  asm volatile("{\n\t.reg .pred p;\n\t"
               "elect.sync _|p, 0xffffffff;\n\t"
               "selp.u32 %0, 1, 0, p;\n\t}"
               : "=r"(elected));
  return elected != 0;
#else
  return (threadIdx.x & 31u) == 0;
#endif
}

/* ---- mbarriers: one thread arms, the copies (or the warp) complete, everybody may wait --------
 */

PREM_PTX void prem_barrier_init(uint64_t *barrier) {
#if PREM_ARCH >= 800
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(prem_shared_address(barrier))
               : "memory");
#else
  *(volatile uint64_t *)barrier = 0;
#endif
}

/** Arrive without bytes to wait for: what the warp moved itself is there. */
PREM_PTX void prem_barrier_arrive(uint64_t *barrier) {
#if PREM_ARCH >= 800
  asm volatile(
      "{\n\t.reg .b64 state;\n\t"
      "mbarrier.arrive.shared::cta.b64 state, [%0];\n\t}" ::"r"(prem_shared_address(barrier))
      : "memory");
#else
  __threadfence_block();
  *(volatile uint64_t *)barrier += 1;
#endif
}

/** Has the phase of this parity completed? */
PREM_PTX bool prem_barrier_test(uint64_t *barrier, uint32_t parity) {
#if PREM_ARCH >= 900
  uint32_t done;
  asm volatile("{\n\t.reg .pred p;\n\t"
               "mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2;\n\t"
               "selp.u32 %0, 1, 0, p;\n\t}"
               : "=r"(done)
               : "r"(prem_shared_address(barrier)), "r"(parity)
               : "memory");
  return done != 0;
#elif PREM_ARCH >= 800
  uint32_t done;
  asm volatile("{\n\t.reg .pred p;\n\t"
               "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
               "selp.u32 %0, 1, 0, p;\n\t}"
               : "=r"(done)
               : "r"(prem_shared_address(barrier)), "r"(parity)
               : "memory");
  return done != 0;
#else
  uint64_t phases = *(volatile uint64_t *)barrier;
  __threadfence_block();
  return ((uint32_t)phases & 1u) != parity;
#endif
}

/** The same, but the warp sleeps until it has, `max_ns` at most. */
PREM_PTX bool prem_barrier_await(uint64_t *barrier, uint32_t parity, uint32_t max_ns) {
#if PREM_ARCH >= 900
  uint32_t done;
  asm volatile("{\n\t.reg .pred p;\n\t"
               "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2, %3;\n\t"
               "selp.u32 %0, 1, 0, p;\n\t}"
               : "=r"(done)
               : "r"(prem_shared_address(barrier)), "r"(parity), "r"(max_ns)
               : "memory");
  return done != 0;
#else
  (void)max_ns;
  return prem_barrier_test(barrier, parity);
#endif
}

/* ---- bulk copies: one lane starts them, the copy engine moves ---------------------------------
 */

/* From sm_90 on. Nobody asks for them before: there these are nothing, so that callers need no
 * conditionals. */
#if PREM_ARCH >= 900
#define PREM_BULK_ASM(...) asm volatile(__VA_ARGS__)
#else
#define PREM_BULK_ASM(...) (void)0
#endif

/** Expect bytes at a barrier. One lane. */
PREM_PTX void prem_barrier_expect(uint64_t *barrier, uint32_t bytes) {
  PREM_BULK_ASM("{\n\t.reg .b64 state;\n\t"
                "mbarrier.arrive.expect_tx.shared::cta.b64 state, [%0], %1;\n\t}" ::"r"(
                    prem_shared_address(barrier)),
                "r"(bytes)
                : "memory");
}

/** What is fetched leaves L2 last. */
PREM_PTX uint64_t prem_keep_in_l2(void) {
#if PREM_ARCH >= 900
  uint64_t policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  return policy;
#else
  return 0;
#endif
}

/** What passes through leaves L2 first. */
PREM_PTX uint64_t prem_pass_through_l2(void) {
#if PREM_ARCH >= 900
  uint64_t policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
#else
  return 0;
#endif
}

/** Start fetching bytes, in whole 16-byte pieces; the barrier at `signal` expects them. */
PREM_PTX void prem_bulk_fetch(uint32_t scratch, const void *array, uint32_t bytes, uint32_t signal,
                              uint64_t policy) {
  PREM_BULK_ASM("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                ".L2::cache_hint [%0], [%1], %2, [%3], %4;" ::"r"(scratch),
                "l"(array), "r"(bytes), "r"(signal), "l"(policy)
                : "memory");
}

/** Start writing bytes back, likewise. */
PREM_PTX void prem_bulk_store(void *array, uint32_t scratch, uint32_t bytes) {
  PREM_BULK_ASM("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(array),
                "r"(scratch), "r"(bytes)
                : "memory");
}

/** Start fetching a box of an array that `map` describes (runtime/cuda/host/tensor_map.h). */
PREM_PTX void prem_bulk_fetch_box(uint32_t scratch, const void *map, const int4 &box,
                                  uint32_t signal, uint64_t policy) {
  PREM_BULK_ASM("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes"
                ".L2::cache_hint [%0], [%1, {%2, %3, %4, %5}], [%6], %7;" ::"r"(scratch),
                "l"(map), "r"(box.x), "r"(box.y), "r"(box.z), "r"(box.w), "r"(signal), "l"(policy)
                : "memory");
}

/** Start writing a box back. */
PREM_PTX void prem_bulk_store_box(const void *map, const int4 &box, uint32_t scratch) {
  PREM_BULK_ASM("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group "
                "[%0, {%1, %2, %3, %4}], [%5];" ::"l"(map),
                "r"(box.x), "r"(box.y), "r"(box.z), "r"(box.w), "r"(scratch)
                : "memory");
}

/** The same, with a word to L2. */
PREM_PTX void prem_bulk_store_by(void *array, uint32_t scratch, uint32_t bytes, uint64_t policy) {
  PREM_BULK_ASM("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint "
                "[%0], [%1], %2, %3;" ::"l"(array),
                "r"(scratch), "r"(bytes), "l"(policy)
                : "memory");
}
PREM_PTX void prem_bulk_store_box_by(const void *map, const int4 &box, uint32_t scratch,
                                     uint64_t policy) {
  PREM_BULK_ASM("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group.L2::cache_hint "
                "[%0, {%1, %2, %3, %4}], [%5], %6;" ::"l"(map),
                "r"(box.x), "r"(box.y), "r"(box.z), "r"(box.w), "r"(scratch), "l"(policy)
                : "memory");
}

/** Until all that this lane has written back is in the arrays. */
PREM_PTX void prem_bulk_store_wait(void) {
  PREM_BULK_ASM("cp.async.bulk.commit_group;" ::: "memory");
  PREM_BULK_ASM("cp.async.bulk.wait_group 0;" ::: "memory");
}

/* ---- copies of 16 bytes, which lanes start; before sm_80 they wait for them --------------------
 */

/** To the scratchpad; */
PREM_PTX void prem_copy_16(void *scratch, const void *array) {
#if PREM_ARCH >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(prem_shared_address(scratch)),
               "l"(array)
               : "memory");
#else
  *(int4 *)scratch = *(const int4 *)array;
#endif
}
/** what other blocks may have written in this very launch: from L2, not from L1. */
PREM_PTX void prem_copy_16_from_l2(void *scratch, const void *array) {
#if PREM_ARCH >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(prem_shared_address(scratch)),
               "l"(array)
               : "memory");
#else
  *(int4 *)scratch = __ldcg((const int4 *)array);
#endif
}
/** Until all that this lane has sent is there. */
PREM_PTX void prem_copies_wait(void) {
#if PREM_ARCH >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

#endif
