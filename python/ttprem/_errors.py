# SPDX-License-Identifier: Apache-2.0
"""Problems of a schedule, and the exceptions that bring them."""
from __future__ import annotations

from dataclasses import dataclass

_SEVERITIES = ("note", "warning", "error")


@dataclass(frozen=True)
class Problem:
    """One problem: `file:line: code: key: text`. What it does not have is empty, or 0."""

    severity: str  # "note", "warning", "error"
    code: str  # "E017"
    file: str
    line: int  # from 1
    key: str  # the setting, as "tasks.conv.prefetch.wcet_ns"
    text: str  # what is wrong, the value, the limit, what to do

    @classmethod
    def of(cls, c, text) -> Problem:
        return cls(
            _SEVERITIES[c.severity],
            f"E{c.code:03}" if c.code else "",
            text(c.file),
            c.line,
            text(c.key),
            text(c.reason),
        )

    def __str__(self) -> str:
        place = self.file + (f":{self.line}" if self.line else "")
        kind = "" if self.severity == "error" else self.severity
        return ": ".join(part for part in (place, self.code or kind, self.key, self.text) if part)


class ScheduleWarning(UserWarning):
    """A warning of the C library, with its place."""


class Error(Exception):
    """What the C library refused or could not do. `problems` says why, each with its place."""

    problems: list[Problem]

    def __init__(self, text: str = "", problems: list[Problem] | None = None, dropped: int = 0):
        self.problems = problems or []
        errors = [problem for problem in self.problems if problem.severity == "error"]
        lines = [str(problem) for problem in errors or self.problems] or [text]
        if dropped:
            lines.append(f"({dropped} more)")
        super().__init__("\n".join(lines))

    @property
    def codes(self) -> list[str]:
        """Codes of the errors, each once, in the order in which they were found."""
        errors = (p.code for p in self.problems if p.code and p.severity == "error")
        return list(dict.fromkeys(errors))


class FileError(Error, OSError):
    """A file cannot be read or written."""


class ParseError(Error, ValueError):
    """A schedule with bad syntax, values or references."""


class InvalidError(Error, ValueError):
    """A schedule or a plan that the checker refuses."""


class InfeasibleError(Error):
    """No plan exists, or none was found."""


class UnavailableError(Error):
    """The backend, or the mode on it, is not available here."""


class InterruptedError(Error):
    """It was stopped; what was measured is lost."""


class WrongError(Error):
    """An output differs from its reference."""


class UsageError(Error, ValueError):
    """The caller's mistake."""


class TimeoutError(Error, TimeoutError):
    """What was waited for did not happen in time."""


class FullError(Error):
    """All buffers are in use."""


class EndedError(Error):
    """The live session is over."""


class MachineError(Error):
    """The machine failed: watchdog, device error."""


class NoMemoryError(Error, MemoryError):
    """Out of memory."""


# By prem_status.
CLASSES = {
    1: NoMemoryError,
    2: FileError,
    3: ParseError,
    4: InvalidError,
    5: InfeasibleError,
    6: UnavailableError,
    7: InterruptedError,
    8: WrongError,
    9: UsageError,
    10: TimeoutError,
    11: FullError,
    12: EndedError,
    -1: MachineError,
}
