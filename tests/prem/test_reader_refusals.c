/* SPDX-License-Identifier: Apache-2.0 */
/* What the reader refuses: every case with the whole message, and with its legal twin. */
#include "tests/common/cases.h"
#include "tests/common/folder.h"
#include "tests/common/schedule_text.h"
#include "tests/common/suite.h"

#include <sys/stat.h>

/* A file without an error; the cases change one piece of it. */
static const char *const base =
    "version = 1;\n"
    "name = \"base\";\n"
    "platform: { blocks = 4;\n"
    "  buffers = 1;  scratch_bytes = 4096L;\n"
    "  resources = ( { name = \"memory\"; capacity = 2; }, { name = \"bus\"; capacity = 1; } );\n"
    "};\n"
    "arrays = (\n"
    "  { name = \"x\"; type = \"f32\"; shape = [ 8, 8 ]; },\n"
    "  { name = \"y\"; type = \"f32\"; shape = [ 8, 8 ]; }\n"
    ");\n"
    "tasks = (\n"
    "  { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 4; period_ns = 1000L;\n"
    "    prefetch: { wcet_ns = 10L; demand: { memory = 1; }; };\n"
    "    compute: { wcet_ns = 20L; }; },\n"
    "  { name = \"b\"; kernel = \"none\"; blocks = 2; tiles = 2; period_ns = 1000L;\n"
    "    writeback: { wcet_ns = 5L; };\n"
    "    after = ( { task = \"a\"; lag_ns = 0L; } ); },\n"
    "  { name = \"k\"; kernel = \"conv2d\"; blocks = \"0-2\"; tile = [ 4, 4 ]; period_ns = 1000L;\n"
    "    args: { coefficients = [ 1, 2, 3, 4, 5, 6, 7, 8, 9 ]; };\n"
    "    arrays: { in = \"x\"; out = \"y\"; }; }\n"
    ");\n"
    "policy: { use = \"auto\"; warmup_tiles = 0; };\n"
    "measure: { runs = 5; modes = [ \"free\", \"tt\" ]; };\n"
    "profiles: { here = \"absent.cfg\"; };\n"
    "plan: { hyperperiod_ns = 1000L;\n"
    "  runs = ( { task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\" ]; start_ns = 0L;\n"
    "             repeat = 4; step_ns = 50L; } );\n"
    "  starts = ( { task = \"b\"; phase = \"writeback\"; block = 0; start_ns = [ 500L ]; } );\n"
    "};\n";

#define LONG_63 "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk"

static const char *replaced(const char *piece, const char *by) {
  const char *at = strstr(base, piece);
  ck_assert_msg(at, "'%s' is not in the base", piece);
  return text("%.*s%s%s", (int)(at - base), base, by, at + strlen(piece));
}

/* Errors of a text, one a line, without the file's name. */
static const char *errors_of(const char *source) {
  static const char path[] = "t.cfg";
  static char all[16384];
  OWNED(prem_schedule) *schedule = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_status status = prem_schedule_load_text(path, source, &schedule, diag);
  ck_assert_int_eq(status == PREM_OK, prem_diag_errors(diag) == 0);
  ck_assert_int_eq(status == PREM_OK, schedule != NULL);
  all[0] = '\0';
  for (size_t i = 0; i < prem_diag_count(diag); ++i) {
    char line[2048];
    prem_problem_format(prem_diag_at(diag, i), line, sizeof line);
    ck_assert_int_eq(strncmp(line, path, strlen(path)), 0);
    strcat(all, line + strlen(path) + 1);
    strcat(all, i + 1 < prem_diag_count(diag) ? "\n" : "");
  }
  return all;
}

#define HEAD "version = 1; name = \"n\"; platform: { blocks = 2; };\n"
#define A    "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; "
#define B    "{ name = \"b\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; "
#define C    "compute: { wcet_ns = 1L; }; "

GROUP("other files");

TEST(files_are_refused_and_their_twins_are_legal) {
  cases_judge("prem/file_cases.txt");
}

GROUP("one piece wrong");

TEST(all_problems_in_one_go) {
  const char *source =
      "version = 2;\n"
      "platform: { blocks = 2; guard_ns = 5; color = \"red\"; };\n"
      "tasks = (\n"
      "  { name = \"a\"; kernel = \"none\"; blocks = [ 9 ]; tiles = 0;\n"
      "    prefetch: { wcet_ns = 0L; }; period_ns = 0L; },\n"
      "  { name = \"a\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1;\n"
      "    compute: { wcet_ns = 1.5; }; after = ( { task = \"z\"; } ); }\n"
      ");\n"
      "plan: { runs = ( { task = \"q\"; phase = \"compute\"; start_ns = 0; } ); };\n";
  ck_assert_str_eq(
      errors_of(source),
      "1: E004: version: 2 is newer than the 1 that ttprem 0.1.0 reads\n"
      " E003: name: missing; give a string\n"
      "2: E005: platform.color: unknown key 'color'\n"
      "2: E007: platform.guard_ns: 5 lacks the suffix of a 64-bit value; write 5L\n"
      "4: E027: tasks.a.blocks: block 9 does not exist; the platform has blocks 0 to 1\n"
      "4: E017: tasks.a.tiles: is 0, must be at least 1\n"
      "5: E016: tasks.a.prefetch.wcet_ns: is 0 ns, must be above 0 (leave out a phase that does "
      "not exist)\n"
      "5: E014: tasks.a.period_ns: a period of 0 ns; it must be above 0 (leave it out for a "
      "one-shot task)\n"
      "7: E008: tasks.a.compute.wcet_ns: is a float, must be an integer number of nanoseconds such "
      "as 1500L, or a string such as \"1.5us\"\n"
      "6: E006: tasks: two tasks are called 'a'; the other one is in line 4\n"
      "7: E024: tasks.a.after[0].task: there is no task 'z'\n"
      "9: E003: plan.hyperperiod_ns: missing; give the least common multiple of the periods, or "
      "the plan's length\n"
      "9: E024: plan.runs[0].task: there is no task 'q' in `tasks`");
}

TEST(zero_byte_is_refused) {
  char path[] = "/tmp/ttprem-test-XXXXXX.cfg";
  int file = mkstemps(path, 4);
  ck_assert_int_eq(write(file, "version = 1;\n\0", 14), 14);
  close(file);
  prem_schedule *schedule = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  ck_assert_int_eq(prem_schedule_load_lenient(path, NULL, &schedule, diag), PREM_ERR_PARSE);
  unlink(path);
  ck_assert_ptr_null(schedule);
  ck_assert_str_eq(prem_diag_at(diag, 0)->reason, "a zero byte; a schedule file is text");
  ck_assert_int_eq(prem_diag_at(diag, 0)->line, 2);
}

TEST(unreadable_files) {
  static const char *const paths[] = {"/tmp/ttprem-absent.cfg", "/tmp"};
  static const char *const reasons[] = {"cannot be read: No such file or directory",
                                        "cannot be read: it is a directory"};
  for (int i = 0; i < 2; ++i) {
    prem_schedule *schedule = NULL;
    OWNED(prem_diag) *diag = prem_diag_new();
    ck_assert_int_eq(prem_schedule_load(paths[i], NULL, &schedule, diag), PREM_ERR_IO);
    ck_assert_ptr_null(schedule);
    ck_assert_str_eq(prem_diag_at(diag, 0)->reason, reasons[i]);
    ck_assert_str_eq(prem_diag_at(diag, 0)->file, paths[i]);
  }
}

/* ---- several files ----- */

/* Errors of a file in the folder, whose name is left out of them. */
static const char *errors_in_folder(const char *path) {
  static char all[16384];
  OWNED(prem_schedule) *schedule = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_status status = prem_schedule_load(path, NULL, &schedule, diag);
  ck_assert_int_eq(status == PREM_OK, prem_diag_errors(diag) == 0);
  all[0] = '\0';
  for (size_t i = 0; i < prem_diag_count(diag); ++i) {
    char line[2048];
    prem_problem_format(prem_diag_at(diag, i), line, sizeof line);
    const size_t skipped = strlen(folder) + 1;
    strcat(all, strncmp(line, folder, strlen(folder)) == 0 ? line + skipped : line);
    strcat(all, i + 1 < prem_diag_count(diag) ? "\n" : "");
  }
  return all;
}

GROUP("limits");

/* One piece more than the limit, behind `head`: nothing is said of each of them. */
static void assert_too_many(const char *head, const char *piece, const char *error) {
  FREED char *source = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&source, &bytes);
  fputs(head, file);
  for (int i = 0; i <= PREM_MAX_TASKS; ++i)
    fprintf(file, "%s%s", i ? "," : "", piece);
  fputs(" );\n", file);
  fclose(file);
  ck_assert_str_eq(errors_of(source), error);
}

/* Before libconfig makes a tree of them that takes some twenty times as much memory: the reader
 * would miss names and a platform. */
TEST(too_many_tasks_are_refused_by_the_scanner) {
  assert_too_many("version = 1; name = \"t\";\ntasks = (", "{ prefetch: { wcet_ns = 1L; }; }",
                  "2: E020: tasks: 65536 tasks, the limit is 65535");
}

TEST(too_many_arrays_are_refused) {
  assert_too_many(HEAD "tasks = ( " A C "} );\narrays = ( ", "{ }",
                  "3: E020: arrays: 65536 arrays, the limit is 65535");
}

TEST(as_many_chains_as_the_limit) {
  for (int count = PREM_MAX_CHAINS; count <= PREM_MAX_CHAINS + 1; ++count) {
    FREED char *source = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&source, &bytes);
    fputs(HEAD "tasks = ( " A C "}, " B C " after = ( { task = \"a\"; } ); } );\n"
               "measure: { chains = (",
          file);
    for (int i = 0; i < count; ++i)
      fprintf(file, "%s{ name = \"c%d\"; tasks = [ \"a\", \"b\" ]; }", i ? "," : "", i);
    fputs("); };\n", file);
    fclose(file);
    ck_assert_str_eq(errors_of(source), count <= PREM_MAX_CHAINS
                                            ? ""
                                            : "3: E020: measure.chains: 257 chains, the limit "
                                              "is 256");
  }
}

/* A task's place in a cycle of any number of them, with a long name. */
static const char *cycle_name(int i) {
  return text("task-%d-in-a-cycle-with-a-name-of-40-byte", i);
}

/* Names as long as there is room for one more and the last: seven of 40 bytes, with what is
 * between.
 */
TEST(long_cycles_are_cut_short) {
  enum { MOST = 10, SHOWN = 7 };
  for (int count = 1; count <= MOST; ++count) {
    const char *tasks = "", *shown = "";
    for (int i = 0; i < count; ++i)
      tasks = text("%s%s{ name = \"%s\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; " C
                   " after = ( { task = \"%s\"; } ); }\n",
                   tasks, i ? "," : "", cycle_name(i), cycle_name((i + 1) % count));
    for (int i = 0; i < count && i < SHOWN; ++i)
      shown = text("%s'%s' -> ", shown, cycle_name(count - 1 - i));
    const char *last = cycle_name(count - 1);
    ck_assert_str_eq(errors_of(text(HEAD "tasks = ( %s );", tasks)),
                     text("%d: E026: tasks.%s.after: a cycle of precedence: %s%s'%s'; none of "
                          "them could ever start",
                          count + 1, last, shown, count > SHOWN ? "... -> " : "", last));
  }
}

GROUP("several files", .set_up = make_folder, .tear_down = remove_folder);

TEST(include_loops) {
  put("task.cfg", "tasks = ( " A C "} );\n");
  const char *good = put("good.cfg", HEAD "@include \"task.cfg\"\n");
  ck_assert_str_eq(errors_in_folder(good), "");
  const char *self = put("self.cfg", HEAD "  @include \"self.cfg\"\n");
  ck_assert_str_eq(errors_in_folder(self), "self.cfg:2: E011: @include: \"self.cfg\": it includes "
                                           "itself, in the end; take this line out");
  put("one.cfg", "@include \"two.cfg\"\n");
  put("two.cfg", "@include \"one.cfg\"\n");
  const char *loop = put("loop.cfg", HEAD "@include \"one.cfg\"\n");
  ck_assert_str_eq(
      errors_in_folder(loop),
      "two.cfg:1: E011: @include: \"one.cfg\": it includes itself, in the end; take this line out");
}

TEST(include_depth) {
  for (int i = 1; i <= 11; ++i)
    put(text("%d.cfg", i), i < 10 ? text("@include \"%d.cfg\"\n", i + 1) : "tasks = ( " A C "} );");
  const char *ten = put("ten.cfg", HEAD "@include \"1.cfg\"\n");
  ck_assert_str_eq(errors_in_folder(ten), "");
  put("10.cfg", "@include \"11.cfg\"\n");
  ck_assert_str_eq(errors_in_folder(ten),
                   "10.cfg:1: E011: @include: \"11.cfg\": includes go deeper "
                   "than the limit of 10");
}

/* One file that is included often is read often. */
TEST(include_count) {
  static char often[300 * 32] = HEAD;
  put("empty.cfg", "# nothing\n");
  for (int i = 0; i < 256; ++i)
    strcat(often, "@include \"empty.cfg\"\n");
  const char *most = put("most.cfg", text("%stasks = ( " A C "} );\n", often));
  ck_assert_str_eq(errors_in_folder(most), "");
  put("more.cfg", "@include \"empty.cfg\"\n");
  const char *many = put("many.cfg", text("%s@include \"more.cfg\"\n", often));
  ck_assert_ptr_nonnull(strstr(errors_in_folder(many), "E011: @include: \"more.cfg\": more than "
                                                       "the limit of 256 includes in all"));
}

TEST(include_bytes) {
  static char comment[(1 << 20) + 1];
  for (int i = 0; i < 1 << 20; ++i)
    comment[i] = i % 64 == 63 ? '\n' : '#';
  put("million.cfg", comment);
  static char often[20 * 32] = HEAD;
  for (int i = 0; i < 16; ++i)
    strcat(often, "@include \"million.cfg\"\n");
  const char *most = put("sixteen.cfg", text("%stasks = ( " A C "} );\n", often));
  ck_assert_str_eq(errors_in_folder(most), "");
  put("byte.cfg", "\n");
  const char *large = put("large.cfg", text("%s@include \"byte.cfg\"\n", often));
  ck_assert_ptr_nonnull(strstr(errors_in_folder(large),
                               "E011: @include: \"byte.cfg\": all included "
                               "text is above the limit of 16 MiB"));
}

TEST(errors_name_the_included_file) {
  put("tasks.cfg", "\n\ntasks = ( " A "compute: { wcet_ns = 5000000000; }; copies = 0; } );");
  const char *path = put("main.cfg", HEAD "@include \"tasks.cfg\"\n");
  ck_assert_str_eq(errors_in_folder(path),
                   "tasks.cfg:3: E017: tasks.a.copies: is 0, must be at least 1\n"
                   "tasks.cfg:3: E007: tasks.a.compute.wcet_ns: 5000000000 lacks the suffix of a "
                   "64-bit value; write 5000000000L");
  put("tasks.cfg", "\ntasks = = 1;");
  ck_assert_str_eq(errors_in_folder(path), "tasks.cfg:2: E002: syntax error near '='");
}

#define WITH_PROFILE                                                                               \
  HEAD "tasks = ( " A "profile = \"p\"; compute: { }; } );\nprofiles: { p = \"p.cfg\"; };\n"

TEST(broken_profiles) {
  static const struct {
    const char *content, *message;
  } cases[] = {
      {"version = 1; tasks = ( { name = \"a\"; compute: { wcet_ns = 5L; }; } );", ""},
      {"version = 1; tasks = ( { name = \"other\"; compute: { wcet_ns = 5L; }; } );", ""},
      {"version = 1; tasks = ( { name = \"a\"; compute: { wcet_ns = 5; }; } );",
       "p.cfg:1: E007: tasks.a.compute.wcet_ns: 5 lacks the suffix of a 64-bit value; write 5L"},
      {"version = 1;\ntasks = ( { name = \"a\"; compute: { wcet_ns = 5000000000; }; } );",
       "p.cfg:2: E007: tasks.a.compute.wcet_ns: 5000000000 lacks the suffix of a 64-bit value; "
       "write 5000000000L"},
      {"version = 1; tasks = ( { name = \"a\"; compute: { wcet_ns = 5L; busy_ns = 6L; }; } );",
       "p.cfg:1: E023: tasks.a.compute.busy_ns: 6 ns is above the phase's wcet_ns of 5 ns"},
      {"version = 1; tasks = ( { name = \"a\"; compute: { wcet = 5L; }; } );",
       "p.cfg:1: E005: tasks.a.compute.wcet: unknown key 'wcet', did you mean 'wcet_ns'?"},
      {"version = 3; tasks = ( );",
       "p.cfg:1: E004: version: is newer than the 1 that ttprem 0.1.0 reads"},
      {"tasks = ( );", "p.cfg: E003: version: missing; write version = 1;"},
      {"version = 1; tasks = (", "p.cfg:1: E002: syntax error near 'end of file'"},
      {"version = 1;", "p.cfg: E003: tasks: missing; give a list ( )"},
  };
  const char *path = put("main.cfg", WITH_PROFILE);
  ck_assert_str_eq(errors_in_folder(path), ""); /* a profile may be missing */
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    put("p.cfg", cases[i].content);
    ck_assert_str_eq(errors_in_folder(path), cases[i].message);
  }
  ck_assert_int_eq(unlink(text("%s/p.cfg", folder)), 0);
  ck_assert_int_eq(mkdir(text("%s/p.cfg", folder), 0700), 0);
  ck_assert_str_eq(errors_in_folder(path), text("main.cfg:3: E024: profiles.p: cannot read "
                                                "'%s/p.cfg': it is no regular file",
                                                folder));
}

/* Each time is the longest that a profile in use gives, the bandwidth the least; a profile may give
 * none. */
TEST(of_several_profiles_the_worst_counts) {
  static const char *const keys[] = {"dispatch_ns", "precedence_ns", "job_turnaround_ns",
                                     "job_prefetch_ns", "bandwidth_bytes_per_s"};
  static const int64_t given[][2] = {{0, 7}, {7, 0}, {7, 9}, {9, 7}, {8, 8}, {0, 0}};
  char path[256]; /* a text is good for 64 more only */
  strcpy(path, put("main.cfg", HEAD "tasks = ( " A "profile = \"p\"; compute: { }; },\n" B
                                    "profile = \"q\"; compute: { }; } );\n"
                                    "profiles: { p = \"p.cfg\"; q = \"q.cfg\"; };\n"));
  for (size_t i = 0; i < sizeof given / sizeof *given; ++i) {
    int64_t most = 0, least = 0;
    for (int p = 0; p < 2; ++p) {
      const int64_t value = given[i][p];
      const char *facts = "";
      for (int k = 0; k < 5 && value; ++k)
        facts = text("%s %s = %dL;", facts, keys[k], (int)value + k);
      put(p ? "q.cfg" : "p.cfg",
          text("version = 1;%s tasks = ( { name = \"%s\"; compute: { wcet_ns = 5L; }; } );\n",
               facts, p ? "b" : "a"));
      most = value > most ? value : most;
      least = value && (!least || value < least) ? value : least;
    }
    OWNED(prem_schedule) *schedule = NULL;
    ck_assert_str_eq(errors_in_folder(path), "");
    ck_assert_int_eq(prem_schedule_load(path, NULL, &schedule, NULL), PREM_OK);
    ck_assert_int_eq(schedule->dispatch_ns, most);
    ck_assert_int_eq(schedule->precedence_ns, most ? most + 1 : 0);
    ck_assert_int_eq(schedule->job_turnaround_ns, most ? most + 2 : 0);
    ck_assert_int_eq(schedule->job_prefetch_ns, most ? most + 3 : 0);
    ck_assert_int_eq(schedule->bandwidth_bytes_per_s, least ? least + 4 : 0);
  }
}

TEST(unknown_profile_of_the_caller) {
  const char *path = put("main.cfg", WITH_PROFILE);
  OWNED(prem_schedule) *schedule = NULL;
  prem_diag *diag = prem_diag_new();
  ck_assert_int_eq(prem_schedule_load(path, "q", &schedule, diag), PREM_ERR_PARSE);
  ck_assert_int_eq(prem_diag_at(diag, 0)->code, 24);
  ck_assert_str_eq(
      prem_diag_at(diag, 0)->reason,
      "there is no profile 'q'; the file has: p; add one as profiles: { NAME = \"FILE\"; };");
  prem_diag_free(diag);
  diag = prem_diag_new();
  ck_assert_int_eq(prem_schedule_load(path, "p", &schedule, diag), PREM_OK);
  prem_diag_free(diag);
}

GROUP("one piece wrong");

TEST(base_has_no_error) {
  ck_assert_str_eq(errors_of(base), "");
}

/* Of a line of refusals.txt, in which \n ends a line of the file, and \\ is a backslash. */
static void take_line(const char *line, char *out) {
  for (; *line && *line != '\n'; ++line)
    if (*line != '\\')
      *out++ = *line;
    else
      *out++ = *++line == 'n' ? '\n' : '\\';
  *out = '\0';
}

/* refusals.txt has for each case a piece of the base (@), what it becomes in the wrong file (-) and
 * in its legal twin (+), and each error of the wrong one (>), without the file's name. */
TEST(each_piece_is_refused_and_its_twin_is_legal) {
  FILE *cases = fopen(SOURCE_DIR "/tests/prem/refusals.txt", "r");
  ck_assert_ptr_nonnull(cases);
  char line[2048], piece[2048] = "", wrong[2048] = "", right[2048] = "", errors[4096] = "";
  int count = 0;
  while (fgets(line, sizeof line, cases)) {
    const char kind = *line;
    char *const out = kind == '@' ? piece : kind == '-' ? wrong : right;
    if (kind == '@' || kind == '-' || kind == '+')
      take_line(line + 2, out);
    if (kind == '>')
      take_line(line + 2, errors + strlen(errors));
    if (kind != '\n')
      continue;
    ck_assert_str_eq(errors_of(replaced(piece, wrong)), errors);
    ck_assert_str_eq(errors_of(replaced(piece, right)), "");
    *errors = '\0';
    ++count;
  }
  fclose(cases);
  ck_assert_int_ge(count, 123);
}
