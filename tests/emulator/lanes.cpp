/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/emulator/lanes.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#if !defined(__x86_64__)
#error "the emulated GPU changes stacks by instructions of x86-64"
#endif

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

thread_local emulated_index threadIdx, blockIdx, blockDim, gridDim;

void emulate_refuse(const char *what) {
  fprintf(stderr, "emulated GPU: block %u, thread %u: %s\n", blockIdx.x, threadIdx.x, what);
  abort();
}

/* ---- stacks ---------------------------------------------------------------------------------- */

extern "C" void emulated_switch(void **from, void *to);
extern "C" void emulated_begin(void);

/* What a function keeps for its caller goes to the stack, and the other one's comes from there. */
asm(R"(
  .text
  .globl emulated_switch
  .type emulated_switch, @function
emulated_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size emulated_switch, .-emulated_switch
)");

namespace {

constexpr size_t STACK_BYTES = 256 << 10;
constexpr size_t LAST_BYTES = 8 << 10; /* of a stack: what a lane that ends has on it, at most */
constexpr unsigned WARP = 32;

/* WAITS: for other lanes; LANDS: for its own stores. */
enum lane_state { RUNS, WAITS, LANDS, SLEEPS, OVER };

struct sent_piece {
  void *to;
  const void *from;
};

struct lane {
  void *stack_pointer = nullptr;
  unsigned char *stack = nullptr;
  lane_state state = RUNS;
  int64_t wake_ns = 0;
  unsigned stores = 0; /* that it has ordered and that are not there yet */
  std::vector<sent_piece> sent;
#ifdef __SANITIZE_ADDRESS__
  void *fake_stack = nullptr;
#endif
};

struct warp {
  uint64_t given[WARP] = {}, seen[WARP] = {};
  uint32_t arrived = 0;
};

/* A copy that is under way. */
struct order {
  std::function<void()> move;
  uint64_t *signal; /* of a fetch */
  uint32_t bytes;
  unsigned lane; /* of a store */
  unsigned rounds; /* until it is made */
};

struct meeting {
  unsigned there = 0;
  std::vector<unsigned> lanes;
};

struct block {
  std::vector<lane> lanes;
  std::vector<warp> warps;
  meeting meetings[16];
  std::vector<order> orders;
  const std::function<void()> *work = nullptr;
  unsigned now = 0; /* the lane that runs */
  bool moves = false; /* somebody did more than to look, since the last round */
  uint32_t dice = 1;
  void *outside = nullptr; /* its stack pointer */
#ifdef __SANITIZE_ADDRESS__
  void *fake_stack = nullptr;
  const void *bottom = nullptr;
  size_t bytes = 0;
#endif
};

thread_local block *own;
thread_local unsigned char anchor; /* what is shared lies around it */

uint32_t throw_dice(void) {
  own->dice ^= own->dice << 13;
  own->dice ^= own->dice >> 17;
  own->dice ^= own->dice << 5;
  return own->dice;
}

int64_t real_ns(void) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void lane_leave(void) { /* to the block's own stack */
  lane *self = &own->lanes[own->now];
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(self->state == OVER ? nullptr : &self->fake_stack, own->bottom,
                                 own->bytes);
#endif
  emulated_switch(&self->stack_pointer, own->outside);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(self->fake_stack, &own->bottom, &own->bytes);
#endif
}

} // namespace

extern "C" void emulated_begin(void) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(nullptr, &own->bottom, &own->bytes);
#endif
  (*own->work)();
  own->lanes[own->now].state = OVER;
  own->moves = true;
  lane_leave();
  abort();
}

namespace {

void lane_enter(unsigned number) {
  lane *next = &own->lanes[number];
  own->now = number;
  threadIdx = {number, 0, 0};
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(&own->fake_stack, next->stack, STACK_BYTES);
#endif
  emulated_switch(&own->outside, next->stack_pointer);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(own->fake_stack, nullptr, nullptr);
#endif
}

/* Stacks of blocks that are over serve the next ones: the system takes longer to give pages than a
 * short kernel takes. Never given back; there are as many as blocks ran at once. */
struct stacks {
  std::mutex lock;
  std::vector<std::pair<unsigned, unsigned char *>> unused; /* how many, and where they begin */
};
stacks *all_stacks = new stacks; /* outlives the threads that end with the process */

unsigned char *stacks_take(unsigned threads) {
  {
    const std::lock_guard<std::mutex> hold(all_stacks->lock);
    for (auto &entry : all_stacks->unused)
      if (entry.first == threads) {
        unsigned char *begin = entry.second;
        entry = all_stacks->unused.back();
        all_stacks->unused.pop_back();
#ifdef __SANITIZE_ADDRESS__
        for (unsigned i = 0; i < threads; ++i) /* where the last lane ended */
          __asan_unpoison_memory_region(begin + (i + 1) * STACK_BYTES - LAST_BYTES, LAST_BYTES);
#endif
        return begin;
      }
  }
  void *begin = mmap(nullptr, threads * STACK_BYTES, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED)
    emulate_refuse("no memory for stacks");
  return (unsigned char *)begin;
}

void stacks_give(unsigned threads, unsigned char *begin) {
  const std::lock_guard<std::mutex> hold(all_stacks->lock);
  all_stacks->unused.emplace_back(threads, begin);
}

void lanes_make(unsigned threads) {
  unsigned char *stacks = stacks_take(threads);
  own->lanes.resize(threads);
  own->warps.resize((threads + WARP - 1) / WARP);
  for (unsigned i = 0; i < threads; ++i) {
    lane *of = &own->lanes[i];
    of->stack = stacks + i * STACK_BYTES;
    void **top = (void **)(of->stack + STACK_BYTES);
    *--top = nullptr; /* as a call leaves it: 8 beside a multiple of 16 */
    *--top = (void *)&emulated_begin;
    for (int saved = 0; saved < 6; ++saved)
      *--top = nullptr;
    of->stack_pointer = top;
  }
}

/* ---- the copy engine ------------------------------------------------------------------------- */

/* In the 8 bytes of a barrier: bytes to come, phases that are over, arrivals to come. */
struct barrier_words {
  int32_t bytes;
  uint16_t phases, arrivals;
};

void barrier_advance(barrier_words *words) {
  if (words->bytes != 0 || words->arrivals != 0)
    return;
  ++words->phases;
  words->arrivals = 1;
}

void order_make(const order &of) {
  of.move();
  if (of.signal != nullptr) {
    barrier_words *words = (barrier_words *)of.signal;
    words->bytes -= (int32_t)of.bytes;
    barrier_advance(words);
  } else if (--own->lanes[of.lane].stores == 0 && own->lanes[of.lane].state == LANDS) {
    own->lanes[of.lane].state = RUNS;
  }
  own->moves = true;
}

void orders_work(void) {
  for (size_t i = 0; i < own->orders.size();) {
    if (own->orders[i].rounds-- > 0) {
      ++i;
      continue;
    }
    const order of = std::move(own->orders[i]);
    own->orders[i] = std::move(own->orders.back());
    own->orders.pop_back();
    order_make(of);
  }
}

void order_give(std::function<void()> move, uint64_t *signal, uint32_t bytes) {
  const unsigned rounds = throw_dice() % 4;
  own->orders.push_back(order{std::move(move), signal, bytes, own->now, rounds});
  if (signal == nullptr)
    ++own->lanes[own->now].stores;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* Let every lane that can go on do so once, from any of them on. @return those that are not over. */
unsigned round_work(int64_t now_ns, int64_t *wake_ns, unsigned *waiting) {
  const unsigned threads = (unsigned)own->lanes.size(), from = throw_dice() % threads;
  unsigned left = 0;
  *waiting = 0;
  *wake_ns = INT64_MAX;
  for (unsigned i = 0; i < threads; ++i) {
    const unsigned number = (from + i) % threads;
    lane *of = &own->lanes[number];
    if (of->state == SLEEPS && of->wake_ns <= now_ns)
      of->state = RUNS;
    if (of->state == RUNS)
      lane_enter(number);
    left += of->state != OVER;
    *waiting += of->state == WAITS || of->state == LANDS;
    if (of->state == SLEEPS && of->wake_ns < *wake_ns)
      *wake_ns = of->wake_ns;
    if (of->state == RUNS)
      *wake_ns = 0;
  }
  return left;
}

void say_where_all_wait(void) {
  for (size_t i = 0; i < own->lanes.size(); i += WARP)
    fprintf(stderr, "  warp %zu: %08x have come to an exchange\n", i / WARP,
            own->warps[i / WARP].arrived);
  for (int barrier = 0; barrier < 16; ++barrier)
    if (own->meetings[barrier].there > 0)
      fprintf(stderr, "  barrier %d: %u there\n", barrier, own->meetings[barrier].there);
  emulate_refuse("all lanes wait for each other");
}

/* Nothing has moved for some rounds: leave the core to others, who may have what is waited for. */
void rest(int64_t now_ns, int64_t wake_ns, int idle) {
  enum { LOOKS = 16, MOST_LOOKS = 100, LONGEST_NS = 50000 };
  if (idle < LOOKS)
    return;
  if (idle < MOST_LOOKS && wake_ns - now_ns < LONGEST_NS / 10) {
    sched_yield();
    return;
  }
  const int64_t left_ns =
      idle >= MOST_LOOKS ? LONGEST_NS : std::min<int64_t>(wake_ns - now_ns, LONGEST_NS);
  const timespec time = {0, (long)left_ns};
  nanosleep(&time, nullptr);
}

} // namespace

/* TTPREM_EMULATED_SLOW names a block that others are much quicker than. */
static bool is_slow(unsigned number, unsigned blocks) {
  const char *slow = getenv("TTPREM_EMULATED_SLOW");
  return slow != nullptr && blocks > 1 && (unsigned)atoi(slow) == number;
}

void emulate_block(unsigned number, unsigned blocks, unsigned threads,
                   const std::function<void()> &work) {
  static std::atomic<uint32_t> seeds{1};
  block self;
  own = &self;
  self.work = &work;
  self.dice = (seeds += 2654435769u) | 1u;
  blockIdx = {number, 0, 0};
  gridDim = {blocks, 1, 1};
  blockDim = {threads, 1, 1};
  lanes_make(threads);
  unsigned waiting;
  int64_t wake_ns;
  const bool rests = is_slow(number, blocks);
  for (int idle = 0;;) {
    const int64_t now_ns = real_ns();
    const timespec time = {0, 2000000};
    if (rests)
      nanosleep(&time, nullptr);
    self.moves = false;
    orders_work();
    const unsigned left = round_work(now_ns, &wake_ns, &waiting);
    if (left == 0)
      break;
    if (waiting == left && self.orders.empty() && !self.moves)
      say_where_all_wait();
    idle = self.moves ? 0 : idle + 1;
    if (self.orders.empty())
      rest(now_ns, wake_ns, idle);
  }
  while (!self.orders.empty())
    orders_work();
  stacks_give(threads, self.lanes[0].stack);
  own = nullptr;
}

void emulate_yield(uint32_t max_ns) {
  lane *self = &own->lanes[own->now];
  if (max_ns > 0) {
    self->state = SLEEPS;
    self->wake_ns = real_ns() + throw_dice() % max_ns;
  }
  lane_leave();
}

/* ---- meeting --------------------------------------------------------------------------------- */

static uint32_t lanes_there(unsigned warp_number) {
  uint32_t there = 0;
  for (unsigned i = 0; i < WARP && warp_number * WARP + i < own->lanes.size(); ++i)
    there |= (uint32_t)(own->lanes[warp_number * WARP + i].state != OVER) << i;
  return there;
}

const uint64_t *emulate_exchange(uint32_t mask, uint64_t value) {
  const unsigned number = own->now / WARP, self = own->now % WARP;
  warp *of = &own->warps[number];
  const uint32_t needed = mask & lanes_there(number);
  of->given[self] = value;
  of->arrived |= 1u << self;
  if ((of->arrived & needed) != needed) {
    own->lanes[own->now].state = WAITS;
    lane_leave();
    return own->warps[number].seen;
  }
  memcpy(of->seen, of->given, sizeof of->seen);
  of->arrived &= ~mask;
  for (unsigned i = 0; i < WARP; ++i)
    if (needed >> i & 1u)
      own->lanes[number * WARP + i].state = RUNS;
  emulate_yield(0); /* who comes last does not always go on first */
  return own->warps[number].seen;
}

void emulate_meet(int barrier, unsigned threads) {
  meeting *at = &own->meetings[barrier];
  if (threads % WARP != 0)
    emulate_refuse("a barrier takes whole warps");
  own->moves = true;
  if (++at->there < threads) {
    at->lanes.push_back(own->now);
    own->lanes[own->now].state = WAITS;
    lane_leave();
    return;
  }
  for (const unsigned number : at->lanes)
    own->lanes[number].state = RUNS;
  at->lanes.clear();
  at->there = 0;
  emulate_yield(0);
}

/* ---- what a lane asks ------------------------------------------------------------------------ */

int64_t emulate_clock_ns(void) {
  enum { STEP_NS = 32 };
  emulate_yield(0);
  return (real_ns() + INT64_C(1) * 1000000000000) / STEP_NS * STEP_NS;
}

uint32_t emulate_smid(void);

uint32_t emulate_shared_address(const void *pointer) {
  return (uint32_t)((const unsigned char *)pointer - &anchor);
}

void *emulate_shared_pointer(uint32_t address) {
  return &anchor + (int32_t)address;
}

void emulate_barrier_init(uint64_t *barrier) {
  const barrier_words words = {0, 0, 1};
  memcpy(barrier, &words, sizeof words);
}

void emulate_barrier_arrive(uint64_t *barrier, uint32_t bytes) {
  barrier_words *words = (barrier_words *)barrier;
  if (words->arrivals == 0)
    emulate_refuse("a second arrival in one phase of a barrier");
  words->bytes += (int32_t)bytes;
  --words->arrivals;
  barrier_advance(words);
  own->moves = true;
}

bool emulate_barrier_test(const uint64_t *barrier, uint32_t parity) {
  return (((const barrier_words *)barrier)->phases & 1u) != parity;
}

static void check_pieces(const void *scratch, const void *array, uint32_t bytes, unsigned align) {
  if ((uintptr_t)scratch % align != 0)
    emulate_refuse("a bulk copy's place in the scratchpad is not aligned");
  if ((uintptr_t)array % 16 != 0 || bytes % 16 != 0)
    emulate_refuse("a bulk copy is not of whole pieces of 16 bytes");
}

void emulate_fetch(void *to, const void *from, uint32_t bytes, uint64_t *signal) {
  check_pieces(to, from, bytes, 16);
  order_give([=] { memcpy(to, from, bytes); }, signal, bytes);
}

void emulate_store(void *to, const void *from, uint32_t bytes) {
  check_pieces(from, to, bytes, 16);
  order_give([=] { memcpy(to, from, bytes); }, nullptr, bytes);
}

/* Each row of a box: where it lies in the array, how much of it is there, where in the scratchpad. */
template <class row_work>
static void box_walk(const emulated_map &map, const int32_t at[4], const row_work &work) {
  uint32_t scratch = 0;
  const int64_t first = at[0] > 0 ? at[0] : 0;
  const int64_t last = at[0] + (int64_t)map.box[0] < (int64_t)map.size[0]
                           ? at[0] + (int64_t)map.box[0]
                           : (int64_t)map.size[0];
  for (int64_t p0 = at[3]; p0 < at[3] + (int64_t)map.box[3]; ++p0)
    for (int64_t p1 = at[2]; p1 < at[2] + (int64_t)map.box[2]; ++p1)
      for (int64_t row = at[1]; row < at[1] + (int64_t)map.box[1]; ++row) {
        const bool is_there = p0 >= 0 && p0 < (int64_t)map.size[3] && p1 >= 0 &&
                              p1 < (int64_t)map.size[2] && row >= 0 && row < (int64_t)map.size[1];
        const int64_t pieces = is_there && last > first ? last - first : 0;
        unsigned char *array = map.base + p0 * (int64_t)map.pitch[2] + p1 * (int64_t)map.pitch[1] +
                               row * (int64_t)map.pitch[0] + first * EMULATED_PIECE;
        work(array, (size_t)pieces * EMULATED_PIECE, scratch,
             (size_t)(first - at[0]) * EMULATED_PIECE);
        scratch += map.box[0] * EMULATED_PIECE;
      }
}

static uint32_t box_bytes(const emulated_map &map) {
  return map.box[0] * map.box[1] * map.box[2] * map.box[3] * EMULATED_PIECE;
}

void emulate_fetch_box(void *to, const void *map_at, const int32_t at_[4], uint64_t *signal) {
  emulated_map map;
  memcpy(&map, map_at, sizeof map);
  check_pieces(to, map.base, 16, 128);
  const int32_t at[4] = {at_[0], at_[1], at_[2], at_[3]};
  order_give(
      [=] {
        memset(to, 0, box_bytes(map));
        box_walk(map, at,
                 [=](const unsigned char *array, size_t bytes, uint32_t row, size_t lead) {
                   if (bytes > 0)
                     memcpy((unsigned char *)to + row + lead, array, bytes);
                 });
      },
      signal, box_bytes(map));
}

void emulate_store_box(const void *map_at, const int32_t at_[4], const void *from) {
  emulated_map map;
  memcpy(&map, map_at, sizeof map);
  check_pieces(from, map.base, 16, 128);
  const int32_t at[4] = {at_[0], at_[1], at_[2], at_[3]};
  order_give(
      [=] {
        box_walk(map, at, [=](unsigned char *array, size_t bytes, uint32_t row, size_t lead) {
          if (bytes > 0)
            memcpy(array, (const unsigned char *)from + row + lead, bytes);
        });
      },
      nullptr, 0);
}

void emulate_store_wait(void) {
  while (own->lanes[own->now].stores > 0) {
    own->lanes[own->now].state = LANDS;
    lane_leave();
  }
}

void emulate_copy_16(void *to, const void *from) {
  own->lanes[own->now].sent.push_back(sent_piece{to, from});
}

void emulate_copies_wait(void) {
  for (const sent_piece &piece : own->lanes[own->now].sent)
    memcpy(piece.to, piece.from, 16);
  own->lanes[own->now].sent.clear();
}
