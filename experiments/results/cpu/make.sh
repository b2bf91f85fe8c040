#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Make the files of this folder again: the demo's result, and the benchmarks that need no GPU.
# On a machine that does nothing else; some minutes after the builds.
#   make.sh [demo]    with `demo`, the demo's result alone
set -euo pipefail
cd "$(dirname "$0")"
readonly here=$PWD root=$PWD/../../..

cd "$root"
tools/demo.sh >"$here/demo.txt.new"
mv "$here/demo.txt.new" "$here/demo.txt"
cp build/demo/result.json "$here/demo.json"
cp build/demo/result.samples.csv "$here/demo.samples.csv"
cp build/demo/result.phases.csv "$here/demo.phases.csv"
sed -i 's/"result\.\(samples\|phases\)\.csv"/"demo.\1.csv"/' "$here/demo.json"
cp build/demo/picture.png docs/pictures/demo.png
[ "${1-}" != demo ] || exit 0

tools/setup.sh --tests
cmake --preset test >/dev/null
cmake --build --preset test >/dev/null
measure() { # FILE BENCH...: what the benchmarks say, and where
  file=$1
  shift
  {
    echo "# $(git describe --always --dirty --abbrev=40 --exclude='*'), $(date -u +%FT%TZ)"
    echo "# $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, $(uname -sr)"
    for bench in "$@"; do
      printf '\n$ build-test/tests/%s\n' "$bench"
      "build-test/tests/$bench"
    done
  } >"$here/$file.new"
  mv "$here/$file.new" "$here/$file"
}
measure benchmarks.txt bench_sim bench_check bench_load
measure traces.txt bench_trace
measure causes.txt bench_causes

cd "$here"
"$root/build-test/ttprem" experiment all --backend cpu -o experiments --schedules "$root/schedules" >/dev/null
"$root/experiments/results/draw.sh" "$root/build-test/ttprem" experiments
