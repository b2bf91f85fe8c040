#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The tables of docs/schedule-format.md are those of prem/file/keys.def, and so are the words of the fuzzers.
# ctest: release
set -euo pipefail
cd "$(dirname "$0")/../.."
tools/keys.py check

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tools/keys.py dictionary >"$scratch/words"
for word in wcet_ns hyperperiod_ns resident best_effort writeback; do
  grep -qx "\"$word\"" "$scratch/words" || { echo "keys: the dictionary lacks $word" >&2; exit 1; }
done

# A table that is another one is found, and so is one that is missing.
mkdir -p "$scratch/tree"/{tools,docs,prem/file,include/ttprem}
cp tools/keys.py "$scratch/tree/tools"
cp prem/file/keys.def "$scratch/tree/prem/file"
cp include/ttprem/{base,schedule}.h "$scratch/tree/include/ttprem"
# shellcheck disable=SC2016 # the backticks are Markdown's
for edit in 's/^| `guard_ns`.*/| `guard_ns` | time | 7 | wrong |/' '/^<!-- keys: after -->$/d'; do
  sed "$edit" docs/schedule-format.md >"$scratch/tree/docs/schedule-format.md"
  ! "$scratch/tree/tools/keys.py" check 2>/dev/null || { echo "keys: not found: $edit" >&2; exit 1; }
done
