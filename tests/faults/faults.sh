#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Build the faults of this folder from an installed build and plant them. Without a GPU two of the programs are
# built with one kernel, to see that they can be, and none is run.
#   faults.sh BUILD
# ctest: BUILD long release cuda
set -euo pipefail
build=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

flags=$(sed -n 's/^CMAKE_CUDA_FLAGS:[A-Z]*=//p' "$build/CMakeCache.txt")
options=(-DCMAKE_PREFIX_PATH="$place/usr") targets=(all)
if ! nvidia-smi -L >/dev/null 2>&1; then
  options+=(-DCMAKE_BUILD_TYPE=None "-Dbuiltin=BUILTIN;none" -DTTPREM_CUDA_ARCHITECTURES=75-real -DCMAKE_CUDA_FLAGS="$flags -Xptxas=-O0")
  targets=(run_again witness)
fi
cmake --install "$build" --prefix "$place/usr" >/dev/null
if ! cmake -S "$here" -B "$place/build" -G Ninja "${options[@]}" >"$place/log" 2>&1 ||
  ! cmake --build "$place/build" --target "${targets[@]}" >"$place/log" 2>&1; then
  cat "$place/log"
  exit 1
fi
if [ "${targets[0]}" != all ]; then
  echo "faults: no GPU"
  exit 77
fi
cp "$build/ttprem" "$place/build"
"$here/gpu_delays.sh" "$place/build"
"$place/build/witness" "$here/delays.cfg" 10000 1000
exec "$here/gpu_faults.sh" "$place/build" "$here/../../schedules"
