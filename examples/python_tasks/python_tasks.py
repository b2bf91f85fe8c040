# SPDX-License-Identifier: Apache-2.0
"""Three tasks with periods on two blocks, planned, checked and run by Python. Begin here:

    python3 python_tasks.py            on the simulator
    python3 python_tasks.py cpu        on this computer, which measures times

It takes the package python3-ttprem. Its tutorial goes on with a kernel of your own, measured
times and live sessions. `ttprem list` has the kernels; ttprem-schedule(5) explains every key.
"""
import sys

import numpy as np
import ttprem


def task(name, kernel, block, tile, period, wcets, **more):
    """A task is cut into tiles. Each is fetched, computed and written back; a WCET is how long that
    takes at worst. Memory phases take the memory in turn, computes go on beside them."""
    phases = zip(("prefetch", "compute", "writeback"), wcets)
    phases = {phase: {"wcet_ns": wcet} for phase, wcet in phases}
    base = {"name": name, "kernel": kernel, "blocks": [block], "tile": tile, "period_ns": period}
    return {**base, **phases, **more}


SCHEDULE = {
    "name": "python_tasks",
    # Blocks are the executors: threads on cpu, resident blocks on a GPU.
    # A phase that begins more than late_ns after its instant counts as late.
    "platform": {"blocks": 2, "scratch_bytes": 65536, "late_ns": "5us"},
    "arrays": [
        {"name": "sensors", "type": "f32", "shape": [1024], "fill": "random", "seed": 1},
        {"name": "image", "type": "f32", "shape": [64, 64], "fill": "random", "seed": 2},
    ],
    "tasks": [
        # Once a millisecond, and done half a millisecond later.
        task(
            "control", "vector_increment", 0, [512], "1ms", ("20us", "30us", "20us"),
            deadline_ns="500us", arrays={"in": "sensors", "out": "new"},
        ),
        # Every other millisecond. Its output is called edges.out.
        task(
            "edges", "conv2d", 1, [32, 64], "2ms", ("50us", "200us", "50us"),
            args={"coefficients": [-1, -1, -1, -1, 8, -1, -1, -1, -1]},
            arrays={"in": "image", "out": "new"},
        ),
        # Every fourth one, of the latest edges.
        task(
            "total", "tile_sum", 1, [32, 64], "4ms", ("50us", "50us", "10us"),
            arrays={"in": "edges.out", "out": "new"},
            after=[{"task": "edges", "instance": "latest"}],
        ),
    ],
}


def main(backend="sim"):
    schedule = ttprem.Schedule(SCHEDULE)
    known = schedule.plan(time_limit=0)  # 10: search so many seconds for a better one
    schedule.check()  # an independent second opinion; an exception says what is wrong
    print(f"{schedule.name}: {known.verdict}, {known.phases} phases")

    # Outputs are compared with each kernel's reference; and numpy may look at them.
    repeat = 1 if backend == "sim" else 20
    result = schedule.run(backend, repeat=repeat, outputs=["sensors", "control.out"])
    arrays = result.outputs
    assert np.array_equal(arrays["control.out"], arrays["sensors"] + 1)
    print(result)

    # result.responses, samples and trace are tables; to_pandas() makes data frames of them.
    responses = result.responses
    for name in schedule.task_names:
        longest = responses.where(task=name)["response_ns"].max()
        print(f"{name}: answers within {longest / 1000:g} us")
    late = result["tt"].late_releases
    assert backend != "sim" or late == 0, f"{late} releases were late on the simulator"


if __name__ == "__main__":
    main(*sys.argv[1:])
