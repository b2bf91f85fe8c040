/* SPDX-License-Identifier: Apache-2.0 */
/** Inside sweeps: a file that was read and judged, and where its settings stand. */
#pragma once

#include <libconfig.h>

#include "experiments/sweep/sweep.h"

typedef struct prem_sweep_file {
  char *path;
  config_t config;
} prem_sweep_file;

struct prem_sweep {
  prem_sweep_file own, base; /* base.path NULL: it includes none */
  bool is_shipped;           /* the build has taken it in, and all that it names */
  char *name;
  prem_experiment head;
};

/** An error at a setting, or at a member of it that is there, or should be; @return PREM_ERR_PARSE
 */
prem_status prem_sweep_refuse(const prem_sweep *sweep, prem_diag *diag,
                              const config_setting_t *setting, const char *key, const char *format,
                              ...) PREM_PRINTF(5, 6);
/** A file's text: beside the sweep, or one that the build has taken in. Free with free(). */
char *prem_sweep_text(const prem_sweep *sweep, const char *name);
/** A text, or NULL where the key is not given. */
const char *prem_sweep_string(const config_setting_t *group, const char *key);
