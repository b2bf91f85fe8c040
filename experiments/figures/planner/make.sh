#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measure the planner again, and make the bundle `planner` of it: make.sh [INSTANCES [SHOPS]]
#
# INSTANCES is a folder of public instances with an index.csv (see docs/planning.md), SHOPS one of the
# classic job shops with their instances.json (github.com/tamy0612/JSPLIB); without them the files made
# of them stay as they are. BUILD is a release build with tests, else build-test. ONLY is a pattern of
# files to make, all by default. About twenty-five minutes on a machine that does nothing else.
set -euo pipefail
cd "$(dirname "$0")/../../.."
readonly folder=$PWD/build/measured/planner instances=${1:-} shops=${2:-}
readonly here=$folder/planner

tools/evidence.sh unpack planner "$folder"
if [ -z "${BUILD:-}" ]; then
  tools/setup.sh --tests
  cmake --preset test >/dev/null
  cmake --build --preset test >/dev/null
fi
readonly build=${BUILD:-build-test}

measure() { # FILE BENCH [ARGUMENT...]
  local file=$1 bench=$2
  shift 2
  # shellcheck disable=SC2053 # a pattern is meant
  if [[ $file != ${ONLY:-*} ]]; then return; fi
  local -a shown=("$@")
  if [ "${1:-}" = "$instances" ] && [ -n "$instances" ]; then shown[0]=INSTANCES; fi
  if [ "${1:-}" = "${converted:-}" ] && [ -n "${converted:-}" ]; then shown[0]=SHOPS; fi
  {
    echo "# $(git describe --always --dirty --abbrev=40 --exclude='*'), $(date -u +%FT%TZ)"
    echo "# $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, $(uname -sr)"
    echo "# load of the machine before: $(cut -d' ' -f1-3 /proc/loadavg)"
    echo "\$ $bench ${shown[*]@Q}"
    echo
    "$build/tests/$bench" "$@" 2>&1
  } >"$here/$file.new"
  mv "$here/$file.new" "$here/$file"
}

if [ -n "$instances" ]; then
  measure projects_30.txt bench_instances "$instances" 10 0 "project 30"
  measure projects_60.txt bench_instances "$instances" 10 0 "project 60"
  measure job_shops.txt bench_instances "$instances" 10 0 "job shop"
fi
if [ -n "$shops" ]; then
  converted=$(mktemp -d)
  trap 'rm -r "$converted"' EXIT
  awk -v folder="$converted" -f experiments/figures/planner/job_shops.awk "$shops/instances.json"
  measure classic_job_shops.txt bench_instances "$converted" 10 0
fi
measure planted_and_curve.txt bench_plan 10
measure checker.txt bench_check
measure periodic.txt bench_periodic 5 6 1
tools/evidence.sh pack planner "$folder"
