# SPDX-License-Identifier: Apache-2.0
"""The declarations are made from the headers that pkg-config finds; all else is in pyproject.toml."""
import os
import subprocess
import sys

from setuptools import setup
from setuptools.command.build_py import build_py

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


class BuildWithDeclarations(build_py):
    def run(self):
        super().run()
        import declarations

        include = os.environ.get("TTPREM_INCLUDE") or subprocess.run(
            ["pkg-config", "--variable=includedir", "ttprem"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        declarations.write(include, os.path.join(self.build_lib, "ttprem", "_declarations.py"))


setup(cmdclass={"build_py": BuildWithDeclarations})
