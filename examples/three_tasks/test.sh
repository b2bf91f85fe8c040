#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The schedule can be planned, the checker accepts the plan, and on the simulator it keeps every instant.
#   sh test.sh        with ttprem on PATH
set -eu
cd "$(dirname "$0")"
mkdir -p build
ttprem plan three_tasks.cfg --time-limit 0 -o build/planned.cfg
ttprem check build/planned.cfg
ttprem run build/planned.cfg --backend sim --strict
