/* SPDX-License-Identifier: Apache-2.0 */
/* ttprem new: a folder to begin with. Templates are the projects of examples/, which the assembler
 * reads, with another name; TTPREM_EXAMPLES comes from the build. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command/command.h"

#define EXAMPLE(name, file)                                                                        \
  __asm__(".pushsection .rodata\n"                                                                 \
          ".hidden " #name "\n.global " #name "\n" #name ": .incbin \"" TTPREM_EXAMPLES "/" file   \
          "\"\n.byte 0\n.popsection\n");                                                           \
  __attribute__((visibility("hidden"))) extern const char name[];

EXAMPLE(command_tasks_cfg, "three_tasks/three_tasks.cfg")
EXAMPLE(command_tasks_test, "three_tasks/test.sh")
EXAMPLE(command_live_cmake, "camera_loop/CMakeLists.txt")
EXAMPLE(command_live_cfg, "camera_loop/camera.cfg")
EXAMPLE(command_live_c, "camera_loop/camera_loop.c")
EXAMPLE(command_live_test, "camera_loop/test.sh")
EXAMPLE(command_kernel_cmake, "own_kernel/CMakeLists.txt")
EXAMPLE(command_kernel_h, "own_kernel/sharpen.h")
EXAMPLE(command_kernel_cfg, "own_kernel/sharpen.cfg")
EXAMPLE(command_kernel_c, "own_kernel/own_program.c")
EXAMPLE(command_kernel_test, "own_kernel/test.sh")
EXAMPLE(command_python_py, "python_tasks/python_tasks.py")
EXAMPLE(command_python_test, "python_tasks/test.sh")

enum { FILES = 6, NAME_BYTES = 41 };

/* In all files, and in their names, NAME takes the place of `stands_for`. */
static const struct {
  const char *name, *stands_for;
  struct {
    const char *name, *text; /* a NULL ends them */
  } files[FILES];
} templates[] = {
    {"tasks",
     "three_tasks",
     {{"three_tasks.cfg", command_tasks_cfg}, {"test.sh", command_tasks_test}}},
    {"live",
     "camera_loop",
     {{"CMakeLists.txt", command_live_cmake},
      {"camera.cfg", command_live_cfg},
      {"camera_loop.c", command_live_c},
      {"test.sh", command_live_test}}},
    {"kernel",
     "sharpen",
     {{"CMakeLists.txt", command_kernel_cmake},
      {"sharpen.h", command_kernel_h},
      {"sharpen.cfg", command_kernel_cfg},
      {"own_program.c", command_kernel_c},
      {"test.sh", command_kernel_test}}},
    {"python",
     "python_tasks",
     {{"python_tasks.py", command_python_py}, {"test.sh", command_python_test}}},
};
enum { TEMPLATES = sizeof templates / sizeof templates[0] };

typedef struct new_options {
  const char *name;
  int template;
} new_options;

/* `word` in small or, where the text has it so, capital letters. */
static void put_word(const char *word, bool capital, FILE *file) {
  for (; *word; ++word)
    fputc(capital ? toupper((unsigned char)*word) : *word, file);
}

static void put_text(const char *text, const char *old, const char *new, FILE *file) {
  const size_t length = strlen(old);
  while (*text)
    if (strncasecmp(text, old, length) == 0) {
      put_word(new, isupper((unsigned char)*text), file);
      text += length;
    } else {
      fputc(*text++, file);
    }
}

/* "FOLDER/" and a file's name, with the new one in the place of the old. */
static char *path_of(const char *folder, const char *name, const char *old, const char *new) {
  char *path = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&path, &bytes);
  if (!file)
    return NULL;
  fprintf(file, "%s/", folder);
  put_text(name, old, new, file);
  return fclose(file) ? NULL : path;
}

/* Write all files, or with `take_away` remove them. False: errno says why. */
static bool each_file(const new_options *options, const char *folder, bool take_away) {
  bool done = true;
  const char *old = templates[options->template].stands_for;
  for (int i = 0; i < FILES && templates[options->template].files[i].name && done; ++i) {
    char *path = path_of(folder, templates[options->template].files[i].name, old, options->name);
    if (path && take_away) {
      unlink(path);
    } else {
      FILE *file = path ? fopen(path, "wx") : NULL;
      if (file)
        put_text(templates[options->template].files[i].text, old, options->name, file);
      const bool failed = !file || ferror(file);
      done = file && fclose(file) == 0 && !failed;
    }
    free(path);
  }
  return done;
}

/* Under another name first, so that a folder that is there is complete. */
static int make_folder(const new_options *options) {
  char folder[] = ".ttprem-new-XXXXXX";
  struct stat facts;
  if (lstat(options->name, &facts) == 0)
    return command_fail(COMMAND_INVALID, "'%s' is there already; choose another name, or remove it",
                        options->name);
  if (!mkdtemp(folder))
    return command_fail(COMMAND_INVALID, "%s: %s", options->name, strerror(errno));
  const mode_t mask = umask(0);
  umask(mask);
  if (each_file(options, folder, false) && chmod(folder, 0777 & ~mask) == 0 &&
      (renameat2(AT_FDCWD, folder, AT_FDCWD, options->name, RENAME_NOREPLACE) == 0 ||
       (errno == EINVAL && rename(folder, options->name) == 0))) /* not every file system can */
    return COMMAND_DONE;
  command_error("%s: %s", options->name, strerror(errno));
  each_file(options, folder, true);
  rmdir(folder);
  return COMMAND_INVALID;
}

static void check_name(struct argp_state *state, const char *name) {
  const size_t length = strlen(name);
  if (length == 0 || length >= NAME_BYTES || isdigit((unsigned char)*name) ||
      strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != length)
    argp_error(state,
               "a name has 1 to %d small letters, digits and _, and begins with no digit: it names "
               "files, a schedule and a kernel",
               NAME_BYTES - 1);
}

static error_t parse(int key, char *text, struct argp_state *state) {
  new_options *options = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = NULL;
    return 0;
  case OPTION_TEMPLATE:
    for (options->template = 0; options->template <TEMPLATES; ++options->template)
      if (!strcmp(text, templates[options->template].name))
        return 0;
    argp_error(state, "there is no template '%s'; there are: tasks, live, kernel, python", text);
    return 0;
  case ARGP_KEY_ARG:
    if (options->name)
      argp_error(state, "one NAME at a time");
    check_name(state, text);
    options->name = text;
    return 0;
  case ARGP_KEY_NO_ARGS:
    argp_error(state, "no NAME");
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp argp = {
    .options = command_options[OPTIONS_NEW],
    .parser = parse,
    .children = command_common_children,
    .args_doc = "NAME",
    .doc =
        "Make the folder NAME with a project that runs at once, with comments: schedule, sources "
        "and test.sh, which builds, plans, checks and runs it on the simulator. A NAME that is "
        "there already is left as it is.\v" COMMAND_EXIT_DOC,
};

int verb_new(int argc, char **argv) {
  new_options options = {0};
  command_parse(&argp, argc, argv, &options);
  const int status = make_folder(&options);
  if (status == COMMAND_DONE)
    printf("%s: try `sh %s/test.sh`, then read %s/*.%s\n", options.name, options.name, options.name,
           strcmp(templates[options.template].name, "python") ? "cfg" : "py");
  return status;
}
