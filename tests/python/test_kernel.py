# SPDX-License-Identifier: Apache-2.0
import os
import unittest

import numpy as np
import ttprem
from cases import ROOT, TUTORIAL


def source_of(path):
    with open(os.path.join(ROOT, "examples", path), encoding="utf-8") as file:
        return file.read()


class Kernels(unittest.TestCase):
    def test_runs_on_sim_and_cpu(self):
        """The kernel of the tutorial, from a string; numpy says what has to come out."""
        kernel = ttprem.Kernel(source_of("tutorial/difference.h"))
        self.assertEqual((kernel.name, kernel.warnings), ("difference", ""))
        schedule = ttprem.Schedule(os.path.join(TUTORIAL, "two.cfg"), kernels=[kernel])
        random = np.random.default_rng(7)
        before, after = random.integers(0, 256, (2, 240, 320)).astype("u1")
        apart = np.abs(before.astype(int) - after)
        wanted = np.where(apart < 32, 0, apart)
        for backend in ("sim", "cpu"):
            inputs = {"before": before, "after": after}
            result = schedule.run(backend, repeat=1, inputs=inputs, outputs=["moved"])
            np.testing.assert_array_equal(result.outputs["moved"], wanted)

    def test_wrong_reference_is_seen(self):
        source = source_of("own_kernel/sharpen.h").replace(
            "*out++ = sharpen_pixel(", "*out++ = 1.0F + sharpen_pixel("
        )
        kernel = ttprem.Kernel(source)
        path = os.path.join(ROOT, "examples", "own_kernel", "sharpen.cfg")
        with self.assertRaises(ttprem.WrongError) as caught:
            ttprem.Schedule(path, kernels=[kernel]).run("sim")
        self.assertFalse(caught.exception.result["tt"].output_ok)

    def test_compiler_refuses(self):
        source = source_of("tutorial/difference.h").replace("int32_t threshold;", "int32_t;")
        with self.assertRaisesRegex(ttprem.CompileError, r"difference\.h:\d+:\d+: error:"):
            ttprem.Kernel(source)
        with self.assertRaisesRegex(ttprem.UsageError, "0 found"):
            ttprem.Kernel("int x;")

    def test_names(self):
        kernel = ttprem.Kernel(source_of("tutorial/difference.h"))
        path = os.path.join(TUTORIAL, "two.cfg")
        with self.assertRaisesRegex(ttprem.UsageError, "two kernels of the name 'difference'"):
            ttprem.Schedule(path, kernels=[kernel, kernel])
        wrong = source_of("tutorial/difference.h").replace('.name = "difference"', '.name = "other"')
        with self.assertRaisesRegex(ttprem.UsageError, "has the name 'other'"):
            ttprem.Kernel(wrong)
        self.assertEqual(ttprem.check(path)[0].code, "E024")
        self.assertEqual(ttprem.check(path, kernels=[kernel]), [])
