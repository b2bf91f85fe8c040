/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The emulated GPU's threads. A block is a thread of the host, and each of its lanes a stack of its
 * own on it: so what the block shares is what the thread has for itself (thread_local), and lanes
 * take turns where they look at something others may change, wait or meet. Blocks run at the same
 * time. Who comes first is thrown by a dice.
 *
 * What waits for ever is found: lanes that wait for each other, and a lane that neither looks nor
 * waits for ten seconds.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <functional>

struct emulated_index {
  unsigned x, y, z;
};

extern thread_local emulated_index threadIdx, blockIdx, blockDim, gridDim;

/** Work a block: `lane` is called by each of `threads` lanes. Returns when all have returned. */
void emulate_block(unsigned block, unsigned blocks, unsigned threads,
                   const std::function<void()> &lane);

/** The others go on. `max_ns` > 0: this lane need not be asked before. */
void emulate_yield(uint32_t max_ns);

/** All lanes of a warp give a number each; returns those of all, which stay until it gives the
 * next. `mask` names those that take part. */
const uint64_t *emulate_exchange(uint32_t mask, uint64_t value);

/** So many threads of the block wait for each other at this barrier. */
void emulate_meet(int barrier, unsigned threads);

int64_t emulate_clock_ns(void);
uint32_t emulate_smid(void);

/** Somebody else has the whole GPU for so long: kernels that are launched wait. */
void emulate_hold(int64_t ns);
/** Until it is over. */
void emulate_hold_end(void);

/** An address in what the block shares, as a number of 32 bits, and back. */
uint32_t emulate_shared_address(const void *pointer);
void *emulate_shared_pointer(uint32_t address);

/* Of an mbarrier that one arrival completes. */
void emulate_barrier_init(uint64_t *barrier);
void emulate_barrier_arrive(uint64_t *barrier, uint32_t bytes);
bool emulate_barrier_test(const uint64_t *barrier, uint32_t parity);

/** The copy engine: bytes are moved a while later, in any order. */
void emulate_fetch(void *to, const void *from, uint32_t bytes, uint64_t *signal);
void emulate_store(void *to, const void *from, uint32_t bytes);
void emulate_fetch_box(void *to, const void *map, const int32_t at[4], uint64_t *signal);
void emulate_store_box(const void *map, const int32_t at[4], const void *from);
/** Until all that this lane has stored is there. */
void emulate_store_wait(void);

/** 16 bytes that are there when this lane has waited for them, and not before. */
void emulate_copy_16(void *to, const void *from);
void emulate_copies_wait(void);

/** As an emulated tensor map has it: a box of pieces of 8 bytes, innermost first. */
struct emulated_map {
  unsigned char *base;
  uint64_t size[4], pitch[3];
  uint32_t box[4];
};
static_assert(sizeof(emulated_map) <= 128, "it has the room of a tensor map");

#define EMULATED_PIECE 8

/** Say what is wrong with what the device code does, and end. */
[[noreturn]] void emulate_refuse(const char *what);
