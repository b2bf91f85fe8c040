# SPDX-License-Identifier: Apache-2.0
"""Live sessions: frames in, results out, while a plan repeats.

Frames are views of the session's own buffers: nothing is copied. A view that is kept keeps the
buffers in memory, so it can be read even after close(), but shows whatever comes into that buffer
next: copy what you want to keep.
"""
from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ttprem._data import ELEMENTS, Record, plain
from ttprem._errors import EndedError, UsageError
from ttprem._library import NULL, Diag, ffi, lib, mode_number, text

_acquire, _submit = lib.prem_live_acquire, lib.prem_live_submit
_take, _release = lib.prem_live_wait, lib.prem_live_release
_SLICE_NS = 100_000_000  # the longest wait in C: Ctrl-C is seen between two


class _Stream:
    """An input or output: its number, the arrays that show its buffers, whose turn it is."""

    def __init__(self, live: Live, index: int, port: Any, array: Any):
        self.index, self.is_output = index, bool(port.is_output)
        self.name, self.dtype = text(array.name), ELEMENTS[array.type]
        self.first = 4 - array.rank  # shapes of C are right-aligned in four dimensions
        self.shape = tuple(array.shape)[self.first :]
        self.diag, self.lock = Diag(), live._lock or threading.Lock()
        self.views: dict[int, tuple[np.ndarray, np.ndarray]] = {}  # by the buffer's number
        self.frames: list[Any] = []  # cdata that can be used again
        self.on_device = False

    def busy(self) -> UsageError:
        return UsageError(f"another thread is in a call of '{self.name}'")

    def strides(self, c: Any) -> tuple[int, ...]:
        return (*tuple(c.pitch_bytes)[self.first :], self.dtype.itemsize)

    def view(self, c: Any, owner: Any) -> tuple[np.ndarray, np.ndarray]:
        """The one array over a frame's buffer, which keeps the session's memory, and the one that
        is shown: of an output a read-only view of it."""
        strides = self.strides(c)
        size = sum((n - 1) * s for n, s in zip(self.shape, strides)) + self.dtype.itemsize
        # The destructor does nothing but hold the session's memory for as long as views live.
        memory = ffi.gc(c.data, lambda _, owner=owner: None)
        array = np.ndarray(self.shape, self.dtype, ffi.buffer(memory, size), 0, strides)
        shown = array
        if self.is_output:
            shown = array.view()
            shown.setflags(False)
        self.views[c.buffer] = array, shown
        return array, shown


class Frame:
    """A buffer in hand: of an input from acquire() until submit(), of an output from wait() until
    release(). A `with` gives it back."""

    __slots__ = ("_live", "_stream", "_c", "_views")

    def __init__(self, live: Live, stream: _Stream, c: Any):
        self._live, self._stream, self._c, self._views = live, stream, c, None
        if not stream.on_device:
            self._views = stream.views.get(c.buffer) or stream.view(c, (live._c, live._kept))
            if not stream.is_output:
                self._views[0].setflags(True)

    def _mine(self) -> Any:
        c = self._c
        if c is None:
            raise UsageError(f"this frame of '{self._stream.name}' was given back")
        if self._live._c is None:
            raise UsageError("the live session is closed")
        return c

    @property
    def array(self) -> np.ndarray:
        """The elements, without a copy. An output's cannot be written to, nor an input's after
        submit()."""
        if self._c is None or self._live._c is None or self._views is None:
            self._mine()
            raise UsageError("this frame is on the device: it has __cuda_array_interface__")
        return self._views[1]

    def __array__(self, dtype: Any = None) -> np.ndarray:
        return self.array if dtype is None else self.array.astype(dtype)

    def __dlpack__(self, stream: Any = None) -> Any:
        """Without a copy. DLPack knows no read-only data: do not write to an output."""
        self.array  # in hand, and in the host's memory?
        return self._views[0].__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        self.array
        return self._views[0].__dlpack_device__()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        c, stream = self._mine(), self._stream
        if not stream.on_device:
            raise AttributeError("this frame is in the host's memory")
        return {
            "shape": stream.shape,
            "strides": stream.strides(c),
            "typestr": stream.dtype.str,
            "data": (int(ffi.cast("uintptr_t", c.data)), stream.is_output),
            "version": 3,
        }

    def __getattr__(self, name: str) -> Any:
        """`number`, `published_ns`, `job`, `input`, `operating_mode`, ... of prem_frame."""
        if name in _FRAME:
            return getattr(self._mine(), name)
        raise AttributeError(f"a frame has no {name!r}")

    @property
    def captured_ns(self) -> int:
        return self._mine().captured_ns

    @captured_ns.setter
    def captured_ns(self, value: int) -> None:
        self._mine().captured_ns = value

    @property
    def is_repeated(self) -> bool:
        return bool(self._mine().flags & lib.PREM_FRAME_REPEATED)

    @property
    def is_late(self) -> bool:
        return bool(self._mine().flags & lib.PREM_FRAME_LATE)

    def inputs(self) -> dict[str, Record]:
        """Of a result: which frame of each input it is made of, and when that was captured."""
        c, live = self._mine(), self._live
        out = ffi.new("prem_frame_input[]", 32)
        count = live._call(self._stream, lib.prem_live_inputs, c, out, 32)
        return {live._streams[out[i].stream].name: plain(out[i]) for i in range(count)}

    def submit(self, _call: Any = _submit) -> None:
        """Hand a filled input over."""
        c, stream = self._c or self._mine(), self._stream
        lock = stream.lock
        if not lock.acquire(False):
            raise stream.busy()
        try:
            status = _call(self._live._c or self._mine(), c, stream.diag.c)
        finally:
            lock.release()
        if not status:
            self._c = None
            stream.frames.append(c)
            if not stream.is_output and self._views:
                self._views[0].setflags(False)
            return
        if status == 12:  # ended: the buffer went back
            self._c = None
        raise stream.diag.error(status, stream.name)

    def release(self) -> None:
        """Give it back: a result, or an input that shall not be submitted."""
        self.submit(_release)

    def __enter__(self) -> Frame:
        return self

    def __exit__(self, *_: Any) -> None:
        if self._c is not None and self._live._c is not None:
            try:
                self.release()
            except EndedError:
                pass

    def __repr__(self) -> str:
        held = "given back" if self._c is None else f"number {self._c.number}"
        return f"<ttprem.Frame of '{self._stream.name}', {held}>"


def _pitch(name: str, shape: tuple, itemsize: int, strides: tuple | None) -> int:
    """From row to row, of an array whose rows are dense and planes follow each other."""
    dense = itemsize * (shape[-1] if len(shape) else 1)
    pitch = strides[-2] if strides and len(shape) > 1 else dense
    wanted = [itemsize, pitch]
    for size in shape[-2:0:-1]:
        wanted.append(wanted[-1] * size)
    if strides and tuple(reversed(wanted[: len(shape)])) != tuple(strides):
        raise UsageError(
            f"{name}: a buffer has strides {tuple(strides)}: elements of a row, and planes, have "
            "to follow each other without a gap"
        )
    return pitch


_FRAME = {name for name, _ in ffi.typeof("prem_frame").fields}


class Live:
    """A live session: see include/ttprem/live.h for what each call promises.

    Waits take `timeout` in seconds, or None: until the session ends. They release the
    interpreter's lock. One thread uses an input, or an output, at a time; on `sim` all calls are
    from one thread, and time passes in waits alone.
    """

    def __init__(self, handle: Any, backend: Any):
        diag, out = Diag(), ffi.new("prem_live **")
        status = lib.prem_live_open(backend, handle.c, out, diag.c)
        self._c = None
        diag.tell(status, text(handle.c.name), 4)
        close, self._kept = lib.prem_live_close, []
        kept = (handle, self._kept)  # the schedule and adopted buffers outlive the session

        def free(c, kept=kept):
            close(c)

        self._c, self._handle = ffi.gc(out[0], free), handle
        self._backend = text(lib.prem_backend_name(backend))
        self._lock = threading.Lock() if self._backend == "sim" else None
        self._control, self._diag = self._lock or threading.Lock(), Diag()
        self._events = self._lock or threading.Lock()
        self._event_diag, self._started = Diag(), False
        schedule = handle.c
        self._streams = [
            _Stream(self, i, schedule.live[i], schedule.arrays[schedule.live[i].array])
            for i in range(schedule.live_count)
        ]
        self._by_name = {stream.name: stream for stream in self._streams}

    # ---- calls of C

    def _open(self) -> Any:
        if self._c is None:
            raise UsageError("the live session is closed")
        return self._c

    def _call(self, stream: _Stream, call: Any, *args: Any) -> int:
        """A call for a stream. The argument keeps the session's memory until C is back."""
        if not stream.lock.acquire(False):
            raise stream.busy()
        try:
            return call(self._c or self._open(), *args)
        finally:
            stream.lock.release()

    def _do(self, call: Any, *args: Any) -> None:
        """A call for the session as a whole."""
        with self._control:
            status = call(self._open(), *args, self._diag.c)
            if status:
                raise self._diag.error(status, "live")

    def _stream(self, name: str) -> _Stream:
        stream = self._by_name.get(name)
        if stream is None:
            names = ", ".join(self._by_name) or "none: the schedule has no group `live`"
            raise UsageError(f"there is no stream {name!r}; there are: {names}")
        return stream

    # ---- before the start

    def adopt(self, name: str, buffers: Iterable[Any]) -> list[Any]:
        """Let frames of a stream lie in these buffers: numpy arrays, or what has __dlpack__ or
        __cuda_array_interface__. Nothing is copied. As many as the schedule says."""
        stream, pointers, pitches, buffers = self._stream(name), [], set(), list(buffers)
        for buffer in buffers:
            facts = getattr(buffer, "__cuda_array_interface__", None)
            if facts is None and isinstance(buffer, np.ndarray):
                facts = buffer.__array_interface__
            elif facts is None:  # numpy shows it read-only, which DLPack does not know
                self._kept.append(np.from_dlpack(buffer))
                facts = self._kept[-1].__array_interface__
            shape, dtype = tuple(facts["shape"]), np.dtype(facts["typestr"])
            if (dtype, shape) != (stream.dtype, stream.shape):
                raise UsageError(
                    f"{name}: a buffer is {dtype}{list(shape)}; the schedule has "
                    f"{stream.dtype}{list(stream.shape)}"
                )
            pitches.add(_pitch(name, shape, dtype.itemsize, facts.get("strides")))
            pointers.append(ffi.cast("void *", facts["data"][0]))
            if facts["data"][1] and hasattr(buffer, "flags"):
                raise UsageError(f"{name}: a buffer is read-only")
        if len(pitches) != 1:
            raise UsageError(f"{name}: give buffers, all with rows of the same distance")
        self._kept += buffers
        self._do(lib.prem_live_adopt, stream.index, pointers, len(pointers), pitches.pop())
        stream.on_device = any(hasattr(b, "__cuda_array_interface__") for b in buffers)
        return buffers

    def keep_on_device(self, name: str) -> None:
        stream = self._stream(name)
        self._do(lib.prem_live_keep_on_device, stream.index)
        stream.on_device = self._backend == "cuda"

    def keep_on_host(self, name: str) -> None:
        self._do(lib.prem_live_keep_on_host, self._stream(name).index)

    # ---- running

    def start(
        self,
        mode: str = "tt",
        *,
        start_ns: int = 0,
        follows_host: bool = False,
        submit_timeout: float = 0,
        stall_timeout: float = 0,
        events: bool = False,
        cores: Sequence[int] = (),
        fifo: int = 0,
    ) -> None:
        """Start it, once: back when all blocks are there."""
        request = ffi.new("prem_live_request *")
        request.mode, request.start_ns = mode_number(mode), start_ns
        request.follows_host, request.events = follows_host, events
        request.submit_timeout_ns = int(submit_timeout * 1e9)
        request.stall_timeout_ns = int(stall_timeout * 1e9)
        kept = ffi.new("int32_t[]", list(cores)) if cores else NULL
        request.cpu.cores, request.cpu.core_count = kept, len(cores)
        request.cpu.fifo_priority = fifo
        self._do(lib.prem_live_start, request)

    def acquire(self, name: str, timeout: float | None = 0) -> Frame:
        """A free buffer of an input, to be filled and submitted; FullError without one."""
        return self._wait(self._by_name.get(name) or self._stream(name), _acquire, 11, timeout)

    def wait(self, name: str, timeout: float | None = None) -> Frame:
        """The next result of an output; TimeoutError without one, EndedError if none will come."""
        return self._wait(self._by_name.get(name) or self._stream(name), _take, 10, timeout)

    def _wait(self, stream: _Stream, call: Any, not_yet: int, timeout: float | None) -> Frame:
        lock, frames = stream.lock, stream.frames
        c = frames.pop() if frames else ffi.new("prem_frame *")
        if not lock.acquire(False):
            raise stream.busy()
        try:  # without waiting first
            status = call(self._c or self._open(), stream.index, 0, c, stream.diag.c)
        finally:
            lock.release()
        if status:
            self._wait_on(stream, call, not_yet, timeout, status, c)
        return Frame(self, stream, c)

    def _wait_on(self, stream, call, not_yet, timeout, status, c) -> None:
        if status == not_yet and timeout != 0:
            status = self._sliced(stream, timeout, not_yet, call, stream.index, c, stream.diag)
        if status:
            stream.frames.append(c)
            raise stream.diag.error(status, stream.name)

    def _sliced(self, stream, timeout, not_yet, call, index, c, diag) -> int:
        now = lib.prem_live_now_ns(self._open())
        end = 2**62 if timeout is None else now + int(timeout * 1e9)
        while True:
            diag.renew()
            until = min(end, now + _SLICE_NS)
            status = self._call(stream, call, index, until, c, diag.c)
            if status != not_yet or until == end:
                return status
            now = max(until, lib.prem_live_now_ns(self._open()))

    def listen(self, timeout: float | None = None) -> Record | None:
        """The next event, its `kind` by name; None when the last one was told. One thread."""
        event, diag = ffi.new("prem_live_event *"), self._event_diag
        now = lib.prem_live_now_ns(self._open())
        end = 2**62 if timeout is None else now + int(timeout * 1e9)
        while True:
            until = min(end, now + _SLICE_NS)
            with self._events:
                status = lib.prem_live_listen(self._open(), until, event, diag.c)
            if status != lib.PREM_ERR_TIMEOUT or until == end:
                break
            diag.renew()
            now = max(until, lib.prem_live_now_ns(self._open()))
        if status == lib.PREM_ERR_ENDED:
            return None
        if status:
            raise diag.error(status, "live")
        told = plain(event[0])
        told.kind = text(lib.prem_live_event_name(event.kind))
        names = self._handle.c
        told.task = text(names.tasks[event.task].name) if event.task >= 0 else None
        told.stream = self._streams[event.stream].name if event.stream >= 0 else None
        return told

    def set(self, task: str, key: str, value: float | Sequence[float]) -> None:
        """Change an argument of a task's kernel, from the next apply() on."""
        values = [float(v) for v in (value if hasattr(value, "__len__") else [value])]
        index = self._task(task)
        array = ffi.new("double[]", values)
        self._do(lib.prem_live_set, index, key.encode(), array, len(values))

    def apply(self) -> None:
        """All that was set, at once: for the hyperperiods that begin from now on."""
        self._do(lib.prem_live_apply)

    def switch(self, operating_mode: str) -> None:
        """Go over to another operating mode."""
        mode = lib.prem_live_find_operating_mode(self._open(), operating_mode.encode())
        if mode < 0:
            raise UsageError(f"there is no operating mode {operating_mode!r}")
        self._do(lib.prem_live_switch, mode)

    def _task(self, name: str) -> int:
        index = lib.prem_schedule_find_task(self._handle.c, name.encode())
        if index < 0:
            raise UsageError(f"there is no task {name!r}")
        return index

    @property
    def state(self) -> Record:
        out = ffi.new("prem_live_state *")
        lib.prem_live_look(self._open(), out)
        return plain(out[0])

    def counts(self, name: str) -> Record:
        """Of an input or output since the session was opened."""
        out = ffi.new("prem_live_counts *")
        lib.prem_live_count(self._open(), self._stream(name).index, out)
        return plain(out[0])

    def task_counts(self, name: str) -> Record:
        out = ffi.new("prem_live_task_counts *")
        lib.prem_live_count_task(self._open(), self._task(name), out)
        return plain(out[0])

    @property
    def now_ns(self) -> int:
        return lib.prem_live_now_ns(self._open())

    def sleep_until(self, instant_ns: int) -> None:
        """On `sim` the machine runs on until then."""
        while True:
            now = self.now_ns
            if now >= instant_ns:
                return
            lib.prem_live_sleep_until(self._open(), min(instant_ns, now + _SLICE_NS))

    def stop(self, drain: bool = True, timeout: float = 10) -> None:
        """Stop it; with `drain` what is begun ends, and results stay until they were waited for."""
        end = self.now_ns + int(timeout * 1e9)
        while True:
            until = min(end, self.now_ns + _SLICE_NS)
            with self._control:
                status = lib.prem_live_stop(self._open(), drain, until, self._diag.c)
                if status == lib.PREM_OK:
                    return
                error = self._diag.error(status, "live")
            if status != lib.PREM_ERR_TIMEOUT or until == end:
                raise error

    def close(self) -> None:
        """End it. Waits of other threads come back with EndedError or UsageError. The session's
        memory is freed when no view of a frame is left."""
        with self._control:
            c, self._c = self._c, None
            if c is not None:
                now = lib.prem_live_now_ns(c)
                lib.prem_live_stop(c, False, now + 10 * _SLICE_NS, NULL)
        for stream in self._streams:
            stream.views.clear()

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._c is None else self.state.phase
        return f"<ttprem.Live of {text(self._handle.c.name)}: {state}>"
