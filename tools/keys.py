#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is made of prem/file/keys.def.

keys.py write       the tables of docs/schedule-format.md, between <!-- keys: GROUP --> and <!-- keys end -->
keys.py check       are they current, and does every group stand there?
keys.py dictionary  the words of a schedule file, for libFuzzer
"""
import os
import re
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))
PAGE = os.path.join(ROOT, "docs", "schedule-format.md")
TEXT = r'"((?:[^"\\]|\\.)*)"'
ROW = re.compile(rf"KEY\((\w+), (\w+), (.*), {TEXT}, {TEXT}\)")
TABLE = re.compile(r"(<!-- keys: (\w+) -->\n).*?(<!-- keys end -->)", re.S)
AS_IN_POLICY = {"mode_policy"}  # its keys are those of `policy`
VALUES = {
    "SHARE": "number above 0, at most 1",
    "BOOLEAN": "boolean",
    "NAME": "name",
    "TEXT": "string",
    "ORIGIN": 'name, or `""`',
}
TIMES = {"OFFSET": "time, may be 0", "STEP": "time, of either sign"}


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def limits():
    for header in ("base.h", "schedule.h"):
        yield from re.findall(r"(PREM_MAX_\w+) = (\d+)", read("include", "ttprem", header))


def groups():
    """Of each group its keys: name, kind, default, meaning."""
    found = {}
    for line in read("prem", "file", "keys.def").splitlines():
        if line.startswith("GROUP("):
            found[line[6:-1]] = []
        elif line.startswith("KEY("):
            group, *key = [text.replace('\\"', '"') for text in ROW.fullmatch(line).groups()]
            found[group].append(key)
    return found


def type_of(kind, limit):
    kind = re.sub(r'^NEEDED\((\w+\([^)]*\)), ".*"\)$', r"\1", kind)
    name, inside = re.fullmatch(r"(\w+)\((.*)\)", kind).groups()
    parts = inside.split(", ")
    if name in ("IF", "BY", "OWN"):
        return inside.partition('"')[2][:-1]
    if name == "INTEGER":
        least, largest = parts[2:]
        if least.startswith("-PREM"):
            return "integer"
        return f"integer, {least} to {limit[largest]}" if largest in limit else f"integer, at least {least}"
    if name == "WORD":
        return ", ".join(f"`{word}`" for word in parts[2:])
    if name == "VALUE":
        return VALUES[parts[0]]
    return "list of groups" if name == "EACH" else TIMES.get(parts[0], "time")


def table(keys, limit):
    keys = sorted(keys, key=lambda row: (row[0] != "version", row[0] != "name"))
    rows = ["| key | type | default | meaning |", "| --- | --- | --- | --- |"]
    rows += [f"| `{name}` | {type_of(kind, limit)} | {usual} | {meaning} |" for name, kind, usual, meaning in keys]
    return "\n".join(rows) + "\n"


def page():
    """The page with the tables as they should be."""
    keys, limit, text = groups(), dict(limits()), read(PAGE)
    missing = set(keys) - AS_IN_POLICY - {group for _, group, _ in TABLE.findall(text)}
    if missing:
        sys.exit(f"keys: docs/schedule-format.md has no table of {', '.join(sorted(missing))}")
    return TABLE.sub(lambda found: found[1] + table(keys[found[2]], limit) + found[3], text)


def dictionary():
    words = set()
    for keys in groups().values():
        for name, kind, *_ in keys:
            words |= {name, *re.findall(r'"(\w+)"' if kind.startswith("WORD") else r'`"(\w+)"`', kind)}
    return "".join(f'"{word}"\n' for word in sorted(words))


def main(what):
    if what == "write":
        made = page()
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(made)
    elif what == "check":
        if page() != read(PAGE):
            sys.exit("keys: the tables of docs/schedule-format.md are not those of keys.def: `tools/keys.py write`")
    elif what == "dictionary":
        sys.stdout.write(dictionary())
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) == 2 else "")
