/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A program run beside us, for ffmpeg: no shell, no signal that could reach us, every wait with an
 * end. It is in a process group of its own, so that Ctrl-C is for whoever started it.
 */
#ifndef TRACKER_CHILD_H
#define TRACKER_CHILD_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include <ttprem/diag.h>

/** Zero before it is started. */
typedef struct child {
  pid_t process;    /* 0: none runs */
  FILE *complaints; /* what it wrote to stderr */
} child;

/**
 * Start `arguments[0]`, found on the PATH.
 *
 * @param from  its stdin; -1: nothing to read
 * @param to    its stdout; -1: nobody reads it
 * @retval PREM_ERR_UNAVAILABLE  it is not installed, or cannot be started
 */
prem_status child_start(child *of, char *const arguments[], int from, int to, prem_diag *diag);

/** Wait for its end: its exit status; -1 where it was killed by a signal, ours included, which it
 *  is at CLOCK_MONOTONIC's `until_ns`. */
int child_wait(child *of, int64_t until_ns);

/** The last line that it complained with, or what `else_text` says. */
void child_complaint(const child *of, const char *else_text, char *out, size_t out_bytes);

/** Kill it if it still runs, and free what is kept of it. */
void child_end(child *of);

int64_t child_now_ns(void);

/** Wait until poll's `events` are there for a descriptor: false when `until_ns` came first. */
bool child_ready(int descriptor, short events, int64_t until_ns);

#endif
