/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of odd pieces of files is what it was, to the last letter (see
 * tests/common/golden.h). */
/* ctest: release */
#include "tests/common/golden.h"
#include "tests/common/suite.h"

static char folder[] = "/tmp/ttprem-same-XXXXXX";
static void write_file(const char *name, const char *words) {
  FILE *file = fopen(name, "w");
  ck_assert_ptr_nonnull(file);
  fputs(words, file);
  fclose(file);
}

/* ---- odd pieces ------------------------------------------------------------------------------ */

/* `count` times; each # in it is its number. */
static const char *many(int count, const char *form, const char *between) {
  FREED char *all = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&all, &bytes);
  for (int i = 0; i < count; ++i) {
    fputs(i ? between : "", file);
    for (const char *at = form; *at; ++at)
      if (*at == '#')
        fprintf(file, "%d", i);
      else
        fputc(*at, file);
  }
  fclose(file);
  const char *kept = text("%s", all); /* until there were 64 more */
  return kept;
}

/* What is said of it, word by word. */
static void tell_piece(FILE *file, const char *what, const char *source) {
  write_file("t.cfg", source);
  OWNED(prem_schedule) *schedule = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  if (prem_schedule_load_lenient("t.cfg", NULL, &schedule, diag) == PREM_OK)
    prem_schedule_bind(schedule, prem_registry_builtin(), diag);
  fprintf(file, "%s: %s\n", what, prem_diag_errors(diag) ? "refused" : "read");
  for (size_t i = 0; i < prem_diag_count(diag); ++i) {
    char line[1024];
    prem_problem_format(prem_diag_at(diag, i), line, sizeof line);
    fprintf(file, "  %s\n", line);
  }
}

/* One group of a file is this one instead. */
static void tell_group(FILE *file, const char *group, const char *words) {
  static const char *const groups[][2] = {
      {"platform", "blocks = 4;"},
      {"arrays", "{ name = \"x\"; type = \"f32\"; shape = [ 64 ]; }"},
      {"tasks", "{ name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 4; copies = 2;"
                " prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 20L; };"
                " writeback: { wcet_ns = 5L; }; }"},
      {"measure", "runs = 1;"},
      {"plan", "hyperperiod_ns = 1000L; runs = ( );"}};
  const char *all = "version = 1; name = \"t\";\n";
  for (size_t i = 0; i < sizeof groups / sizeof *groups; ++i) {
    const bool is_list = groups[i][0][0] == 'a' || groups[i][0][0] == 't';
    all = text("%s%s: %s %s %s;\n", all, groups[i][0], is_list ? "(" : "{",
               strcmp(groups[i][0], group) == 0 ? words : groups[i][1], is_list ? ")" : "}");
  }
  tell_piece(file, text("%s, %.70s", group, words), all);
}

static void tell_tables(FILE *file) {
  static const char resource[] = "{ name = \"r#\"; capacity = 2; }";
  for (int count = 14; count <= 18; ++count)
    tell_group(file, "platform",
               text("blocks = 4; resources = ( %s );", many(count, resource, ", ")));
  tell_group(file, "platform",
             text("blocks = 4; resources = ( { name = \"memory\"; capacity = 1; }, %s );",
                  many(15, resource, ", ")));
  tell_group(file, "platform", "blocks = 4; blocks_per_sm = 2;");
  tell_group(file, "platform", "sms = 2; blocks_per_sm = 2;");
  tell_group(file, "arrays",
             "{ name = \"x\"; type = \"f32\"; shape = [ 4 ]; fill = \"zero\";"
             " file = \"x.raw\"; }");
  tell_group(file, "arrays",
             "{ name = \"x\"; type = \"f32\"; shape = [ 4 ]; file = \"missing.raw\"; }");
  tell_group(file, "arrays", "{ name = \"x\"; type = \"f32\"; shape = [ 4 ]; file = \"d.raw\"; }");
  tell_group(file, "arrays", "{ name = \"x\"; type = \"f32\"; shape = [ 1, 2, 3, 4, 5 ]; }");
  /* more numbers without their suffix than are remembered, before others are read */
  tell_group(file, "measure", many(65, "k# = 12345678901;", " "));
  tell_group(file, "measure", "modes = [ ];");
  tell_group(file, "measure", "modes = [ 1 ];");
  tell_group(file, "measure", "modes = [ \"tt\", \"tt\" ];");
  tell_group(file, "measure", "modes = [ \"tt\", \"fre\" ];");
}

static void tell_tasks(FILE *file) {
  static const char form[] = "{ name = \"a\"; kernel = \"vector_increment\"; blocks = %s;"
                             " tile = %s; arrays: { %s }; prefetch: { wcet_ns = %s; }; }";
  static const char *const odd[][4] = {
      {"1", "[ 1, 2, 3, 4 ]", "in = \"x\"; out = \"new\";", "9L"},
      {"1", "[ 1, 2, 3, 4, 5 ]", "in = \"x\"; out = \"new\";", "9L"},
      {"1", "[ ]", "in = \"x\"; out = \"new\";", "9L"},
      {"\"0-99999999999999999999\"", "[ 32 ]", "in = \"x\"; out = \"new\";", "9L"},
      {"\"3-0\"", "[ 32 ]", "in = \"x\"; out = \"new\";", "9L"},
      {"\"0-3\"", "[ 32 ]", "in = \"x\"; out = \"new\";", "0xFFL"},
      {"\"0\"", "[ 0x20 ]", "in = \"x\"; out = \"new\";", "0x7fffffffffffffffL"},
      {"\"1,3\"", "[ 32 ]", "in = \"x\"; out = \"new\";", "0x8000000000000000L"},
      {"[ 0, 0 ]", "[ 32 ]", "in = \"x\"; out = \"x\";", "0X1fL"},
      {"1", "[ 32 ]", "in = 5; out = \"new\";", "1.5"}};
  for (size_t i = 0; i < sizeof odd / sizeof *odd; ++i)
    tell_group(file, "tasks", text(form, odd[i][0], odd[i][1], odd[i][2], odd[i][3]));
  for (int count = 7; count <= 9; ++count)
    tell_group(file, "tasks", text(form, "1", "[ 32 ]", many(count, "p# = \"x\";", " "), "9L"));
}

static void tell_plans(FILE *file) {
  static const char *const odd[] = {
      "runs = ( { task = \"a\"; phase = \"prefetch\"; start_ns = 0L; } );",
      "runs = ( { task = \"a.0\"; phase = \"prefetch\"; start_ns = 0L; chain = \"compute\"; } );",
      "runs = ( { task = \"a.0\"; phase = \"prefetch\"; start_ns = 0L; chain = [ \"b\" ]; } );",
      "runs = ( { task = \"a.0\"; phase = \"prefetch\"; start_ns = 0L; join: { }; } );",
      "runs = ( { task = \"a.0\"; phase = \"prefetch\"; start_ns = 0L; join: { tile = 0; }; } );",
      "runs = ( { task = \"a.0\"; phase = \"prefetch\"; join: { task = \"c\"; tile = 0; }; } );",
      "starts = ( { task = \"a.1\"; phase = \"compute\"; block = 0; } );",
      "starts = ( { task = \"a.1\"; phase = \"compute\"; block = 0; start_ns = 5L; } );",
      "starts = ( { task = \"a.1\"; phase = \"compute\"; block = 1; start_ns = [ 5L ]; } );",
      "starts = ( { task = \"a.1\"; phase = \"compute\"; block = 0; start_ns = [ -1L, 5L ]; } );",
      "starts = ( { task = \"a.1\"; phase = \"compute\"; block = 0; start_ns = [ -2L ]; } );"};
  for (size_t i = 0; i < sizeof odd / sizeof *odd; ++i)
    tell_group(file, "plan", text("hyperperiod_ns = 1000L; %s", odd[i]));
}

static void tell_includes(FILE *file) {
  static const char rest[] = "version = 1; name = \"t\"; platform: { blocks = 1; };\n%s\n"
                             "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 1;"
                             " compute: { wcet_ns = 20L; }; } );\n";
  static const char *const odd[] = {"@include \"i.cfg\"",   "  @include\t\"i.cfg\"",
                                    "@include \"missing\"", "@include \".\"",
                                    "@include i.cfg",       "@includes \"i.cfg\"",
                                    "@include \"i.cfg",     "; @include \"i.cfg\"",
                                    "@include \"i\\.cfg\"", "@include \"t.cfg\""};
  write_file("i.cfg", "measure: { runs = 3; };\n");
  for (size_t i = 0; i < sizeof odd / sizeof *odd; ++i)
    tell_piece(file, odd[i], text(rest, odd[i]));
  char name[5000] = "";
  for (int length = 1022; length <= 1024; ++length) {
    memset(name, 'n', (size_t)length);
    name[length] = '\0';
    fprintf(file, "%d letters, ", length);
    tell_piece(file, "include", text(rest, text("@include \"%s\"", name)));
  }
}

TEST(of_odd_pieces) {
  ck_assert_ptr_nonnull(mkdtemp(folder));
  ck_assert_int_eq(chdir(folder), 0);
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  ck_assert_int_eq(mkdir("d.raw", 0700), 0);
  write_file("x.raw", "0123456789abcdef");
  tell_tables(file);
  tell_tasks(file);
  tell_plans(file);
  tell_includes(file);
  fclose(file);
  ck_assert_int_eq(system(text("rm -r %s", folder)), 0);
  golden_judge("odd_files.txt", found);
}
