# SPDX-License-Identifier: Apache-2.0
"""Schedules: load, plan, check, and what runs them."""
from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ttprem._data import ELEMENTS, Record, Table, members, plain, slots_table
from ttprem._errors import FileError, ParseError, Problem, UnavailableError, UsageError
from ttprem._kernel import Kernel, registry_of
from ttprem._library import NULL, Diag, ffi, lib, mode_number, path_bytes, printed, stoppable, text
from ttprem._live import Live
from ttprem._results import Fit, Isolation, LoadIsolation, Profile, Result, compare, open_session
from ttprem._text import schedule_text

_MAX_RECORDS = 4 << 20


class _Handle:
    """A prem_schedule with what it points to. Its plan is given to it once: results and live
    sessions keep the handle that they were made with, so that no plan is freed under them."""

    def __init__(self, c: Any, kernels: tuple[Kernel, ...]):
        self.c = c
        self.registry, self.kept = registry_of(kernels)
        self.planned_for = ""  # the backend that a plan was made for without being asked to


def _backends() -> Iterable[Any]:
    index = 0
    while (backend := lib.prem_backend_at(index)) != NULL:
        yield backend
        index += 1


def _write_whole(path: str | os.PathLike, content: str) -> None:
    """A file is either complete or as it was."""
    folder, name = os.path.split(os.path.realpath(path))
    part = os.path.join(folder, f".{name}.{os.getpid()}")
    try:
        try:
            with open(part, "x", encoding="utf-8", newline="") as file:
                file.write(content)
            os.replace(part, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(part)
            raise
    except OSError as error:
        raise FileError(f"{os.fspath(path)}: cannot be written: {error.strerror}") from None


def find_backend(name: str) -> tuple[Any, Any]:
    """A backend and the machine that it runs on; "auto": the best that there is."""
    diag, machine = Diag(), ffi.new("prem_machine *")
    if name != "auto":
        backend = lib.prem_backend_find(str(name).encode())
        if backend == NULL:
            names = ", ".join(text(lib.prem_backend_name(b)) for b in _backends())
            raise UnavailableError(f"there is no backend {name!r} in this build; it has: {names}")
        diag.tell(lib.prem_backend_probe(backend, machine, diag.c), f"backend {name}")
        return backend, machine
    for backend in _backends():
        if lib.prem_backend_probe(backend, machine, NULL) == lib.PREM_OK:
            return backend, machine
    raise UnavailableError("no backend is available")


def _load(source: Any, profile: str | None, lenient: bool, diag: Diag) -> Any:
    out = ffi.new("prem_schedule **")
    if isinstance(source, str):  # the text of a schedule
        if profile:
            raise UsageError("a profile is found beside its file: save the schedule, and load that")
        status = lib.prem_schedule_load_text(b"schedule", source.encode(), out, diag.c)
    else:
        load = lib.prem_schedule_load_lenient if lenient else lib.prem_schedule_load
        name = profile.encode() if profile else NULL
        status = load(path_bytes(source), name, out, diag.c)
    if status != lib.PREM_OK:
        raise diag.error(status, "schedule" if isinstance(source, str) else os.fspath(source))
    return ffi.gc(out[0], lib.prem_schedule_free)


def check(
    source: str | os.PathLike | Mapping[str, Any],
    profile: str | None = None,
    kernels: Iterable[Kernel] = (),
) -> list[Problem]:
    """All problems of a schedule, by `ttprem check`'s rules: an empty list where there is none."""
    diag = Diag()
    try:
        handle = _Handle(_load(_source(source), profile, True, diag), tuple(kernels))
    except ParseError as error:
        return error.problems
    lib.prem_schedule_bind(handle.c, handle.registry, diag.c)
    lib.prem_check(handle.c, NULL, diag.c)
    return diag.problems()


def _source(source: Any) -> Any:
    """A path as os.PathLike, a schedule's text as str."""
    if isinstance(source, Mapping):
        return schedule_text(source)
    if isinstance(source, (str, bytes, os.PathLike)):
        from pathlib import Path

        return Path(os.fsdecode(source))
    raise UsageError(f"a schedule is a path or a dict, not {type(source).__name__}")


class Schedule:
    """What has to run, from a file or a dict, and when, once it is planned.

    A dict has the groups of docs/schedule-format.md. Problems are exceptions (`ttprem.Error`),
    warnings are Python's. Every time is in ns.
    """

    def __init__(
        self,
        source: str | os.PathLike | Mapping[str, Any],
        profile: str | None = None,
        kernels: Iterable[Kernel] = (),
    ):
        self._source = _source(source)
        self._profile, self._kernels = profile, tuple(kernels)
        self._handle = self._fresh()

    @classmethod
    def from_text(cls, source: str, kernels: Iterable[Kernel] = ()) -> Schedule:
        """A schedule file's text. Relative paths in it count from the working folder."""
        schedule = cls.__new__(cls)
        schedule._source, schedule._profile, schedule._kernels = source, None, tuple(kernels)
        schedule._handle = schedule._fresh()
        return schedule

    def _fresh(self) -> _Handle:
        """The source once more, bound to the kernels."""
        diag = Diag()
        handle = _Handle(_load(self._source, self._profile, False, diag), self._kernels)
        before = getattr(self, "_handle", None)
        if before and text(before.c.sha256) != text(handle.c.sha256):
            raise UsageError(f"{self._source} has changed since it was loaded: load it again")
        diag.tell(lib.prem_schedule_bind(handle.c, handle.registry, diag.c), stacklevel=4)
        return handle

    # ---- what it says

    def __repr__(self) -> str:
        planned = f"hyperperiod {self.hyperperiod_ns} ns" if self.is_planned else "without a plan"
        return f"<ttprem.Schedule {self.name}: {len(self.task_names)} tasks, {planned}>"

    @property
    def name(self) -> str:
        return text(self._handle.c.name)

    @property
    def text(self) -> str:
        """The text of the schedule file, without a plan that was made here."""
        if isinstance(self._source, str):
            return self._source
        return self._source.read_text(encoding="utf-8")

    @property
    def task_names(self) -> list[str]:
        return [task.name for task in self.tasks]

    @property
    def tasks(self) -> list[Record]:
        """Of each task the members of prem_task (include/ttprem/schedule.h) that are numbers."""
        return members(self._handle.c.tasks, self._handle.c.task_count)

    @property
    def arrays(self) -> dict[str, Record]:
        """By name: `shape`, and `dtype`, which of bf16 is that of its bits."""
        arrays = (self._handle.c.arrays[i] for i in range(self._handle.c.array_count))
        return {
            text(a.name): Record(shape=tuple(a.shape)[4 - a.rank :], dtype=ELEMENTS[a.type])
            for a in arrays
        }

    @property
    def is_planned(self) -> bool:
        return self._handle.c.plan != NULL

    @property
    def hyperperiod_ns(self) -> int | None:
        return self._handle.c.plan.hyperperiod_ns if self.is_planned else None

    @property
    def slots(self) -> Table:
        """The plan: a row for each phase of each tile, when it starts and how long it takes."""
        self._need_plan()
        out, count, diag = ffi.new("prem_slot **"), ffi.new("int64_t *"), Diag()
        handle = self._handle.c
        diag.tell(lib.prem_plan_expand(handle, handle.plan, out, count, diag.c), "plan")
        try:
            return slots_table(out[0], count[0], handle)
        finally:
            lib.free(out[0])

    def _need_plan(self) -> None:
        if not self.is_planned:
            raise UsageError(f"{self.name} has no plan yet: call plan()")

    # ---- planning and judging

    def plan(
        self,
        policy: str | None = None,
        time_limit: float | None = None,
        steps: int = 0,
        seed: int = 0,
        keep: Schedule | None = None,
    ) -> Record:
        """Plan it, have the checker judge the plan, and say what is known about it.

        `time_limit` in seconds, 10 where neither it nor `steps` is given; 0: the first plan only.
        `steps` and `seed` give the same plan on any machine. Ctrl-C ends it with KeyboardInterrupt
        and no plan. An older plan is replaced; `keep` moves as little of that one's as possible.
        """
        if time_limit is None:
            time_limit = 2**62 / 1e9 if steps else 10
        if keep is not None:
            keep._need_plan()
        options = ffi.new("prem_plan_options *")
        name = ffi.new("char[]", policy.encode()) if policy else NULL
        options.policy, options.step_limit, options.seed = name, steps, seed
        options.time_limit_ns = int(time_limit * 1e9)
        options.keep = keep._handle.c if keep else NULL
        handle = self._fresh()
        report = self._make_plan(handle, NULL, options)
        self._handle = handle
        known = plain(report[0])
        known.unsearched = text(report.unsearched)
        if not known.due:
            known.min_slack_ns = None
        return known

    @staticmethod
    def _make_plan(handle: _Handle, machine: Any, options: Any) -> Any:
        diag, plan = Diag(), ffi.new("prem_plan **")
        report = ffi.new("prem_plan_report *")

        def make(stop):
            options.stop = stop
            return lib.prem_plan_make_reported(handle.c, machine, options, plan, report, diag.c)

        try:
            status = stoppable(make)
        except BaseException:
            lib.prem_plan_free(plan[0])
            raise
        if status == lib.PREM_OK:
            status = lib.prem_adopt_plan(handle.c, machine, plan[0], diag.c)
        diag.tell(status, "plan", stacklevel=4)
        return report

    def check(self, backend: str | None = None) -> list[Problem]:
        """Have the checker judge it, against its platform or a backend's machine: InvalidError
        with all problems, or what else there is to say."""
        diag = Diag()
        machine = find_backend(backend)[1] if backend else NULL
        return diag.tell(lib.prem_check(self._handle.c, machine, diag.c), self.name)

    def save(self, path: str | os.PathLike) -> None:
        """Write the schedule file with its plan."""
        if not self.is_planned:
            _write_whole(path, self.text)
            return
        diag = Diag()
        diag.tell(lib.prem_schedule_save(self._handle.c, path_bytes(path), diag.c), os.fspath(path))

    def export_plan(self, path: str | os.PathLike) -> None:
        """Write the plan as CSV, a row for each phase, as `ttprem plan --export`."""
        self._need_plan()
        diag, handle = Diag(), self._handle.c
        status = lib.PREM_OK

        def write(out):
            nonlocal status
            status = lib.prem_plan_write_csv(handle, out, diag.c)

        rows = printed(write)
        diag.tell(status, os.fspath(path))
        _write_whole(path, rows)

    def import_plan(self, path: str | os.PathLike) -> None:
        """Take the plan of a CSV, as export_plan() and other planners write it, and have the
        checker judge it: ParseError with line and column, InvalidError with all problems."""
        handle, diag, plan = self._fresh(), Diag(), ffi.new("prem_plan **")
        name = ffi.new("char[]", path_bytes(path))
        file = lib.fopen(name, b"re")
        if file == NULL:
            raise FileError(f"{os.fspath(path)}: {os.strerror(ffi.errno)}")
        try:
            status = lib.prem_plan_read_csv(handle.c, file, name, plan, diag.c)
        finally:
            lib.fclose(file)
        if status == lib.PREM_OK:
            status = lib.prem_adopt_plan(handle.c, NULL, plan[0], diag.c)
        diag.tell(status, os.fspath(path))
        self._handle = handle

    def draw(self, path: str | os.PathLike) -> None:
        """Draw the plan to a file .svg, .png or .pdf, by gnuplot."""
        self._need_plan()
        diag, handle = Diag(), self._handle.c
        status = stoppable(lambda stop: lib.prem_plan_draw(handle, path_bytes(path), stop, diag.c))
        diag.tell(status, os.fspath(path))

    # ---- on a machine

    def _ready(self, backend: str) -> tuple[_Handle, Any, Any]:
        """Planned and judged for a backend. A plan that nobody asked for is one backend's."""
        found, machine = find_backend(backend)
        name = text(lib.prem_backend_name(found))
        if self._kernels and name == "cuda":
            raise UnavailableError(
                "a kernel from a string runs on sim and cpu; docs/adding-a-kernel.md says how to "
                "build a command or a program that has it on the GPU as well"
            )
        handle, diag = self._handle, Diag()
        if not self.is_planned or handle.planned_for not in ("", name):
            handle = self._fresh()
            self._make_plan(handle, machine, ffi.new("prem_plan_options *"))
            handle.planned_for, self._handle = name, handle
        diag.tell(lib.prem_check(handle.c, machine, diag.c), self.name, stacklevel=4)
        return handle, found, machine

    @staticmethod
    def _modes(backend: Any, names: Sequence[str]) -> list[int]:
        modes = [mode_number(name) for name in names]
        if len(set(modes)) != len(modes):
            raise UsageError("a mode is named twice")
        for name, mode in zip(names, modes):
            if not lib.prem_backend_has_mode(backend, mode):
                where = text(lib.prem_backend_name(backend))
                raise UnavailableError(f"mode {name} is not available on backend {where}")
        return modes

    def _sampling(self, handle, backend, out, asked: dict[str, Any]) -> None:
        measure, on_sim = handle.c.measure, text(lib.prem_backend_name(backend)) == "sim"
        scenarios = {"relaunch": lib.PREM_RELAUNCH, "resident": lib.PREM_RESIDENT}
        scenario = asked["scenario"]
        if scenario is not None and scenario not in scenarios:
            raise UsageError(f"scenario: {scenario!r} is neither 'relaunch' nor 'resident'")
        out.scenario = measure.scenario if scenario is None else scenarios[scenario]
        resident = out.scenario == lib.PREM_RESIDENT
        repeat, duration = asked["repeat"], asked.get("duration") or 0
        if repeat is not None and repeat < 1:
            raise UsageError(f"repeat: is {repeat}; at least 1 is possible")
        if repeat is None and not duration:
            repeat = 1 if on_sim else measure.hyperperiods if resident else measure.runs
        discard = asked["discard"]
        if discard is None:
            discard = 0 if on_sim else measure.discard
        out.samples, out.duration_s, out.discard = repeat or 0, duration, discard
        out.rounds, out.seed = asked.get("rounds", 5), asked["seed"]
        out.max_records = asked.get("records", _MAX_RECORDS)

    def run(self, backend: str = "auto", mode: str = "tt", **options: Any) -> Result:
        """Run it in one mode and measure it, with the options of compare()."""
        return self.compare(backend, [mode], **options)

    def compare(
        self,
        backend: str = "auto",
        modes: Sequence[str] = (),
        *,
        repeat: int | None = None,
        duration: float | None = None,
        scenario: str | None = None,
        discard: int | None = None,
        seed: int = 1,
        records: int = _MAX_RECORDS,
        cores: Sequence[int] = (),
        fifo: int = 0,
        inputs: Mapping[str, np.ndarray] | None = None,
        outputs: Iterable[str] = (),
    ) -> Result:
        """Run it in several modes, interleaved, and measure them; outputs are verified.

        `repeat`, `scenario`, `discard`: the file's, on sim one run. `duration` in seconds.
        `records`: phases kept of a run at most, 0: none. `cores`, `fifo`: of backend cpu, as
        `ttprem run --cores --fifo`. `inputs` take the place of what the file says of these arrays;
        `outputs` are the names of arrays that come back as `result.outputs`, as the last run
        left them. A wrong output is WrongError, with the result in its `result`.
        """
        asked = locals()
        handle, found, _ = self._ready(backend)
        options, file = ffi.new("prem_compare_options *"), handle.c.measure
        numbers = self._modes(found, modes)
        numbers = numbers or [
            m for m in list(file.modes)[: file.mode_count] if lib.prem_backend_has_mode(found, m)
        ]
        options.modes[0 : len(numbers)], options.mode_count = numbers, len(numbers)
        self._sampling(handle, found, options.sampling, asked)
        kept = set_up_cpu(options.cpu, cores, fifo)
        with tempfile.TemporaryDirectory(prefix="ttprem-") as folder:
            with self._files(handle, inputs or {}, folder):
                session = open_session(found, handle)
            result = compare(session, handle, found, options)
            del kept
            result.outputs = self._outputs(handle, session, outputs, folder)
        result.judge()
        return result

    def _array(self, handle: _Handle, name: str) -> Any:
        for index in range(handle.c.array_count):
            if text(handle.c.arrays[index].name) == name:
                return handle.c.arrays[index]
        raise UsageError(f"there is no array {name!r}; there are: {', '.join(self.arrays)}")

    @contextlib.contextmanager
    def _files(self, handle: _Handle, inputs: Mapping[str, np.ndarray], folder: str):
        """While a session is opened, arrays are read from files of these inputs."""
        before, kept = [], []
        for name, values in inputs.items():
            array, wanted = self._array(handle, name), self.arrays[name]
            values = np.asarray(values)
            if values.dtype != wanted.dtype or values.shape != wanted.shape:
                raise UsageError(
                    f"input {name}: is {values.dtype}{list(values.shape)}; the schedule has "
                    f"{wanted.dtype}{list(wanted.shape)}"
                )
            path = os.path.join(folder, f"{len(before)}.raw")
            np.ascontiguousarray(values).tofile(path)
            kept.append(ffi.new("char[]", os.fsencode(path)))
            before.append((array, array.fill, array.file))
        try:
            for (array, _, _), path in zip(before, kept):
                array.fill, array.file = lib.PREM_FILL_FILE, path
            yield
        finally:
            for array, fill, file in before:
                array.fill, array.file = fill, file

    def _outputs(self, handle, session, names: Iterable[str], folder: str) -> dict[str, np.ndarray]:
        """Arrays as a session holds them, by way of files: only these are saved."""
        wanted = {name: self._array(handle, name) for name in dict.fromkeys(names)}
        if not wanted:
            return {}
        all_arrays = [handle.c.arrays[i] for i in range(handle.c.array_count)]
        before = [array.save for array in all_arrays]
        paths = {name: os.path.join(folder, f"out{i}.raw") for i, name in enumerate(wanted)}
        kept = {name: ffi.new("char[]", os.fsencode(path)) for name, path in paths.items()}
        diag = Diag()
        try:
            for array in all_arrays:
                array.save = kept.get(text(array.name), NULL)
            status = lib.prem_session_save(session, True, diag.c)
        finally:
            for array, save in zip(all_arrays, before):
                array.save = save
        diag.tell(status, "outputs")
        shapes = self.arrays
        return {
            name: np.fromfile(path, shapes[name].dtype).reshape(shapes[name].shape)
            for name, path in paths.items()
        }

    def profile(
        self,
        backend: str = "cpu",
        *,
        times: str = "alone",
        margin: float = 0,
        quantile: float = 0,
        repeat: int | None = None,
        rounds: int = 5,
        scenario: str | None = None,
        discard: int | None = None,
        seed: int = 1,
    ) -> Profile:
        """Measure what phases take: `times` "alone", in "company" or "planned"; `margin` in
        percent above; `quantile` as 0.999 (0: the longest; on a disturbed machine a quantile)."""
        asked = locals()
        conditions = {
            "alone": lib.PREM_ISOLATED,
            "company": lib.PREM_CORUNNING,
            "planned": lib.PREM_PLANNED,
        }
        if times not in conditions:
            raise UsageError(f"times: {times!r} is none of {', '.join(conditions)}")
        if times == "planned":
            handle, found, machine = self._ready(backend)
        else:  # only the order of the phases counts, so any times do to make a plan
            handle, (found, machine) = self._fresh(), find_backend(backend)
            _forget_times(handle.c)
            self._make_plan(handle, machine, ffi.new("prem_plan_options *", {"policy": _AUTO}))
        if text(lib.prem_backend_name(found)) == "sim":
            raise UsageError("the simulator takes its times from the file: measure on cpu or cuda")
        lib.prem_backend_measure(found, machine, NULL)  # what fails is not known, so not judged
        options = ffi.new("prem_profile_options *")
        options.times, options.margin_pct, options.quantile = conditions[times], margin, quantile
        self._sampling(handle, found, options.sampling, asked)
        return Profile.measure(handle, found, machine, options)

    def fit(
        self,
        backend: str = "auto",
        *,
        save: str | os.PathLike | None = None,
        goal: str | None = None,
        late: float = 0.001,
        margin: float | None = None,
        time_limit: float = 120,
        seed: int = 1,
    ) -> Fit:
        """Measure its times, plan, and measure the plan, by turns until it holds on this machine;
        the schedule has the best plan then. On sim the schedule's times are kept.

        `late`: percent of the releases that may be. `margin`: percent above the longest times;
        None: it is chosen. `goal`: "response", "cycle" or "late", as `ttprem fit --goal`: a plan
        that keeps `late` is taken before any that does not. `time_limit`: of all of it, in seconds.
        `save`: PLANNED.cfg to be written, with PLANNED.profile.cfg beside it. Ctrl-C ends it with
        KeyboardInterrupt and no plan.
        """
        objectives = {None: None, "response": b"response", "cycle": b"makespan", "late": None}
        if goal not in objectives:
            raise UsageError(f"goal: {goal!r} is none of 'response', 'cycle' and 'late'")
        if time_limit <= 0 or late < 0 or (margin or 0) < 0:
            raise UsageError("time_limit is above 0, late and margin are not below it")
        found, machine = find_backend(backend)
        on_sim = text(lib.prem_backend_name(found)) == "sim"
        handle, diag = self._fresh(), Diag()
        lib.prem_schedule_set_plan(handle.c, NULL)
        profile = None
        if not on_sim:
            for t in range(handle.c.task_count):
                for phase in handle.c.tasks[t].phase:
                    phase.wcet_ns = phase.busy_ns = 0
            if save is not None:
                profile = os.fspath(save).removesuffix(".cfg") + ".profile.cfg"
                name = path_bytes(os.path.basename(profile))
                diag.tell(lib.prem_schedule_edit_profile(handle.c, b"fit", name, diag.c), self.name)
        diag.tell(lib.prem_check(handle.c, machine, diag.c), self.name)
        options = ffi.new("prem_fit_options *")
        kept = ffi.new("char[]", objectives[goal]) if objectives[goal] else NULL
        options.keeps_late = goal == "late"
        options.objective, options.late, options.seed = kept, late / 100, seed
        options.margin = -1 if margin is None else margin / 100
        options.time_limit_s = time_limit
        fit = Fit.measure(handle, found, machine, options)
        self._handle = handle
        if profile is not None:
            fit.save_profile(profile)
        if save is not None:
            self.save(save)
        return fit

    def isolate(
        self,
        backend: str = "auto",
        modes: Sequence[str] = ("tt", "free"),
        *,
        hostile: str | None = None,
        repeat: int | None = None,
        rounds: int = 5,
        scenario: str | None = None,
        discard: int | None = None,
        seed: int = 1,
    ) -> Isolation | LoadIsolation:
        """Measure each task alone, with its neighbours and with hostile ones; or, with best-effort
        tasks, the others alone and beside these, with their gate and without it. `hostile`: the
        kernel of hostile tasks, as `ttprem isolate --hostile`."""
        asked = locals()
        handle, found, machine = self._ready(backend)
        options = ffi.new("prem_isolate_options *")
        numbers = self._modes(found, modes)
        options.modes[0 : len(numbers)], options.mode_count = numbers, len(numbers)
        self._sampling(handle, found, options.sampling, asked)
        name = ffi.new("char[]", hostile.encode()) if hostile else NULL
        options.hostile = name
        if lib.prem_schedule_has_best_effort(handle.c):
            if hostile:
                raise UsageError("hostile: best-effort tasks are the company, so there are none")
            if "tt" not in modes or set(modes) - {"tt", "free"}:
                raise UsageError("modes: with best-effort tasks it is 'tt', or 'tt' and 'free'")
            return LoadIsolation.measure(handle, found, machine, options)
        return Isolation.measure(handle, found, machine, options)

    def live(self, backend: str = "auto") -> Live:
        """Open a live session: `with schedule.live("cpu") as live: ...`"""
        handle, found, _ = self._ready(backend)
        return Live(handle, found)


def _forget_times(schedule: Any) -> None:
    """Leave the order of the phases alone to be planned. Times of which all are one leave best
    effort no room, so no gate is asked for."""
    schedule.policy.open_share = 0
    for t in range(schedule.task_count):
        task = schedule.tasks[t]
        for phase in task.phase:
            if phase.exists:
                phase.wcet_ns = phase.busy_ns = 1
                if task.best_effort:
                    phase.demand[0] = 0


_AUTO = ffi.new("char[]", b"auto")


def set_up_cpu(out: Any, cores: Sequence[int], fifo: int) -> Any:
    """Fill a prem_cpu_setup; what comes back has to live as long as it is used."""
    kept = ffi.new("int32_t[]", list(cores)) if cores else NULL
    out.cores, out.core_count, out.fifo_priority = kept, len(cores), fifo
    return kept

