# SPDX-License-Identifier: Apache-2.0
"""The C library: where it is, and calls of it whose problems become exceptions."""
import ctypes.util
import glob
import os
import subprocess
import threading
import warnings

try:
    from ttprem._declarations import VERSION, ffi
except ModuleNotFoundError as error:
    raise ImportError(
        "ttprem: _declarations.py is missing: build ttprem with CMake, or run "
        "python/declarations.py INCLUDE, where INCLUDE has ttprem/ttprem.h"
    ) from error

from ttprem._errors import CLASSES, Problem, ScheduleWarning, UsageError

_here = os.path.dirname(os.path.abspath(__file__))


def _pkg_config(variable):
    command = ["pkg-config", f"--variable={variable}", "ttprem"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _find_library():
    """TTPREM_LIBRARY, the one of this package, that of pkg-config, that of the loader."""
    if "TTPREM_LIBRARY" in os.environ:
        return os.environ["TTPREM_LIBRARY"]
    own = os.path.join(_here, "libttprem_python.so")
    if os.path.exists(own):
        return own
    folder = _pkg_config("libdir")
    if folder:
        for path in sorted(glob.glob(os.path.join(folder, "libttprem_measure.so*"))):
            return path
    found = ctypes.util.find_library("ttprem_measure")
    if found:
        return found
    raise ImportError(
        "ttprem: no shared library libttprem_measure.so found: set TTPREM_LIBRARY to its path, "
        "or install the package python3-ttprem"
    )


def find_headers():
    """The folder with ttprem/kernel.h: TTPREM_INCLUDE, that of this package, pkg-config's."""
    for folder in (
        os.environ.get("TTPREM_INCLUDE"),
        os.path.join(_here, "include"),
        _pkg_config("includedir"),
    ):
        if folder and os.path.exists(os.path.join(folder, "ttprem", "kernel.h")):
            return folder
    raise UsageError("no ttprem/kernel.h found: set TTPREM_INCLUDE to the folder of the headers")


library_path = _find_library()
try:
    lib = ffi.dlopen(library_path)
except OSError as error:
    raise ImportError(f"ttprem: {error}") from error
__version__ = ffi.string(lib.prem_version()).decode()
if __version__ != VERSION:
    raise ImportError(
        f"ttprem: {library_path} is version {__version__}, this package was made from the "
        f"headers of {VERSION}: take those of one version"
    )
NULL = ffi.NULL


def text(pointer):
    """A C string as str."""
    return "" if pointer == NULL else ffi.string(pointer).decode(errors="replace")


def path_bytes(path):
    """A path as C takes it."""
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise UsageError(f"a path holds a zero byte: {path!r}")
    return encoded


def mode_number(name):
    """The prem_mode of a name, as prem_mode_parse() reads it."""
    out = ffi.new("prem_mode *")
    if not lib.prem_mode_parse(str(name).encode(), out):
        words = ", ".join(text(lib.prem_mode_name(mode)) for mode in range(lib.PREM_MODE_COUNT))
        raise UsageError(f"there is no mode {name!r}; there are: {words}")
    return out[0]


class Diag:
    """A prem_diag for one call, or for one thread's calls that hardly ever fail."""

    def __init__(self):
        self.renew()

    def renew(self):
        self.c = ffi.gc(lib.prem_diag_new(), lib.prem_diag_free)

    def problems(self):
        count = lib.prem_diag_count(self.c)
        return [Problem.of(lib.prem_diag_at(self.c, i), text) for i in range(count)]

    def error(self, status, what=""):
        """The exception for a status, with all problems found; they are forgotten then."""
        problems, dropped = self.problems(), lib.prem_diag_dropped(self.c)
        self.renew()
        said = text(lib.prem_status_text(status))
        return CLASSES[status](f"{what}: {said}" if what else said, problems, dropped)

    def tell(self, status=0, what="", stacklevel=3):
        """Raise what a status says; give warnings to the module of that name; return all."""
        if status != lib.PREM_OK:
            raise self.error(status, what)
        problems = self.problems()
        for problem in problems:
            if problem.severity == "warning":
                warnings.warn(str(problem), ScheduleWarning, stacklevel=stacklevel)
        return problems


def printed(write):
    """What a C function prints into a FILE, as str."""
    out, size = ffi.new("char **"), ffi.new("size_t *")
    file = lib.open_memstream(out, size)
    if file == NULL:
        raise MemoryError
    write(file)
    lib.fclose(file)
    try:
        return ffi.unpack(out[0], size[0]).decode()
    finally:
        lib.free(out[0])


def stoppable(call):
    """`call(stop)` on a thread of its own, so that Ctrl-C can set the C library's stop flag.

    The call has ended when KeyboardInterrupt is raised here.
    """
    stop, result, done = ffi.new("sig_atomic_t *"), [], threading.Event()

    def work():
        try:
            result.append((call(stop), None))
        except BaseException as error:  # handed to the thread that waits
            result.append((None, error))
        finally:
            done.set()

    threading.Thread(target=work, name="ttprem").start()
    interrupted = None
    while not done.is_set():
        try:
            done.wait()
        except KeyboardInterrupt as error:
            interrupted, stop[0] = error, 1
    if interrupted:
        raise interrupted
    value, error = result[0]
    if error:
        raise error
    return value
