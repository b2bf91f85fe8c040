/* SPDX-License-Identifier: Apache-2.0 */
/**
 * ttprem for C++17 and later: handles that move and free themselves, frames as spans, a status as a
 * value. Header only, over the C API; get() gives the C handle for all that is not here.
 *
 *   auto schedule = ttprem::Schedule::load("camera.cfg");
 *   if (!schedule || !schedule->prepare())
 *     std::cerr << schedule.error();
 *
 * Nothing throws. In the loop of a live session (acquire, submit, wait, release) nothing is
 * allocated. Ownership, threads and times are those of the C headers, but for what is said here.
 */
#ifndef TTPREM_HPP
#define TTPREM_HPP

#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "ttprem/ttprem.h"

namespace ttprem {

namespace detail {
template <auto function> struct Free {
  template <class T> void operator()(T *handle) const noexcept { function(handle); }
};
template <class T, auto function> using Handle = std::unique_ptr<T, Free<function>>;
using Diag = Handle<prem_diag, prem_diag_free>;
} // namespace detail

/** What came of a call. True where it was done. */
class [[nodiscard]] Status {
public:
  Status(prem_status code = PREM_OK) noexcept : code_(code) {}
  explicit operator bool() const noexcept { return code_ == PREM_OK; }
  prem_status code() const noexcept { return code_; }
  const char *text() const noexcept { return prem_status_text(code_); }
  friend bool operator==(Status a, Status b) noexcept { return a.code_ == b.code_; }
  friend bool operator!=(Status a, Status b) noexcept { return !(a == b); }

private:
  prem_status code_;
};

/** A value, or why there is none. To be used as a pointer where it is true. */
template <class T> class [[nodiscard]] Result {
public:
  Result(T value) noexcept : value_(std::move(value)) {}
  Result(Status status, std::string error = {}) : status_(status), error_(std::move(error)) {}
  explicit operator bool() const noexcept { return value_.has_value(); }
  T *operator->() noexcept { return &*value_; }
  T &operator*() &noexcept { return *value_; }
  T &&operator*() &&noexcept { return std::move(*value_); }
  Status status() const noexcept { return status_; }
  /** Its problems, a line each. */
  const std::string &error() const noexcept { return error_; }

private:
  std::optional<T> value_;
  Status status_;
  std::string error_;
};

/** All problems of a list, a line each; the status in words where there is none. */
inline std::string problems(const prem_diag *diag, Status status) {
  std::string text;
  for (std::size_t i = 0; i < prem_diag_count(diag); ++i) {
    char line[1024];
    prem_problem_format(prem_diag_at(diag, i), line, sizeof line);
    text += text.empty() ? "" : "\n";
    text += line;
  }
  return text.empty() && !status ? status.text() : text;
}

/** Elements that lie next to each other, and belong to somebody else. */
template <class T> class Span {
public:
  constexpr Span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
  constexpr T *begin() const noexcept { return data_; }
  constexpr T *end() const noexcept { return data_ + size_; }
  constexpr T *data() const noexcept { return data_; }
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr T &operator[](std::size_t i) const noexcept { return data_[i]; }

private:
  T *data_;
  std::size_t size_;
};

/** A schedule; what is made of it must not outlive it. Moving it moves none of its data. */
class Schedule {
public:
  static Result<Schedule> load(const char *path, const char *profile = nullptr) {
    return made([&](prem_schedule **out, prem_diag *diag) {
      return prem_schedule_load(path, profile, out, diag);
    });
  }
  static Result<Schedule> from_text(const char *name, const char *text) {
    return made([&](prem_schedule **out, prem_diag *diag) {
      return prem_schedule_load_text(name, text, out, diag);
    });
  }

  /** Bind, plan where there is no plan, check: prem_prepare(). Where it fails, error() says why and
   *  the schedule is of no use any more. */
  Status prepare(const prem_machine *machine = nullptr,
                 const prem_registry *registry = prem_registry_builtin(),
                 const prem_plan_options *options = nullptr) {
    diag_.reset(prem_diag_new());
    return last_ = prem_prepare(handle_.get(), registry, machine, options, diag_.get());
  }
  Status check(const prem_machine *machine = nullptr) {
    diag_.reset(prem_diag_new());
    return last_ = prem_check(handle_.get(), machine, diag_.get());
  }
  /** Problems of the last call, notes and warnings among them. */
  std::string error() const { return problems(diag_.get(), last_); }

  prem_schedule *get() const noexcept { return handle_.get(); }
  const prem_schedule *operator->() const noexcept { return handle_.get(); }

private:
  template <class Make> static Result<Schedule> made(Make make) {
    Schedule schedule;
    prem_schedule *out = nullptr;
    schedule.diag_.reset(prem_diag_new());
    const Status status = make(&out, schedule.diag_.get());
    schedule.handle_.reset(out);
    if (!status)
      return {status, problems(schedule.diag_.get(), status)};
    return schedule;
  }
  detail::Handle<prem_schedule, prem_schedule_free> handle_;
  detail::Diag diag_;
  Status last_;
};

/** A frame in hand. It is given back when it goes out of scope, unless it was submitted; it must
 *  not outlive its session. */
class Frame {
public:
  Frame(prem_live *live, const prem_frame &frame) noexcept : live_(live), frame_(frame) {}
  Frame(Frame &&other) noexcept
      : live_(std::exchange(other.live_, nullptr)), frame_(other.frame_) {}
  Frame &operator=(Frame &&other) noexcept {
    if (this != &other) {
      (void)release();
      live_ = std::exchange(other.live_, nullptr);
      frame_ = other.frame_;
    }
    return *this;
  }
  ~Frame() { (void)release(); }

  /** Hand an input over: the frame is the session's then. */
  Status submit(prem_diag *diag = nullptr) noexcept {
    const Status status = live_ ? prem_live_submit(live_, &frame_, diag) : PREM_ERR_ARGUMENT;
    if (status || status == PREM_ERR_ENDED)
      live_ = nullptr;
    return status;
  }
  /** Give it back now. */
  Status release(prem_diag *diag = nullptr) noexcept {
    prem_live *live = std::exchange(live_, nullptr);
    return live ? prem_live_release(live, &frame_, diag) : PREM_OK;
  }
  bool is_in_hand() const noexcept { return live_ != nullptr; }

  /** Rows of the two innermost dimensions of an array with two at most. T is its element type. */
  std::size_t rows() const noexcept { return static_cast<std::size_t>(frame_.shape[2]); }
  template <class T> Span<T> row(std::size_t index) const noexcept {
    return {reinterpret_cast<T *>(static_cast<char *>(frame_.data) +
                                  static_cast<std::int64_t>(index) * frame_.pitch_bytes[2]),
            static_cast<std::size_t>(frame_.shape[3])};
  }
  prem_frame &get() noexcept { return frame_; }
  const prem_frame *operator->() const noexcept { return &frame_; }

private:
  prem_live *live_;
  prem_frame frame_;
};

/** A live session. Waits have an instant at which they end, as in live.h. */
class Live {
public:
  static Result<Live> open(const prem_backend *backend, const Schedule &schedule) {
    Live live;
    prem_live *out = nullptr;
    live.diag_.reset(prem_diag_new());
    const Status status = backend ? prem_live_open(backend, schedule.get(), &out, live.diag_.get())
                                  : PREM_ERR_UNAVAILABLE;
    live.handle_.reset(out);
    if (!status)
      return {status, problems(live.diag_.get(), status)};
    return live;
  }

  Status start(prem_live_request request = {}, prem_diag *diag = nullptr) noexcept {
    return prem_live_start(get(), &request, diag);
  }
  Status stop(bool drain, std::int64_t until_ns, prem_diag *diag = nullptr) noexcept {
    return prem_live_stop(get(), drain, until_ns, diag);
  }
  std::int32_t find(const char *array) const noexcept { return prem_live_find(get(), array); }
  std::int64_t now_ns() const noexcept { return prem_live_now_ns(get()); }

  Result<Frame> acquire(std::int32_t stream, std::int64_t until_ns, prem_diag *diag = nullptr) {
    return taken(prem_live_acquire, stream, until_ns, diag);
  }
  Result<Frame> wait(std::int32_t stream, std::int64_t until_ns, prem_diag *diag = nullptr) {
    return taken(prem_live_wait, stream, until_ns, diag);
  }
  prem_live_counts counts(std::int32_t stream) const noexcept {
    prem_live_counts out = {};
    prem_live_count(get(), stream, &out);
    return out;
  }
  prem_live *get() const noexcept { return handle_.get(); }

private:
  template <class Call>
  Result<Frame> taken(Call call, std::int32_t stream, std::int64_t until_ns, prem_diag *diag) {
    prem_frame frame;
    const Status status = call(get(), stream, until_ns, &frame, diag);
    if (!status)
      return status;
    return Frame(get(), frame);
  }
  detail::Handle<prem_live, prem_live_close> handle_;
  detail::Diag diag_;
};

} // namespace ttprem
#endif
