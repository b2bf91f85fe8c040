# SPDX-License-Identifier: Apache-2.0
"""What was measured: results of runs, profiles, isolation certificates."""
from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from typing import Any

import numpy as np

from ttprem._data import Record, Table, copied, members, plain, stack, trace_table
from ttprem._errors import ScheduleWarning, UnavailableError, UsageError, WrongError
from ttprem._library import NULL, Diag, ffi, lib, path_bytes, printed, stoppable, text


def open_session(backend: Any, handle: Any) -> Any:
    out, diag = ffi.new("prem_session **"), Diag()
    diag.tell(lib.prem_session_open(backend, handle.c, out, diag.c), text(handle.c.name), 5)
    return ffi.gc(out[0], lib.prem_session_close)


def compare(session: Any, handle: Any, backend: Any, options: Any) -> Result:
    """prem_compare(), with the traces of all counted runs."""
    diag, out, traces, failed = Diag(), ffi.new("prem_result **"), [], []
    schedule = lib.prem_session_critical(session)

    @ffi.callback("prem_status(void *, const prem_trace *, prem_mode, int64_t)")
    def on_trace(_, trace, mode, run):
        try:
            name = text(lib.prem_mode_name(mode))
            traces.append(trace_table(trace, schedule, name, run))
        except BaseException as error:  # the C library ends, then it is raised
            failed.append(error)
            return lib.PREM_ERR_MEMORY
        return lib.PREM_OK

    options.on_trace = on_trace

    def work(stop):
        options.stop = stop
        return lib.prem_compare(session, handle.c, backend, options, out, diag.c)

    try:
        status = stoppable(work)
    finally:
        c = ffi.gc(out[0], lib.prem_result_free) if out[0] != NULL else NULL
    if failed:
        raise failed[0]
    if status != lib.PREM_OK and (c == NULL or c.row_count == 0 or status != 6):
        raise diag.error(status, text(handle.c.name))
    for left in list(c.left_out)[: c.left_out_count]:
        mode = text(lib.prem_mode_name(left.mode))
        warnings.warn(f"mode {mode} is left out: {text(left.reason)}", ScheduleWarning, 5)
    return Result(c, handle, session, stack(traces))


class Result:
    """What the runs of one or more modes gave. `print(result)` is the table of `ttprem compare`.

    `result["tt"]` is the row of a mode, with the members of prem_row (include/ttprem/measure.h).
    """

    outputs: dict[str, np.ndarray]  # arrays as the last run left them: see Schedule.compare()
    trace: Table  # a row for each recorded phase of each counted run

    def __init__(self, c: Any, handle: Any, session: Any, trace: Table):
        self._c, self._handle = c, handle
        self.outputs, self.trace = {}, trace
        critical = lib.prem_session_critical(session)
        counts = [
            lib.prem_task_jobs(critical, critical.tasks + t) for t in range(critical.task_count)
        ]
        self.rows = [self._row(c.rows[i], counts) for i in range(c.row_count)]

    @staticmethod
    def _row(c: Any, jobs: list[int]) -> Record:
        row = plain(c)
        row.tasks = members(c.tasks, c.task_count)
        for task, count in zip(row.tasks, jobs):
            task.jobs = count
        row.best_effort = members(c.best_effort, c.best_effort_count)
        row.chains = members(c.chains, c.chain_count)
        row.samples_ns = copied(c.samples_ns, c.samples, "i8")
        count = c.all_samples * c.job_count
        for name in ("response_samples_ns", "away_samples_ns"):
            values = copied(getattr(c, name), count, "i8")
            setattr(row, name, values.reshape(-1, max(c.job_count, 1)))
        return row

    def __getitem__(self, mode: str) -> Record:
        for row in self.rows:
            if row.mode == mode:
                return row
        raise KeyError(f"no mode {mode!r}; there are: {', '.join(r.mode for r in self.rows)}")

    def __str__(self) -> str:
        return printed(lambda file: lib.prem_result_print(self._c, file))

    @property
    def table(self) -> Table:
        """A row for each mode."""
        names = """mode samples releases late_releases lateness_max_ns overruns violations_certain
            violations_possible jitter_ns jitter_pct output_ok""".split()
        table = Table({n: np.array([getattr(row, n) for row in self.rows]) for n in names})
        for name in ("mean", "min", "p50", "max"):
            values = [getattr(row.makespan_ns, name) for row in self.rows]
            table[f"makespan_{name}_ns"] = np.array(values)
        return table

    @property
    def samples(self) -> Table:
        """A row for each counted run: its makespan."""
        return stack(
            [
                Table(
                    mode=np.full(len(row.samples_ns), row.mode),
                    sample=np.arange(len(row.samples_ns)),
                    makespan_ns=row.samples_ns,
                )
                for row in self.rows
            ]
        )

    @property
    def responses(self) -> Table:
        """A row for each job of each counted run: its response time, -1 where it did not end, and
        for how long a core was taken away from it (`away_ns`)."""
        tables = []
        for row in self.rows:
            tasks = np.repeat([task.name for task in row.tasks], [t.jobs for t in row.tasks])
            jobs = np.concatenate([np.arange(task.jobs) for task in row.tasks])
            samples = len(row.response_samples_ns)
            if samples == 0:
                continue
            away = row.away_samples_ns
            tables.append(
                Table(
                    mode=np.full(samples * len(jobs), row.mode),
                    sample=np.repeat(np.arange(samples), len(jobs)),
                    task=np.tile(tasks, samples),
                    job=np.tile(jobs, samples),
                    response_ns=row.response_samples_ns.ravel(),
                    away_ns=away.ravel() if len(away) else np.full(samples * len(jobs), -1),
                )
            )
        return stack(tables)

    def judge(self) -> None:
        """WrongError where an output differs from its reference."""
        for row in self.rows:
            if row.disturbed.jobs and not any(task.response_ns.count for task in row.tasks):
                said = f"{row.mode}: all jobs were disturbed: the operating system took a core away"
                warnings.warn(said, ScheduleWarning, 3)
            if row.output_checked and not row.output_ok:
                wrong = row.verdict
                error = WrongError(
                    f"{row.mode}: {wrong.wrong} elements of the outputs differ; the first is "
                    f"{wrong.found} instead of {wrong.expected} at {wrong.index}"
                )
                error.result = self
                raise error

    def write(self, path: str | os.PathLike) -> None:
        """As `--json`: for `ttprem report`, with the samples beside it."""
        diag = Diag()
        status = lib.prem_result_write(
            self._c, self._handle.c, b"python", path_bytes(path), diag.c
        )
        diag.tell(status, os.fspath(path))

    def draw(self, path: str | os.PathLike) -> None:
        """Draw scheduled against real phases to a file .svg, .png or .pdf, by gnuplot."""
        diag = Diag()
        status = stoppable(
            lambda stop: lib.prem_result_draw(
                self._c, self._handle.c, path_bytes(path), stop, diag.c
            )
        )
        diag.tell(status, os.fspath(path))


class _Study:
    """Tables, charts and a sentence. `print(study)` is what the command prints."""

    def __init__(self, findings: Any, machine: Any):
        self._findings, self._machine = findings, machine
        with tempfile.TemporaryDirectory(prefix="ttprem-") as folder:
            path = os.path.join(folder, "findings.json")
            self.write(path)
            with open(path, encoding="utf-8") as file:
                self.data: dict[str, Any] = json.load(file)
        self.verdict: str = self.data.get("verdict") or ""
        self.tables: dict[str, Table] = {}
        for table in self.data["tables"]:
            names = [column["name"] for column in table["columns"]]
            columns = zip(*table["rows"]) if table["rows"] else [()] * len(names)
            self.tables[table["name"]] = Table(
                {name: _column(values) for name, values in zip(names, columns)}
            )

    def __str__(self) -> str:
        return printed(lambda file: lib.prem_findings_print(self._findings, file))

    def write(self, path: str | os.PathLike) -> None:
        """As `--json`."""
        diag = Diag()
        command = " ".join(["python", *sys.argv[:1]]).encode()
        status = lib.prem_findings_write(
            self._findings, self._machine, command, path_bytes(path), diag.c
        )
        diag.tell(status, os.fspath(path))

    def draw(self, path: str | os.PathLike) -> None:
        """Draw all charts to a file .svg, .png or .pdf, by gnuplot."""
        diag = Diag()
        status = stoppable(
            lambda stop: lib.prem_findings_draw(self._findings, path_bytes(path), stop, diag.c)
        )
        diag.tell(status, os.fspath(path))


def _column(values: Any) -> np.ndarray:
    """A column of numbers, missing ones as NaN, or of text."""
    if any(isinstance(value, str) for value in values):
        return np.array(["" if value is None else value for value in values])
    if any(value is None for value in values):
        return np.array([np.nan if value is None else value for value in values], float)
    return np.array(values)


class Profile(_Study):
    """What phases take on a machine. `valid`, and `disturbed` by what."""

    @classmethod
    def measure(cls, handle: Any, backend: Any, machine: Any, options: Any) -> Profile:
        diag, out = Diag(), ffi.new("prem_profile **")

        def work(stop):
            options.stop = stop
            return lib.prem_profile_measure(handle.c, backend, machine, options, out, diag.c)

        try:
            status = stoppable(work)
        finally:
            c = ffi.gc(out[0], lib.prem_profile_free) if out[0] != NULL else NULL
        if status != lib.PREM_OK:
            raise diag.error(status, text(handle.c.name))
        if not c.output_ok:
            raise WrongError("an output differs from its reference: there is no profile")
        if c.none_counted:
            raise UnavailableError(
                f"of {c.disturbed_runs} runs all were disturbed: the operating system took a core "
                "away; measure on a quieter machine"
            )
        profile = cls(c.findings, ffi.addressof(c.machine))
        profile._c, profile._handle = c, handle
        profile.tasks = members(c.tasks, c.task_count)
        profile.valid, profile.disturbed = bool(c.valid), text(c.disturbed)
        return profile

    def save(self, path: str | os.PathLike) -> None:
        """Write it as a file for the schedule's `profiles`."""
        diag = Diag()
        diag.tell(lib.prem_profile_write(self._c, path_bytes(path), diag.c), os.fspath(path))


class Fit(_Study):
    """The plans that were tried on a machine, in `turns`, of which number `best` was taken;
    `settled`, and `why` it ended."""

    @classmethod
    def measure(cls, handle: Any, backend: Any, machine: Any, options: Any) -> Fit:
        diag, out = Diag(), ffi.new("prem_fit **")

        def work(stop):
            options.stop = stop
            return lib.prem_fit_schedule(handle.c, backend, machine, options, out, diag.c)

        try:
            status = stoppable(work)
        finally:
            c = ffi.gc(out[0], lib.prem_fit_free) if out[0] != NULL else NULL
        diag.tell(status, text(handle.c.name), 4)
        fit = cls(c.findings, machine)
        fit._c, fit.turns, fit.best = c, members(c.turns, c.count), c.best
        fit.settled, fit.why = bool(c.is_settled), text(c.why)
        if lib.prem_findings_wrong(c.findings):
            raise WrongError("an output differs from its reference in a mode other than the plan's")
        if not fit.settled:
            turn = fit.turns[fit.best]
            warnings.warn(
                f"the best plan is late in {turn.late} of {turn.releases} releases: {fit.why}",
                ScheduleWarning,
                4,
            )
        return fit

    def save_profile(self, path: str | os.PathLike) -> None:
        """Write the times of the plan as a file for the schedule's `profiles`."""
        if self._c.profile == NULL:
            raise UsageError("on the simulator the schedule's own times are those of the plan")
        diag = Diag()
        status = lib.prem_profile_write(self._c.profile, path_bytes(path), diag.c)
        diag.tell(status, os.fspath(path))


class Isolation(_Study):
    """How far response times and phases move beside neighbours and hostile ones."""

    @classmethod
    def measure(cls, handle: Any, backend: Any, machine: Any, options: Any) -> Isolation:
        diag, out = Diag(), ffi.new("prem_isolation **")

        def work(stop):
            options.stop = stop
            return lib.prem_isolate(handle.c, backend, options, out, diag.c)

        try:
            status = stoppable(work)
        finally:
            c = ffi.gc(out[0], lib.prem_isolation_free) if out[0] != NULL else NULL
        if c == NULL or status not in (lib.PREM_OK, lib.PREM_ERR_UNAVAILABLE):
            raise diag.error(status, text(handle.c.name))
        if not c.output_ok:
            raise WrongError("an output differs from its reference: there is no certificate")
        findings = ffi.gc(lib.prem_isolation_findings(c, handle.c), lib.prem_findings_free)
        isolation = cls(findings, machine)
        isolation.modes = [plain(mode) for mode in list(c.modes)[: c.mode_count]]
        for i, mode in enumerate(isolation.modes):
            tasks = [cls._task(c.modes[i].tasks + t) for t in range(c.task_count)]
            mode.tasks = {task.name: task for task in tasks}
        isolation.valid, isolation.disturbed = bool(c.valid), text(c.disturbed)
        return isolation

    @staticmethod
    def _task(pointer: Any) -> Record:
        task = plain(pointer[0])
        task.moved_ns = {
            text(lib.prem_condition_name(beside)): lib.prem_isolation_moved_ns(pointer, beside)
            for beside in (lib.PREM_CORUNNING, lib.PREM_STRESSED)
        }
        return task


class LoadIsolation(_Study):
    """How far response times of critical tasks move beside best-effort ones, with the gate and
    without it, and what these get done."""

    @classmethod
    def measure(cls, handle: Any, backend: Any, machine: Any, options: Any) -> LoadIsolation:
        diag, out = Diag(), ffi.new("prem_load_isolation **")

        def work(stop):
            options.stop = stop
            return lib.prem_isolate_load(handle.c, backend, options, out, diag.c)

        try:
            status = stoppable(work)
        finally:
            c = ffi.gc(out[0], lib.prem_load_isolation_free) if out[0] != NULL else NULL
        if c == NULL or status != lib.PREM_OK:
            raise diag.error(status, text(handle.c.name))
        if not c.output_ok:
            raise WrongError("an output differs from its reference: nothing is said of isolation")
        isolation = cls(c.findings, machine)
        isolation._c, isolation.valid, isolation.disturbed = c, bool(c.valid), text(c.disturbed)
        return isolation
