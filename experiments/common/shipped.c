/* SPDX-License-Identifier: Apache-2.0 */
/* The assembler reads the files; TTPREM_EXPERIMENTS_FOLDER comes from the build. */
#include "experiments/common/shipped.h"

#include <stddef.h>
#include <string.h>

#define SHIPPED(name, path)                                                                        \
  __asm__(".pushsection .rodata\n.hidden prem_shipped_" #name "\n.global prem_shipped_" #name      \
          "\nprem_shipped_" #name ": .incbin \"" TTPREM_EXPERIMENTS_FOLDER "/" path                \
          "\"\n.byte 0\n.popsection\n");                                                           \
  __attribute__((visibility("hidden"))) extern const char prem_shipped_##name[];
#include "experiments/common/shipped.def"
#undef SHIPPED

#define SHIPPED(name, path) {path, prem_shipped_##name},
static const struct {
  const char *path, *text;
} shipped[] = {
#include "experiments/common/shipped.def"
};
#undef SHIPPED

const char *prem_shipped_text(const char *name) {
  for (size_t i = 0; i < sizeof shipped / sizeof *shipped; ++i)
    if (strcmp(strrchr(shipped[i].path, '/') + 1, name) == 0)
      return shipped[i].text;
  return NULL;
}
