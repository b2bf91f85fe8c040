/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel is tested in a schedule, which the library binds, plans, runs on the simulator and
 * verifies. Another compute takes its place: the CPU's, then the GPU's, by lanes that work one
 * after the other from one PREM_SYNC() to the next. What a kernel leaves to chance shows as their
 * order changes. */
#include "command/kernel_test.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "prem/base/random.h"

enum {
  MAX_LANES = 416,
  STACK_BYTES = 256 << 10,
  MAX_TILES = 64,   /* of a random case */
  TRIES = 400,      /* for each case: a kernel refuses most sizes */
  MAX_SECONDS = 10, /* of processor time for a run */
  FORWARD = 0,
  REVERSE,
  RANDOM, /* another order after each PREM_SYNC() */
  ORDERS
};

/* One warp, and an even or an odd number of them, up to that of the executive's largest usual
 * block. */
static const int32_t lane_counts[] = {32, 96, 256, 64, 160, MAX_LANES};
enum { LANE_COUNTS = sizeof lane_counts / sizeof *lane_counts };

typedef enum lane_state { LANE_RUNS, LANE_WAITS, LANE_OVER } lane_state;

static struct {
  const kernel_test *test;
  kernel_test_place *place;
  const prem_schedule *schedule;
  const prem_kernel *kernel; /* as it is */
  prem_kernel tried;         /* as the library gets it */
  bool accepts;              /* its bind has taken what it was given */
  int32_t lanes, order;      /* 0 lanes: on the CPU */
  uint64_t dice;
  char refusal[256]; /* the majority's: Boyer and Moore, MJRTY, 1991 */
  int64_t votes;
} own;

static struct {
  void (*compute)(const void *params, const prem_view *views);
  unsigned *thread, *threads; /* threadIdx.x, blockDim.x */
  void (**meet)(void), (**step)(void);
  unsigned char *stacks;
  ucontext_t outside, contexts[MAX_LANES];
  lane_state states[MAX_LANES];
  int32_t now;
  const void *params;
  const prem_view *views;
} block;

/* ---- what is wrong --------------------------------------------------------------------------- */

void kernel_test_tell(const kernel_test *test, const kernel_test_place *place, const char *format,
                      ...) {
  char said[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(said, sizeof said, format, arguments);
  va_end(arguments);
  command_error("%s: %s", test->name, said);
  if (place->shown > 0)
    command_note("%s: again by --seed %" PRIu64 " --cases 1: %.*s", test->name, place->seed,
                 place->shown, place->text);
}

static _Noreturn void end(int status) {
  own.place->is_over = true;
  fflush(NULL);
  _exit(status);
}

#define WRONG(...) (kernel_test_tell(own.test, own.place, __VA_ARGS__), end(COMMAND_INVALID))

static _Noreturn void end_by(const prem_diag *diag, const char *where) {
  for (size_t i = 0; i < prem_diag_count(diag); ++i)
    if (prem_diag_at(diag, i)->severity == PREM_ERROR)
      WRONG("E%03d: %s%s", prem_diag_at(diag, i)->code, prem_diag_at(diag, i)->reason, where);
  WRONG("%s%s", prem_status_text(PREM_ERR_MEMORY), where);
}

/* The tile of a task whose window of a port has this element; -1: none. */
static int32_t tile_with(const prem_task *task, int32_t port, const int64_t at[4]) {
  const prem_window *window = &task->windows[port];
  for (int32_t tile = 0; tile < task->tile_count; ++tile) {
    const int32_t index[] = {tile / task->grid[2] / task->grid[1],
                             tile / task->grid[2] % task->grid[1], tile % task->grid[2]};
    bool is_in = true;
    for (int d = 0; d < 4; ++d) {
      int64_t offset = at[d] - window->base[d];
      for (int k = 0; k < PREM_MAX_GRID; ++k)
        offset -= window->step[d][k] * index[k];
      is_in &= offset >= 0 && offset < window->extent[d];
    }
    if (is_in)
      return tile;
  }
  return -1;
}

static const char *way(void) {
  static const char *const orders[] = {"in order", "in reverse order", "in random order"};
  static char text[48];
  snprintf(text, sizeof text, own.lanes ? "with %d GPU lanes %s" : "on the CPU", (int)own.lanes,
           orders[own.order]);
  return text;
}

static void judge_outputs(prem_session *session) {
  prem_verdict verdict = {0};
  if (prem_session_verify(session, &verdict) != PREM_OK)
    WRONG("%s", prem_status_text(PREM_ERR_MEMORY));
  if (verdict.ok)
    return;
  const prem_array *array = &own.schedule->arrays[verdict.array];
  const prem_task *task = &own.schedule->tasks[array->writer];
  int32_t port = 0;
  while (task->arrays[port] != verdict.array)
    ++port;
  char element[128] = "";
  for (int d = 4 - array->rank; d < 4; ++d)
    snprintf(element + strlen(element), sizeof element - strlen(element), "%s%" PRId64,
             d > 4 - array->rank ? ", " : "", verdict.index[d]);
  WRONG("tile %d, %s[%s] is %g %s; the reference says %g%s",
        (int)tile_with(task, port, verdict.index), task->definition->ports[port].name, element,
        verdict.found, way(), verdict.expected,
        own.lanes
            ? ". On the CPU it is right: is a PREM_SYNC() missing, or does a local variable have "
              "to survive one?"
            : "");
}

/* ---- in the kernel's place ------------------------------------------------------------------- */

static void leave(lane_state state) {
  block.states[block.now] = state;
  swapcontext(&block.contexts[block.now], &block.outside);
}

static void meet(void) {
  leave(LANE_WAITS);
}

/* Between two accesses to memory: in random order sometimes others go on here. */
static void step(void) {
  enum { ONE_IN = 64 };
  if (own.order == RANDOM && prem_random_below(&own.dice, ONE_IN) == 0)
    leave(LANE_RUNS);
}

static void begin(void) {
  block.compute(block.params, block.views);
  leave(LANE_OVER);
}

static void make_lanes(void) {
  for (int32_t i = 0; i < own.lanes; ++i) {
    getcontext(&block.contexts[i]);
    block.contexts[i].uc_stack.ss_sp = block.stacks + (size_t)i * STACK_BYTES;
    block.contexts[i].uc_stack.ss_size = STACK_BYTES;
    makecontext(&block.contexts[i], begin, 0);
    block.states[i] = LANE_RUNS;
  }
}

/* Round by round, until all lanes are over. Some that are, where others wait, would stand still for
 * ever. */
static void compute_by_lanes(void) {
  int32_t order[MAX_LANES], count[] = {own.lanes, 0, 0}, last[] = {0, 0, 0};
  for (int32_t i = 0; i < own.lanes; ++i)
    order[i] = own.order == REVERSE ? own.lanes - 1 - i : i;
  make_lanes();
  while (count[LANE_OVER] < own.lanes) {
    if (own.order == RANDOM)
      prem_shuffle(order, own.lanes, &own.dice);
    if (count[LANE_WAITS] == own.lanes)
      memset(block.states, LANE_RUNS, sizeof block.states);
    else if (count[LANE_RUNS] == 0)
      WRONG("%s: lane %d waits at a PREM_SYNC() to which lane %d does not come", own.place->at,
            (int)last[LANE_WAITS], (int)last[LANE_OVER]);
    memset(count, 0, sizeof count);
    for (int32_t i = 0; i < own.lanes; ++i) {
      block.now = order[i];
      *block.thread = PREM_MEMORY_THREADS + (unsigned)block.now;
      if (block.states[block.now] == LANE_RUNS)
        swapcontext(&block.outside, &block.contexts[block.now]);
      const lane_state state = block.states[block.now];
      ++count[state];
      last[state] = block.now;
    }
  }
}

static void try_compute(const void *params, const prem_view *views) {
  const prem_task *task = own.schedule->tasks;
  while (task->params != params)
    ++task;
  int32_t tile = 0;
  for (int32_t p = 0; p < own.kernel->port_count; ++p)
    if (own.kernel->ports[p].access == PREM_OUT)
      tile = tile_with(task, p, views[p].origin);
  snprintf(own.place->at, sizeof own.place->at, "tile %d %s", (int)tile, way());
  block.params = params;
  block.views = views;
  if (own.lanes > 0)
    compute_by_lanes();
  else
    own.kernel->compute(params, views);
}

static prem_status try_bind(prem_bind *bind) {
  const prem_status status = own.kernel->bind(bind);
  own.accepts = status == PREM_OK;
  return status;
}

/* ---- random cases ---------------------------------------------------------------------------- */

static void add(const char *format, ...) PREM_PRINTF(1, 2);

static void add(const char *format, ...) {
  const size_t used = strlen(own.place->text);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(own.place->text + used, sizeof own.place->text - used, format, arguments);
  va_end(arguments);
}

static int64_t below(int64_t number) {
  return prem_random_below(&own.dice, number);
}

static int64_t throw_size(void) {
  const int64_t sizes[] = {1 + below(40), 1 + below(40), INT64_C(1) << below(7),
                           1 + below(below(8) == 0 ? 300 : 40)};
  return sizes[below(4)];
}

/* Most kernels want sizes that are those of other arrays. */
static int32_t throw_shape(const int64_t common[3], int64_t size[PREM_MAX_RANK]) {
  const int32_t rank = 1 + (int32_t)below(PREM_MAX_RANK);
  for (int32_t d = 0; d < rank; ++d)
    size[d] = d < rank - 2 ? 1 + below(4) : common[below(3)];
  return rank;
}

static void add_sizes(const int64_t *size, int32_t rank) {
  for (int32_t d = 0; d < rank; ++d)
    add("%s%" PRId64, d ? ", " : "[ ", size[d]);
  add(" ]; ");
}

static void add_array(int32_t port, const int64_t *size, int32_t rank) {
  const uint32_t types = own.kernel->port_types ? own.kernel->port_types[port]
                                                : PREM_TYPE_BIT(own.kernel->ports[port].type);
  prem_type type;
  do
    type = (prem_type)below(PREM_TYPE_COUNT);
  while (!(types & PREM_TYPE_BIT(type)));
  add("%s{ name = \"%s\"; type = \"%s\"; fill = \"random\"; seed = %d; shape = ",
      strchr(own.place->text, '{') ? ", " : "", own.kernel->ports[port].name, prem_type_name(type),
      (int)below(INT32_MAX));
  add_sizes(size, rank);
  add("}");
}

static void add_tile(const int64_t *whole, int32_t rank) {
  int64_t size[PREM_MAX_RANK];
  const int32_t tile_rank = below(4) > 0 ? rank : 1 + (int32_t)below(PREM_MAX_RANK);
  for (int32_t d = 0; d < tile_rank; ++d) {
    const int64_t all = d < rank ? whole[d] : 1;
    const int64_t sizes[] = {all, 1, 1 + below(all), all + below(5), throw_size()};
    size[d] = sizes[below(5)];
  }
  if (own.kernel->port_count == 0)
    add("tiles = %d; ", 1 + (int)below(MAX_TILES));
  else if (own.test->tile)
    add("tile = %s; ", own.test->tile);
  else {
    add("tile = ");
    add_sizes(size, tile_rank);
  }
}

static void write_case(void) {
  const int64_t common[] = {throw_size(), throw_size(), throw_size()};
  const bool all_alike = below(2) == 0;
  int64_t first[PREM_MAX_RANK], other[PREM_MAX_RANK];
  const int32_t rank = throw_shape(common, first);
  uint32_t is_new = 0;
  own.place->text[0] = '\0';
  add("arrays = ( ");
  for (int32_t p = 0; p < own.kernel->port_count; ++p) {
    const bool is_output = own.kernel->ports[p].access == PREM_OUT;
    const int64_t kind = p == 0 || all_alike || is_output ? 2 : below(4);
    if (is_output && below(3) > 0)
      is_new |= 1U << p;
    else if (kind == 0)
      add_array(p, other, throw_shape(common, other));
    else if (kind == 1 && rank > 1)
      add_array(p, first + 1, rank - 1);
    else
      add_array(p, first, rank);
  }
  add(" ); tasks = ( { ");
  add_tile(first, rank);
  own.place->shown = (int)strlen(own.place->text);
  add("name = \"test\"; kernel = \"%s\"; blocks = [ 0 ]; compute: { wcet_ns = 1000L; }; %s",
      own.test->name,
      own.kernel->compatible ? ""
                             : "prefetch: { wcet_ns = 1000L; }; writeback: { wcet_ns = 1000L; };");
  add("args: { %s}; arrays: { ", own.test->args);
  for (int32_t p = 0; p < own.kernel->port_count; ++p)
    add("%s = \"%s\"; ", own.kernel->ports[p].name,
        is_new >> p & 1U ? "new" : own.kernel->ports[p].name);
  add("}; } ); version = 1; name = \"test\"; platform: { blocks = 1; scratch_bytes = 268435456L; "
      "};");
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void limit_time(void) {
  const struct itimerval most = {.it_value = {.tv_sec = MAX_SECONDS}};
  setitimer(ITIMER_PROF, &most, NULL);
}

/* On the CPU, then by two numbers of lanes in all orders. */
static void run_case(prem_schedule *schedule, const prem_registry *registry, prem_diag *diag) {
  const prem_plan_options options = {.time_limit_ns = 0};
  const prem_run_request request = {.mode = PREM_MODE_TT, .hyperperiods = 1};
  prem_session *session = NULL;
  prem_trace *trace = NULL;
  if (prem_prepare(schedule, registry, NULL, &options, diag) != PREM_OK ||
      prem_session_open(prem_backend_find("sim"), schedule, &session, diag) != PREM_OK ||
      prem_trace_new(schedule, 1, 0, &trace) != PREM_OK)
    end_by(diag, "");
  int32_t task = 0;
  while (task < schedule->task_count && schedule->tasks[task].definition != &own.tried)
    ++task;
  if (task == schedule->task_count)
    WRONG("no task of %s has it", own.test->schedule);
  for (int i = 0; i <= (own.kernel->compute ? 2 * ORDERS : 0); ++i) {
    const uint64_t number = own.place->seed + (i > ORDERS ? LANE_COUNTS / 2 : 0);
    own.lanes = i == 0 ? 0 : lane_counts[number % LANE_COUNTS];
    own.order = i == 0 ? FORWARD : (i - 1) % ORDERS;
    *block.threads = PREM_MEMORY_THREADS + (unsigned)own.lanes;
    limit_time();
    char where[64];
    snprintf(where, sizeof where, "; %s", way());
    if (prem_session_poison(session) != PREM_OK ||
        prem_session_run(session, &request, trace, diag) != PREM_OK)
      end_by(diag, where);
    judge_outputs(session);
  }
  prem_trace_free(trace);
  prem_session_close(session);
}

static void vote(const prem_diag *diag) {
  const prem_problem *problem = prem_diag_at(diag, 0);
  if (own.votes == 0)
    snprintf(own.refusal, sizeof own.refusal, "%s: %s", problem->key, problem->reason);
  own.votes += strncmp(own.refusal, problem->key, strlen(problem->key)) == 0 ? 1 : -1;
}

/* @return whether the kernel takes the case; then it is right */
static bool try_case(const prem_registry *registry) {
  prem_diag *diag = command_diag();
  prem_schedule *schedule = NULL;
  limit_time();
  snprintf(own.place->at, sizeof own.place->at, "bind");
  if (!own.test->schedule)
    write_case();
  const prem_status status =
      own.test->schedule
          ? prem_schedule_load(own.test->schedule, NULL, &schedule, diag)
          : prem_schedule_load_text(own.test->name, own.place->text, &schedule, diag);
  if (status != PREM_OK)
    end_by(diag, "");
  own.schedule = schedule;
  own.accepts = own.test->schedule != NULL;
  bool is_taken = prem_schedule_bind(schedule, registry, diag) == PREM_OK;
  if (!is_taken && own.accepts)
    end_by(diag, "");
  if (!is_taken)
    vote(diag);
  else if (!own.test->schedule && schedule->tasks[0].tile_count > MAX_TILES)
    is_taken = false;
  else
    run_case(schedule, registry, diag);
  prem_schedule_free(schedule);
  prem_diag_free(diag);
  return is_taken;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void find(void *library, const char *name, void *out) {
  void *at = library ? dlsym(library, name) : NULL;
  if (!at)
    WRONG("%s", dlerror());
  memcpy(out, &at, sizeof at);
}

static void load(const char *path) {
  const prem_kernel *(*kernel)(void);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  find(library, "kernel_test_kernel", &kernel);
  find(library, "kernel_test_lane", &block.compute);
  find(library, "kernel_test_thread", &block.thread);
  find(library, "kernel_test_threads", &block.threads);
  find(library, "kernel_test_meet", &block.meet);
  find(library, "kernel_test_step", &block.step);
  *block.meet = meet;
  *block.step = step;
  own.kernel = kernel();
  own.tried = *own.kernel;
  own.tried.bind = try_bind;
  if (own.kernel->compute)
    own.tried.compute = try_compute;
  if (strcmp(own.kernel->name, own.test->name) != 0)
    WRONG("its name is \"%s\", and has to be that of its header", own.kernel->name);
  block.stacks = mmap(NULL, (size_t)MAX_LANES * STACK_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block.stacks == MAP_FAILED)
    WRONG("%s", prem_status_text(PREM_ERR_MEMORY));
}

/* The command's kernels, and in front of them, so that it is found first, this one. */
static prem_registry registry_with(const prem_kernel *kernel) {
  const prem_registry *builtin = prem_registry_builtin();
  const prem_kernel **kernels = calloc((size_t)builtin->count + 1, sizeof(void *));
  if (!kernels)
    WRONG("%s", prem_status_text(PREM_ERR_MEMORY));
  kernels[0] = kernel;
  for (int32_t i = 0; i < builtin->count; ++i)
    kernels[1 + i] = builtin->kernels[i];
  return (prem_registry){kernels, builtin->count + 1};
}

void kernel_test_run(const kernel_test *test, const char *library, kernel_test_place *place) {
  own.test = test;
  own.place = place;
  load(library);
  const prem_registry registry = registry_with(&own.tried);
  int64_t done = 0;
  for (int64_t i = 0; i < TRIES * test->cases && done < test->cases; ++i) {
    own.dice = place->seed = test->seed + (uint64_t)i;
    done += try_case(&registry);
  }
  place->shown = 0;
  if (done == 0)
    WRONG("it takes none of %" PRId64 " random cases, most often for this: %s. Give it what it "
          "needs by --arg and --tile, or by --schedule",
          TRIES * test->cases, own.refusal);
  printf("%s: ok, %" PRId64 " cases on the CPU and with %d to %d GPU lanes in %d orders\n",
         test->name, done, (int)lane_counts[0], MAX_LANES, ORDERS);
  end(COMMAND_DONE);
}
