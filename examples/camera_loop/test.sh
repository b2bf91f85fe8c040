#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The schedule can be planned, the program builds, and on the simulator no frame is lost and none late.
#   sh test.sh        with ttprem on PATH
set -eu
cd "$(dirname "$0")"
cmake -B build .
cmake --build build
ttprem plan camera.cfg --time-limit 0 -o build/planned.cfg
ttprem check build/planned.cfg
build/camera_loop build/planned.cfg sim | tee build/said
grep -q '^100 frames in, 100 used, 100 results out, 0 late' build/said
