# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
import unittest
import warnings

import numpy as np
import ttprem
from cases import BESIDE_A_LOAD, alone, increment


def planned(**task):
    schedule = ttprem.Schedule(increment(**task))
    schedule.plan(time_limit=0)
    return schedule


class Results(unittest.TestCase):
    def test_run_on_the_simulator(self):
        """Its clock is exact: every phase begins at its instant and takes what the file says."""
        schedule = planned()
        result = schedule.run("sim", repeat=3, outputs=["source", "sink"])
        row = result["tt"]
        self.assertEqual((row.samples, row.late_releases, row.overruns), (3, 0, 0))
        self.assertEqual(row.makespan_ns.max, schedule.hyperperiod_ns)
        self.assertTrue(row.output_ok)
        np.testing.assert_array_equal(row.samples_ns, [schedule.hyperperiod_ns] * 3)
        np.testing.assert_array_equal(result.outputs["sink"], result.outputs["source"] + 2)
        trace, slots = result.trace, schedule.slots
        self.assertEqual(trace.rows, 3 * slots.rows)
        one = trace.where(run=1)
        for name in ("task", "phase", "job"):
            self.assertEqual(sorted(one[name]), sorted(slots[name]))
        np.testing.assert_array_equal(np.sort(one["start_ns"]), np.sort(slots["planned_ns"]))
        np.testing.assert_array_equal(one["start_ns"], one["release_ns"])
        compute = trace.where(phase="compute", task="first")
        self.assertTrue((compute["end_ns"] - compute["start_ns"] == 30000).all())
        self.assertTrue((compute["issue_ns"] == 0).all())
        with self.assertRaises(KeyError):
            result["free"]
        self.assertIn("tt ", str(result))

    def test_inputs(self):
        schedule, values = planned(), np.arange(1000, dtype="f4")
        for _ in range(2):
            result = schedule.run("sim", inputs={"source": values}, outputs=["sink"])
            np.testing.assert_array_equal(result.outputs["sink"], values + 2)
            values = values * 2
        # They were of those runs alone.
        result = schedule.run("sim", outputs=["source"])
        self.assertLessEqual(np.abs(result.outputs["source"]).max(), 1)
        for wrong in (values.astype("f8"), values[:10]):
            with self.assertRaisesRegex(ttprem.UsageError, "input source"):
                schedule.run("sim", inputs={"source": wrong})
        with self.assertRaisesRegex(ttprem.UsageError, "no array 'nowhere'"):
            schedule.run("sim", outputs=["nowhere"])

    def test_compare_on_cpu(self):
        result = planned().compare("cpu", ["tt", "free", "legacy"], repeat=5, discard=1)
        self.assertEqual([row.mode for row in result.rows], ["tt", "free", "legacy"])
        table = result.table
        self.assertEqual(list(table["mode"]), ["tt", "free", "legacy"])
        for row in result.rows:
            self.assertTrue(row.output_ok)
            self.assertEqual(row.all_samples, 5)
        responses = result.responses
        self.assertEqual(responses.rows, 3 * 5 * 2)
        ended = responses["response_ns"]
        self.assertTrue((ended > 0).all())
        self.assertEqual(result.samples.rows, sum(row.samples for row in result.rows))
        self.assertEqual(set(result.trace["mode"]), {"tt", "free"})  # legacy has no phases
        self.assertTrue(np.isnan(result.trace.where(mode="free")["release_ns"]).all())

    def test_pandas(self):
        try:
            import pandas  # noqa: F401
        except ImportError:
            self.skipTest("no pandas")
        frame = planned().run("sim").trace.to_pandas()
        first = frame[frame.task == "first"].groupby("phase").start_ns.min()
        self.assertLess(first["prefetch"], first["compute"])

    def test_write_is_what_the_report_reads(self):
        result = planned().run("sim")
        result.write("result.json")
        with open("result.json", encoding="utf-8") as file:
            written = json.load(file)
        self.assertEqual(written["schema"].partition("/")[0], "ttprem.result")
        self.assertEqual(written["rows"][0]["mode"], "tt")
        with self.assertRaises(ttprem.FileError):
            result.write("no/such/folder/result.json")

    def test_wrong_arguments(self):
        schedule = planned()
        for call in (
            lambda: schedule.run("sim", "no_mode"),
            lambda: schedule.run("sim", repeat=0),
            lambda: schedule.run("sim", scenario="never"),
            lambda: schedule.compare("sim", ["tt", "tt"]),
            lambda: schedule.profile("cpu", times="never"),
            lambda: schedule.profile("sim"),
        ):
            with self.assertRaises(ttprem.UsageError):
                call()
        with self.assertRaises(ttprem.UnavailableError):
            schedule.run("no_backend")
        with self.assertRaises(ttprem.UnavailableError):
            schedule.run("sim", "graph")

    def test_results_outlive_what_made_them(self):
        """A new plan and an end of the schedule leave results what they are."""
        schedule = planned()
        result = schedule.run("sim")
        before = str(result)
        schedule.plan(policy="auto", steps=10)
        del schedule
        self.assertEqual(str(result), before)
        result.write("again.json")

    def test_isolation_is_exact_on_the_simulator(self):
        certificate = planned().isolate("sim")
        tt, free = certificate.modes
        self.assertEqual((tt.mode, free.mode), ("tt", "free"))
        for task in tt.tasks.values():
            self.assertEqual(task.moved_ns, {"neighbours": 0, "hostile": 0})
        self.assertIn("response times moved by at most 0 ns", certificate.verdict)
        moved = next(table for table in certificate.tables.values() if "moved" in table)
        self.assertEqual(set(moved["mode"]), {"tt", "free"})
        self.assertIn("Isolation certificate", str(certificate))

    def test_profile_is_planned_with(self):
        schedule = ttprem.Schedule({**increment(), "profiles": {"here": "here.cfg"}})
        try:
            profile = schedule.profile("cpu", repeat=30, rounds=2, margin=50)
        except ttprem.UnavailableError as error:  # of all runs something else took a core
            self.skipTest(str(error))
        profile.save("here.cfg")
        self.assertEqual([task.name for task in profile.tasks], ["first", "second"])
        schedule.save("with_profile.cfg")
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            fast = ttprem.Schedule("with_profile.cfg", profile="here")
        if not profile.valid:
            self.assertIn("here.cfg", str(seen[0].message))
            self.assertTrue(issubclass(seen[0].category, ttprem.ScheduleWarning))
        compute = profile.tasks[0].phase[1].wcet_ns
        fast.plan(time_limit=0)
        slots = fast.slots.where(task="first", phase="compute")
        self.assertEqual(set(slots["length_ns"]), {compute})

    def test_fit(self):
        """Times are measured, on sim kept; the schedule has the plan, and files if it was asked to."""
        schedule = ttprem.Schedule(increment())
        fit = schedule.fit("sim")
        self.assertTrue(fit.settled)
        self.assertEqual([turn.times for turn in fit.turns], ["file"])
        self.assertTrue(schedule.is_planned)
        with self.assertRaisesRegex(ttprem.UsageError, "schedule's own times"):
            fit.save_profile("none.cfg")
        self.assertFalse(os.path.exists("none.cfg"))
        for turned in (schedule, ttprem.Schedule(increment())):  # with a plan and without one
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a busy machine's plan may be late
                fit = turned.fit("cpu", time_limit=2, save="fitted.cfg")
                again = ttprem.Schedule("fitted.cfg")
            self.assertEqual(fit.turns[0].times, "company")
            self.assertIn("Fit of increment", str(fit))
            self.assertEqual(again.hyperperiod_ns, turned.hyperperiod_ns)
            self.assertEqual(again.run("sim")["tt"].late_releases, 0)
            with open("fitted.cfg", encoding="utf-8") as file:
                self.assertIn("fitted.profile.cfg", file.read())
        for wrong in ({"goal": "speed"}, {"time_limit": 0}, {"late": -1}, {"margin": -1}):
            with self.assertRaises(ttprem.UsageError):
                schedule.fit("sim", **wrong)

    def test_best_effort_beside_a_planned_task(self):
        """Its bounds are measured, and what it does to the planned task: nothing on sim, with a gate."""
        schedule = ttprem.Schedule(BESIDE_A_LOAD)
        for modes in (["free"], ["tt", "lock"]):
            with self.assertRaisesRegex(ttprem.UsageError, "modes: with best-effort tasks"):
                schedule.isolate("sim", modes)
        study = schedule.isolate("sim", ["tt"], repeat=30)
        self.assertIsInstance(study, ttprem.LoadIsolation)
        self.assertTrue(study.valid, study.disturbed)
        shown = study.tables["responses"]
        moved = dict(zip(shown["company"], shown["longest_of_alone"]))
        self.assertEqual(moved["gate"], 1)
        self.assertGreater(moved["no gate"], 1)
        row = schedule.run("sim", repeat=5)["tt"]
        self.assertEqual([task.name for task in row.best_effort], ["load"])
        try:
            profile = schedule.profile("cpu", repeat=20, rounds=2)
        except ttprem.UnavailableError as error:  # of all runs something else took a core
            self.skipTest(str(error))
        self.assertEqual([task.name for task in profile.tasks], ["filter", "load"])
        for task in profile.tasks:
            self.assertGreater(task.phase[1].wcet_ns, 0)

    def test_ctrl_c_ends_a_comparison(self):
        said, status = alone(
            """
import os, signal, threading, cases, ttprem
schedule = ttprem.Schedule(cases.increment())
schedule.plan(time_limit=0)
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    schedule.run("cpu", repeat=2**31 - 1, records=0)
except KeyboardInterrupt:
    print("interrupted")
print(schedule.run("sim")["tt"].output_ok)
"""
        )
        self.assertEqual((said, status), ("interrupted\nTrue\n", 0))

    def test_table(self):
        table = ttprem.Table(a=np.array([1, 2, 2]), b=np.array(["x", "y", "z"]))
        self.assertEqual(table.rows, 3)
        self.assertEqual(list(table.where(a=2)["b"]), ["y", "z"])


class Installed(unittest.TestCase):
    def test_library_of_another_place(self):
        """TTPREM_LIBRARY names the library, and what is none is told."""
        code = "import os; os.environ['TTPREM_LIBRARY'] = {!r}; import ttprem; print(ttprem.__version__)"
        from ttprem._library import library_path

        said, status = alone(code.format(library_path))
        self.assertEqual((said, status), (ttprem.__version__ + "\n", 0))
        said, status = alone(code.format("/no/such.so"))
        self.assertIn("ImportError: ttprem: ", said)
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-xc", "-", "-o", "old.so"],
            input='const char *prem_version(void) { return "0.0.9"; }',
            text=True,
            check=True,
        )
        said, status = alone(code.format("./old.so"))
        self.assertIn("is version 0.0.9, this package was made from the headers of 0.1.0", said)
