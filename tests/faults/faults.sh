#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Build the faults of this folder from an installed build and plant them. Without a GPU those that change the executive
# are compiled, for one kernel and without families of kernels, to see that they can be, and nothing is run.
#   faults.sh BUILD
# ctest: BUILD long release cuda
set -euo pipefail
build=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

has_gpu=true
nvidia-smi -L >/dev/null 2>&1 || has_gpu=false
flags=$(sed -n 's/^CMAKE_CUDA_FLAGS:[A-Z]*=//p' "$build/CMakeCache.txt")
options=(-DCMAKE_PREFIX_PATH="$place/usr") targets=(all)
if ! $has_gpu; then
  options+=(-DCMAKE_BUILD_TYPE=None "-Dbuiltin=BUILTIN;none" -DTTPREM_CUDA_ARCHITECTURES=75-real -DCMAKE_CUDA_FLAGS="$flags -Xptxas=-O0")
fi
cmake --install "$build" --prefix "$place/usr" >/dev/null
cmake -S "$here" -B "$place/build" -G Ninja "${options[@]}" >"$place/log" 2>&1 || { cat "$place/log"; exit 1; }
if ! $has_gpu; then
  mapfile -t targets < <(ninja -C "$place/build" -t targets all |
    grep -oE '^CMakeFiles/(faulty|witnessed)\.dir/.*/executive(_[a-z]+)?\.cu\.o' | grep -vE '_(convolution|kcf)\.cu')
  [ "${#targets[@]}" -ge 10 ] || { echo "faults: only ${#targets[@]} executives found" >&2; exit 1; }
  targets+=(CMakeFiles/witness.dir/witness.cu.o CMakeFiles/run_again.dir/run_again.c.o)
fi
cmake --build "$place/build" --target "${targets[@]}" >"$place/log" 2>&1 || { cat "$place/log"; exit 1; }
if ! $has_gpu; then
  echo "faults: no GPU"
  exit 77
fi
cp "$build/ttprem" "$place/build"
"$here/gpu_delays.sh" "$place/build"
"$place/build/witness" "$here/delays.cfg" 10000 1000
exec "$here/gpu_faults.sh" "$place/build" "$here/../../schedules"
