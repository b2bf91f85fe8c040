#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every schedule that is shipped as an example works as it is shipped: `ttprem plan FILE`, and the
# commands that its head comment names; without any, check and a run in the simulator.
#   examples.sh TTPREM
# ctest: TTPREM long release
set -euo pipefail
ttprem=$(realpath "$1")
examples=$(realpath "$(dirname "$0")/../../schedules/examples")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/bin"
ln -s "$ttprem" "$place/bin/ttprem"
PATH=$place/bin:$PATH
count=0

fail() {
  echo "examples: $1: $2" >&2
  cat "$place/said" >&2
  exit 1
}

for file in "$examples"/*.cfg; do
  name=${file##*/}
  rm -rf "$place/work"
  cp -r "$examples" "$place/work"
  cd "$place/work"
  ttprem plan "$name" --time-limit 0.2 -o made.cfg >"$place/said" 2>&1 || fail "$name" "plan"
  mapfile -t commands < <(sed -n '/^#/!q; s/^#   \(ttprem .*\)/\1/p' "$name")
  [ ${#commands[@]} -gt 0 ] ||
    commands=("ttprem check made.cfg" "ttprem run made.cfg --backend sim")
  for command in "${commands[@]}"; do
    status=0
    sh -c "$command" >"$place/said" 2>&1 || status=$?
    # A busy machine took a core away from every job: the outputs are judged all the same.
    if [ "$status" -eq 3 ]; then sh -c "$command --with-disturbed" >"$place/said" 2>&1 && status=0; fi
    [ "$status" -eq 0 ] || fail "$name" "$command"
  done
  count=$((count + 1))
done
[ "$count" -ge 10 ] || fail "$examples" "only $count files"
