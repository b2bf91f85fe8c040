#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a live turn costs in Python: acquire, fill, submit a frame, and look for a result and give it back.

    PYTHONPATH=build/python tests/bench/bench_turn.py [TURNS]

Only the calls are timed, with a result that is there: what the machine takes in between is the plan's. `clock` is the
time that passed, `processor` what of it the thread itself ran: where other programs share the cores, that is the one
that counts. `calls` are the same calls of C by cffi, without the package. On an idle CPU the median of a turn is 5 us
at most; exit status 1 where it is not.

`rested` is backend sim with a program that sleeps between turns, as one that waits for a camera does: what its code had
in the core's caches is gone then. `cpu` has that too, for its plan runs in real time: compare these two.
"""
import sys
import time

import numpy as np
import ttprem
from ttprem._library import NULL, ffi, lib

LIMIT_US = 5
QUEUE = {
    "name": "queue",
    "platform": {"blocks": 1, "scratch_bytes": 65536},
    "arrays": [{"name": name, "type": "f32", "shape": [16, 16]} for name in ("in", "out")],
    "tasks": [
        {
            "name": "filter",
            "kernel": "conv2d",
            "blocks": [0],
            "tile": [16, 16],
            "period_ns": 500000,
            "args": {"coefficients": [0, 0, 0, 0, 2.0, 0, 0, 0, 0]},
            "arrays": {"in": "in", "out": "out"},
            **{phase: {"wcet_ns": 100000} for phase in ("prefetch", "compute", "writeback")},
        }
    ],
    "live": {
        "inputs": [{"array": "in", "kind": "queuing", "buffers": 4}],
        "outputs": [{"array": "out", "kind": "queuing", "buffers": 4}],
    },
}


counts = ffi.new("prem_live_counts *")


def there(live, count):
    """Wait until so many results were shown, without taking them."""
    while lib.prem_live_count(live._c, 1, counts) or counts.frames < count:
        lib.prem_live_sleep_until(live._c, lib.prem_live_now_ns(live._c) + 50_000)


def package(live):
    picture, acquire, wait = np.ones((16, 16), "f4"), live.acquire, live.wait

    def feed():
        frame = acquire("in")
        frame.array[:] = picture
        frame.submit()

    def take():
        result = wait("out", 0)
        result.array
        result.release()

    return feed, take


def calls(live):
    c, frame = live._c, ffi.new("prem_frame *")

    def feed():
        lib.prem_live_acquire(c, 0, 0, frame, NULL)
        lib.prem_live_submit(c, frame, NULL)

    def take():
        lib.prem_live_wait(c, 1, 0, frame, NULL)
        lib.prem_live_release(c, frame, NULL)

    return feed, take


def measure(backend, what, clock, count, rest_s=0):
    """p10, p50, p99 and the longest of a turn, in us; the clock's own time is taken off."""
    own, taken = min(-clock() + clock() for _ in range(1000)), []
    with ttprem.Schedule(QUEUE).live(backend) as live:
        live.start()
        feed, take = what(live)
        for turn in range(count + 100):
            began = clock()
            feed()
            fed = clock()
            there(live, turn + 1)
            if rest_s:
                time.sleep(rest_s)
            looked = clock()
            take()
            taken.append(fed - began + clock() - looked - 2 * own)
    return np.percentile(taken[100:], [10, 50, 99, 100]) / 1e3


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    clocks = {"clock": time.perf_counter_ns, "processor": time.thread_time_ns}
    worst = 0
    print(f"{count} turns a row, us")
    for backend, rest_s in (("sim", 0), ("sim", 0.0005), ("cpu", 0)):
        for name, clock in clocks.items():
            for what in (calls, package):
                p10, p50, p99, longest = measure(backend, what, clock, count, rest_s)
                head = f"{'rested' if rest_s else backend:6} {name:9} {what.__name__:7}"
                print(f"{head} p10 {p10:6.2f}  p50 {p50:6.2f}  p99 {p99:7.2f}  longest {longest:8.2f}")
        worst = max(worst, p50 if not rest_s else 0)
    if worst > LIMIT_US:
        sys.exit(f"bench_turn: a median is above {LIMIT_US} us of the processor")


if __name__ == "__main__":
    main()
