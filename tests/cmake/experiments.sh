#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The experiments as a project of their own: what is installed has no verb `experiment`, and a command that is built of
# experiments/ against it has. Without the schedules that come with ttprem it measures what needs none of them.
#   experiments.sh BUILD      a build with TTPREM_EXPERIMENTS=OFF
set -euo pipefail
build=$(realpath "$1")
root=$(realpath "$(dirname "$0")/../..")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

cmake --install "$build" --prefix "$place/usr" >/dev/null
status=0
"$place/usr/bin/ttprem" experiment list >/dev/null 2>"$place/said" || status=$?
[ "$status" = 2 ] && grep -q "unknown verb 'experiment'" "$place/said" ||
  { echo "experiments: the product has the verb: status $status" >&2; exit 1; }
rm -r "$place/usr/share/ttprem/schedules"

cmake -S "$root/experiments" -B "$place/build" -G Ninja -DCMAKE_PREFIX_PATH="$place/usr" -DCMAKE_C_FLAGS_RELEASE=-O1 >"$place/log" &&
  cmake --build "$place/build" >>"$place/log" || { tail -n 40 "$place/log" >&2; exit 1; }
count=$("$place/build/ttprem" experiment list | wc -l)
[ "$count" = "$(grep -c '^PREM_EXPERIMENT(' "$root/experiments/experiments.def")" ] ||
  { echo "experiments: lists $count" >&2; exit 1; }
cd "$place"
build/ttprem experiment convolution --backend cpu --quick --quiet -o out >said 2>&1 || { cat said >&2; exit 1; }
grep -q '"complete": true' out/convolution.json
