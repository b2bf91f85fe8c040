#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The experiments as a project of their own: a command without them has no verb `experiment`, and one that is built of
# experiments/ against what is installed has. Without the schedules that come with ttprem it measures what needs none of
# them.
#   experiments.sh BUILD
set -euo pipefail
build=$(realpath "$1")
root=$(realpath "$(dirname "$0")/../..")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

cmake --install "$build" --prefix "$place/usr" >/dev/null
mkdir "$place/bare"
cat >"$place/bare/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(bare LANGUAGES C)
find_package(ttprem REQUIRED)
ttprem_find_dependencies()
if(ttprem_CUDA)
  enable_language(CUDA)
endif()
add_executable(bare "$root/command/main.c")
set_target_properties(bare PROPERTIES ENABLE_EXPORTS ON)
target_include_directories(bare PRIVATE "$root")
target_link_libraries(bare PRIVATE ttprem::verbs ttprem::measure ttprem::ttprem ttprem::kernel_flags)
END
cmake -S "$place/bare" -B "$place/bare" -G Ninja -DCMAKE_PREFIX_PATH="$place/usr" >"$place/log" &&
  cmake --build "$place/bare" >>"$place/log" || { tail -n 40 "$place/log" >&2; exit 1; }
status=0
"$place/bare/bare" experiment list >/dev/null 2>"$place/said" || status=$?
[ "$status" = 2 ] && grep -q "unknown verb 'experiment'" "$place/said" ||
  { echo "experiments: a command without them has the verb: status $status" >&2; exit 1; }
rm -r "$place/usr/share/ttprem/schedules"

cmake -S "$root/experiments" -B "$place/build" -G Ninja -DCMAKE_PREFIX_PATH="$place/usr" -DCMAKE_C_FLAGS_RELEASE=-O1 >"$place/log" &&
  cmake --build "$place/build" >>"$place/log" || { tail -n 40 "$place/log" >&2; exit 1; }
count=$("$place/build/ttprem" experiment list | wc -l)
[ "$count" = "$(grep -cE '^PREM_(EXPERIMENT|SWEEP)\(' "$root/experiments/experiments.def")" ] ||
  { echo "experiments: lists $count" >&2; exit 1; }
cd "$place"
build/ttprem experiment convolution --backend cpu --quick --quiet -o out >said 2>&1 || { cat said >&2; exit 1; }
grep -q '"complete": true' out/convolution.json
