/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs: whole or not there, the rights of what they replace, one file under two names. */
#include <dlfcn.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ttprem/output.h"

#include "tests/common/folder.h"
#include "tests/common/suite.h"

static prem_status write_text(const char *path, const char *text, char reason[160]) {
  prem_output output;
  prem_status status = prem_output_open(&output, path, reason, 160);
  if (status != PREM_OK)
    return status;
  fputs(text, output.file);
  return prem_output_commit(&output, reason, 160);
}

static const char *content(const char *path) {
  static char text[64];
  FILE *file = fopen(path, "re");
  ck_assert_ptr_nonnull(file);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  return text;
}

static mode_t rights(const char *path) {
  struct stat facts;
  ck_assert_int_eq(stat(path, &facts), 0);
  return facts.st_mode & 07777;
}

GROUP("output", .set_up = enter_folder, .tear_down = remove_folder);

TEST(a_new_file_has_the_rights_of_the_mask) {
  char reason[160];
  umask(027);
  ck_assert_int_eq(write_text("new", "one", reason), PREM_OK);
  ck_assert_str_eq(content("new"), "one");
  ck_assert_uint_eq(rights("new"), 0640);
  ck_assert_int_eq(files_in_folder(), 1);
}

TEST(a_replaced_file_hands_its_rights_down) {
  static const mode_t modes[] = {0600, 0644, 0664, 0755, 0200};
  char reason[160];
  umask(022);
  ck_assert_int_eq(write_text("old", "one", reason), PREM_OK);
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; ++i) {
    ck_assert_int_eq(chmod("old", modes[i]), 0);
    ck_assert_int_eq(write_text("old", "two", reason), PREM_OK);
    ck_assert_uint_eq(rights("old"), modes[i]);
  }
  ck_assert_int_eq(files_in_folder(), 1);
  ck_assert_int_eq(chmod("old", 0600), 0);
  ck_assert_str_eq(content("old"), "two");
}

/** Those of another group would read what only its group may. */
TEST(a_replaced_file_hands_its_group_down) {
  char reason[160];
  struct stat facts;
  if (geteuid() != 0)
    return;
  ck_assert_int_eq(write_text("old", "one", reason), PREM_OK);
  ck_assert_int_eq(chown("old", 1234, 4321), 0);
  ck_assert_int_eq(chmod("old", 0640), 0);
  ck_assert_int_eq(write_text("old", "two", reason), PREM_OK);
  ck_assert_int_eq(stat("old", &facts), 0);
  ck_assert_uint_eq(facts.st_uid, 1234);
  ck_assert_uint_eq(facts.st_gid, 4321);
  ck_assert_uint_eq(rights("old"), 0640);
}

enum { NOT_NOBODY = 99 }; /* exit status */

/* Run in a child that is nobody, and in no group but its own; 0: all went well. */
static int as_nobody(int (*work)(void)) {
  enum { NOBODY = 65534 };
  int status = -1;
  const pid_t child = fork();
  if (child == 0) {
    if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
      _exit(NOT_NOBODY);
    _exit(work());
  }
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  return status;
}

static int write_two(void) {
  char reason[160];
  return write_text("old", "two", reason) == PREM_OK ? 0 : 1;
}

/* What the group may that cannot be kept, the new one may where everybody may as well. */
TEST(a_group_that_cannot_be_kept_gets_no_more_than_everybody) {
  static const struct {
    mode_t before, after;
  } modes[] = {{0674, 0644}, {0670, 0600}, {0606, 0606}, {0607, 0607}};
  char reason[160];
  struct stat facts;
  if (geteuid() != 0)
    return;
  ck_assert_int_eq(chmod(".", 0777), 0);
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; ++i) {
    ck_assert_int_eq(write_text("old", "one", reason), PREM_OK);
    ck_assert_int_eq(chown("old", 65534, 4321), 0);
    ck_assert_int_eq(chmod("old", modes[i].before), 0);
    const int status = as_nobody(write_two);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_NOBODY) {
      puts("left out: this process may not become nobody");
      return;
    }
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(stat("old", &facts), 0);
    ck_assert_uint_eq(facts.st_gid, 65534);
    ck_assert_uint_eq(rights("old"), modes[i].after);
    ck_assert_str_eq(content("old"), "two");
    ck_assert_int_eq(unlink("old"), 0);
  }
}

TEST(what_is_no_place_for_a_file_is_told) {
  static const struct {
    const char *path, *reason;
  } bad[] = {{"", "a file name is missing"},
             {".", "it is a directory"},
             {"/dev/null", "it is not a regular file; `-` is stdout"},
             {"none/new", "No such file or directory"},
             {"file/new", "Not a directory"},
             {"round", "Too many levels of symbolic links"}};
  char reason[160];
  ck_assert_int_eq(write_text("file", "one", reason), PREM_OK);
  ck_assert_int_eq(symlink("round", "round"), 0);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
    ck_assert_int_eq(write_text(bad[i].path, "two", reason), PREM_ERR_IO);
    ck_assert_str_eq(reason, bad[i].reason);
  }
  ck_assert_int_eq(files_in_folder(), 2);
}

/* Names that it would take on the way are somebody else's: it takes the next, and none when the
 * hundredth is taken. */
TEST(names_of_others_on_the_way_are_left_alone) {
  char reason[160], name[64];
  ck_assert_int_eq(write_text("old", "one", reason), PREM_OK);
  for (int i = 0; i < 100; ++i) {
    snprintf(name, sizeof name, "old.%ld-%d", (long)getpid(), i);
    ck_assert_int_eq(write_text(name, "theirs", reason), PREM_OK);
    if (i != 0 && i < 98)
      continue;
    const prem_status status = write_text("old", i == 0 ? "two" : "three", reason);
    ck_assert_int_eq(status, i < 99 ? PREM_OK : PREM_ERR_IO);
    ck_assert_str_eq(content("old"), i == 0 ? "two" : "three");
    ck_assert_str_eq(content(name), "theirs");
    ck_assert_int_eq(files_in_folder(), i + 2);
  }
  ck_assert_str_eq(reason, "File exists");
}

/* A file that may not grow so long is not there at all, and what it was to replace stays. */
TEST(what_cannot_be_written_replaces_nothing) {
  const struct rlimit limit = {.rlim_cur = 4, .rlim_max = RLIM_INFINITY},
                      none = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
  char reason[160];
  ck_assert_int_eq(write_text("old", "one", reason), PREM_OK);
  ck_assert(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const prem_status status = write_text("old", "longer", reason);
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
  ck_assert_int_eq(status, PREM_ERR_IO);
  ck_assert_str_eq(reason, "File too large");
  ck_assert_str_eq(content("old"), "one");
  ck_assert_int_eq(files_in_folder(), 1);
}

TEST(a_write_protected_file_is_kept) {
  char reason[160] = "";
  ck_assert_int_eq(write_text("kept", "one", reason), PREM_OK);
  ck_assert_int_eq(chmod("kept", 0444), 0);
  ck_assert_int_eq(write_text("kept", "two", reason), PREM_ERR_IO);
  ck_assert_str_eq(reason, "it is write-protected; chmod u+w, or name another file");
  ck_assert_str_eq(content("kept"), "one");
  ck_assert_int_eq(files_in_folder(), 1);
}

TEST(a_link_stays_one) {
  char reason[160];
  struct stat facts;
  ck_assert_int_eq(write_text("file", "one", reason), PREM_OK);
  ck_assert_int_eq(symlink("file", "link"), 0);
  ck_assert_int_eq(write_text("link", "two", reason), PREM_OK);
  ck_assert_int_eq(lstat("link", &facts), 0);
  ck_assert(S_ISLNK(facts.st_mode));
  ck_assert_str_eq(content("file"), "two");
  ck_assert_int_eq(symlink("nothing yet", "dangles"), 0);
  ck_assert_int_eq(write_text("dangles", "three", reason), PREM_OK);
  ck_assert_str_eq(content("nothing yet"), "three");
}

TEST(what_is_abandoned_leaves_no_trace) {
  prem_output output;
  char reason[160];
  ck_assert_int_eq(prem_output_open(&output, "gone", reason, sizeof reason), PREM_OK);
  fputs("half", output.file);
  prem_output_abandon(&output);
  ck_assert_int_eq(files_in_folder(), 0);
  prem_output_abandon(&output);
}

/** Where the file system has files without names. */
TEST(a_killed_process_leaves_no_trace) {
  char reason[160];
  prem_output output;
  ck_assert_int_eq(prem_output_open(&output, "probe", reason, sizeof reason), PREM_OK);
  const bool has_name = output.temporary != NULL;
  prem_output_abandon(&output);
  const pid_t child = fork();
  if (child == 0) {
    prem_output_open(&output, "gone", reason, sizeof reason);
    fputs("half", output.file);
    fflush(output.file);
    raise(SIGKILL);
  }
  ck_assert_int_eq(waitpid(child, NULL, 0), child);
  if (!has_name)
    ck_assert_int_eq(files_in_folder(), 0);
}

/* ---- what the system refuses ---------------------------------------------------------------- */

typedef enum call { NONE, UNNAMED, SEEN, LINKED, RENAMED, GIVEN_RIGHTS } call;

static call refused;

static bool refuses(call which, int error) {
  if (refused != which)
    return false;
  errno = error;
  return true;
}

static void *next_of(const char *name) {
  void *next = dlsym(RTLD_NEXT, name);
  ck_assert_ptr_nonnull(next);
  return next;
}

/* The ones that the library calls. */
int open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if ((flags & O_TMPFILE) == O_TMPFILE && refuses(UNNAMED, EOPNOTSUPP))
    return -1;
  int (*next)(const char *, int, ...);
  *(void **)&next = next_of("open");
  return next(path, flags, mode);
}

int access(const char *path, int mode) {
  if (strncmp(path, "/proc/", 6) == 0 && refuses(SEEN, ENOENT))
    return -1;
  int (*next)(const char *, int);
  *(void **)&next = next_of("access");
  return next(path, mode);
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
  int (*next)(int, const char *, int, const char *, int);
  *(void **)&next = next_of("linkat");
  return refuses(LINKED, EPERM) ? -1 : next(from_folder, from, to_folder, to, flags);
}

int rename(const char *from, const char *to) {
  int (*next)(const char *, const char *);
  *(void **)&next = next_of("rename");
  return refuses(RENAMED, EBUSY) ? -1 : next(from, to);
}

int fchmod(int descriptor, mode_t mode) {
  int (*next)(int, mode_t);
  *(void **)&next = next_of("fchmod");
  return refuses(GIVEN_RIGHTS, EPERM) ? -1 : next(descriptor, mode);
}

/* Where there are no files without a name, or none that could get one, a name that goes again. */
TESTS(a_file_system_without_unnamed_files_will_do, 2) {
  char reason[160];
  prem_output output;
  refused = _i ? SEEN : UNNAMED;
  umask(027);
  ck_assert_int_eq(write_text("new", "text", reason), PREM_OK);
  ck_assert_str_eq(content("new"), "text");
  ck_assert_int_eq(rights("new"), 0640);
  ck_assert_int_eq(write_text("new", "other", reason), PREM_OK);
  ck_assert_str_eq(content("new"), "other");
  ck_assert_int_eq(prem_output_open(&output, "new", reason, sizeof reason), PREM_OK);
  ck_assert_int_eq(files_in_folder(), 2);
  prem_output_abandon(&output);
  ck_assert_int_eq(files_in_folder(), 1);
}

static const struct {
  call refused;
  const char *reason;
} refusals[] = {{LINKED, "Operation not permitted"},
                {RENAMED, "Device or resource busy"},
                {GIVEN_RIGHTS, "Operation not permitted"}};

TESTS(what_the_system_refuses_is_told_and_changes_nothing,
      (int)(sizeof refusals / sizeof *refusals)) {
  char reason[160];
  ck_assert_int_eq(write_text("old", "text", reason), PREM_OK);
  refused = refusals[_i].refused;
  ck_assert_int_eq(write_text("old", "other", reason), PREM_ERR_IO);
  ck_assert_str_eq(reason, refusals[_i].reason);
  refused = NONE;
  ck_assert_str_eq(content("old"), "text");
  ck_assert_int_eq(files_in_folder(), 1);
}

TEST(one_file_is_known_by_all_its_names) {
  static const struct {
    const char *one, *other;
    bool same;
  } pairs[] = {
      {"file", "file", true},        {"file", "./file", true},      {"file", "sub/../file", true},
      {"file", "link", true},        {"file", "hard", true},        {"new", "new", true},
      {"new", "./sub/../new", true}, {"new", "here/new", true},     {"sub/new", "way/new", true},
      {"new", "dangles", true},      {"sub/new", "dangles", false}, {"new", "sub/new", false},
      {"new", "new2", false},        {"file", "new", false},        {"file", "sub/file", false},
      {"none/a", "none/a", true},    {"none/a", "none/b", false},   {"-", "-", true},
      {"-", "./-", false},
  };
  char reason[160];
  ck_assert_int_eq(write_text("file", "one", reason), PREM_OK);
  ck_assert_int_eq(mkdir("sub", 0777), 0);
  ck_assert_int_eq(symlink("file", "link"), 0);
  ck_assert_int_eq(symlink("sub", "way"), 0);
  ck_assert_int_eq(symlink(".", "here"), 0);
  ck_assert_int_eq(link("file", "hard"), 0);
  ck_assert_int_eq(symlink("../new", "sub/far"), 0);
  ck_assert_int_eq(symlink("sub/far", "dangles"), 0);
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; ++i) {
    ck_assert_msg(prem_output_same(pairs[i].one, pairs[i].other) == pairs[i].same, "%s, %s",
                  pairs[i].one, pairs[i].other);
    ck_assert_msg(prem_output_same(pairs[i].other, pairs[i].one) == pairs[i].same, "%s, %s",
                  pairs[i].other, pairs[i].one);
  }
  char whole[128];
  snprintf(whole, sizeof whole, "%s/new", folder);
  ck_assert(prem_output_same(whole, "new"));
}

TEST(the_working_folder_ends_at_links) {
  static const char *const here[] = {"new",  "sub/new", "./new",    "sub/../new",
                                     "file", "inner",   "none/new", "none/none/new"};
  static const char *const elsewhere[] = {"../new", "/tmp/new",       "out/new",      "escapes",
                                          "outer",  "none/../../new", "sub/../../new"};
  char reason[160];
  ck_assert_int_eq(write_text("file", "one", reason), PREM_OK);
  ck_assert_int_eq(mkdir("sub", 0777), 0);
  ck_assert_int_eq(symlink("..", "out"), 0);
  ck_assert_int_eq(symlink("/etc/passwd", "outer"), 0);
  ck_assert_int_eq(symlink("sub", "inner"), 0);
  ck_assert_int_eq(symlink("../none", "escapes"), 0);
  for (size_t i = 0; i < sizeof here / sizeof here[0]; ++i)
    ck_assert_msg(prem_output_is_here(here[i]), "%s", here[i]);
  for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; ++i)
    ck_assert_msg(!prem_output_is_here(elsewhere[i]), "%s", elsewhere[i]);
  char beside[128]; /* begins like the working folder */
  snprintf(beside, sizeof beside, "%s2", folder);
  ck_assert_int_eq(mkdir(beside, 0777), 0);
  strcat(beside, "/new");
  ck_assert(!prem_output_is_here(beside));
  beside[strlen(beside) - 4] = '\0';
  ck_assert_int_eq(rmdir(beside), 0);
}
