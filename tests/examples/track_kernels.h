/* SPDX-License-Identifier: Apache-2.0 */
/** The tracker's kernels, and its schedules bound to them. */
#pragma once

#include "examples/tracker/schedule.h"

/** With those that company has. */
const prem_registry *track_registry(void);

/** Bound, which has to end as `expected`. */
prem_schedule *track_schedule_of(const track_setting *setting, prem_status expected);
