/**
 * The isolation certificate: how far a task's response times and phases move when it gets
 * neighbours, and when its neighbours are hostile.
 */
#ifndef TTPREM_ISOLATION_H
#define TTPREM_ISOLATION_H

#include "ttprem/findings.h"
#include "ttprem/measure.h"

/** Beside whom a task was measured. */
typedef enum prem_company {
  PREM_ALONE,      /* itself and the tasks that it follows, at their instants, on their blocks */
  PREM_NEIGHBOURS, /* all tasks of the file */
  PREM_HOSTILE, /* the others replaced by tasks that fill their windows, as far as buffers allow */
  PREM_COMPANY_COUNT
} prem_company;

/** Quantiles at which distributions are kept: the least, every 5 %, 99 %, 99.9 %, the longest. */
enum { PREM_QUANTILES = 23 };

typedef struct prem_isolation_task {
  char name[PREM_NAME_BYTES];
  prem_summary response_ns[PREM_COMPANY_COUNT];
  prem_summary phase_ns[PREM_PHASE_COUNT][PREM_COMPANY_COUNT]; /* warm-up and first tiles apart */
  int64_t quantile_ns[PREM_PHASE_COUNT][PREM_COMPANY_COUNT][PREM_QUANTILES]; /* of the same */
} prem_isolation_task;

/** All tasks in one mode. */
typedef struct prem_isolation_mode {
  prem_mode mode;
  prem_isolation_task *tasks; /* [task_count of the schedule] */
  prem_summary makespan_ns;   /* with its neighbours */
  int64_t releases[PREM_COMPANY_COUNT], late[PREM_COMPANY_COUNT], overruns[PREM_COMPANY_COUNT];
} prem_isolation_mode;

/** How a hostile task fills the windows of the task whose place it takes. */
typedef struct prem_hostility {
  bool replaced; /* false: it has no kernel, lacks a memory phase, or moves more than a hostile task
                    in its place could: it stands for itself */
  int64_t bytes_per_tile,
      own_bytes_per_tile; /* read and written, by the hostile and the real task */
  double fill_pct; /* longest phase of the hostile task alone, of its window; the fullest of its
                      memory phases */
} prem_hostility;

typedef struct prem_isolation {
  prem_isolation_mode modes[PREM_MODE_COUNT];
  int32_t mode_count;
  prem_hostility *hostile; /* [task_count] */
  int32_t task_count;
  int64_t clock_step_ns;
  int64_t samples, rounds; /* of each company and mode */
  bool output_ok, oversubscribed, interrupted;
  int64_t lost; /* phases whose raw records found no room: not in the phases' times */
} prem_isolation;

typedef struct prem_isolate_options {
  prem_mode modes[PREM_MODE_COUNT];
  int32_t mode_count;
  prem_scenario scenario;
  int64_t samples; /* runs, or hyperperiods when resident, of each company and mode */
  int64_t rounds;  /* over which they are spread; companies and modes interleave */
  int64_t discard; /* more at the start of each company's turn that are not counted */
  uint64_t seed;
  int64_t max_records; /* raw records kept of one run */
  prem_engine engine;
  const volatile sig_atomic_t *stop;                          /* not 0 ends it; may be NULL */
  void (*progress)(void *context, int64_t done, int64_t all); /* may be NULL */
  void *progress_context;
} prem_isolate_options;

PREM_EXTERN_C_BEGIN

/**
 * Measure every task alone, with its neighbours and with hostile ones, all of it interleaved in
 * random order.
 *
 * @param schedule  bound, with a plan that prem_check() accepts; must outlive the call.
 * @param[out] out  also when interrupted, as far as it got; free with prem_isolation_free().
 * @retval PREM_ERR_ARGUMENT     no plan, no mode or no sample
 * @retval PREM_ERR_INTERRUPTED  the stop flag was seen; those of prem_session_open() and
 *                               prem_session_run()
 */
PREM_API prem_status prem_isolate(const prem_schedule *schedule, const prem_backend *backend,
                                  const prem_isolate_options *options, prem_isolation **out,
                                  prem_diag *diag);
PREM_API void prem_isolation_free(prem_isolation *isolation);

/** How far a response time moved from what it was alone: the larger of the distances of p50 and of
 *  the longest; -1 where one of the two was not measured. */
PREM_API int64_t prem_isolation_moved_ns(const prem_isolation_task *task, prem_company company);
/** Number `index` of the quantiles, in thousandths: 0, 50, ... 950, 990, 999, 1000. */
PREM_API int64_t prem_quantile_per_mille(int32_t index);
/** "alone", "neighbours", "hostile". */
PREM_API const char *prem_company_name(prem_company company);

/** Tables, charts and the certificate's sentence; NULL when there is no memory. Free with
 *  prem_findings_free(). */
PREM_API prem_findings *prem_isolation_findings(const prem_isolation *isolation,
                                                const prem_schedule *schedule);

PREM_EXTERN_C_END
#endif
