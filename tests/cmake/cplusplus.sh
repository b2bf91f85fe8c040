#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The C++ header, from an installed build: a live loop by each compiler and standard, run on sim and cpu.
#   cplusplus.sh BUILD
# ctest: BUILD long release
set -euo pipefail
build=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cmake --install "$build" --prefix "$place/usr" >/dev/null
PKG_CONFIG_PATH=$(dirname "$(find "$place/usr" -name ttprem.pc)")
export PKG_CONFIG_PATH
export LD_LIBRARY_PATH=$PKG_CONFIG_PATH/..
tried=0
for compiler in g++ clang++; do
  if ! command -v $compiler >/dev/null; then continue; fi
  for standard in 17 20 2b; do
    # shellcheck disable=SC2046 # the flags are words
    $compiler -std=c++$standard -Wall -Wextra -Wpedantic -Wconversion -Werror -O1 "$here/cplusplus/loop.cpp" \
      -o "$place/loop" $(pkg-config --cflags --libs ttprem)
    for backend in sim cpu; do
      said=$("$place/loop" "$here/../../examples/camera_loop/camera.cfg" $backend)
      [ "$said" = done ] || { echo "cplusplus: $compiler, $standard, $backend: $said" >&2; exit 1; }
    done
    tried=$((tried + 1))
  done
done
if [ $tried -eq 0 ]; then
  echo "cplusplus: no C++ compiler" >&2
  exit 77
fi
