/* SPDX-License-Identifier: Apache-2.0 */
/* Handing frames from one producer to one consumer. */
#include "runtime/core/channel.h"

#include <assert.h>
#include <string.h>

enum { SLOT_BITS = 8, HELD_BITS = 16, MAX_LOOKS = 64 };

static_assert((int)PREM_MAX_LIVE_BUFFERS <= (int)HELD_BITS, "a bit for each slot");

void prem_channel_init(prem_channel *channel, int32_t slots, bool is_queue, uint64_t first) {
  memset(channel, 0, sizeof *channel);
  channel->slots = slots;
  channel->is_queue = is_queue;
  channel->next = channel->first = first;
  channel->last_slot = slots - 1;
  atomic_init(&channel->filled.value, first << SLOT_BITS);
  atomic_init(&channel->passed.value, first << HELD_BITS);
}

/* ---- the producer --------------------------------------------------------------------------- */

static bool is_free(const prem_channel *channel, int32_t slot, uint64_t passed) {
  const uint32_t bit = 1U << slot;
  if (channel->writing & bit)
    return false;
  if (!(channel->used & bit))
    return true;
  if (passed & bit)
    return false;
  return channel->is_queue ? channel->frame_in[slot] < passed >> HELD_BITS
                           : channel->frame_in[slot] + 1 != channel->next;
}

int32_t prem_channel_take_free(prem_channel *channel) {
  const uint64_t passed = atomic_load_explicit(&channel->passed.value, memory_order_seq_cst);
  for (int32_t i = 1; i <= channel->slots; ++i) {
    const int32_t slot = (channel->last_slot + i) % channel->slots;
    if (!is_free(channel, slot, passed))
      continue;
    channel->writing |= 1U << slot;
    channel->last_slot = slot;
    return slot;
  }
  return -1;
}

void prem_channel_put_back(prem_channel *channel, int32_t slot) {
  channel->writing &= ~(1U << slot);
}

uint64_t prem_channel_publish(prem_channel *channel, int32_t slot, const prem_note *note) {
  const uint64_t number = channel->next++;
  channel->note[slot] = *note;
  channel->frame_in[slot] = number;
  channel->slot_of[number % PREM_MAX_LIVE_BUFFERS] = (uint8_t)slot;
  channel->used |= 1U << slot;
  channel->writing &= ~(1U << slot);
  atomic_store_explicit(&channel->filled.value, channel->next << SLOT_BITS | (uint64_t)slot,
                        memory_order_seq_cst);
  return number;
}

/* ---- the consumer --------------------------------------------------------------------------- */

static void say_passed(prem_channel *channel) {
  uint64_t word = channel->first << HELD_BITS;
  for (int32_t slot = 0; slot < channel->slots; ++slot)
    word |= (uint64_t)(channel->holds[slot] > 0) << slot;
  atomic_store_explicit(&channel->passed.value, word, memory_order_seq_cst);
}

static int32_t take_next(prem_channel *channel, uint64_t *number) {
  if (!prem_channel_has_new(channel))
    return -1;
  *number = channel->first++;
  const int32_t slot = channel->slot_of[*number % PREM_MAX_LIVE_BUFFERS];
  ++channel->holds[slot];
  say_passed(channel);
  return slot;
}

/* A producer that hands on frames faster than they can be looked at is given up after a while: the
 * next attempt finds one. */
static int32_t take_newest(prem_channel *channel, uint64_t *number) {
  uint64_t filled = atomic_load_explicit(&channel->filled.value, memory_order_seq_cst);
  for (int look = 0; look < MAX_LOOKS; ++look) {
    const int32_t slot = (int32_t)(filled & ((1U << SLOT_BITS) - 1));
    ++channel->holds[slot];
    say_passed(channel);
    const uint64_t again = atomic_load_explicit(&channel->filled.value, memory_order_seq_cst);
    if (again == filled) {
      *number = (filled >> SLOT_BITS) - 1;
      channel->first = *number + 1;
      channel->has_taken = true;
      return slot;
    }
    --channel->holds[slot];
    filled = again;
  }
  say_passed(channel);
  return -1;
}

int32_t prem_channel_take(prem_channel *channel, uint64_t *number) {
  if (channel->is_queue)
    return take_next(channel, number);
  if (!channel->has_taken && !prem_channel_has_new(channel))
    return -1;
  return take_newest(channel, number);
}

void prem_channel_hold(prem_channel *channel, int32_t slot) {
  ++channel->holds[slot];
}

void prem_channel_release(prem_channel *channel, int32_t slot) {
  if (--channel->holds[slot] == 0)
    say_passed(channel);
}
