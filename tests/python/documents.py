#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/tutorial-python.md as a notebook, and both run block by block.

    documents.py write     writes python/tutorial.ipynb
"""
import contextlib
import doctest
import io
import json
import os
import re
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
PAGE = os.path.join(ROOT, "docs", "tutorial-python.md")
NOTEBOOK = os.path.join(ROOT, "python", "tutorial.ipynb")
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:```\n(.*?)^```\n)?", re.M | re.S)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def blocks(page):
    """Of each block of code: its line, the code, what it prints ("..." stands for anything)."""
    for found in BLOCK.finditer(page):
        yield page.count("\n", 0, found.start()) + 1, found[1], found[2] or ""


def cell(kind, source, **more):
    lines = source.strip("\n").splitlines(keepends=True)
    return {"cell_type": kind, "id": "", "metadata": {}, "source": lines, **more}


def notebook(page):
    """The page as a notebook: its text, with links as from python/, and its code."""
    cells, at = [], 0
    for found in [*BLOCK.finditer(page), None]:
        text = page[at : found.start() if found else len(page)]
        text = re.sub(r"\]\((?![a-z]+:|\.\./|#)", "](../docs/", text)
        if text.strip():
            cells.append(cell("markdown", text))
        if found:
            cells.append(cell("code", found[1], execution_count=None, outputs=[]))
            at = found.end()
    for number, each in enumerate(cells):
        each["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    whole = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def cells_of(path):
    return ["".join(c["source"]) for c in json.loads(read(path))["cells"] if c["cell_type"] == "code"]


def run(code, name, names):
    """What the code prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, name, "exec"), names)
    return printed.getvalue()


def fits(wanted, printed):
    return doctest.OutputChecker().check_output(wanted, printed, doctest.ELLIPSIS)


if __name__ == "__main__":
    if sys.argv[1:] != ["write"]:
        sys.exit(__doc__)
    with open(NOTEBOOK, "w", encoding="utf-8") as out:
        out.write(notebook(read(PAGE)))
