#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The demo's table in the README is that of the committed result, line by line, and that of its data.
# ctest: release
set -euo pipefail
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tools/evidence.sh unpack cpu_demo "$scratch"
text=$scratch/cpu/demo.txt data=$scratch/cpu/demo.json

table=$(sed -n '/^mode  *preempted/,/^```/p' README.md | sed '$d')
[ "$(wc -l <<<"$table")" -ge 6 ] || { echo "readme: no table of the demo in README.md" >&2; exit 1; }
while IFS= read -r line; do
  grep -qxF -- "$line" "$text" || { echo "readme: not in $text: $line" >&2; exit 1; }
done <<<"$table"

# "tt  936/2000  99585  2575/102144 ...": its counts and its longest lateness in ns, as data.
value() { awk -v key="\"$1\":" '/"label": "tt"/ { inside = 1 } inside && $1 == key { gsub(/,/, "", $2); print $2; exit }' "$data"; }
read -r _ preempted worst late _ < <(grep '^tt ' <<<"$table")
[ "$late" = "$(value late_releases)/$(value releases)" ] || { echo "readme: $late late in $text, not in $data" >&2; exit 1; }
[ "$worst" = "$(value lateness_max_ns)" ] ||
  { echo "readme: worst lateness $worst in $text, not in $data" >&2; exit 1; }
counted=$(value repeats) apart=$(awk '/"label": "tt"/ { inside = 1 } inside && /"preempted"/ { found = 1 }
  found && $1 == "\"count\":" { gsub(/,/, "", $2); print $2; exit }' "$data")
[ "$preempted" = "$apart/$((counted + apart))" ] ||
  { echo "readme: $preempted preempted in $text, not in $data" >&2; exit 1; }
