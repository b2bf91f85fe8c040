# SPDX-License-Identifier: Apache-2.0
"""What suites share: where the tree is, small schedules."""
import os
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
CAMERA = os.path.join(ROOT, "examples", "camera_loop", "camera.cfg")
BESIDE_A_LOAD = os.path.join(ROOT, "schedules", "examples", "beside_a_load.cfg")
TUTORIAL = os.path.join(ROOT, "examples", "tutorial")


def increment(**task):
    """Two tasks that add one to a vector each, the second one to what the first one makes."""
    times = {"prefetch": {"wcet_ns": 20000}, "writeback": {"wcet_ns": 20000}}
    first = {"name": "first", "kernel": "vector_increment", "blocks": [0], "tile": [256]}
    second = {**first, "name": "second", "blocks": [1], "after": [{"task": "first"}]}
    first["arrays"] = {"in": "source", "out": "middle"}
    second["arrays"] = {"in": "middle", "out": "sink"}
    for each in (first, second):
        each.update(times, compute={"wcet_ns": 30000})
    first.update(task)
    arrays = [{"name": name, "type": "f32", "shape": [1000]} for name in ("middle", "sink")]
    arrays.insert(0, {"name": "source", "type": "f32", "shape": [1000], "fill": "random"})
    return {
        "name": "increment",
        "platform": {"blocks": 2, "scratch_bytes": 65536, "guard_ns": 1000, "late_ns": 5000},
        "arrays": arrays,
        "tasks": [first, second],
    }


def queue(shape=(16, 16), buffers=3, kind="queuing", **more):
    """A live schedule of one task: what comes in goes out, one more."""
    return {
        "name": "queue",
        "platform": {"blocks": 1, "scratch_bytes": 65536},
        "arrays": [{"name": n, "type": "f32", "shape": list(shape)} for n in ("in", "out")],
        "tasks": [
            {
                "name": "filter",
                "kernel": "conv2d",
                "blocks": [0],
                "tile": list(shape),
                "period_ns": 2000000,
                "args": {"coefficients": [0, 0, 0, 0, 2.0, 0, 0, 0, 0]},
                "arrays": {"in": "in", "out": "out"},
                **{p: {"wcet_ns": 200000} for p in ("prefetch", "compute", "writeback")},
            }
        ],
        "live": {
            "inputs": [{"array": "in", "kind": kind, "buffers": buffers, **more}],
            "outputs": [{"array": "out", "kind": "queuing", "buffers": buffers}],
        },
    }


# A shell starts what runs in its background with Ctrl-C ignored, and Python leaves it at that.
HEARS_CTRL_C = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"


def alone(code):
    """Run code in a Python of its own: what it prints, and its exit status, below 0 for a crash."""
    done = subprocess.run([sys.executable, "-c", HEARS_CTRL_C + code], capture_output=True, text=True, timeout=300)
    return done.stdout + done.stderr, done.returncode
