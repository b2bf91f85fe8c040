/* SPDX-License-Identifier: Apache-2.0 */
/* State arrays in runs: random task sets on the simulator and on threads, against a model that
 * keeps every version of everything. */
/* ctest: threads */
#include "tests/common/rounds.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

#include <math.h>
#include <sys/stat.h>

#include "prem/base/random.h"
#include "runtime/core/elements.h"

enum {
  ROWS = 9,
  COLUMNS = 11,
  ELEMENTS = ROWS * COLUMNS,
  INPUTS = 2,
  MAX_TASKS = 6,
  MAX_HYPERPERIODS = 5,
  MAX_JOBS = 4 * MAX_HYPERPERIODS,
  PERIOD_NS = 4000,
  SETS = 400,
  SETS_ON_THREADS = 24
};

typedef enum order { NONE, SAME, LATEST } order;

/* What a port reads: an input below 0 (-1, -2), else what that task writes. */
typedef struct set_task {
  int64_t period_ns, release_ns;
  int versions; /* of its output; 0: no state array */
  bool is_blend;
  int ports, reads[2];
  order after[MAX_TASKS];
} set_task;

typedef struct set {
  set_task tasks[MAX_TASKS];
  int count;
  bool is_aligned; /* all have the same blocks and tiles: element-wise ones follow by block */
  uint64_t random, seed;
  float inputs[INPUTS][ELEMENTS], first[MAX_TASKS][ELEMENTS];
  float made[MAX_TASKS][MAX_JOBS][ELEMENTS];
  bool is_made[MAX_TASKS][MAX_JOBS];
  const prem_schedule *schedule;
  char folder[64];
} set;

static int64_t pick(set *s, int64_t min, int64_t max) {
  return min + (int64_t)(prem_random_next(&s->random) % (uint64_t)(max - min + 1));
}

/* ---- random sets ----------------------------------------------------------------------------- */

/* Does `task` come after the same job of `before`, directly? */
static bool follows(set *s, int task, int before) {
  if (s->tasks[task].after[before] == NONE &&
      s->tasks[task].period_ns == s->tasks[before].period_ns)
    s->tasks[task].after[before] = SAME;
  return s->tasks[task].after[before] == SAME;
}

/* Something for a port to read, and the order that it needs. */
static int pick_read(set *s, int task) {
  const int from = (int)pick(s, 0, s->count - 1);
  set_task *t = &s->tasks[task];
  if (pick(s, 0, 3) == 0)
    return -1 - (int)pick(s, 0, INPUTS - 1);
  if (from == task)
    return t->versions ? task : -1;
  if (from > task) /* it reads the version before */
    return s->tasks[from].versions && follows(s, from, task) ? from : -1;
  if (s->tasks[from].versions && t->after[from] == NONE &&
      (t->period_ns != s->tasks[from].period_ns || pick(s, 0, 2) == 0)) {
    t->after[from] = LATEST;
    return from;
  }
  if (s->tasks[from].versions && t->after[from] != NONE)
    return from;
  return follows(s, task, from) ? from : -2;
}

static void pick_set(set *s) {
  s->count = (int)pick(s, 2, MAX_TASKS);
  const bool one_shot = pick(s, 0, 3) == 0;
  s->is_aligned = pick(s, 0, 2) == 0;
  for (int t = 0; t < s->count; ++t) {
    set_task *task = &s->tasks[t];
    task->period_ns = one_shot ? 0 : PERIOD_NS << pick(s, 0, 2);
    task->release_ns = one_shot ? 0 : pick(s, 0, 2) * pick(s, 0, 300);
    task->versions = pick(s, 0, 2) ? (int)pick(s, 2, 4) : 0;
    task->is_blend = s->is_aligned || pick(s, 0, 1);
    task->ports = task->is_blend ? 2 : 1;
  }
  for (int t = 0; t < s->count; ++t)
    for (int p = 0; p < s->tasks[t].ports; ++p)
      s->tasks[t].reads[p] = pick_read(s, t);
}

static const char *array_of(int read) {
  return read < 0 ? text("x%d", -1 - read) : text("y%d", read);
}

static void add(char *to, const char *more) {
  ck_assert_uint_lt(strlen(to) + strlen(more), 8000);
  strcat(to, more);
}

static bool reads(const set_task *task, int from) {
  return task->reads[0] == from || (task->ports > 1 && task->reads[1] == from);
}

static int by_block; /* edges, over all sets that ran */

/* What the one reads the same block of the other has written, and it writes nothing of the other's.
 */
static bool is_by_block(const set *s, int t, int before) {
  const set_task *task = &s->tasks[t], *other = &s->tasks[before];
  return s->is_aligned && task->after[before] == SAME && task->is_blend && other->is_blend &&
         !reads(other, t);
}

static const char *afters_of(const set *s, int t) {
  static char list[1000];
  list[0] = '\0';
  for (int b = 0; b < s->count; ++b)
    if (s->tasks[t].after[b] != NONE)
      add(list, text("%s{ task = \"t%d\"; instance = \"%s\"; per = \"%s\"; }", list[0] ? ", " : "",
                     b, s->tasks[t].after[b] == SAME ? "same" : "latest",
                     is_by_block(s, t, b) ? "block" : "job"));
  return list;
}

static const char *file_of(set *s) {
  static char arrays[8192], tasks[8192];
  strcpy(arrays,
         "{ name = \"x0\"; type = \"f32\"; shape = [ 9, 11 ]; fill = \"random\"; seed = 1; }, "
         "{ name = \"x1\"; type = \"f32\"; shape = [ 9, 11 ]; fill = \"random\"; seed = 2; }");
  tasks[0] = '\0';
  int first = 0, blocks = 0, rows = 0, columns = 0;
  for (int t = 0; t < s->count; ++t) {
    const set_task *task = &s->tasks[t];
    add(arrays, text(", { name = \"y%d\"; type = \"f32\"; shape = [ 9, 11 ]; fill = \"random\";"
                     " seed = %d; save = \"%s/y%d.f32\"; %s }",
                     t, 100 + t, s->folder, t,
                     task->versions ? text("versions = %d;", task->versions) : ""));
    if (t == 0 || !s->is_aligned) {
      first = (int)pick(s, 0, 2);
      blocks = (int)pick(s, 1, 3 - first);
      rows = (int)pick(s, 2, 9);
      columns = (int)pick(s, 3, 11);
    }
    add(tasks, text("%s{ name = \"t%d\"; kernel = \"%s\"; blocks = \"%d-%d\"; tile = [ %d, %d ];"
                    "  arrays: { %s out = \"y%d\"; }; %s %s"
                    "  after = ( %s );"
                    "  prefetch: { wcet_ns = %dL; }; compute: { wcet_ns = %dL; };"
                    "  writeback: { wcet_ns = %dL; }; }",
                    t ? ", " : "", t, task->is_blend ? "blend" : "conv2d", first,
                    first + blocks - 1, rows, columns,
                    task->is_blend ? text("a = \"%s\"; b = \"%s\";", array_of(task->reads[0]),
                                          array_of(task->reads[1]))
                                   : text("in = \"%s\";", array_of(task->reads[0])),
                    t, task->period_ns ? text("period_ns = %dL;", (int)task->period_ns) : "",
                    task->release_ns ? text("release_ns = %dL;", (int)task->release_ns) : "",
                    afters_of(s, t), (int)pick(s, 1, 9), (int)pick(s, 1, 20), (int)pick(s, 1, 9)));
  }
  return text("version = 1; name = \"random\";"
              "platform: { blocks = 3; buffers = %d; precedence_ns = %dL; guard_ns = %dL; };"
              "arrays = ( %s ); tasks = ( %s );",
              (int)pick(s, 1, 2), (int)(pick(s, 0, 1) * pick(s, 1, 30)),
              (int)(pick(s, 0, 1) * pick(s, 1, 3)), arrays, tasks);
}

/* ---- the model ------------------------------------------------------------------------------- */

/* So many jobs of `writer` are over before job `job` of `task` begins, by what the file says. */
static int64_t jobs_before(const set *s, int task, int writer, int64_t job) {
  int64_t most = -1;
  const set_task *t = &s->tasks[task];
  for (int b = 0; b < s->count && job >= 0; ++b) {
    const set_task *before = &s->tasks[b];
    if (t->after[b] == NONE)
      continue;
    int64_t of = job;
    if (t->after[b] == LATEST && before->period_ns) {
      const int64_t since_ns = job * t->period_ns + t->release_ns - before->release_ns;
      of = since_ns < 0 ? -1 : since_ns / before->period_ns;
    }
    const int64_t found = b == writer ? of + 1 : jobs_before(s, b, writer, of);
    most = found > most ? found : most;
  }
  return job < 0 ? 0 : most;
}

static bool is_after(const set *s, int task, int writer) {
  for (int b = 0; b < s->count; ++b)
    if (s->tasks[task].after[b] != NONE && (b == writer || is_after(s, b, writer)))
      return true;
  return false;
}

static const float *made_by(set *s, int task, int64_t job);

static const float *read_by(set *s, int task, int64_t job, int read) {
  if (read < 0)
    return s->inputs[-1 - read];
  if (!s->tasks[read].versions)
    return made_by(s, read, job);
  const int64_t version =
      read != task && is_after(s, task, read) ? jobs_before(s, task, read, job) : job;
  return version <= 0 ? s->first[read] : made_by(s, read, version - 1);
}

static const float *made_by(set *s, int task, int64_t job) {
  const prem_task *of = &s->schedule->tasks[task];
  ck_assert_int_lt(job, MAX_JOBS);
  if (s->is_made[task][job])
    return s->made[task][job];
  s->is_made[task][job] = true;
  static float copies[MAX_TASKS][MAX_JOBS][2][ELEMENTS];
  prem_array_view views[3];
  for (int p = 0; p <= s->tasks[task].ports; ++p)
    views[p] = (prem_array_view){.shape = {1, 1, ROWS, COLUMNS}};
  for (int p = 0; p < s->tasks[task].ports; ++p) {
    views[p].data = copies[task][job][p];
    memcpy(views[p].data, read_by(s, task, job, s->tasks[task].reads[p]), sizeof s->inputs[0]);
  }
  views[s->tasks[task].ports].data = s->made[task][job];
  of->definition->reference(of->params, views);
  return s->made[task][job];
}

static void fill_model(set *s) {
  for (int i = 0; i < INPUTS; ++i)
    prem_parts_fill_random(PREM_F32, s->inputs[i], ELEMENTS, (uint64_t)i + 1, 0);
  for (int t = 0; t < s->count; ++t)
    prem_parts_fill_random(PREM_F32, s->first[t], ELEMENTS, (uint64_t)t + 100, 0);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static void compare(set *s, prem_session *session, int64_t hyperperiods) {
  prem_verdict verdict;
  ck_assert_int_eq(prem_session_verify(session, &verdict), PREM_OK);
  ck_assert_msg(verdict.ok, "set %llu: array y%d, %lld hyperperiods: a reference says no",
                (unsigned long long)s->seed, verdict.array - INPUTS, (long long)hyperperiods);
  ck_assert_int_eq(prem_session_save(session, true, NULL), PREM_OK);
  for (int t = 0; t < s->count; ++t) {
    float found[ELEMENTS];
    const int64_t jobs = hyperperiods * prem_task_jobs(s->schedule, &s->schedule->tasks[t]);
    FILE *file = fopen(text("%s/y%d.f32", s->folder, t), "rb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fread(found, sizeof *found, ELEMENTS, file), ELEMENTS);
    fclose(file);
    const float *made = made_by(s, t, jobs - 1);
    for (int i = 0; i < ELEMENTS; ++i)
      ck_assert_msg(found[i] == made[i],
                    "set %llu: y%d[%d] after %lld hyperperiods is not what the model makes",
                    (unsigned long long)s->seed, t, i, (long long)hyperperiods);
  }
}

static void run(set *s, prem_session *session, prem_mode mode, int64_t hyperperiods) {
  ck_assert_int_eq(prem_session_poison(session), PREM_OK);
  OWNED(prem_trace) *trace = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  ck_assert_int_eq(prem_trace_new(s->schedule, hyperperiods, 0, &trace), PREM_OK);
  const prem_run_request request = {.mode = mode, .hyperperiods = hyperperiods};
  if (prem_session_run(session, &request, trace, diag) != PREM_OK) {
    printf("set %llu, mode %s\n", (unsigned long long)s->seed, prem_mode_name(mode));
    abort_with("run", diag);
  }
  compare(s, session, hyperperiods);
}

static bool has_state(const set *s) {
  for (int t = 0; t < s->count; ++t)
    if (s->tasks[t].versions)
      return true;
  return false;
}

/* False: no plan was found, or there is nothing to test. */
static bool run_set(uint64_t seed, const char *backend) {
  static const prem_mode modes[] = {PREM_MODE_TT, PREM_MODE_FREE, PREM_MODE_LOCK, PREM_MODE_LEGACY};
  static set s;
  s = (set){.random = seed, .seed = seed};
  strcpy(s.folder, "/tmp/ttprem-versions-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(s.folder));
  pick_set(&s);
  OWNED(prem_schedule) *schedule = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  const char *file = file_of(&s);
  if (prem_schedule_load_text("random", file, &schedule, diag) != PREM_OK ||
      prem_schedule_bind(schedule, prem_registry_builtin(), diag) != PREM_OK) {
    puts(file);
    abort_with("load", diag);
  }
  const prem_plan_options options = {.step_limit = 200};
  const prem_status status = prem_prepare(schedule, prem_registry_builtin(), NULL, &options, diag);
  if (status != PREM_OK && status != PREM_ERR_INFEASIBLE) {
    puts(file);
    abort_with("prepare", diag);
  }
  s.schedule = schedule;
  const bool is_good = status == PREM_OK && has_state(&s);
  for (int t = 0; is_good && t < s.count; ++t)
    for (int before = 0; before < s.count; ++before)
      by_block += is_by_block(&s, t, before);
  if (is_good) {
    fill_model(&s);
    OWNED(prem_session) *session = open_on(backend, schedule);
    for (size_t m = 0; m < sizeof modes / sizeof *modes; ++m)
      if (prem_backend_has_mode(prem_backend_find(backend), modes[m]))
        run(&s, session, modes[m], pick(&s, 1, MAX_HYPERPERIODS));
  }
  for (int t = 0; t < s.count; ++t)
    remove(text("%s/y%d.f32", s.folder, t));
  rmdir(s.folder);
  return is_good;
}

GROUP("versions", .timeout_s = 300);

TEST(runs_on_the_simulator_equal_the_model) {
  int good = 0;
  for (int i = 0; i < ROUNDS(SETS); ++i)
    good += run_set((uint64_t)i + 1, "sim");
  ck_assert_int_gt(good, ROUNDS(SETS) * 3 / 4);
  ck_assert_int_gt(by_block, ROUNDS(SETS) / 8);
}

TEST(runs_on_threads_equal_the_model) {
  int good = 0;
  for (int i = 0; i < ROUNDS(SETS_ON_THREADS); ++i)
    good += run_set((uint64_t)i + 1001, "cpu");
  ck_assert_int_gt(good, ROUNDS(SETS_ON_THREADS) * 3 / 4);
}

/* Nobody knows yet how long the run will be: any version may be the last one. */
TEST(poison_reaches_every_version) {
  OWNED(prem_schedule) *schedule = prepared_schedule(
      "version = 1; name = \"t\"; platform: { blocks = 1; };"
      "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 8 ]; },"
      "  { name = \"m\"; type = \"f32\"; shape = [ 8 ]; versions = 3; } );"
      "tasks = ( { name = \"w\"; kernel = \"blend\"; blocks = [ 0 ]; tile = [ 8 ]; period_ns = "
      "1000L;"
      "    arrays: { a = \"m\"; b = \"x\"; out = \"m\"; }; prefetch: { wcet_ns = 10L; };"
      "    compute: { wcet_ns = 10L; }; writeback: { wcet_ns = 10L; }; } );");
  OWNED(prem_arrays) *arrays = NULL;
  ck_assert_int_eq(prem_arrays_new(schedule, &arrays, NULL), PREM_OK);
  const prem_storage *all = &arrays->storage[1];
  ck_assert_int_ge(all->slots, 3);
  for (int poisoned = 0; poisoned < 2; ++poisoned) {
    for (int32_t slot = 0; slot < all->slots; ++slot) {
      const prem_storage storage = prem_storage_slot(all, slot);
      for (int32_t i = 0; i < 8; ++i)
        ck_assert_int_eq(isnan(((const float *)(const void *)storage.base)[i]) != 0, poisoned);
    }
    prem_arrays_poison(arrays);
  }
}
