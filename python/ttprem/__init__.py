# SPDX-License-Identifier: Apache-2.0
"""ttprem from Python: plan, check, run and measure time-triggered schedules, and use them live.

    import ttprem

    schedule = ttprem.Schedule("camera.cfg")
    schedule.plan(time_limit=1)
    schedule.check()
    print(schedule.compare("cpu", ["tt", "free"], repeat=100))
"""
from ttprem._data import Record, Table
from ttprem._errors import (
    EndedError,
    Error,
    FileError,
    FullError,
    InfeasibleError,
    InterruptedError,
    InvalidError,
    MachineError,
    NoMemoryError,
    ParseError,
    Problem,
    ScheduleWarning,
    TimeoutError,
    UnavailableError,
    UsageError,
    WrongError,
)
from ttprem._kernel import CompileError, Kernel
from ttprem._library import __version__
from ttprem._live import Frame, Live
from ttprem._results import Fit, Isolation, LoadIsolation, Profile, Result
from ttprem._schedule import Schedule, check
from ttprem._text import schedule_text

__all__ = [
    "CompileError",
    "EndedError",
    "Error",
    "FileError",
    "Fit",
    "Frame",
    "FullError",
    "InfeasibleError",
    "InterruptedError",
    "InvalidError",
    "Isolation",
    "Kernel",
    "Live",
    "LoadIsolation",
    "MachineError",
    "NoMemoryError",
    "ParseError",
    "Problem",
    "Profile",
    "Record",
    "Result",
    "Schedule",
    "ScheduleWarning",
    "Table",
    "TimeoutError",
    "UnavailableError",
    "UsageError",
    "WrongError",
    "check",
    "schedule_text",
    "__version__",
]
