/* SPDX-License-Identifier: Apache-2.0 */
/* The C++ header as a user has it: a camera loop, handles that move, refusals: loop FILE BACKEND.
 */
#include <cstdio>
#include <cstdlib>
#include <new>

#include <ttprem/ttprem.hpp>

static long allocations; /* of this program's C++: the loop must have none */
void *operator new(std::size_t bytes) {
  ++allocations;
  if (void *memory = std::malloc(bytes))
    return memory;
  std::abort();
}
void operator delete(void *memory) noexcept {
  std::free(memory);
}
void operator delete(void *memory, std::size_t) noexcept {
  std::free(memory);
}

static void expect(bool holds, const char *what) {
  if (!holds) {
    std::fprintf(stderr, "loop: %s\n", what);
    std::exit(1);
  }
}

static_assert(!std::is_copy_constructible_v<ttprem::Live>, "a session moves");
static_assert(std::is_nothrow_move_constructible_v<ttprem::Schedule>, "a schedule moves");
static_assert(!std::is_copy_constructible_v<ttprem::Frame>, "a frame moves");

static void refusals() {
  auto none = ttprem::Schedule::load("no/such.cfg");
  expect(!none && none.status() == PREM_ERR_IO, "a file that is not there was loaded");
  expect(none.error().find("no/such.cfg") != std::string::npos, "its name is not told");
  auto broken = ttprem::Schedule::from_text("broken", "version = 1;\n");
  expect(!broken && broken.status() == PREM_ERR_PARSE, "a text without a name was loaded");
  expect(broken.error().find("broken") == 0, "problems have their place");
}

/* A frame in and its result out; false where that did not come, as the machine was busy: the frame
 * was too old. */
static bool turn(ttprem::Live &live, float value) {
  const std::int64_t until = live.now_ns() + 1000000000;
  auto in = live.acquire(live.find("image"), until);
  expect(bool(in), "no buffer");
  for (std::size_t row = 0; row < in->rows(); ++row)
    for (float &pixel : in->row<float>(row))
      pixel = value;
  ttprem::Frame moved = std::move(*in);
  expect(moved.is_in_hand() && !in->is_in_hand(), "a frame that moved is in one hand");
  expect(bool(moved.submit()) && !moved.is_in_hand(), "not submitted");
  const std::uint64_t number = moved->number; /* submit gives it one */
  expect(moved.submit() == PREM_ERR_ARGUMENT, "submitted twice");
  for (;;) { /* until the result of this frame, or of a newer one */
    auto out = live.wait(live.find("edges"), until);
    if (!out) {
      expect(out.status() == PREM_ERR_TIMEOUT, "no result");
      return false;
    }
    if ((*out)->input < number)
      continue;
    /* Inside, a picture of one colour has no edges; at its border it has. */
    expect(out->row<const float>(2)[2] == 0 && out->row<const float>(0)[0] == 5 * value, "values");
    return true;
  }
}

int main(int, char **argv) {
  refusals();
  auto schedule = ttprem::Schedule::load(argv[1]);
  expect(bool(schedule), schedule.error().c_str());
  expect(bool(schedule->prepare()), schedule->error().c_str());
  auto opened = ttprem::Live::open(prem_backend_find(argv[2]), *schedule);
  expect(bool(opened), opened.error().c_str());
  ttprem::Live live = std::move(*opened);
  expect(bool(live.start()), "not started");
  while (!turn(live, 1))
    ;
  const long before = allocations;
  for (int number = 2; number < 22; ++number)
    while (!turn(live, static_cast<float>(number)))
      ;
  expect(allocations == before, "the loop allocates");
  { /* What is not submitted is given back: more frames than there are buffers. */
    for (int i = 0; i < 5; ++i)
      expect(bool(live.acquire(live.find("image"), live.now_ns() + 1000000000)), "not given back");
  }
  expect(bool(live.stop(false, live.now_ns() + 10000000000)), "not stopped");
  expect(live.counts(0).frames >= 21, "frames");
  std::puts("done");
}
