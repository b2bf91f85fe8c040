#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `ttprem explain` knows every code that the sources give or name, and that messages in the tests' expectations
# carry; each has an example and a remedy, and the list has no gap.
#   codes.sh TTPREM
# ctest: TTPREM release
set -euo pipefail
ttprem=$(realpath "$1")
cd "$(dirname "$0")/../.."
status=0

fail() {
  echo "codes: $*" >&2
  status=1
}

# Calls that report with a number, the code; and codes by their names.
numbers=$(find prem schedules kernels runtime measure report studies experiments command -name '*.[ch]' -exec cat {} + | tr '\n' ' ' |
  grep -oE '(PREM_ERROR|(refuse|refuse_[a-z]+|prem_refuse|prem_checker_refuse)\([a-z>_-]+), *[0-9]+,' | grep -oE '[0-9]+,$' |
  tr -d , | sort -un)
names=$(grep -rhoE '\bE0[0-9]{2}\b' prem schedules kernels runtime measure report experiments include tests/golden tests/cli |
  sed 's/E0*//' | sort -un)
[ "$(wc -w <<<"$numbers")" -ge 45 ] || fail "the calls that report a code are not found: $numbers"
[ "$(wc -w <<<"$names")" -ge 45 ] || fail "no codes in headers and expectations: $names"
mapfile -t codes < <(sort -un <<<"$numbers"$'\n'"$names")
for code in "${codes[@]}"; do
  [ "$code" -ne 0 ] || continue
  said=$("$ttprem" explain "$code" 2>&1) || { fail "E0$code is given and not explained"; continue; }
  grep -q '^  refused: .' <<<"$said" || fail "E0$code: no example that is refused"
  grep -q '^  instead: .' <<<"$said" || fail "E0$code: nothing to write instead"
done

listed=$("$ttprem" explain | sed -n 's/^E\([0-9]*\)  .*/\1/p')
last=$(tail -1 <<<"$listed")
[ "$listed" = "$(seq -f '%03g' 1 "$((10#$last))")" ] || fail "the list has a gap, or is not in order"
[ "$("$ttprem" explain | awk 'length > 80' | wc -l)" = 0 ] || fail "lines of more than 80 columns"
exit "$status"
