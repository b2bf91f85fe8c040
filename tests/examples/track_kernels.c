/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/examples/track_kernels.h"

#include "examples/tracker/kernels/track_correlate.h"
#include "examples/tracker/kernels/track_features.h"
#include "examples/tracker/kernels/track_find.h"
#include "examples/tracker/kernels/track_learn.h"
#include "examples/tracker/kernels/track_locate.h"
#include "examples/tracker/kernels/track_respond.h"
#include "examples/tracker/kernels/track_train.h"
#include "tests/common/schedule_text.h"

const prem_registry *track_registry(void) {
  enum { OWN = 7, COUNT = OWN + 2 };
  static const prem_kernel *kernels[COUNT] = {
      &track_features_kernel, &track_correlate_kernel, &track_respond_kernel, &track_locate_kernel,
      &track_find_kernel,     &track_learn_kernel,     &track_train_kernel};
  static const prem_registry registry = {kernels, COUNT};
  kernels[OWN] = prem_registry_find(prem_registry_builtin(), "conv2d_u8");
  kernels[OWN + 1] = prem_registry_find(prem_registry_builtin(), "vector_increment");
  return &registry;
}

prem_schedule *track_schedule_of(const track_setting *setting, prem_status expected) {
  char path[] = "/tmp/ttprem-test-XXXXXX";
  FILE *file = fdopen(mkstemp(path), "w");
  prem_schedule *schedule = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  ck_assert(track_schedule_print(setting, file));
  fclose(file);
  ck_assert_int_eq(prem_schedule_load(path, NULL, &schedule, diag), PREM_OK);
  unlink(path);
  const prem_status status = prem_schedule_bind(schedule, track_registry(), diag);
  if (status != expected)
    print_problems(diag);
  ck_assert_int_eq(status, expected);
  return schedule;
}
