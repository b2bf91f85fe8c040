# SPDX-License-Identifier: Apache-2.0
"""Schedules as Python data: dict and list to the text of a schedule file (libconfig)."""
from __future__ import annotations

import numbers
import re
from collections.abc import Mapping
from typing import Any

from ttprem._errors import UsageError

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}


def _scalar(value: Any, where: str) -> str:
    if isinstance(value, bool) or type(value).__name__ == "bool_":  # numpy's as well
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        value = int(value)
        if not -(2**63) <= value < 2**63:
            raise UsageError(f"{where}: {value} does not fit 64 bits")
        return f"{value}L"  # times need the suffix, and no integer minds it
    if isinstance(value, numbers.Real):
        text = repr(float(value))
        if text in ("inf", "-inf", "nan"):
            raise UsageError(f"{where}: is {text}; a schedule file has finite numbers")
        return text if "." in text else text.replace("e", ".0e") if "e" in text else text + ".0"
    if isinstance(value, str):
        return '"' + "".join(_ESCAPES.get(letter, letter) for letter in value) + '"'
    raise UsageError(
        f"{where}: {type(value).__name__} is none of dict, list, str, int, float, bool"
    )


def _value(value: Any, where: str, depth: int) -> str:
    indent = "  " * depth
    if hasattr(value, "tolist"):  # numpy's arrays and numbers
        value = value.tolist()
    if isinstance(value, Mapping):
        lines = [indent + "  " + line for line in _settings(value, where, depth + 1)]
        return "{\n" + "".join(line + "\n" for line in lines) + indent + "}"
    if isinstance(value, (list, tuple)):
        items = [_value(item, f"{where}[{i}]", depth) for i, item in enumerate(value)]
        if not items or any(isinstance(item, (Mapping, list, tuple)) for item in value):
            return "( " + ", ".join(items) + " )"
        if any(isinstance(item, float) for item in value):  # an array has one type
            items = [_scalar(float(item), where) for item in value]
        return "[ " + ", ".join(items) + " ]"
    return _scalar(value, where)


def _settings(group: Mapping, where: str, depth: int) -> list[str]:
    lines = []
    for key, value in group.items():
        if not isinstance(key, str) or not re.fullmatch(r"[A-Za-z*][-A-Za-z0-9_*]*", key):
            raise UsageError(f"{where or 'schedule'}: {key!r} cannot be a key of a schedule file")
        name = f"{where}.{key}" if where else key
        lines.append(f"{key} = {_value(value, name, depth)};")
    return lines


def schedule_text(schedule: Mapping[str, Any]) -> str:
    """The text of a schedule file with these settings, `version` added where it is missing.

    A dict is a group, a list of dicts a list, a list of numbers or strings an array, as
    docs/schedule-format.md has them.
    """
    settings = dict(schedule) if "version" in schedule else {"version": 1, **schedule}
    return "\n".join(_settings(settings, "", 0)) + "\n"
