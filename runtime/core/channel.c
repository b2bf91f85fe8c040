/* SPDX-License-Identifier: Apache-2.0 */
/* Making a channel. */
#include "runtime/core/channel.h"

#include <assert.h>
#include <string.h>

static_assert((int)PREM_MAX_LIVE_BUFFERS <= (int)PREM_CHANNEL_HELD_BITS, "a bit for each slot");

void prem_channel_init(prem_channel *channel, prem_producer *producer, prem_consumer *consumer,
                       int32_t slots, bool is_queue, uint64_t first) {
  memset(channel, 0, sizeof *channel);
  *producer = (prem_producer){.channel = channel,
                              .slots = slots,
                              .is_queue = is_queue,
                              .last_slot = slots - 1,
                              .next = first,
                              .handed_on = first,
                              .settled = first};
  *consumer =
      (prem_consumer){.channel = channel, .slots = slots, .is_queue = is_queue, .first = first};
  atomic_init(&channel->filled.value, first << PREM_CHANNEL_SLOT_BITS);
  atomic_init(&channel->passed.value, first << PREM_CHANNEL_HELD_BITS);
}
