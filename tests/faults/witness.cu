/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Do phases start when their stamps say so? Others see it: 24 warps of another SM, and a core of
 * the host.
 *
 * usage: witness FILE.cfg HYPERPERIODS DELAY_NS
 *
 * The executive's block 0 writes a word right after each start (witness.cuh): what the start's
 * stamp was, and what its instant. Eight warps poll the word of each unit. What they agree on is an
 * interval in which the word came, by their own SM's clock. A first run sets the limit: half of
 * DELAY_NS after the middle word was there, or where one in 20 000 was not there yet, if that is
 * later. In a second run one start in 64, drawn by a hash, is DELAY_NS late. A word that is not
 * there at the limit is a verdict of "late"; only then it is looked up which were.
 *
 * Exit status: 0 all is as it should be, 1 it is not, 77 no GPU.
 */
#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>
#include <unordered_map>
#include <vector>

#include "tests/faults/witness.cuh"

#include <ttprem/ttprem.h>

namespace {

constexpr int WARPS = 8;          /* of a unit */
constexpr uint32_t KEPT = 300000; /* sights of each warp */
constexpr int COMING = 10; /* of a run this part is left out: the witness comes, which disturbs */
constexpr int64_t LIMIT_NS = 90000000000;
constexpr int64_t LEAD_NS[WITNESS_UNITS] = {32, 32, 0}; /* copies are led by a step of the clock */
const char *const unit_name[WITNESS_UNITS] = {"prefetch", "writeback", "compute"};

std::vector<witness_setter> &setters() {
  static std::vector<witness_setter> all;
  return all;
}

[[noreturn]] void fail(const char *what, const char *why) {
  std::fprintf(stderr, "witness: %s: %s\n", what, why);
  std::exit(1);
}

void cuda(cudaError_t error, const char *what) {
  if (error != cudaSuccess)
    fail(what, cudaGetErrorString(error));
}

/* A sight: the word, the beginning of the last look that did not see it, the end of the first that
 * did. */
struct sight {
  uint64_t word;
  int64_t from_ns, to_ns;
};

/* One block stays, on an SM that the plan leaves: the last one. The warp behind the others looks at
 * the host's word, so that they never wait for it. */
__global__ void watch(const uint64_t *words, sight *sights, uint32_t *counts, uint32_t *place,
                      int sm, const int *stop) {
  __shared__ volatile int stops;
  __shared__ uint32_t claim;
  int here;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(here));
  if (here != sm)
    return;
  if (threadIdx.x == 0) {
    stops = 0;
    claim = atomicAdd(place, 1U);
  }
  __syncthreads();
  const int warp = (int)threadIdx.x / 32, unit = warp / WARPS;
  if (claim != 0 || threadIdx.x % 32 != 0)
    return;
  const int64_t end_ns = witness_now_ns() + LIMIT_NS;
  if (unit == WITNESS_UNITS) {
    while (!stops) {
      int told;
      asm volatile("ld.relaxed.sys.global.s32 %0, [%1];" : "=r"(told) : "l"(stop) : "memory");
      stops = told || witness_now_ns() > end_ns;
    }
    return;
  }
  const uint64_t *at = words + unit * WITNESS_LINE;
  sight *mine = sights + (size_t)warp * KEPT;
  uint64_t seen = 0;
  uint32_t count = 0;
  int64_t began_ns = witness_now_ns();
  while (!stops) {
    uint64_t word;
    const int64_t look_ns = witness_now_ns();
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(at) : "memory");
    if (word != seen) {
      const int64_t now_ns = witness_now_ns();
      if (count < KEPT)
        mine[count] = {word, began_ns, now_ns};
      ++count;
      seen = word;
    }
    began_ns = look_ns;
  }
  counts[warp] = count;
}

int64_t host_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The words, who watches them, and what was seen. */
struct witnesses {
  uint64_t *device = nullptr, *host = nullptr;
  int *stop = nullptr;
  sight *sights = nullptr;
  uint32_t *counts = nullptr; /* of the warps; after them: whether a block has the place */
  int sm = 0;
  cudaStream_t stream = nullptr;
  std::vector<sight> by_host[WITNESS_UNITS];
  std::vector<sight> by_gpu[WITNESS_UNITS]; /* joined: the tightest interval */
  std::atomic<bool> host_stops{false};
  std::thread core;

  witnesses() {
    const size_t bytes = WITNESS_UNITS * WITNESS_LINE * sizeof(uint64_t);
    cuda(cudaMalloc(&device, bytes), "words");
    cuda(cudaHostAlloc(&host, bytes, cudaHostAllocMapped), "words of the host");
    cuda(cudaHostAlloc(&stop, sizeof *stop, cudaHostAllocMapped), "stop");
    cuda(cudaMalloc(&sights, sizeof *sights * WITNESS_UNITS * WARPS * KEPT), "sights");
    cuda(cudaMalloc(&counts, sizeof *counts * (WITNESS_UNITS * WARPS + 1)), "counts");
    cudaDeviceProp gpu;
    cuda(cudaGetDeviceProperties(&gpu, 0), "GPU");
    sm = gpu.multiProcessorCount - 1;
    cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    cudaFuncAttributes attributes; /* loads it: that may wait for all kernels */
    cuda(cudaFuncGetAttributes(&attributes, watch), "watch");
  }

  /* A run waits for an idle GPU, so the other witness comes when the first word does. */
  void watch_from_now() {
    const int threads = (WITNESS_UNITS * WARPS + 1) * 32, blocks = 4 * (sm + 1);
    watch<<<blocks, threads, 0, stream>>>(device, sights, counts, counts + WITNESS_UNITS * WARPS,
                                          sm, stop);
    cuda(cudaGetLastError(), "watch");
  }

  void look_by_host() {
    uint64_t seen[WITNESS_UNITS] = {};
    bool is_watched = false;
    int64_t began_ns = host_ns();
    while (!host_stops.load(std::memory_order_relaxed)) {
      const int64_t look_ns = host_ns();
      for (int u = 0; u < WITNESS_UNITS; ++u) {
        const uint64_t word = *(volatile uint64_t *)(host + u * WITNESS_LINE);
        if (word != seen[u] && by_host[u].size() < KEPT)
          by_host[u].push_back({word, began_ns, host_ns()});
        if (word != seen[u] && !is_watched) {
          watch_from_now();
          is_watched = true;
        }
        seen[u] = word;
      }
      began_ns = look_ns;
    }
  }

  void begin(uint32_t one_in, uint32_t delay_ns) {
    const size_t bytes = WITNESS_UNITS * WITNESS_LINE * sizeof(uint64_t);
    cuda(cudaMemset(device, 0, bytes), "words");
    std::fill_n(host, WITNESS_UNITS * WITNESS_LINE, 0);
    *stop = 0;
    const witness_setup setup = {device, host, one_in, delay_ns};
    for (const witness_setter set : setters())
      set(&setup);
    cuda(cudaDeviceSynchronize(), "setup");
    cuda(cudaMemset(counts, 0, sizeof *counts * (WITNESS_UNITS * WARPS + 1)), "counts");
    host_stops = false;
    for (std::vector<sight> &of : by_host) {
      of.clear();
      of.reserve(KEPT);
    }
    core = std::thread(&witnesses::look_by_host, this);
  }

  void end() {
    *(volatile int *)stop = 1;
    host_stops = true;
    core.join();
    cuda(cudaStreamSynchronize(stream), "watch");
    std::vector<uint32_t> count(WITNESS_UNITS * WARPS);
    cuda(cudaMemcpy(count.data(), counts, count.size() * sizeof count[0], cudaMemcpyDeviceToHost),
         "counts");
    for (int u = 0; u < WITNESS_UNITS; ++u) {
      by_gpu[u].clear();
      std::unordered_map<uint64_t, size_t> place;
      for (int w = u * WARPS; w < (u + 1) * WARPS; ++w) {
        std::vector<sight> of(std::min(count[w], KEPT));
        cuda(cudaMemcpy(of.data(), sights + (size_t)w * KEPT, of.size() * sizeof of[0],
                        cudaMemcpyDeviceToHost),
             "sights");
        for (const sight &one : of) {
          const auto [at, is_new] = place.try_emplace(one.word, by_gpu[u].size());
          if (is_new) {
            by_gpu[u].push_back(one);
            continue;
          }
          sight &joined = by_gpu[u][at->second];
          joined.from_ns = std::max(joined.from_ns, one.from_ns);
          joined.to_ns = std::min(joined.to_ns, one.to_ns);
        }
      }
      by_gpu[u].erase(by_gpu[u].begin(),
                      by_gpu[u].begin() + (ptrdiff_t)(by_gpu[u].size() / COMING));
    }
  }
};

int64_t at(std::vector<int64_t> &of, double part) {
  if (of.empty())
    return 0;
  const size_t n =
      std::min(of.size() - 1, (size_t)std::max(0.0, std::ceil(part * (double)of.size()) - 1));
  std::nth_element(of.begin(), of.begin() + (ptrdiff_t)n, of.end());
  return of[n];
}

void say(const char *unit, const char *what, std::vector<int64_t> of) {
  std::printf("%-9s  %-34s %9zu %8" PRId64 " %7" PRId64 " %7" PRId64 " %7" PRId64 " %8" PRId64 "\n",
              unit, what, of.size(), at(of, 0), at(of, 0.5), at(of, 0.99), at(of, 0.999),
              at(of, 1));
}

bool is_delayed(uint64_t word) {
  return word & 1;
}

/* Stamps and instants have 32 and 31 bits: their distance from a time near them. */
int64_t after_stamp(uint64_t word, int64_t ns) {
  return (int32_t)((uint32_t)ns - (uint32_t)(word >> 32));
}
int64_t after_instant(uint64_t word, int64_t ns, int unit) {
  return (int32_t)(((uint32_t)ns - ((uint32_t)word & ~1u)) << 1) / 2 - LEAD_NS[unit];
}

/** What the first run says of a unit. */
struct usual {
  int64_t limit_ns;
  int64_t way_ns; /* from a stamp to its sight, but for one in a thousand */
};

/* How late each start was by its stamp, and when others saw it. */
usual tell(const witnesses &all, int unit, int64_t delay_ns) {
  std::vector<int64_t> late, wide, seen, end, begin;
  for (const sight &one : all.by_gpu[unit]) {
    if (is_delayed(one.word))
      continue;
    late.push_back(after_instant(one.word, (int64_t)(one.word >> 32), unit));
    wide.push_back(one.to_ns - one.from_ns);
    seen.push_back(after_stamp(one.word, one.to_ns));
    end.push_back(after_instant(one.word, one.to_ns, unit));
    begin.push_back(after_instant(one.word, one.from_ns, unit));
  }
  const char *name = unit_name[unit];
  say(name, "stamp, after the instant", late);
  say(name, "seen by another SM, after the stamp", seen);
  say(name, "... in an interval of", wide);
  say(name, "seen, after the instant", end);
  say(name, "not there yet, after the instant", begin);
  return {std::max(at(begin, 1 - 5e-5), at(end, 0.5) + delay_ns / 2), at(seen, 0.999)};
}

/* The host's clock is another one: the line through both, and what a sight is off it. */
void tell_host(const witnesses &all, int unit) {
  const std::vector<sight> &of = all.by_host[unit];
  std::unordered_map<uint64_t, int64_t> gpu_ns;
  for (const sight &one : all.by_gpu[unit])
    gpu_ns[one.word] = one.to_ns - after_stamp(one.word, one.to_ns);
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  int64_t x0 = 0, y0 = 0;
  std::vector<int64_t> wide, off;
  for (const sight &one : of) {
    const auto found = gpu_ns.find(one.word);
    if (found == gpu_ns.end() || is_delayed(one.word))
      continue;
    if (n == 0) {
      x0 = found->second;
      y0 = one.to_ns;
    }
    const double x = (double)(found->second - x0), y = (double)(one.to_ns - y0);
    n += 1, sx += x, sy += y, sxx += x * x, sxy += x * y;
    wide.push_back(one.to_ns - one.from_ns);
  }
  if (n < 2)
    return;
  const double slope = (n * sxy - sx * sy) / (n * sxx - sx * sx), base = (sy - slope * sx) / n;
  for (const sight &one : of) {
    const auto found = gpu_ns.find(one.word);
    if (found != gpu_ns.end() && !is_delayed(one.word))
      off.push_back((int64_t)std::llround((double)(one.to_ns - y0) - base -
                                          slope * (double)(found->second - x0)));
  }
  say(unit_name[unit], "seen by the host, off the mean", off);
  say(unit_name[unit], "... in an interval of", wide);
}

/* Late starts that the witness found: the word was not there yet so long after the instant. A start
 * that comes late by its own stamp as well, since one before it was delayed, is no invention: its
 * stamp and the word's way reach to the limit. */
int judge(const witnesses &all, int unit, usual of, int64_t delay_ns) {
  const int64_t limit_ns = of.limit_ns;
  int64_t planted = 0, found = 0, others = 0, invented = 0;
  for (const sight &one : all.by_gpu[unit]) {
    const bool late = after_instant(one.word, one.from_ns, unit) > limit_ns;
    const bool stamped_late =
        after_instant(one.word, (int64_t)(one.word >> 32), unit) > limit_ns - of.way_ns;
    (is_delayed(one.word) ? planted : others) += 1;
    (is_delayed(one.word) ? found : invented) += late && (is_delayed(one.word) || !stamped_late);
  }
  if (planted + others == 0)
    return 0;
  const bool ok = planted > 0 && (double)found >= 0.99 * (double)planted &&
                  (double)invented <= 1e-4 * (double)others;
  std::printf("%-6s  %-9s limit %" PRId64 " ns; delays of %" PRId64 " ns: %" PRId64 " of %" PRId64
              " found; invented %" PRId64 " of %" PRId64 "\n",
              ok ? "ok" : "FAILED", unit_name[unit], limit_ns, delay_ns, found, planted, invented,
              others);
  return !ok;
}

void check(prem_status status, prem_diag *diag, const char *what) {
  char line[1024] = "failed";
  if (prem_diag_count(diag) > 0)
    prem_problem_format(prem_diag_at(diag, prem_diag_count(diag) - 1), line, sizeof line);
  if (status != PREM_OK)
    fail(what, line);
}

void tell_stats(const prem_trace *trace) {
  for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase) {
    prem_phase_stats sum;
    prem_phase_stats_clear(&sum);
    for (int32_t t = 0; t < trace->task_count; ++t)
      prem_phase_stats_merge(&sum, &trace->stats[t * PREM_PHASE_COUNT + phase]);
    if (sum.releases == 0)
      continue;
    std::printf("all blocks, %s: %" PRId64 " releases, longest %" PRId64 " ns late; late by",
                prem_phase_name((prem_phase)phase), sum.releases, sum.lateness_max_ns);
    for (int b = 0; b < PREM_HIST_BUCKETS; ++b)
      if (sum.lateness_hist[b])
        std::printf(" <%" PRId64 ": %" PRId64, b ? (int64_t)1 << b : 1, sum.lateness_hist[b]);
    std::printf("\n");
  }
}

} // namespace

void witness_register(witness_setter setter) {
  setters().push_back(setter);
}

int main(int argc, char **argv) {
  if (argc != 4)
    fail("usage", "witness FILE.cfg HYPERPERIODS DELAY_NS");
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const int64_t hyperperiods = std::atoll(argv[2]);
  const int64_t delay_ns = std::atoll(argv[3]);
  prem_diag *diag = prem_diag_new();
  const prem_backend *backend = prem_backend_find("cuda");
  prem_machine machine;
  if (!backend || prem_backend_probe(backend, &machine, diag) != PREM_OK) {
    std::puts("witness: no GPU");
    return 77;
  }
  prem_schedule *schedule;
  prem_session *session;
  prem_trace *trace;
  check(prem_schedule_load(argv[1], nullptr, &schedule, diag), diag, "load");
  check(prem_schedule_bind(schedule, prem_registry_builtin(), diag), diag, "bind");
  check(prem_session_open(backend, schedule, &session, diag), diag, "open");
  check(prem_session_trace_new(session, hyperperiods, 0, &trace), diag, "trace");
  prem_run_request request = {};
  request.mode = PREM_MODE_TT;
  request.hyperperiods = hyperperiods;
  request.discard = hyperperiods / COMING;
  check(prem_session_run(session, &request, trace, diag), diag,
        "first run"); /* kernels are loaded */
  witnesses all;
  int failed = 0;
  usual of[WITNESS_UNITS];
  std::printf("%-9s  %-34s %9s %8s %7s %7s %7s %8s\n", "unit", "ns", "N", "least", "p50", "p99",
              "p99.9", "longest");
  for (int round = 0; round < 2; ++round) {
    all.begin(round ? 64 : 0, (uint32_t)delay_ns);
    check(prem_session_run(session, &request, trace, diag), diag, "run");
    all.end();
    for (int u = 0; u < WITNESS_UNITS; ++u) {
      if (round == 0) {
        of[u] = tell(all, u, delay_ns);
        tell_host(all, u);
      } else {
        failed += judge(all, u, of[u], delay_ns);
      }
    }
    if (round == 0)
      tell_stats(trace);
  }
  prem_verdict verdict;
  check(prem_session_verify(session, &verdict), diag, "verify");
  if (!verdict.ok)
    std::printf("FAILED  outputs are wrong\n");
  prem_trace_free(trace);
  prem_session_close(session);
  prem_schedule_free(schedule);
  prem_diag_free(diag);
  return failed > 0 || !verdict.ok;
}
