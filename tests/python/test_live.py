# SPDX-License-Identifier: Apache-2.0
import gc
import os
import threading
import time
import unittest

import numpy as np
import ttprem
from cases import CAMERA, ROOT, alone, queue


def address(array):
    return array.__array_interface__["data"][0]


def turn(live, value):
    """One frame in, its result out."""
    with live.acquire("in", 5) as frame:
        frame.array[:] = value
        frame.submit()
    with live.wait("out", 5) as result:
        return result.array.copy(), result.number, result.inputs()


class Frames(unittest.TestCase):
    def test_values_on_sim_and_cpu(self):
        for backend in ("sim", "cpu"):
            with ttprem.Schedule(queue()).live(backend) as live:
                live.start()
                for i in range(20):
                    got, number, inputs = turn(live, i)
                    np.testing.assert_array_equal(got, np.full((16, 16), 2 * i, "f4"))
                    self.assertEqual((number, inputs["in"].number), (i, i))
                live.stop()
                self.assertEqual(live.counts("in").frames, 20)
                self.assertEqual(live.counts("out").frames, 20)
                self.assertEqual((live.state.phase, live.state.end), ("ended", "stopped"))

    def test_padded_rows(self):
        """Rows of 13 floats begin at 16 bytes each: the view has strides."""
        with ttprem.Schedule(queue((7, 13))).live("sim") as live:
            live.start()
            frame = live.acquire("in")
            self.assertEqual((frame.array.shape, frame.array.strides), ((7, 13), (64, 4)))
            values = np.arange(91, dtype="f4").reshape(7, 13)
            frame.array[:] = values
            frame.submit()
            np.testing.assert_array_equal(live.wait("out", 1).array, 2 * values)

    def test_no_copy(self):
        """numpy, DLPack and C see one address, both ways."""
        with ttprem.Schedule(queue()).live("sim") as live:
            live.start()
            frame = live.acquire("in")
            at = int(ttprem._live.ffi.cast("uintptr_t", frame._c.data))
            tensor = np.from_dlpack(frame)
            self.assertEqual((address(frame.array), address(tensor)), (at, at))
            frame.array[:] = 4
            self.assertTrue((tensor == 4).all())
            frame.submit()
            with live.wait("out", 1) as result:
                self.assertEqual(address(np.from_dlpack(result)), address(result.array))
                self.assertEqual(result.__dlpack_device__(), (1, 0))
                self.assertTrue((np.asarray(result) == 8).all())

    def test_adopted_buffers(self):
        """Frames lie in arrays of the program's own, by numpy or DLPack."""

        class Tensor:  # of another library: it has DLPack and no more
            def __init__(self, array):
                self.array = array

            def __dlpack__(self, stream=None):
                return self.array.__dlpack__()

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

        for backend in ("sim", "cpu"):
            own = [np.zeros((16, 16), "f4") for _ in range(3)]
            results = [np.zeros((16, 16), "f4") for _ in range(3)]
            with ttprem.Schedule(queue()).live(backend) as live:
                live.adopt("in", [Tensor(array) for array in own])
                live.adopt("out", results)
                live.start()
                frame = live.acquire("in", 1)
                self.assertEqual(address(frame.array), address(own[frame.buffer]))
                own[frame.buffer][:] = 3
                frame.submit()
                result = live.wait("out", 5)
                self.assertEqual(address(np.from_dlpack(result)), address(results[result.buffer]))
                self.assertTrue((results[result.buffer] == 6).all())
                result.release()

    def test_buffers_that_cannot_be_adopted(self):
        with ttprem.Schedule(queue()).live("sim") as live:
            good = [np.zeros((16, 16), "f4") for _ in range(3)]
            frozen = np.zeros((16, 16), "f4")
            frozen.flags.writeable = False
            for wrong in (
                good[:2],
                [],
                [*good[:2], np.zeros((16, 15), "f4")],
                [*good[:2], np.zeros((16, 16), "i4")],
                [*good[:2], np.zeros((16, 16), "f4").T],
                [*good[:2], np.zeros((16, 32), "f4")[:, :16]],
                [*good[:2], frozen],
            ):
                with self.assertRaises(ttprem.UsageError):
                    live.adopt("in", wrong)
            live.adopt("in", [np.zeros((16, 32), "f4")[:, :16] for _ in range(3)])  # a pitch is fine


class Misuse(unittest.TestCase):
    """Each is an exception that says what was wrong, and never a crash."""

    def test_frames(self):
        with ttprem.Schedule(queue()).live("sim") as live:
            live.start()
            frame = live.acquire("in")
            array = frame.array
            frame.submit()
            for call in (
                frame.submit,
                frame.release,
                lambda: frame.array,
                lambda: frame.number,
                lambda: np.from_dlpack(frame),
            ):
                with self.assertRaisesRegex(ttprem.UsageError, "'in' was given back"):
                    call()
            with self.assertRaisesRegex(ValueError, "read-only"):
                array[:] = 1
            result = live.wait("out", 1)
            with self.assertRaisesRegex(ValueError, "read-only"):
                result.array[:] = 1
            with self.assertRaisesRegex(ttprem.UsageError, "'out'"):
                result.submit()
            with self.assertRaises(AttributeError):
                result.nothing
            result.release()
            with self.assertRaises(ttprem.UsageError):
                live.wait("in", 0)
            with self.assertRaisesRegex(ttprem.UsageError, "no stream 'no'; there are: in, out"):
                live.acquire("no")

    def test_nothing_comes(self):
        with ttprem.Schedule(queue()).live("cpu") as live:
            live.start()
            with self.assertRaises(TimeoutError):
                live.wait("out", 0.05)
            with self.assertRaises(ttprem.TimeoutError):
                live.wait("out", 0)
            held = [live.acquire("in") for _ in range(3)]
            with self.assertRaisesRegex(ttprem.FullError, "hold|hand"):
                live.acquire("in")
            held[0].release()
            live.acquire("in").release()
            live.stop()
            with self.assertRaises(ttprem.EndedError):
                live.wait("out")
            with self.assertRaises(ttprem.UsageError):
                live.start()

    def test_after_close(self):
        live = ttprem.Schedule(queue()).live("cpu")
        live.start()
        frame = live.acquire("in", 1)
        kept = frame.array
        kept[:] = 7
        live.close()
        live.close()
        calls = (
            lambda: frame.array,
            frame.submit,
            frame.release,
            lambda: live.acquire("in"),
            lambda: live.wait("out"),
            live.stop,
            live.start,
            lambda: live.state,
            lambda: live.counts("in"),
            lambda: live.now_ns,
            lambda: live.set("filter", "coefficients", [0] * 9),
            lambda: live.switch("x"),
            lambda: live.listen(0),
            lambda: live.adopt("in", [np.zeros((16, 16), "f4")] * 3),
        )
        for call in calls:
            with self.assertRaisesRegex(ttprem.UsageError, "closed"):
                call()
        # A view that was kept keeps its memory.
        del frame, live
        gc.collect()
        self.assertTrue((kept == 7).all())
        kept[:] = 8

    def test_the_program_ends_with_an_open_session(self):
        said, status = alone(
            """
import cases, ttprem
live = ttprem.Schedule(cases.queue()).live("cpu")
live.start()
frame = live.acquire("in", 1)
array = frame.array
print("end")
"""
        )
        self.assertEqual((said, status), ("end\n", 0))

    def test_two_threads_in_one_stream(self):
        with ttprem.Schedule(queue()).live("cpu") as live:
            live.start()
            began, ended = threading.Event(), []

            def wait():
                began.set()
                while not ended:
                    try:
                        live.wait("out")
                    except ttprem.Error as error:
                        if "another thread" not in str(error):  # the main one was in its call
                            ended.append(error)

            thread = threading.Thread(target=wait)
            thread.start()
            began.wait()
            said = None
            while said is None:  # until that thread is in its call
                try:
                    live.wait("out", 0)
                except ttprem.TimeoutError:
                    time.sleep(0.001)
                except ttprem.UsageError as error:
                    said = str(error)
            self.assertIn("another thread is in a call of 'out'", said)
            # Other streams go on meanwhile: a wait holds neither this lock nor the interpreter's.
            live.acquire("in", 1).release()
            live.close()
            thread.join()
            self.assertIsInstance(ended[0], (ttprem.EndedError, ttprem.UsageError))

    def test_a_frame_outlives_with(self):
        with ttprem.Schedule(queue()).live("sim") as live:
            live.start()
            with live.acquire("in") as frame:
                frame.array[:] = 1
            # It was not submitted: the buffer is free again.
            self.assertEqual(live.counts("in").frames, 0)
            for _ in range(3):
                live.acquire("in")
            with self.assertRaises(ttprem.UsageError):
                frame.submit()


class Control(unittest.TestCase):
    def test_arguments(self):
        with ttprem.Schedule(queue()).live("sim") as live:
            live.start()
            self.assertEqual(turn(live, 1)[0][0, 0], 2)
            live.set("filter", "coefficients", [0, 0, 0, 0, 5.0, 0, 0, 0, 0])
            live.apply()
            last = [turn(live, 1)[0][0, 0] for _ in range(6)]
            self.assertEqual(last[-1], 5)
            with self.assertRaises(ttprem.Error):
                live.set("filter", "coefficients", 1.0)
            with self.assertRaisesRegex(ttprem.UsageError, "no task 'no'"):
                live.set("no", "coefficients", 1.0)

    def test_events(self):
        schedule = queue(kind="sampling", missing="skip")
        with ttprem.Schedule(schedule).live("sim") as live:
            with self.assertRaises(ttprem.UsageError):
                live.listen(0)
        with ttprem.Schedule(schedule).live("sim") as live:
            live.start(events=True)
            live.sleep_until(live.now_ns + 10_000_000)
            event = live.listen(0)
            self.assertEqual((event.kind, event.stream, event.job), ("missing", "in", 0))
            live.stop()
            kinds = []
            while event := live.listen(1):
                kinds.append(event.kind)
            self.assertEqual(kinds[-1], "ended")

    def test_modes(self):
        path = os.path.join(ROOT, "schedules", "examples", "modes.cfg")
        with ttprem.Schedule(path).live("sim") as live:
            with self.assertRaisesRegex(ttprem.UsageError, "no operating mode 'no'"):
                live.switch("no")

    def test_schedules_without_live_ports(self):
        from cases import increment

        with self.assertRaises(ttprem.Error):
            with ttprem.Schedule(increment()).live("sim") as live:
                live.acquire("source")

    def test_a_new_plan_beside_a_session(self):
        schedule = ttprem.Schedule(CAMERA)
        with schedule.live("sim") as live:
            live.start()
            schedule.plan(steps=5)
            live.acquire("image", 0.1).submit()
            live.wait("edges", 0.2).release()
            del schedule
            gc.collect()
            live.stop()

    def test_ctrl_c_ends_a_wait(self):
        said, status = alone(
            """
import os, signal, threading, cases, ttprem
with ttprem.Schedule(cases.queue()).live("cpu") as live:
    live.start()
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        live.wait("out")
    except KeyboardInterrupt:
        print("interrupted", live.state.phase)
"""
        )
        self.assertEqual((said, status), ("interrupted running\n", 0))
