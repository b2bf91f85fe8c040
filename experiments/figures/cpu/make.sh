#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measure the evidence of a CPU again: the demo's result, and the benchmarks that need no GPU. Makes the bundles
# cpu_demo, cpu_benchmarks and cpu_experiments of it, whose lines in evidence/index.tsv you then look through.
# On a machine that does nothing else; some minutes after the builds.
#   make.sh [demo]    with `demo`, the demo's result alone
set -euo pipefail
cd "$(dirname "$0")/../../.."
readonly measured=$PWD/build/measured

here=$measured/cpu_demo/cpu
mkdir -p "$here"
tools/demo.sh >"$here/demo.txt.new"
mv "$here/demo.txt.new" "$here/demo.txt"
cp build/demo/result.json "$here/demo.json"
cp build/demo/result.samples.csv "$here/demo.samples.csv"
cp build/demo/result.phases.csv "$here/demo.phases.csv"
sed -i 's/"result\.\(samples\|phases\)\.csv"/"demo.\1.csv"/' "$here/demo.json"
cp build/demo/picture.png docs/pictures/demo.png
tools/evidence.sh pack cpu_demo "$measured/cpu_demo"
[ "${1-}" != demo ] || exit 0

here=$measured/cpu_benchmarks/cpu
mkdir -p "$here"
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
tools/evidence.sh pack cpu_benchmarks "$measured/cpu_benchmarks"

here=$measured/cpu_experiments/cpu/experiments
mkdir -p "$here"
(cd "$here/.." && "$OLDPWD/build-test/ttprem" experiment all --backend cpu -o experiments --schedules "$OLDPWD/schedules" >/dev/null)
rm -f "$here"/*.svg "$here"/*.png # `evidence.sh draw` draws them
tools/evidence.sh pack cpu_experiments "$measured/cpu_experiments"
