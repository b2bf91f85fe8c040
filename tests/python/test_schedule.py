# SPDX-License-Identifier: Apache-2.0
import os
import signal
import subprocess
import sys
import time
import unittest

import numpy as np
import ttprem
from cases import HEARS_CTRL_C, CAMERA, ROOT, increment


class Text(unittest.TestCase):
    def test_values(self):
        text = ttprem.schedule_text(
            {
                "name": 'a "b"\\',
                "platform": {"blocks": np.int64(2), "align": True},
                "numbers": [1, 2**31],
                "floats": [1, 0.5, 1e-9, 1e30],
                "none": [],
                "deep": [{"x": np.array([1, 2])}, {"y": "z"}],
            }
        )
        self.assertEqual(
            text.split(),
            """version = 1L; name = "a \\"b\\"\\\\"; platform = { blocks = 2L; align = true; };
            numbers = [ 1L, 2147483648L ]; floats = [ 1.0, 0.5, 1.0e-09, 1.0e+30 ]; none = ( );
            deep = ( { x = [ 1L, 2L ]; }, { y = "z"; } );""".split(),
        )

    def test_what_cannot_be_written(self):
        for value, said in (
            ({"a": float("nan")}, "a: is nan"),
            ({"a": 2**63}, "does not fit 64 bits"),
            ({"a": {"b": None}}, "a.b: NoneType is none of"),
            ({"a b": 1}, "'a b' cannot be a key"),
        ):
            with self.assertRaisesRegex(ttprem.UsageError, said):
                ttprem.schedule_text(value)


class Csv(unittest.TestCase):
    def test_a_plan_goes_out_and_comes_back(self):
        schedule = ttprem.Schedule(increment())
        with self.assertRaisesRegex(ttprem.UsageError, "no plan yet"):
            schedule.export_plan("plan.csv")
        schedule.plan(time_limit=0)
        schedule.export_plan("plan.csv")
        again = ttprem.Schedule(increment())
        again.import_plan("plan.csv")
        for name, column in schedule.slots.items():
            np.testing.assert_array_equal(column, again.slots[name])
        with open("plan.csv", encoding="utf-8") as file:
            rows = file.read()
        with open("wrong.csv", "w", encoding="utf-8") as file:
            file.write(rows.replace("first,0,0,prefetch,0,0,", "first,0,0,prefetch,0,soon,"))
        with self.assertRaises(ttprem.ParseError) as caught:
            again.import_plan("wrong.csv")
        problem = caught.exception.problems[0]
        self.assertEqual((problem.file, problem.line), ("wrong.csv", 3))
        self.assertIn("column 6, start_ns: 'soon'", problem.text)
        with open("wrong.csv", "w", encoding="utf-8") as file:
            file.writelines(line for line in rows.splitlines(True) if "first,0,1,compute" not in line)
        with self.assertRaises(ttprem.InvalidError):
            again.import_plan("wrong.csv")
        self.assertTrue(again.is_planned)  # the one before
        with self.assertRaisesRegex(ttprem.FileError, "none.csv: No such file"):
            again.import_plan("none.csv")


class Loading(unittest.TestCase):
    def test_dict_and_file_are_the_same(self):
        schedule = ttprem.Schedule(increment())
        schedule.plan(time_limit=0)
        schedule.save("saved.cfg")
        again = ttprem.Schedule("saved.cfg")
        self.assertTrue(again.is_planned)
        self.assertEqual(again.check(), [])
        for name, column in schedule.slots.items():
            np.testing.assert_array_equal(column, again.slots[name])
        self.assertEqual([task.name for task in again.tasks], ["first", "second"])
        self.assertEqual(again.arrays["sink"].shape, (1000,))
        self.assertEqual(again.arrays["sink"].dtype, np.float32)

    def test_problems_have_code_file_line_key_text(self):
        wrong = increment(kernel="no_such")
        wrong["tasks"][1]["tile"] = [0]
        with open("wrong.cfg", "w", encoding="utf-8") as file:
            file.write(ttprem.schedule_text(wrong))
        with self.assertRaises(ttprem.ParseError) as caught:
            ttprem.Schedule("wrong.cfg")
        problem = caught.exception.problems[0]
        self.assertEqual((problem.file, problem.key), ("wrong.cfg", "tasks.second.tile[0]"))
        self.assertEqual(caught.exception.codes, [problem.code])
        with open("wrong.cfg", encoding="utf-8") as file:
            self.assertIn("tile", file.read().splitlines()[problem.line - 1])
        self.assertRegex(str(caught.exception), r"^wrong\.cfg:\d+: E\d{3}: tasks\.second\.tile\[0\]: ")
        self.assertIsInstance(caught.exception, ValueError)
        # All in one go: the kernel that is not there as well.
        found = {problem.code for problem in ttprem.check("wrong.cfg")}
        self.assertIn("E024", found)
        self.assertEqual(ttprem.check(CAMERA), [])

    def test_a_file_is_saved_whole_or_not_at_all(self):
        """Over its own source as well; and what cannot be written is a FileError."""
        schedule = ttprem.Schedule(increment())
        schedule.save("own.cfg")
        own = ttprem.Schedule("own.cfg")
        own.save("own.cfg")
        self.assertEqual(ttprem.Schedule("own.cfg").text, schedule.text)
        for planned in (False, True):
            with self.assertRaisesRegex(ttprem.FileError, "cannot be written"):
                own.save("no/such/folder/own.cfg")
            own.plan(time_limit=0)
        with self.assertRaisesRegex(ttprem.FileError, "cannot be written"):
            own.export_plan("no/such/folder/plan.csv")
        self.assertFalse([name for name in os.listdir() if name.startswith(".own")])

    def test_missing_file(self):
        with self.assertRaises(OSError) as caught:
            ttprem.Schedule("not there.cfg")
        self.assertIsInstance(caught.exception, ttprem.FileError)
        self.assertIn("not there.cfg", str(caught.exception))
        with self.assertRaises(ttprem.FileError):
            ttprem.check("not there.cfg")

    def test_file_that_changes(self):
        text = ttprem.schedule_text(increment())
        with open("changes.cfg", "w", encoding="utf-8") as file:
            file.write(text)
        schedule = ttprem.Schedule("changes.cfg")
        with open("changes.cfg", "a", encoding="utf-8") as file:
            file.write("# more\n")
        with self.assertRaisesRegex(ttprem.UsageError, "has changed"):
            schedule.plan()

    def test_wrong_sources(self):
        with self.assertRaises(ttprem.UsageError):
            ttprem.Schedule(3)
        with self.assertRaises(ttprem.UsageError):
            ttprem.Schedule("a\0b")
        with self.assertRaises(ttprem.UsageError):
            ttprem.Schedule(increment(), profile="here")


class Planning(unittest.TestCase):
    def test_plan(self):
        schedule = ttprem.Schedule(increment())
        self.assertIsNone(schedule.hyperperiod_ns)
        with self.assertRaisesRegex(ttprem.UsageError, "no plan yet"):
            schedule.slots
        known = schedule.plan(steps=50, seed=3)
        self.assertEqual(known.verdict, "feasible")
        self.assertEqual(known.makespan_ns, schedule.hyperperiod_ns)
        self.assertGreaterEqual(known.makespan_ns, known.lower_bound_ns)
        slots = schedule.slots
        self.assertEqual(slots.rows, known.phases)
        self.assertEqual(set(slots["phase"]), {"prefetch", "compute", "writeback"})
        # Never two memory phases at once, as the file asks for.
        memory = np.sort(slots.where(phase="prefetch")["planned_ns"])
        self.assertTrue((np.diff(memory) >= 20000).all())
        same = ttprem.Schedule(increment())
        same.plan(steps=50, seed=3)
        np.testing.assert_array_equal(same.slots["planned_ns"], slots["planned_ns"])
        kept = same.plan(keep=schedule, time_limit=0)
        self.assertEqual((kept.kept, kept.moved), (known.phases, 0))

    def test_no_plan_leaves_the_old_one(self):
        schedule = ttprem.Schedule(increment(deadline_ns=1000))
        with self.assertRaises(ttprem.Error) as caught:
            schedule.plan(time_limit=0.1)
        self.assertTrue(caught.exception.codes)
        self.assertFalse(schedule.is_planned)
        with self.assertRaises(ttprem.Error):
            schedule.plan(policy="no_such_policy")

    def test_checker_refuses(self):
        schedule = ttprem.Schedule(increment())
        schedule.plan(time_limit=0)
        schedule.save("moved.cfg")
        with open("moved.cfg", encoding="utf-8") as file:
            text = file.read()
        self.assertIn("guard_ns = 1000L", text)
        refused = ttprem.Schedule.from_text(text.replace("guard_ns = 1000L", "guard_ns = 900000L"))
        with self.assertRaises(ttprem.InvalidError) as caught:
            refused.check()
        self.assertTrue(all(code.startswith("E0") for code in caught.exception.codes))
        with self.assertRaises(ttprem.InvalidError):
            refused.run("sim")

    def test_ctrl_c_ends_the_search(self):
        code = f"""
import ttprem
schedule = ttprem.Schedule({os.path.join(ROOT, "schedules/examples/mixed.cfg")!r})
planned = schedule.is_planned
print("searching", flush=True)
try:
    schedule.plan(time_limit=600)
    print("ended by itself")
except KeyboardInterrupt:
    print("interrupted", schedule.is_planned != planned)
"""
        process = subprocess.Popen([sys.executable, "-c", HEARS_CTRL_C + code], stdout=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "searching\n")
        time.sleep(0.3)
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0)
        self.assertIn(said, ("interrupted False\n", "ended by itself\n"))
