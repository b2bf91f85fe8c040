# SPDX-License-Identifier: Apache-2.0
"""Kernels of one's own, compiled from C text, for sim and cpu."""
from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Iterable
from typing import Any

from ttprem._errors import Error, UsageError
from ttprem._library import ffi, find_headers, lib, library_path, text

_FLAGS = "-std=c11 -O3 -D_GNU_SOURCE -ffp-contract=off -fPIC -shared -Wall -Wextra".split()


class CompileError(Error):
    """The C compiler refuses a kernel; its messages."""


class Kernel:
    """A kernel as include/ttprem/kernel.h asks for it: a header's text with NAME_kernel.

    It is compiled by $CC (cc) with the flags of the kernels that come with ttprem.
    """

    def __init__(self, source: str):
        found = re.findall(r"\bprem_kernel\s+(\w+)_kernel\s*=", source)
        if len(found) != 1:
            raise UsageError(
                f"a kernel's source defines one `static const prem_kernel NAME_kernel = {{...}}`; "
                f"{len(found)} found"
            )
        self.name = found[0]
        with tempfile.TemporaryDirectory(prefix="ttprem-") as folder:
            self._library = ffi.dlopen(self._compile(source, folder), ffi.RTLD_NOW)
        self._c = self._library.ttprem_python_kernel()
        if text(self._c.name) != self.name:
            raise UsageError(f"{self.name}_kernel has the name {text(self._c.name)!r}")

    def _compile(self, source: str, folder: str) -> str:
        header = os.path.join(folder, f"{self.name}.h")
        shim, out = os.path.join(folder, "shim.c"), os.path.join(folder, f"{self.name}.so")
        with open(header, "w", encoding="utf-8") as file:
            file.write(source)
        with open(shim, "w", encoding="utf-8") as file:
            file.write(
                f'#include "{self.name}.h"\n'
                "PREM_API const prem_kernel *ttprem_python_kernel(void);\n"
                "const prem_kernel *ttprem_python_kernel(void) { return &%s_kernel; }\n" % self.name
            )
        compiler = shlex.split(os.environ.get("CC", "cc"))
        command = [*compiler, *_FLAGS, "-I", find_headers(), shim, "-o", out]
        try:
            done = subprocess.run(
                [*command, "-Wl,--no-as-needed", library_path, "-lm"],
                capture_output=True,
                text=True,
            )
        except OSError as error:
            raise CompileError(f"{compiler[0]}: {error.strerror}: install a C compiler") from error
        if done.returncode:
            raise CompileError(f"kernel {self.name}:\n{done.stderr.replace(folder + os.sep, '')}")
        self.warnings = done.stderr.replace(folder + os.sep, "")
        return out

    def __repr__(self) -> str:
        return f"<ttprem.Kernel {self.name}: {text(self._c.summary)}>"


def registry_of(kernels: Iterable[Kernel]) -> tuple[Any, Any]:
    """A prem_registry with the kernels of ttprem and these, and what it needs to live."""
    own = tuple(kernels)
    builtin = lib.prem_registry_builtin()
    if not own:
        return builtin, None
    names = [text(builtin.kernels[i].name) for i in range(builtin.count)]
    for kernel in own:
        if kernel.name in names:
            raise UsageError(f"there are two kernels of the name {kernel.name!r}")
        names.append(kernel.name)
    all_kernels = [builtin.kernels[i] for i in range(builtin.count)] + [k._c for k in own]
    array = ffi.new("const prem_kernel *[]", all_kernels)
    registry = ffi.new("prem_registry *", {"kernels": array, "count": len(all_kernels)})
    return registry, (array, own)
