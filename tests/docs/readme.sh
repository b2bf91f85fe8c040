#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The demo's table in the README is that of the committed result, line by line, and that of its data; and CITATION.cff
# names the version that there is.
# ctest: release
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v jq >/dev/null || { echo "readme: no jq: \`tools/setup.sh --tests\` installs it" >&2; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tools/evidence.sh unpack cpu_demo "$scratch"
text=$scratch/cpu/demo.txt data=$scratch/cpu/demo.json

table=$(sed -n '/^mode  *disturbed/,/^```/p' README.md | sed '$d')
[ "$(wc -l <<<"$table")" -ge 6 ] || { echo "readme: no table of the demo in README.md" >&2; exit 1; }
while IFS= read -r line; do
  grep -qxF -- "$line" "$text" || { echo "readme: not in $text: $line" >&2; exit 1; }
done <<<"$table"

# "tt  1487/2764  207.166  494/61296 ...": its counts and its longest lateness in us, as data.
of_tt() { jq -r ".rows[] | select(.label == \"tt\") | $1" "$data"; }
read -r _ disturbed worst late _ < <(grep '^tt ' <<<"$table")
same() { # WHAT SHOWN EXPRESSION
  [ "$2" = "$(of_tt "$3")" ] || { echo "readme: $1 $2 in $text, $(of_tt "$3") in $data" >&2; exit 1; }
}
same late "$late" '"\(.late_releases)/\(.releases)"'
same 'worst lateness' "$(sed 's/[.]//; s/^0*//' <<<"$worst")" .lateness_max_ns
same disturbed "$disturbed" '"\(.disturbed.jobs)/\((.repeats + .disturbed.count) * (.tasks | length))"'

version=$(sed -n 's/^#define PREM_VERSION "\(.*\)"/\1/p' include/ttprem/base.h)
grep -qx "version: $version" CITATION.cff || { echo "readme: CITATION.cff is not of version $version" >&2; exit 1; }
