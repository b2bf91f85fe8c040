#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the tracker needs beside its tasks (examples/tracker/video.cmake), built from an installed ttprem, without
# optimisation and with all of it: synthetic videos have the same bytes, and so have ground truth and scores.
#   tracker_video.sh BUILD
# ctest: BUILD long release
set -euo pipefail
build=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

fail() {
  echo "tracker_video: $*" >&2
  exit 1
}

cmake --install "$build" --prefix "$place/usr" >/dev/null
cp -r "$here/../../examples/tracker" "$place/tracker"
cat >"$place/tracker/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(tracker_video LANGUAGES C)
find_package(ttprem 0.1 REQUIRED)
include(video.cmake)
CMAKE
for level in 0 3; do
  cmake -S "$place/tracker" -B "$place/O$level" -G Ninja -DCMAKE_PREFIX_PATH="$place/usr" -DCMAKE_BUILD_TYPE= \
    -DCMAKE_C_FLAGS="-O$level$([ $level = 0 ] || echo ' -march=native')" >"$place/log" 2>&1 &&
    cmake --build "$place/O$level" >>"$place/log" 2>&1 || fail "$(cat "$place/log")"
  cd "$place/O$level"
  while IFS='"' read -r _ settings _ sum _; do
    found=$(./trackview sum "synth:$settings")
    [[ $found == *", sum $sum" ]] || fail "-O$level: synth:$settings: $found, expected $sum"
  done < <(grep '^{' "$here/../examples/synth_sums.h")
  ./trackview save synth:frames=5,scale=25 frames.pgm truth.csv
  ./trackview page page.html synth:frames=5,scale=25 truth.csv
  ./trackview score synth:frames=5,scale=25 truth.csv >scores
done
for file in frames.pgm truth.csv scores; do
  cmp "$place/O0/$file" "$place/O3/$file"
done
