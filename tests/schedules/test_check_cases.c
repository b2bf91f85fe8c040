/* SPDX-License-Identifier: Apache-2.0 */
/* The checker, rule by rule, each with its legal twin one step away. */
#include "tests/common/cases.h"
#include "tests/common/suite.h"

TEST(each_schedule_is_judged) {
  cases_judge("schedules/check_cases.txt");
}
