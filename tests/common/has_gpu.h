/* SPDX-License-Identifier: Apache-2.0 */
/** Is there a GPU? Asked in a process of its own: what has touched one cannot be forked any more.
 */
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include "ttprem/ttprem.h"

static inline bool has_gpu(void) {
  const pid_t child = fork();
  if (child == 0) {
    prem_machine machine;
    const prem_backend *backend = prem_backend_find("cuda");
    _exit(!backend || prem_backend_probe(backend, &machine, NULL) != PREM_OK);
  }
  int status = 1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
