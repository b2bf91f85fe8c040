#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The live session of examples/camera_loop, built from an installed ttprem as examples/README.md says: on
# the simulator the same bytes every time, on the CPU every frame submitted, and an end.
#   camera_loop.sh BUILD
# ctest: BUILD long release
set -euo pipefail
build=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

fail() {
  echo "camera_loop: $*" >&2
  exit 1
}

cmake --install "$build" --prefix "$place/usr" >/dev/null
cp -r "$here/../../examples/camera_loop" "$place/camera_loop"
cmake -S "$place/camera_loop" -B "$place/build" -G Ninja -DCMAKE_PREFIX_PATH="$place/usr" >"$place/log" &&
  cmake --build "$place/build" >>"$place/log" || fail "$(cat "$place/log")"
[ "$(wc -l <"$place/camera_loop/camera_loop.c")" -le 100 ] || fail "camera_loop.c has more than 100 lines"

loop() { timeout 120 "$place/build/camera_loop" "$place/camera_loop/camera.cfg" "$1" >"$place/$2" 2>&1 || fail "$1: $(cat "$place/$2")"; }
loop sim first
loop sim second
cmp "$place/first" "$place/second"
grep -qx '100 frames in, 100 used, 100 results out, 0 late, at most 35 ms old' "$place/first" ||
  fail "sim: $(cat "$place/first")"
loop cpu third
# How many are late is the machine's business.
grep -Eq ' frames in, [1-9][0-9]* used, [1-9][0-9]* results out, ' "$place/third" || fail "cpu: $(cat "$place/third")"
