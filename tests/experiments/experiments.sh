#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every experiment that makes sense on a CPU, in a quick look: it ends well, its outputs are right,
# and it leaves its findings and, where there is gnuplot, its pictures.
# Usage: experiments.sh TTPREM
# ctest: TTPREM alone release
set -euo pipefail
ttprem=$(realpath "$1")
root=$(realpath "$(dirname "$0")/../..")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
failures=0

fail() {
  echo "experiments: $1" >&2
  failures=$((failures + 1))
}

status=0
"$ttprem" experiment all --backend cpu --quick --schedules "$root/schedules" -o out >text 2>said ||
  status=$?
if [ "$status" -ne 0 ]; then
  fail "exit status $status"
  cat said >&2
fi

count=0
while read -r name backends; do
  [[ " $backends " == *" cpu "* ]] || continue
  count=$((count + 1))
  file=out/$name.json
  if grep -q "^$name: " said && [ ! -f "$file" ]; then
    echo "$name: $(grep -m 1 "^$name: " said)" # the machine cannot do it
    continue
  fi
  [ -f "$file" ] || { fail "$name: no findings"; continue; }
  grep -q '"complete": true' "$file" || fail "$name: incomplete"
  ! grep -q '"output_ok": false' "$file" || fail "$name: wrong output"
  grep -q '"verdict": "' "$file" || fail "$name: no verdict"
  if [ -n "$(command -v gnuplot)" ]; then
    for picture in svg png; do
      [ -s "out/$name.$picture" ] || fail "$name: no $picture"
    done
  fi
done < <("$ttprem" experiment list | sed -E 's/^([a-z0-9_]+) +(([a-z]+ )*[a-z]+)  .*/\1 \2/')
[ "$count" -gt 5 ] || fail "only $count experiments make sense on a CPU"

echo "experiments: $count run, $failures failures"
[ "$failures" -eq 0 ]
