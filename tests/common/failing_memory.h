/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For tests: one request for memory of the libraries fails, the first, the second, the third ... of
 * what is tried. Only requests that come from the program and its libraries are counted: solvers
 * and parsers of others may end the process.
 *
 * The program's own malloc() takes the place of everybody's, also of a sanitizer's, which it calls.
 */
#pragma once

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A clang that has its sanitizer in the program names what it puts in malloc()'s place. */
extern void *__interceptor_malloc(size_t bytes) __attribute__((weak));
extern void *__interceptor_calloc(size_t count, size_t bytes) __attribute__((weak));
extern void *__interceptor_realloc(void *old, size_t bytes) __attribute__((weak));

enum { FAILING_RANGES = 16 };

static struct {
  struct {
    uintptr_t from, to;
  } ranges[FAILING_RANGES]; /* code whose requests count */
  int range_count;
  int64_t count, fail_at; /* since it was armed; 0: none fails */
  volatile bool armed;    /* the compiler may take malloc() for one that reads nothing of ours */
} failing;

static int failing_add_ranges(struct dl_phdr_info *info, size_t bytes, void *context) {
  (void)bytes;
  (void)context;
  const bool ours = !*info->dlpi_name || strstr(info->dlpi_name, "libttprem") ||
                    strstr(info->dlpi_name, "libjansson");
  for (int i = 0; ours && i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X &&
        failing.range_count < FAILING_RANGES) {
      const uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
      failing.ranges[failing.range_count].from = from;
      failing.ranges[failing.range_count++].to = from + info->dlpi_phdr[i].p_memsz;
    }
  return 0;
}

/** Before the first armed call. */
static inline void failing_prepare(void) {
  failing.range_count = 0;
  dl_iterate_phdr(failing_add_ranges, NULL);
}

/** From now on requests are counted, and the one with this number fails; 0: none. */
static inline void failing_arm(int64_t fail_at) {
  failing.count = 0;
  failing.fail_at = fail_at;
  failing.armed = true;
}

/** @return how many requests there were. */
static inline int64_t failing_disarm(void) {
  failing.armed = false;
  return failing.count;
}

/* A sanitizer asks for memory before it can look at any itself. */
#define FAILING_EARLY __attribute__((no_sanitize("address", "undefined", "thread")))

FAILING_EARLY static bool failing_fails(const void *caller) {
  if (!failing.armed)
    return false;
  for (int i = 0; i < failing.range_count; ++i)
    if ((uintptr_t)caller >= failing.ranges[i].from && (uintptr_t)caller < failing.ranges[i].to) {
      if (++failing.count != failing.fail_at)
        return false;
      errno = ENOMEM;
      return true;
    }
  return false;
}

FAILING_EARLY static void *failing_next(const char *name) {
  void *next = dlsym(RTLD_NEXT, name);
  if (!next)
    abort();
  return next;
}

/* Also where all else is hidden: other libraries have to find them. */
#define FAILING_EXPORT FAILING_EARLY __attribute__((visibility("default")))

#define FAILING_CALL(name, type, own, ...)                                                         \
  static type next;                                                                                \
  if (failing_fails(__builtin_return_address(0)))                                                  \
    return NULL;                                                                                   \
  if (own)                                                                                         \
    return own(__VA_ARGS__);                                                                       \
  if (!next) {                                                                                     \
    void *found = failing_next(name);                                                              \
    memcpy(&next, &found, sizeof next);                                                            \
  }                                                                                                \
  return next(__VA_ARGS__)

FAILING_EXPORT void *malloc(size_t bytes) {
  typedef void *(*function)(size_t);
  FAILING_CALL("malloc", function, __interceptor_malloc, bytes);
}

FAILING_EXPORT void *calloc(size_t count, size_t bytes) {
  typedef void *(*function)(size_t, size_t);
  FAILING_CALL("calloc", function, __interceptor_calloc, count, bytes);
}

FAILING_EXPORT void *realloc(void *old, size_t bytes) {
  typedef void *(*function)(void *, size_t);
  FAILING_CALL("realloc", function, __interceptor_realloc, old, bytes);
}

/* The C library asks for these itself. */
FAILING_EARLY static void *failing_copy(const char *text, size_t bytes, const void *caller) {
  char *copy = failing_fails(caller) ? NULL : malloc(bytes + 1);
  if (!copy)
    return NULL;
  memcpy(copy, text, bytes);
  copy[bytes] = '\0';
  return copy;
}

#undef strdup
FAILING_EXPORT char *strdup(const char *text) {
  return failing_copy(text, strlen(text), __builtin_return_address(0));
}

#undef strndup
FAILING_EXPORT char *strndup(const char *text, size_t max) {
  return failing_copy(text, strnlen(text, max), __builtin_return_address(0));
}

FAILING_EARLY static int failing_print(char **out, const char *format, va_list arguments,
                                       const void *caller) {
  va_list again;
  va_copy(again, arguments);
  const int length = vsnprintf(NULL, 0, format, again);
  va_end(again);
  *out = length < 0 || failing_fails(caller) ? NULL : malloc((size_t)length + 1);
  return *out ? vsnprintf(*out, (size_t)length + 1, format, arguments) : -1;
}

FAILING_EXPORT int vasprintf(char **restrict out, const char *restrict format, va_list arguments) {
  return failing_print(out, format, arguments, __builtin_return_address(0));
}

FAILING_EXPORT int asprintf(char **restrict out, const char *restrict format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = failing_print(out, format, arguments, __builtin_return_address(0));
  va_end(arguments);
  return length;
}

/* What is built with _FORTIFY_SOURCE, as packages of distributions are, asks by these names. */
/* NOLINTBEGIN(bugprone-reserved-identifier) */
FAILING_EXPORT int __vasprintf_chk(char **restrict out, int flag, const char *restrict format,
                                   va_list arguments) {
  (void)flag;
  return failing_print(out, format, arguments, __builtin_return_address(0));
}

FAILING_EXPORT int __asprintf_chk(char **restrict out, int flag, const char *restrict format, ...) {
  (void)flag;
  va_list arguments;
  va_start(arguments, format);
  const int length = failing_print(out, format, arguments, __builtin_return_address(0));
  va_end(arguments);
  return length;
}
/* NOLINTEND(bugprone-reserved-identifier) */
