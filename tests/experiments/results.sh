#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every kept result goes into a report without a complaint: its samples and phases are there, and its own.
# ctest: TTPREM
set -euo pipefail
ttprem=$(realpath "$1")
root=$(realpath "$(dirname "$0")/../..")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$root/tools/evidence.sh" unpack all "$scratch/evidence"
cd "$scratch/evidence"

find . -name '*.json' -print0 | sort -z >"$scratch/files"
xargs -0 "$ttprem" report -o "$scratch/page.html" <"$scratch/files" 2>"$scratch/complaints" ||
  { cat "$scratch/complaints" >&2; exit 1; }
[ ! -s "$scratch/complaints" ] || { cat "$scratch/complaints" >&2; exit 1; }
