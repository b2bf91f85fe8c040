#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make ttprem/_declarations.py, all of the C API as cffi needs it, from the public headers.

    declarations.py INCLUDE [OUT]     INCLUDE is the folder that has ttprem/ttprem.h

The compiler's preprocessor expands the headers, so that nobody writes a struct down twice. What
cffi cannot read is left out: bodies of inline functions, tables, attributes, assertions.
"""
import os
import re
import subprocess
import sys

import cffi

# What the package itself takes from the C library.
LIBC = """
typedef int sig_atomic_t;
FILE *open_memstream(char **text, size_t *bytes);
FILE *fopen(const char *path, const char *mode);
int fclose(FILE *file);
char *strdup(const char *text);
void free(void *memory);
"""
# And from a kernel that it has compiled.
KERNEL = "const prem_kernel *ttprem_python_kernel(void);"
ALL = "#include <ttprem/ttprem.h>\n#include <ttprem/ttprem_measure.h>\n"


def expand(include, source=ALL):
    """The source as the preprocessor leaves it, of the public headers alone."""
    command = [os.environ.get("CC", "cc"), "-E", "-I", include, "-"]
    lines = subprocess.run(command, input=source, text=True, capture_output=True, check=True)
    root = os.path.realpath(os.path.join(include, "ttprem")) + os.sep
    kept, ours = [], False
    for line in lines.stdout.splitlines():
        mark = re.match(r'# \d+ "(.*?)"', line)
        if mark:
            ours = os.path.realpath(mark.group(1)).startswith(root)
        elif ours and line.strip() and not line.startswith("#"):
            kept.append(line)
    return "\n".join(kept)


def without_bodies(text):
    """Leave out functions with a body and tables: all that is static, up to its last brace."""
    kept = []
    while True:
        found = re.search(r"^static\b", text, re.M)
        if not found:
            return "".join(kept) + text
        kept.append(text[: found.start()])
        at, depth = text.index("{", found.start()), 0
        while True:
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
            if depth == 0:
                break
        text = text[at:].lstrip().removeprefix(";")


def declarations(include):
    text = expand(include)
    text = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", "", text)
    text = re.sub(r"_Static_assert\s*\(.*?\"\);", "", text, flags=re.S)
    return LIBC + without_bodies(text.replace("_Bool", "bool")) + KERNEL


def macro(include, name):
    """The value of a macro that is a string."""
    marker = f'#include <ttprem/base.h>\n#line 1 "{os.path.join(include, "ttprem", "base.h")}"\n'
    return re.search(r'"([^"]*)"', expand(include, marker + name).splitlines()[-1]).group(1)


def write(include, out):
    builder = cffi.FFI()
    builder.cdef(declarations(include))
    builder.set_source("ttprem._declarations", None)
    builder.emit_python_code(out)
    with open(out, "a", encoding="utf-8") as file:
        file.write(f'VERSION = "{macro(include, "PREM_VERSION")}"\n')


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit("usage: declarations.py INCLUDE [OUT]")
    here = os.path.dirname(os.path.abspath(__file__))
    write(sys.argv[1], (sys.argv[2:] or [os.path.join(here, "ttprem", "_declarations.py")])[0])
