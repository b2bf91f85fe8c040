# SPDX-License-Identifier: Apache-2.0
"""What cffi was told of the C API is what the compiler makes of the headers."""
import os
import subprocess
import unittest

from cases import ROOT
from ttprem._library import ffi, lib


def structs():
    names = [*ffi.list_types()[0], *(f"struct {name}" for name in ffi.list_types()[1])]
    for name in sorted(names):
        if not name.removeprefix("struct ").startswith("prem_"):
            continue
        pointer = ffi.typeof(f"{name} *")  # since a function is no type of its own
        if pointer.kind == "pointer" and pointer.item.kind == "struct" and pointer.item.fields:
            yield name, pointer.item


class Declarations(unittest.TestCase):
    def test_structs_are_those_of_the_compiler(self):
        """Sizes, and places and sizes of all members, as C has them."""
        wanted, program = [], ["#include <stdio.h>", "#include <stddef.h>"]
        program += ["#include <ttprem/ttprem.h>", "#include <ttprem/ttprem_measure.h>"]
        program += ["int main(void) {"]
        for name, ctype in structs():
            wanted.append(f"{name} {ffi.sizeof(ctype)}")
            program.append(f'printf("{name} %zu\\n", sizeof({name}));')
            for field, facts in ctype.fields:
                wanted.append(f"{name}.{field} {facts.offset} {ffi.sizeof(facts.type)}")
                program.append(
                    f'printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), '
                    f"sizeof((({name} *)0)->{field}));"
                )
        source = "\n".join([*program, "}"])
        self.assertGreater(len(wanted), 500)
        include = os.path.join(ROOT, "include")
        compiler = os.environ.get("CC", "cc")
        command = [compiler, "-std=c11", "-D_GNU_SOURCE", "-I", include, "-xc", "-", "-o", "sizes"]
        subprocess.run(command, input=source, text=True, check=True)
        said = subprocess.run(["./sizes"], capture_output=True, text=True, check=True)
        self.assertEqual(said.stdout.splitlines(), wanted)

    def test_functions_are_in_the_library(self):
        names = [name for name in dir(lib) if name.startswith("prem_")]
        self.assertGreater(len(names), 150)
        for name in names:
            getattr(lib, name)  # AttributeError where the library lacks it
