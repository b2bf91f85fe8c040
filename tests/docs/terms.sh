#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The snippets of docs/terms.md are one schedule file, which the checker accepts and the simulator runs on time.
# ctest: TTPREM
set -euo pipefail
ttprem=$(realpath "$1")
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

awk '/^```/ { inside = !inside; next } inside' docs/terms.md >"$scratch/terms.cfg"
"$ttprem" check "$scratch/terms.cfg"
"$ttprem" run "$scratch/terms.cfg" --backend sim --strict >"$scratch/run.txt" || { cat "$scratch/run.txt" >&2; exit 1; }

nouns=$(grep -c '^## ' docs/terms.md) snippets=$(grep -c '^```$' docs/terms.md)
[ "$snippets" = $((2 * (nouns - 2))) ] || { echo "terms: a word without a snippet, or with two" >&2; exit 1; }
