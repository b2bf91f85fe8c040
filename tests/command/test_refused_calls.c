/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each call of the system fails once, of reading, saving, drawing, measuring and telling: what is
 * said then, and which files are left, is what it was, to the last letter (see
 * tests/common/golden.h).
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/wait.h>

#include "tests/common/delayed.h"
#include "tests/common/golden.h"
#include "tests/common/suite.h"
#include "ttprem/report.h"

/* ---- calls ---------------------------------------------------------------------------------- */

typedef enum call {
  OPEN,
  FOPEN,
  FDOPEN,
  STAT,
  FSTAT,
  ACCESS,
  READLINK,
  REALPATH,
  FCHMOD,
  LINKAT,
  RENAME,
  MKOSTEMP,
  FFLUSH,
  FCLOSE,
  FERROR,
  PIPE2,
  FORK,
  DUP2,
  READ,
  WAITPID,
  LSEEK,
  PREAD,
  TMPFILE,
  CALLS
} call;

static const char *const call_names[CALLS] = {
    "open",   "fopen",  "fdopen", "stat",     "fstat",  "access", "readlink", "realpath",
    "fchmod", "linkat", "rename", "mkostemp", "fflush", "fclose", "ferror",   "pipe2",
    "fork",   "dup2",   "read",   "waitpid",  "lseek",  "pread",  "tmpfile"};

static struct {
  uintptr_t from[16], to[16]; /* code whose calls count */
  int ranges;
  int count[CALLS]; /* since it was armed */
  call refused;
  int number, error; /* which one fails, and of what */
  bool armed, named; /* `named`: there are no files without a name */
} system_calls;

static int add_ranges(struct dl_phdr_info *info, size_t bytes, void *context) {
  (void)bytes;
  (void)context;
  const bool ours = !*info->dlpi_name || strstr(info->dlpi_name, "libttprem");
  for (int i = 0; ours && i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X &&
        system_calls.ranges < 16) {
      const uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
      system_calls.from[system_calls.ranges] = from;
      system_calls.to[system_calls.ranges++] = from + info->dlpi_phdr[i].p_memsz;
    }
  return 0;
}

static bool refuses(call which, const void *caller) {
  bool ours = false;
  for (int i = 0; system_calls.armed && i < system_calls.ranges; ++i)
    ours |= (uintptr_t)caller >= system_calls.from[i] && (uintptr_t)caller < system_calls.to[i];
  if (!ours || ++system_calls.count[which] != system_calls.number || which != system_calls.refused)
    return false;
  errno = system_calls.error;
  return true;
}

static void *next_of(const char *name) {
  void *next = dlsym(RTLD_NEXT, name);
  if (!next)
    abort();
  return next;
}

#define REFUSES(which)   refuses(which, __builtin_return_address(0))
#define VISIBLE          __attribute__((visibility("default")))
#define NEXT(type, name) type = (__typeof__(next))(uintptr_t)next_of(name)

VISIBLE int open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (REFUSES(OPEN))
    return -1;
  if (system_calls.armed && system_calls.named && (flags & O_TMPFILE) == O_TMPFILE) {
    errno = EOPNOTSUPP;
    return -1;
  }
  int NEXT((*next)(const char *, int, ...), "open");
  return next(path, flags, mode);
}

VISIBLE FILE *fopen(const char *restrict path, const char *restrict mode) {
  FILE *NEXT((*next)(const char *, const char *), "fopen");
  return REFUSES(FOPEN) ? NULL : next(path, mode);
}

VISIBLE FILE *fdopen(int descriptor, const char *mode) {
  FILE *NEXT((*next)(int, const char *), "fdopen");
  return REFUSES(FDOPEN) ? NULL : next(descriptor, mode);
}

VISIBLE int stat(const char *restrict path, struct stat *restrict facts) {
  int NEXT((*next)(const char *, struct stat *), "stat");
  return REFUSES(STAT) ? -1 : next(path, facts);
}

VISIBLE int fstat(int descriptor, struct stat *facts) {
  int NEXT((*next)(int, struct stat *), "fstat");
  return REFUSES(FSTAT) ? -1 : next(descriptor, facts);
}

VISIBLE int access(const char *path, int mode) {
  int NEXT((*next)(const char *, int), "access");
  return REFUSES(ACCESS) ? -1 : next(path, mode);
}

VISIBLE ssize_t readlink(const char *restrict path, char *restrict target, size_t bytes) {
  ssize_t NEXT((*next)(const char *, char *, size_t), "readlink");
  return REFUSES(READLINK) ? -1 : next(path, target, bytes);
}

VISIBLE char *realpath(const char *restrict path, char *restrict real) {
  char *NEXT((*next)(const char *, char *), "realpath");
  return REFUSES(REALPATH) ? NULL : next(path, real);
}

VISIBLE int fchmod(int descriptor, mode_t mode) {
  int NEXT((*next)(int, mode_t), "fchmod");
  return REFUSES(FCHMOD) ? -1 : next(descriptor, mode);
}

VISIBLE int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
  int NEXT((*next)(int, const char *, int, const char *, int), "linkat");
  return REFUSES(LINKAT) ? -1 : next(from_folder, from, to_folder, to, flags);
}

VISIBLE int rename(const char *from, const char *to) {
  int NEXT((*next)(const char *, const char *), "rename");
  return REFUSES(RENAME) ? -1 : next(from, to);
}

VISIBLE int mkostemp(char *path, int flags) {
  int NEXT((*next)(char *, int), "mkostemp");
  return REFUSES(MKOSTEMP) ? -1 : next(path, flags);
}

VISIBLE int fflush(FILE *file) {
  int NEXT((*next)(FILE *), "fflush");
  return REFUSES(FFLUSH) ? EOF : next(file);
}

VISIBLE int fclose(FILE *file) {
  int NEXT((*next)(FILE *), "fclose");
  const bool fails = REFUSES(FCLOSE);
  const int error = errno, result = next(file); /* it is closed all the same */
  if (fails)
    errno = error;
  return fails ? EOF : result;
}

#undef ferror
VISIBLE int ferror(FILE *file) {
  int NEXT((*next)(FILE *), "ferror");
  return REFUSES(FERROR) ? 1 : next(file);
}

VISIBLE int pipe2(int ends[2], int flags) {
  int NEXT((*next)(int *, int), "pipe2");
  return REFUSES(PIPE2) ? -1 : next(ends, flags);
}

VISIBLE pid_t fork(void) {
  pid_t NEXT((*next)(void), "fork");
  return REFUSES(FORK) ? -1 : next();
}

VISIBLE int dup2(int from, int to) {
  int NEXT((*next)(int, int), "dup2");
  return REFUSES(DUP2) ? -1 : next(from, to);
}

VISIBLE ssize_t read(int descriptor, void *bytes, size_t count) {
  ssize_t NEXT((*next)(int, void *, size_t), "read");
  return REFUSES(READ) ? -1 : next(descriptor, bytes, count);
}

VISIBLE pid_t waitpid(pid_t process, int *status, int options) {
  pid_t NEXT((*next)(pid_t, int *, int), "waitpid");
  return REFUSES(WAITPID) ? -1 : next(process, status, options);
}

VISIBLE off_t lseek(int descriptor, off_t offset, int from) {
  off_t NEXT((*next)(int, off_t, int), "lseek");
  return REFUSES(LSEEK) ? -1 : next(descriptor, offset, from);
}

VISIBLE ssize_t pread(int descriptor, void *bytes, size_t count, off_t offset) {
  ssize_t NEXT((*next)(int, void *, size_t, off_t), "pread");
  return REFUSES(PREAD) ? -1 : next(descriptor, bytes, count, offset);
}

VISIBLE FILE *tmpfile(void) {
  FILE *NEXT((*next)(void), "tmpfile");
  return REFUSES(TMPFILE) ? NULL : next();
}

/* ---- what is tried -------------------------------------------------------------------------- */

static prem_schedule *schedule; /* with a plan */
static prem_result *result;
static prem_findings *findings;

static prem_status load(prem_diag *diag) {
  OWNED(prem_schedule) *read = NULL;
  prem_status status = prem_schedule_load("t.cfg", NULL, &read, diag);
  if (status == PREM_OK)
    status = prem_schedule_bind(read, prem_registry_builtin(), diag);
  return status;
}

static prem_status save_new(prem_diag *diag) {
  return prem_schedule_save(schedule, "out", diag);
}

static prem_status save_over(prem_diag *diag) {
  return prem_schedule_save(schedule, "old", diag);
}

static prem_status save_through_links(prem_diag *diag) {
  return prem_schedule_save(schedule, "link", diag);
}

static prem_status draw(prem_diag *diag) {
  return prem_plan_draw(schedule, "out.svg", NULL, diag);
}

static prem_status write_result(prem_diag *diag) {
  return prem_result_write(result, schedule, "c", "out.json", diag);
}

static prem_status write_findings(prem_diag *diag) {
  const prem_machine machine = {0};
  return prem_findings_write(findings, &machine, "c", "out", diag);
}

static prem_status read_findings(prem_diag *diag) {
  OWNED(prem_findings) *read = NULL;
  const prem_status status = prem_findings_read("f.json", &read, diag);
  return status;
}

static prem_status write_page(prem_diag *diag) {
  OWNED(prem_report) *report = prem_report_new();
  prem_status status = prem_report_add(report, "f.json", diag);
  if (status == PREM_OK)
    status = prem_report_add(report, "s.json", diag);
  if (status == PREM_OK)
    status = prem_report_write(report, "out", diag);
  return status;
}

static prem_status convert(prem_diag *diag) {
  const prem_trace_options options = {.format = PREM_TRACE_PERFETTO, .run = -1, .late_ns = 1};
  system_calls.armed = false;
  FILE *in = fopen("t.csv", "r"), *out = fopen("/dev/null", "w");
  system_calls.armed = true;
  const prem_status status = prem_trace_convert(in, "t.csv", &options, out, diag);
  system_calls.armed = false;
  fclose(in);
  fclose(out);
  return status;
}

static prem_status use_pictures(prem_diag *diag) {
  OWNED(prem_schedule) *read = NULL;
  OWNED(prem_session) *session = NULL;
  prem_status status = prem_schedule_load("i.cfg", NULL, &read, diag);
  if (status == PREM_OK)
    status = prem_prepare(read, prem_registry_builtin(), NULL, NULL, diag);
  if (status == PREM_OK)
    status = prem_session_open(&prem_backend_sim, read, &session, diag);
  if (status == PREM_OK)
    status = prem_session_save(session, false, diag);
  return status;
}

static prem_status compare_paths(prem_diag *diag) {
  static const char *const paths[] = {"old",     "sub/../old", "link",    "out",
                                      "dangles", "nothing",    "none/old"};
  char is[16] = "";
  for (int p = 0; p < 6; ++p) {
    is[2 * p] = prem_output_is_here(paths[p]) ? 'h' : '-';
    is[2 * p + 1] = prem_output_same(paths[p], paths[p + 1]) ? 's' : '-';
  }
  prem_diag_add(diag, PREM_WARNING, 0, (prem_place){0}, "", "%s", is);
  return PREM_OK;
}

static const struct {
  const char *name;
  prem_status (*attempt)(prem_diag *diag);
  int most;   /* calls of a kind that fail */
  bool alike; /* whether there are files without a name or not */
} attempts[] = {{"load", load, 8, true},
                {"save", save_new, 8, false},
                {"save over", save_over, 8, false},
                {"save through links", save_through_links, 8, false},
                {"draw", draw, 8, true},
                {"write result", write_result, 4, true},
                {"write findings", write_findings, 4, true},
                {"read findings", read_findings, 8, true},
                {"page", write_page, 5, true},
                {"convert", convert, 4, true},
                {"pictures", use_pictures, 12, true},
                {"paths", compare_paths, 40, true}};

/* ---- telling -------------------------------------------------------------------------------- */

static char folder[] = "/tmp/ttprem-refused-XXXXXX";

static int is_told(const struct dirent *entry) {
  return entry->d_name[0] != '.';
}

/* Names that are drawn end alike. */
static void tell_files(FILE *file) {
  struct dirent **entries = NULL;
  const int count = scandir(".", &entries, is_told, alphasort);
  for (int i = 0; i < count; ++i) {
    struct stat facts;
    const char *name = entries[i]->d_name;
    if (stat(name, &facts) == 0 && strncmp(name, "out", 3) == 0)
      fprintf(file, " %.*s%s %o", (int)strcspn(name, "."), name,
              strstr(name, ".json")  ? ".json"
              : strstr(name, ".csv") ? ".csv"
              : strchr(name, '.')    ? ".."
                                     : "",
              (unsigned)facts.st_mode & 07777);
    free(entries[i]);
  }
  free(entries);
  fprintf(file, "; %d files\n", count);
}

/* Without the folder's name, which is drawn. */
static void tell_problems(FILE *file, const prem_diag *diag) {
  for (size_t i = 0; i < prem_diag_count(diag); ++i) {
    const prem_problem *problem = prem_diag_at(diag, i);
    const char *at = strstr(problem->reason, folder);
    const int before = at ? (int)(at - problem->reason) : (int)strlen(problem->reason);
    const char *reason =
        text("%.*s%s%s", before, problem->reason, at ? "HERE" : "", at ? at + strlen(folder) : "");
    fprintf(file, "; %s:%d: %s: %s", problem->file, problem->line, problem->key, reason);
    if (problem->severity != PREM_ERROR)
      fputs(problem->severity == PREM_WARNING ? " (warning)" : " (note)", file);
    if (problem->code != 0)
      fprintf(file, " (E%03d)", problem->code);
  }
}

static void write_words(const char *name, const char *words) {
  FILE *file = fopen(name, "w");
  ck_assert_ptr_nonnull(file);
  fputs(words, file);
  fclose(file);
}

/* No process is started for it: that takes longest. */
static void clean(void) {
  struct dirent **entries = NULL;
  const int count = scandir(".", &entries, is_told, alphasort);
  for (int i = 0; i < count; ++i) {
    const char *name = entries[i]->d_name;
    if (strncmp(name, "out", 3) == 0 || strncmp(name, "y.pgm", 5) == 0 ||
        strncmp(name, "old", 3) == 0)
      ck_assert_int_eq(unlink(name), 0);
    free(entries[i]);
  }
  free(entries);
  write_words("old", "old");
  ck_assert_int_eq(chmod("old", 0640), 0);
}

static void try_it(FILE *file, size_t which, call refused, int number, int error) {
  OWNED(prem_diag) *diag = prem_diag_new();
  clean();
  memset(system_calls.count, 0, sizeof system_calls.count);
  system_calls.refused = refused;
  system_calls.number = number;
  system_calls.error = error;
  system_calls.armed = true;
  const prem_status status = attempts[which].attempt(diag);
  system_calls.armed = false;
  if (number > 0)
    fprintf(file, "%s, %s %d, %s: %s", attempts[which].name, call_names[refused], number,
            strerror(error), prem_status_text(status));
  else
    fprintf(file, "%s: %s", attempts[which].name, prem_status_text(status));
  tell_problems(file, diag);
  tell_files(file);
}

/* How many of its calls fail; gnuplot is waited for as often as it takes. */
static int most_of(size_t which, call of, int count) {
  const int most = of == WAITPID ? 1 : attempts[which].most;
  return count < most ? count : most;
}

static void tell_attempt(FILE *file, size_t which) {
  int counts[CALLS];
  try_it(file, which, CALLS, 0, 0);
  memcpy(counts, system_calls.count, sizeof counts);
  for (int c = 0; c < CALLS; ++c)
    for (int number = 1; number <= most_of(which, (call)c, counts[c]); ++number) {
      try_it(file, which, (call)c, number, EIO);
      if (c == READ || c == WAITPID || c == LINKAT || c == STAT)
        try_it(file, which, (call)c, number, c == LINKAT ? EEXIST : c < READ ? ENOENT : EINTR);
    }
}

static void make_inputs(void) {
  write_words("t.cfg", "version = 1; name = \"t\"; platform: { blocks = 2; };\n"
                       "@include \"tasks.cfg\"\nprofiles: { here = \"p.cfg\"; };\n"
                       "arrays = ( { name = \"x\"; type = \"u8\"; shape = [ 4 ]; file = \"x.raw\"; "
                       "} );\n");
  write_words(
      "tasks.cfg",
      "tasks = ( { name = \"a\"; kernel = \"noop\"; blocks = [ 0 ]; tiles = 2;\n"
      "  prefetch: { wcet_ns = 700L; }; compute: { wcet_ns = 900L; }; },\n"
      "  { name = \"b\"; kernel = \"noop\"; blocks = [ 1 ]; tiles = 1; profile = \"here\";\n"
      "  compute: { wcet_ns = 300L; }; writeback: { wcet_ns = 200L; };\n"
      "  after = ( { task = \"a\"; } ); } );\n");
  write_words("p.cfg", "version = 1; machine = \"made up\"; quantile = 0.9; dispatch_ns = 40L;\n"
                       "tasks = ( { name = \"b\"; compute: { wcet_ns = 1200L; }; } );\n");
  write_words("x.raw", "abcd");
  write_words("x.pgm", "P5 4 2 255\nabcdefgh");
  write_words("i.cfg",
              "version = 1; name = \"i\"; platform: { blocks = 1; };\n"
              "arrays = ( { name = \"x\"; type = \"u8\"; shape = [ 2, 4 ]; file = \"x.pgm\"; },\n"
              "  { name = \"z\"; type = \"u8\"; shape = [ 2, 4 ]; file = \"x.pgm\";\n"
              "    save = \"y.pgm\"; } );\n"
              "tasks = ( { name = \"a\"; kernel = \"noop\"; blocks = [ 0 ]; tiles = 1;\n"
              "  compute: { wcet_ns = 300L; }; } );\n");
  ck_assert_int_eq(mkdir("sub", 0755), 0);
  ck_assert_int_eq(symlink("sub/link", "link"), 0);
  ck_assert_int_eq(symlink("../out", "sub/link"), 0);
  ck_assert_int_eq(symlink("nothing", "dangles"), 0);
}

static void measure(void) {
  static const prem_compare_options options = {.modes = {PREM_MODE_TT},
                                               .mode_count = 1,
                                               .sampling.scenario = PREM_RELAUNCH,
                                               .sampling.samples = 4,
                                               .sampling.launches = 2,
                                               .sampling.max_records = 100000};
  const prem_backend delayed = delayed_backend();
  prem_session *session = NULL;
  delayed_seed = 3;
  ck_assert_int_eq(prem_session_open(&delayed, schedule, &session, NULL), PREM_OK);
  ck_assert_int_eq(prem_compare(session, schedule, &delayed, &options, &result, NULL), PREM_OK);
  prem_session_close(session);
  ck_assert_int_eq(prem_result_write(result, schedule, "", "s.json", NULL), PREM_OK);
  FILE *csv = fopen("t.csv", "w");
  ck_assert_int_eq(prem_trace_write_csv(result->rows[0].example, schedule, 0, true, csv), PREM_OK);
  fclose(csv);
}

static void make_findings(void) {
  const prem_machine machine = {0};
  findings = prem_findings_new("n", "N", "Is there any?");
  prem_table *table = prem_findings_table(findings, "t", "T", "somebody");
  prem_table_column(table, "x", "");
  prem_table_column(table, "y", "ns");
  prem_table_add_int(table, 5);
  prem_table_add_int(table, 7);
  prem_findings_chart(findings, &(prem_chart){.title = "C", .table = "t", .x = "x", .y = "y"});
  prem_findings_verdict(findings, "There is.");
  ck_assert_int_eq(prem_findings_write(findings, &machine, "", "f.json", NULL), PREM_OK);
}

static void set_up(void) {
  golden_make_folder();
  ck_assert_ptr_nonnull(mkdtemp(folder));
  ck_assert_int_eq(chdir(folder), 0);
  umask(022);
  dl_iterate_phdr(add_ranges, NULL);
  make_inputs();
  ck_assert_int_eq(prem_schedule_load("t.cfg", NULL, &schedule, NULL), PREM_OK);
  ck_assert_int_eq(prem_prepare(schedule, prem_registry_builtin(), NULL, NULL, NULL), PREM_OK);
  measure();
  make_findings();
}

static void tear_down(void) {
  prem_findings_free(findings);
  prem_result_free(result);
  prem_schedule_free(schedule);
  ck_assert_int_eq(chdir("/"), 0);
  ck_assert_int_eq(system(text("rm -r %s", folder)), 0);
  golden_remove_folder();
}

static void tell_all(bool named, const char *name) {
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  system_calls.named = named;
  for (size_t i = 0; i < sizeof attempts / sizeof *attempts; ++i)
    if (named || !attempts[i].alike)
      tell_attempt(file, i);
  fclose(file);
  golden_judge(name, found);
}

GROUP("all", .set_up = set_up, .tear_down = tear_down);

TEST(with_names) {
  tell_all(true, "refused_calls_named.txt");
}

/* Where the file system has files without a name. */
TEST(without_names) {
  const int descriptor = open(".", O_TMPFILE | O_RDWR, 0600);
  if (descriptor < 0)
    return;
  close(descriptor);
  tell_all(false, "refused_calls.txt");
}
