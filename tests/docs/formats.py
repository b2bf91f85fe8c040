#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/data-formats.md against docs/schemas and real outputs.

    formats.py write | check        the lists of JSON members, from the schemas
    formats.py columns KIND FILE    the header of a CSV is what the page says: plan, trace, samples, phases
    formats.py validate FILE...     JSON files against their schemas; needs jsonschema
    formats.py covers FILE...       every member of the schemas stands in one of the files
"""
import csv
import json
import pathlib
import re
import sys

DOCS = pathlib.Path(__file__).resolve().parent.parent.parent / "docs"
PAGE = DOCS / "data-formats.md"
MARK = "<!-- what follows is written by tests/docs/formats.py -->\n"
NAMES = ("result", "findings", "plan", "check")
# Definitions that take a GPU, and that no evidence has.
ON_CUDA = {("ttprem.result/1", "left_out"), ("ttprem.result/1", "stalls")}


def schemas():
    return {
        name: json.loads((DOCS / "schemas" / f"{name}.schema.json").read_text()) for name in NAMES
    }


# ---- the page


def place(schema, definition):
    return f"{schema} {definition}".replace("_", " ")


def link(schema, reference):
    name = reference.rpartition("/")[2]
    return f"[{name.replace('_', ' ')}](#{place(schema, name).replace(' ', '-')})"


def form(schema, member):
    """A member's type, in words."""
    if "const" in member:
        return "text"
    if "anyOf" in member:
        return link(schema, member["anyOf"][0]["$ref"]) + " or null"
    if "allOf" in member:
        return link(schema, member["allOf"][0]["$ref"])
    if "$ref" in member:
        return link(schema, member["$ref"])
    types = member["type"] if isinstance(member["type"], list) else [member["type"]]
    words = {"string": "text", "boolean": "boolean", "integer": "integer", "number": "number"}
    said = " or ".join(words.get(kind, kind) for kind in types)
    return said.replace("array", "list of " + form(schema, member["items"])) if "items" in member else said


def members(schema, definition):
    rows = []
    for name, member in definition["properties"].items():
        if member.get("deprecated"):
            continue
        mark = "" if name in definition["required"] else "?"
        said = form(schema, member)
        said = "" if said == "integer" else f", {said}"
        rows.append(f"- `{name}`{mark}{said}: {member['description']}")
    return "\n".join(rows)


def lists():
    out = []
    for name, schema in schemas().items():
        out.append(f"\n### {name.capitalize()}\n{schema['title']}.\n\n{members(name, schema)}\n")
        for key, definition in schema["definitions"].items():
            if name == "findings" and key in ("provenance", "machine"):
                continue
            if name == "check" and key in ("problem", "closed"):
                continue
            out.append(f"\n#### {place(name, key).capitalize()}\n{definition['description']}\n\n{members(name, definition)}\n")
    text = "".join(out)
    for name, of, keys in (("findings", "result", ("provenance",)), ("check", "plan", ("problem", "closed"))):
        for key in keys:  # the same, said once
            text = text.replace(f"](#{name}-{key})", f"](#{of}-{key})")
    return text


def page():
    text = PAGE.read_text(encoding="utf-8")
    return text[: text.index(MARK) + len(MARK)] + lists()


def same_definitions():
    """What the page says once is one thing."""
    all_of = {name: schema["definitions"] for name, schema in schemas().items()}
    for a, b, key in (("result", "findings", "provenance"), ("result", "findings", "machine"),
                      ("plan", "check", "problem"), ("plan", "check", "closed")):
        if all_of[a][key] != all_of[b][key]:
            sys.exit(f"formats: '{key}' differs between {a} and {b}")


def check():
    same_definitions()
    if PAGE.read_text(encoding="utf-8") != page():
        sys.exit("formats: docs/data-formats.md is not that of docs/schemas; tests/docs/formats.py write")


# ---- CSV


def documented(kind):
    title = {"plan": "A plan", "trace": "A trace", "samples": "Samples", "phases": "Phases"}[kind]
    text = PAGE.read_text(encoding="utf-8").partition("## CSV")[2]
    section = re.split(r"^##", text.partition(f"### {title}\n")[2], maxsplit=1, flags=re.M)[0]
    return re.findall(r"^\| `([^`]+)` \|", section, re.M)


def columns(kind, path):
    with open(path, encoding="utf-8", newline="") as file:
        found = next(csv.reader(file))
    wanted = documented(kind)
    if kind == "samples":  # those of the tasks are one line of the page
        found = [name for name in found if not name.endswith(" response_ns")]
        wanted = [name for name in wanted if name != "TASK response_ns"]
    optional = {"samples": ["disturbed"], "phases": ["run"]}.get(kind, [])
    if found not in (wanted, [name for name in wanted if name not in optional]):
        sys.exit(f"formats: {path}: {found}, the page says {wanted}")


# ---- JSON


def validate(paths):
    import jsonschema

    judges = {}
    for schema in schemas().values():
        jsonschema.Draft7Validator.check_schema(schema)
        judges[schema["$id"]] = jsonschema.Draft7Validator(schema)
    wrong = 0
    for path in paths:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        for error in judges[data["schema"]].iter_errors(data):
            where = "/".join(str(key) for key in error.absolute_path)
            print(f"{path}: {where}: {error.message[:200]}")
            wrong += 1
    if wrong:
        sys.exit(f"formats: {wrong} differences from docs/schemas")


def covers(paths):
    """A member that no file has is one that nobody writes."""
    wanted, seen, all_of = set(), set(), {schema["$id"]: schema for schema in schemas().values()}

    def resolve(schema, member):
        for key in ("anyOf", "allOf"):
            member = member[key][0] if key in member else member
        if "$ref" in member:
            name = member["$ref"].rpartition("/")[2]
            return name, schema["definitions"][name]
        return None, member

    def walk(schema, name, definition, value):
        if isinstance(value, list) and "items" in definition:
            inner, items = resolve(schema, definition["items"])
            for each in value:
                walk(schema, inner, items, each)
        elif isinstance(value, dict):
            for key, each in value.items():
                seen.add((schema["$id"], name, key))
                inner, member = resolve(schema, definition["properties"][key])
                walk(schema, inner or name, member, each)

    for schema in all_of.values():
        for name, definition in [("", schema), *schema["definitions"].items()]:
            if (schema["$id"], name) in ON_CUDA:
                continue
            wanted |= {
                (schema["$id"], name, key)
                for key, member in definition["properties"].items()
                if not member.get("deprecated")
                and (schema["$id"], member.get("$ref", "").rpartition("/")[2]) not in ON_CUDA
            }
    for path in paths:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        walk(all_of[data["schema"]], "", all_of[data["schema"]], data)
    if wanted - seen:
        missing = ", ".join(" ".join(part for part in one if part) for one in sorted(wanted - seen))
        sys.exit(f"formats: in none of {len(paths)} files: {missing}")


if __name__ == "__main__":
    verb, *rest = sys.argv[1:] or ["?"]
    if verb == "write":
        PAGE.write_text(page(), encoding="utf-8")
    elif verb == "check":
        check()
    elif verb == "columns":
        columns(*rest)
    elif verb == "validate":
        validate(rest)
    elif verb == "covers":
        covers(rest)
    else:
        sys.exit(__doc__)
