/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Status codes, limits and the words that every other header uses.
 *
 * Conventions of the whole API: names start with prem_; `_ns` is int64 nanoseconds, `_bytes` and
 * `_count` say what they say; intervals are half-open, [start, start + length). Functions return a
 * prem_status; out-pointers are NULL on error; prem_..._free(NULL) and prem_..._close(NULL) do
 * nothing. The library never prints, never exits, installs no signal handler. Strings that it gives
 * back belong to the object asked, or live for ever where there is none.
 */
#ifndef TTPREM_BASE_H
#define TTPREM_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define PREM_EXTERN_C_BEGIN extern "C" {
#define PREM_EXTERN_C_END   }
#else
#define PREM_EXTERN_C_BEGIN
#define PREM_EXTERN_C_END
#endif

#define PREM_API __attribute__((visibility("default")))

#if defined(__GNUC__)
#define PREM_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define PREM_PRINTF(fmt, args)
#endif

#define PREM_VERSION "0.1.0"

/** Limits of a schedule. A file beyond them is refused with E013 or E020, never cut short. */
enum {
  PREM_NAME_BYTES = 64, /* a name with its closing zero: 63 bytes of text */
  PREM_MAX_RANK = 4,    /* dimensions of an array */
  PREM_MAX_GRID = 3,    /* dimensions of a tile index */
  PREM_MAX_PORTS = 8,   /* arrays of a kernel */
  PREM_MAX_RESOURCES = 16,
  PREM_MAX_BUFFERS = 16,
  PREM_MAX_TASKS = 65535,
  PREM_MAX_BLOCKS = 65535,
  PREM_MAX_LIVE_PORTS = 32,   /* live inputs and outputs together */
  PREM_MAX_LIVE_BUFFERS = 16, /* of one of them */
  PREM_MAX_OPERATING_MODES = 32,
  PREM_PARAMS_BYTES = 256 /* parameters of a kernel, one plain struct */
};
/** Memory for a phase, measured with 5 million of them: 750 MB to plan them and have the plan
 *  checked, 455 MB to check it alone. For messages. */
enum { PREM_PLANNING_BYTES = 150, PREM_CHECKING_BYTES = 91 };
#define PREM_MAX_NS       (INT64_C(1) << 62)  /* no time of a schedule is above it */
#define PREM_MAX_SLOTS    (INT64_C(64) << 20) /* phases of one hyperperiod */
#define PREM_MAX_ELEMENTS (INT64_C(1) << 40)  /* elements of an array */

/**
 * What came of a call. 0 is success. A positive code: nothing was changed, unless the call says
 * otherwise. A negative code: the object handed in is good for its _free or _close function only.
 * PREM_ERR_MEMORY can come from any call that returns a status, and is named only where it says
 * more.
 */
typedef enum prem_status {
  PREM_OK = 0,
  PREM_ERR_MEMORY = 1,      /* out of memory */
  PREM_ERR_IO = 2,          /* a file cannot be read or written */
  PREM_ERR_PARSE = 3,       /* a schedule file with bad syntax, values or references */
  PREM_ERR_INVALID = 4,     /* a plan that the checker refuses */
  PREM_ERR_INFEASIBLE = 5,  /* no plan exists, or none was found */
  PREM_ERR_UNAVAILABLE = 6, /* the backend, or the mode on it, is not available here */
  PREM_ERR_INTERRUPTED = 7, /* the caller's stop flag was seen; what was measured is kept */
  PREM_ERR_WRONG = 8,       /* an output differs from its reference */
  PREM_ERR_ARGUMENT = 9,    /* the caller's mistake */
  PREM_ERR_TIMEOUT = 10,    /* what was waited for did not happen in time */
  PREM_ERR_FULL = 11,       /* all buffers are in use */
  PREM_ERR_ENDED = 12,      /* the live session is over */
  PREM_ERR_MACHINE = -1     /* the machine failed: watchdog, device error */
} prem_status;

/** How an errand ended (errand.h). */
typedef enum prem_errand_end {
  PREM_ERRAND_DONE,
  PREM_ERRAND_EXPIRED, /* at its deadline no block had taken a tile of it */
  PREM_ERRAND_FAULT,   /* it was at work when the run failed */
  PREM_ERRAND_ABORTED, /* the run ended before it */
  PREM_ERRAND_ENDS
} prem_errand_end;

/** The parts of a predictable interval, in their order. */
typedef enum prem_phase {
  PREM_PREFETCH = 0,
  PREM_COMPUTE = 1,
  PREM_WRITEBACK = 2,
  PREM_PHASE_COUNT = 3
} prem_phase;

/** How the releases of a run are given. */
typedef enum prem_mode {
  PREM_MODE_TT = 0,          /* time-triggered: each phase at its instant */
  PREM_MODE_FREE = 1,        /* the same tiles, each as soon as it can */
  PREM_MODE_LOCK = 2,        /* event-triggered PREM: memory phases take their demand as a token */
  PREM_MODE_LEGACY = 3,      /* the best ordinary untiled kernels, begun together */
  PREM_MODE_LAUNCHED = 4,    /* the same, the cost of launching them included */
  PREM_MODE_GRAPH = 5,       /* as launched, all of them by one launch of a CUDA graph */
  PREM_MODE_PRIORITY = 6,    /* as legacy, on streams with priorities: tasks in the file's order */
  PREM_MODE_PARTITION = 7,   /* as legacy, each task on its own share of the GPU's SMs */
  PREM_MODE_COPY = 8,        /* a limit: the bytes that legacy has to move, moved by a plain copy */
  PREM_MODE_GATED_GRAPH = 9, /* as graph, but launched before its start, which it waits for */
  PREM_MODE_COUNT = 10
} prem_mode;

PREM_EXTERN_C_BEGIN

/** The library's version, as "0.1.0". Thread-safe. */
PREM_API const char *prem_version(void);
/** One line in English for a status; never NULL. Thread-safe. */
PREM_API const char *prem_status_text(prem_status status);
/** "done", "expired", "fault", "aborted". Thread-safe. */
PREM_API const char *prem_errand_end_name(prem_errand_end end);
/** "prefetch", "compute", "writeback". Thread-safe. */
PREM_API const char *prem_phase_name(prem_phase phase);
/** "tt", "free", "lock", "legacy", "launched", "graph", "priority", "partition", "copy",
 *  "gated_graph". Thread-safe. */
PREM_API const char *prem_mode_name(prem_mode mode);
/** Does a run in this mode work tile by tile, so that there are phases to measure? tt, free and
 * lock do. Thread-safe. */
PREM_API bool prem_mode_has_phases(prem_mode mode);
/** Does a run in this mode make the tasks' outputs? All but copy do. Thread-safe. */
PREM_API bool prem_mode_computes(prem_mode mode);
/** The mode of a name; false if there is none. Thread-safe. */
PREM_API bool prem_mode_parse(const char *name, prem_mode *out);

PREM_EXTERN_C_END
#endif
