# SPDX-License-Identifier: Apache-2.0
"""C data as Python data: structs as records, arrays as numpy arrays, columns as tables."""
from __future__ import annotations

import os
import types
from typing import TYPE_CHECKING, Any

import numpy as np

from ttprem._library import ffi, lib, text

if TYPE_CHECKING:
    import pandas

_UNKNOWN = -(2**63)  # INT64_MIN: what is not known

# By prem_type; bf16 are the upper halves of floats, which numpy has no type for.
ELEMENTS = [np.dtype(t) for t in ("f4", "c8", "u1", "u2", "i4", "f2", "u2")]


class Record(types.SimpleNamespace):
    """A C struct: its members by the names that the header gives them. `None`: not known."""


class Table(dict):
    """Columns by name, numpy arrays of equal length."""

    @property
    def rows(self) -> int:
        return len(next(iter(self.values()), ()))

    def to_pandas(self) -> pandas.DataFrame:
        import pandas

        return pandas.DataFrame(dict(self))

    def where(self, **equal: Any) -> Table:
        """The rows whose columns have these values: `trace.where(mode="tt", phase="compute")`."""
        keep = np.ones(self.rows, bool)
        for name, value in equal.items():
            keep &= self[name] == value
        return Table({name: column[keep] for name, column in self.items()})


def stack(tables: list[Table]) -> Table:
    """Tables of the same columns, one below the other."""
    names = tables[0].keys() if tables else ()
    return Table({name: np.concatenate([table[name] for table in tables]) for name in names})


def plain(value: Any, ctype: Any = None) -> Any:
    """A C value without its pointers: structs as records, arrays of char as str, enums as words."""
    ctype = ctype or ffi.typeof(value)
    if ctype.kind == "struct":
        return Record(
            **{
                name: plain(getattr(value, name), field.type)
                for name, field in ctype.fields
                if field.type.kind not in ("pointer", "function")
            }
        )
    if ctype.kind == "array":
        if ctype.item.cname == "char":
            return text(value)
        return [plain(item, ctype.item) for item in value]
    if ctype.kind == "enum":
        if ctype.cname == "prem_mode":
            return text(lib.prem_mode_name(value))
        words = ctype.elements
        prefix = os.path.commonprefix(list(words.values())).rpartition("_")[0]
        return words.get(value, str(value)).removeprefix(prefix + "_").lower()
    return None if isinstance(value, int) and value == _UNKNOWN else value


def members(pointer: Any, count: int) -> list[Record]:
    """`count` structs behind a pointer, which may be NULL where there are none."""
    return [plain(pointer[i]) for i in range(count)]


def dtype_of(ctype: Any) -> np.dtype:
    """The numpy type of a struct of numbers, its members where the C compiler has them."""
    kinds = {"int64_t": "i8", "int32_t": "i4", "uint32_t": "u4", "uint16_t": "u2", "uint8_t": "u1"}
    fields = [(n, f) for n, f in ctype.fields if f.type.kind == "primitive"]
    return np.dtype(
        {
            "names": [name for name, _ in fields],
            "formats": [kinds[field.type.cname] for _, field in fields],
            "offsets": [field.offset for _, field in fields],
            "itemsize": ffi.sizeof(ctype),
        }
    )


def copied(pointer: Any, count: int, dtype: Any) -> np.ndarray:
    """`count` elements behind a pointer, as an array of their own."""
    dtype = np.dtype(dtype)
    if count <= 0 or pointer == ffi.NULL:
        return np.empty(0, dtype)
    return np.frombuffer(ffi.buffer(pointer, count * dtype.itemsize), dtype).copy()


PHASES = np.array([text(lib.prem_phase_name(p)) for p in range(3)])
_RECORD = dtype_of(ffi.typeof("prem_trace_record"))
_SLOT = dtype_of(ffi.typeof("prem_slot"))


def _phases(rows: np.ndarray, schedule: Any, columns: dict[str, Any]) -> Table:
    names = np.array([text(schedule.tasks[t].name) for t in range(schedule.task_count)] or [""])
    table = Table(columns)
    for name in rows.dtype.names:
        if name == "task":
            table[name] = names[rows["task"]]
        elif name == "phase":
            table[name] = PHASES[rows["phase"]]
        elif name not in ("reserved", "place"):
            table[name] = rows[name].copy()
    return table


def trace_table(trace: Any, schedule: Any, mode: str, run: int) -> Table:
    """A row for each recorded phase of a prem_trace."""
    rows = copied(trace.records, trace.record_count, _RECORD)
    columns = {"mode": np.full(len(rows), mode), "run": run + rows["hyperperiod"].astype("i8")}
    table = _phases(rows, schedule, columns)
    table["release_ns"] = np.where(
        rows["release_ns"] == _UNKNOWN, np.nan, rows["release_ns"].astype("f8")
    )
    return table


def slots_table(slots: Any, count: int, schedule: Any) -> Table:
    """A row for each phase of a plan."""
    return _phases(copied(slots, count, _SLOT), schedule, {})
