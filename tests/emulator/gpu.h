/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What nvcc gives to device code, for a compiler of C++: included before every source of the GPU
 * backend. Stands in for runtime/core/ptx.cuh as well.
 */
#pragma once

#include <cuda_runtime_api.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <vector_functions.h>

#include <tuple>
#include <type_traits>

#include "tests/emulator/lanes.h"

#undef __device__
#undef __global__
#undef __host__
#undef __shared__
#undef __constant__
#undef __forceinline__
#undef __noinline__
#undef __launch_bounds__
#undef __grid_constant__
#undef __align__
#define __device__
#define __global__
#define __host__
#define __shared__ thread_local
#define __constant__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __CUDACC__       1

/* ---- C++ of CUDA ----------------------------------------------------------------------------- */

template <class A, class B> constexpr typename std::common_type<A, B>::type min(A a, B b) {
  using both = typename std::common_type<A, B>::type;
  return (both)b < (both)a ? (both)b : (both)a;
}
template <class A, class B> constexpr typename std::common_type<A, B>::type max(A a, B b) {
  using both = typename std::common_type<A, B>::type;
  return (both)a < (both)b ? (both)b : (both)a;
}

template <class T>
using same = typename std::common_type<T>::type; /* takes no part in deducing T */

template <class T> T atomicAdd(T *word, same<T> value) {
  return __atomic_fetch_add(word, value, __ATOMIC_SEQ_CST);
}
template <class T> T atomicOr(T *word, same<T> value) {
  return __atomic_fetch_or(word, value, __ATOMIC_SEQ_CST);
}
template <class T> T atomicExch(T *word, same<T> value) {
  return __atomic_exchange_n(word, value, __ATOMIC_SEQ_CST);
}
template <class T> T atomicCAS(T *word, same<T> seen, same<T> value) {
  T was = seen;
  __atomic_compare_exchange_n(word, &was, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return was;
}
template <class T, class V> T atomicMax(T *word, V value) {
  T was = __atomic_load_n(word, __ATOMIC_SEQ_CST);
  while (was < (T)value && !__atomic_compare_exchange_n(word, &was, (T)value, false,
                                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return was;
}

template <class T, class V> T atomicMin(T *word, V value) {
  T was = __atomic_load_n(word, __ATOMIC_SEQ_CST);
  while ((T)value < was && !__atomic_compare_exchange_n(word, &was, (T)value, false,
                                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return was;
}

static inline void __threadfence(void) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
static inline void __threadfence_block(void) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
static inline void __threadfence_system(void) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
static inline void __syncthreads(void) {
  emulate_meet(0, blockDim.x);
}
static inline void __syncwarp(uint32_t mask = 0xffffffffu) {
  emulate_exchange(mask, 0);
}
static inline void __nanosleep(uint32_t ns) {
  emulate_yield(2 * ns + 1);
}

static inline bool __any_sync(uint32_t mask, bool is_so) {
  const uint64_t *all = emulate_exchange(mask, is_so);
  bool any = false;
  for (int i = 0; i < 32; ++i)
    any |= (mask >> i & 1u) && all[i] != 0;
  return any;
}
static inline uint32_t __ballot_sync(uint32_t mask, bool is_so) {
  const uint64_t *all = emulate_exchange(mask, is_so);
  uint32_t bits = 0;
  for (int i = 0; i < 32; ++i)
    bits |= (uint32_t)((mask >> i & 1u) && all[i] != 0) << i;
  return bits;
}
static inline bool __all_sync(uint32_t mask, bool is_so) {
  return !__any_sync(mask, !is_so);
}
template <class T> T emulate_shuffle(uint32_t mask, T value, unsigned from) {
  static_assert(sizeof(T) <= 8, "a register or two");
  uint64_t given = 0;
  memcpy(&given, &value, sizeof value);
  const uint64_t *all = emulate_exchange(mask, given);
  memcpy(&value, &all[from & 31u], sizeof value);
  return value;
}
template <class T> T __shfl_sync(uint32_t mask, T value, int from) {
  return emulate_shuffle(mask, value, (unsigned)from);
}
template <class T> T __shfl_xor_sync(uint32_t mask, T value, int by) {
  return emulate_shuffle(mask, value, (threadIdx.x & 31u) ^ (unsigned)by);
}

template <class T> T __ldg(const T *from) {
  return *from;
}
template <class T> T __ldcg(const T *from) {
  return *from;
}
template <class T> T __ldcs(const T *from) {
  return *from;
}
template <class T> void __stcs(T *to, T value) {
  *to = value;
}
static inline float __uint_as_float(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static inline int __popc(unsigned value) {
  return __builtin_popcount(value);
}
static inline int __clzll(long long value) {
  return value == 0 ? 64 : __builtin_clzll((unsigned long long)value);
}
static inline float __fdividef(float a, float b) {
  return a / b;
}

/* ---- runtime/core/ptx.cuh -------------------------------------------------------------------- */

#define TTPREM_RUNTIME_CORE_PTX_CUH
#define PREM_ARCH 900
#define PREM_PTX  static inline __attribute__((unused))

PREM_PTX int64_t prem_clock_ns(void) {
  return emulate_clock_ns();
}
PREM_PTX const void *prem_at_hand(const void *pointer) {
  return pointer;
}
PREM_PTX double prem_as_double(int64_t bits) {
  double value;
  static_assert(sizeof value == sizeof bits, "the same bits");
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
PREM_PTX uint32_t prem_smid(void) {
  return emulate_smid();
}
PREM_PTX uint32_t prem_shared_address(const void *pointer) {
  return emulate_shared_address(pointer);
}
PREM_PTX void *prem_shared_pointer(void *pointer) {
  return pointer;
}

/* Who looks lets others go on. */
template <class T> T emulate_load(const T *word, int order) {
  emulate_yield(0);
  return __atomic_load_n(word, order);
}
PREM_PTX uint32_t prem_load_relaxed(const uint32_t *word) {
  return emulate_load(word, __ATOMIC_RELAXED);
}
/* Now and then the lane that looks goes on alone, so that it may be ahead of its warp. */
PREM_PTX uint64_t prem_load_relaxed(const uint64_t *word) {
  static thread_local uint32_t looks;
  return ++looks % 4 == 0 ? __atomic_load_n(word, __ATOMIC_RELAXED)
                          : emulate_load(word, __ATOMIC_RELAXED);
}
PREM_PTX void prem_store_relaxed(uint64_t *word, uint64_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELAXED);
}
PREM_PTX int64_t prem_load_acquire(const int64_t *word) {
  return emulate_load(word, __ATOMIC_ACQUIRE);
}
PREM_PTX uint64_t prem_load_acquire(const uint64_t *word) {
  return emulate_load(word, __ATOMIC_ACQUIRE);
}
PREM_PTX uint32_t prem_load_acquire(const uint32_t *word) {
  return emulate_load(word, __ATOMIC_ACQUIRE);
}
PREM_PTX void prem_store_release(int64_t *word, int64_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}
PREM_PTX void prem_store_release(uint64_t *word, uint64_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}
PREM_PTX void prem_add_release(uint32_t *word) {
  __atomic_fetch_add(word, 1, __ATOMIC_RELEASE);
}
PREM_PTX uint64_t prem_add_relaxed(uint64_t *word, uint64_t value) {
  return __atomic_fetch_add(word, value, __ATOMIC_RELAXED);
}
PREM_PTX uint64_t prem_exchange_relaxed(uint64_t *word, uint64_t value) {
  return __atomic_exchange_n(word, value, __ATOMIC_RELAXED);
}
PREM_PTX bool prem_swap_relaxed(uint64_t *word, uint64_t *was, uint64_t value) {
  return __atomic_compare_exchange_n(word, was, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
/* If it is what was thought, exchange 16 bytes; what there was in any case. */
static inline bool emulate_swap_16(void *words, ulonglong2 *was, ulonglong2 value) {
  bool is_done;
  asm volatile("lock cmpxchg16b %1"
               : "=@ccz"(is_done), "+m"(*(ulonglong2 *)words), "+a"(was->x), "+d"(was->y)
               : "b"(value.x), "c"(value.y)
               : "memory");
  return is_done;
}
PREM_PTX ulonglong2 prem_load_16_relaxed(const void *words) {
  ulonglong2 was = make_ulonglong2(0, 0);
  emulate_yield(0);
  emulate_swap_16((void *)words, &was, was);
  return was;
}
PREM_PTX void prem_store_16_relaxed(void *words, ulonglong2 value) {
  ulonglong2 was = value;
  while (!emulate_swap_16(words, &was, value)) {
  }
}
PREM_PTX uint64_t prem_system_load_relaxed(const void *word) {
  return emulate_load((const uint64_t *)word, __ATOMIC_RELAXED);
}
PREM_PTX uint64_t prem_system_load_acquire(const void *word) {
  return emulate_load((const uint64_t *)word, __ATOMIC_ACQUIRE);
}
PREM_PTX void prem_system_store_relaxed(void *word, uint64_t value) {
  __atomic_store_n((uint64_t *)word, value, __ATOMIC_RELAXED);
}
PREM_PTX void prem_system_store_release(void *word, uint64_t value) {
  __atomic_store_n((uint64_t *)word, value, __ATOMIC_RELEASE);
}
PREM_PTX int4 prem_load_fresh(const int4 *from) {
  int4 value;
  memcpy(&value, from, sizeof value);
  return value;
}
PREM_PTX uint4 prem_look_4(const uint32_t *words) {
  emulate_yield(0);
  uint4 now;
  memcpy(&now, words, sizeof now);
  return now;
}
PREM_PTX uint64_t prem_look(const uint64_t *word) {
  emulate_yield(0);
  return *(const volatile uint64_t *)word;
}

PREM_PTX void prem_block_fence(void) {
  __atomic_thread_fence(__ATOMIC_ACQ_REL);
}
PREM_PTX void prem_gpu_fence(void) {
  __atomic_thread_fence(__ATOMIC_ACQ_REL);
}
PREM_PTX void prem_system_fence(void) {
  __atomic_thread_fence(__ATOMIC_ACQ_REL);
}
PREM_PTX void prem_system_fence_ordered(void) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
PREM_PTX void prem_fence_async(void) {}
PREM_PTX void prem_fence_async_scratch(void) {}
PREM_PTX void prem_meet(int32_t threads) {
  emulate_meet(1, (unsigned)threads);
}
PREM_PTX bool prem_elect(void) {
  return (threadIdx.x & 31u) == 7; /* any, but always the same */
}

PREM_PTX void prem_barrier_init(uint64_t *barrier) {
  emulate_barrier_init(barrier);
}
PREM_PTX void prem_barrier_arrive(uint64_t *barrier) {
  emulate_barrier_arrive(barrier, 0);
}
PREM_PTX void prem_barrier_expect(uint64_t *barrier, uint32_t bytes) {
  emulate_barrier_arrive(barrier, bytes);
}
PREM_PTX bool prem_barrier_test(uint64_t *barrier, uint32_t parity) {
  emulate_yield(0);
  return emulate_barrier_test(barrier, parity);
}
PREM_PTX bool prem_barrier_await(uint64_t *barrier, uint32_t parity, uint32_t max_ns) {
  if (!emulate_barrier_test(barrier, parity))
    emulate_yield(max_ns < 2000 ? max_ns : 2000);
  return emulate_barrier_test(barrier, parity);
}

PREM_PTX uint64_t prem_keep_in_l2(void) {
  return 0;
}
PREM_PTX uint64_t prem_pass_through_l2(void) {
  return 0;
}
PREM_PTX void prem_bulk_fetch(uint32_t scratch, const void *array, uint32_t bytes, uint32_t signal,
                              uint64_t) {
  emulate_fetch(emulate_shared_pointer(scratch), array, bytes,
                (uint64_t *)emulate_shared_pointer(signal));
}
PREM_PTX void prem_bulk_store(void *array, uint32_t scratch, uint32_t bytes) {
  emulate_store(array, emulate_shared_pointer(scratch), bytes);
}
PREM_PTX void prem_bulk_fetch_box(uint32_t scratch, const void *map, const int4 &box,
                                  uint32_t signal, uint64_t) {
  const int32_t at[4] = {box.x, box.y, box.z, box.w};
  emulate_fetch_box(emulate_shared_pointer(scratch), map, at,
                    (uint64_t *)emulate_shared_pointer(signal));
}
PREM_PTX void prem_bulk_store_box(const void *map, const int4 &box, uint32_t scratch) {
  const int32_t at[4] = {box.x, box.y, box.z, box.w};
  emulate_store_box(map, at, emulate_shared_pointer(scratch));
}
PREM_PTX void prem_bulk_store_by(void *array, uint32_t scratch, uint32_t bytes, uint64_t) {
  prem_bulk_store(array, scratch, bytes);
}
PREM_PTX void prem_bulk_store_box_by(const void *map, const int4 &box, uint32_t scratch, uint64_t) {
  prem_bulk_store_box(map, box, scratch);
}
PREM_PTX void prem_bulk_store_wait(void) {
  emulate_store_wait();
}
PREM_PTX void prem_copy_16(void *scratch, const void *array) {
  emulate_copy_16(scratch, array);
}
PREM_PTX void prem_copy_16_from_l2(void *scratch, const void *array) {
  emulate_copy_16(scratch, array);
}
PREM_PTX void prem_copies_wait(void) {
  emulate_copies_wait();
}

#include "ttprem/kernel.h"

#undef PREM_SYNC
#define PREM_SYNC() prem_meet(PREM_LANE_COUNT)

/* ---- kernels --------------------------------------------------------------------------------- */

/** To be launched by its address: what makes a call with copies of the arguments. */
using emulated_maker = std::function<void()> (*)(const void *kernel, void **arguments);
void emulate_kernel(const void *kernel, emulated_maker maker);

template <class... T, size_t... I>
std::function<void()> emulate_bind(void (*kernel)(T...), void **arguments,
                                   std::index_sequence<I...>) {
  const auto copies = std::make_tuple(*(typename std::remove_const<T>::type *)arguments[I]...);
  return [kernel, copies] { std::apply(kernel, copies); };
}

/** Say that there is a kernel. */
template <class... T> bool emulated(void (*kernel)(T...)) {
  emulate_kernel((const void *)kernel, [](const void *of, void **arguments) {
    return emulate_bind((void (*)(T...))of, arguments, std::index_sequence_for<T...>());
  });
  return true;
}
