#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Bundles of evidence/, their index and the numbers on pages agree; and where one of them is wrong, that is found.
# ctest: release
set -euo pipefail
root=$(realpath "$(dirname "$0")/../..")
"$root/tools/evidence.sh" check
[ "${1-}" != quick ] || exit 0

# A tree of its own with one bundle, one page and one number; each case breaks a copy of it.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/new/a" "$scratch/good/evidence" "$scratch/good/docs"
echo '{"provenance": {"commit": "abcdef0123", "machine": {"uuid": "GPU-12345678"}}, "rows": [{"worst": 1234.56}]}' >"$scratch/new/a/table.json"
cd "$scratch/good"
printf '# bundle\tsha256\n' >evidence/index.tsv
printf '# path\n' >evidence/left_out.tsv
EVIDENCE_ROOT=. "$root/tools/evidence.sh" pack first "$scratch/new" 2>/dev/null
sum=$(sha256sum evidence/first.tar.xz | cut -d' ' -f1)
printf 'first\t%s\tHow late?\tttprem run\tH200\tGPU-12345678\t1\tabcdef0\t10 runs\t-\n' "$sum" >evidence/index.tsv
for page in README.md docs/measured.md; do printf '# A page\n\n## Measured\n| a | b |\n| --- | --- |\n' >$page; done
printf '# Late\nAt worst it took\n  1 234.6 us, of\nwhich 7 are mine.\n' >docs/late.md
printf 'docs/late.md\tit took {} us\ta/table.json\t.rows[0].worst\ndocs/late.md\tmay stay\tleft\t1\n' >docs/numbers.tsv

run() { EVIDENCE_ROOT=$1 "$root/tools/evidence.sh" "${@:2}" 2>&1; }
fail() {
  echo "evidence: $1" >&2
  exit 1
}

run "$scratch/good" check >"$scratch/said" || fail "refuses what is right: $(cat "$scratch/said")"

must_find() { # WHAT IT SAYS, command that breaks the tree it is in
  rm -rf "$scratch/broken"
  cp -r "$scratch/good" "$scratch/broken"
  (cd "$scratch/broken" && eval "$2")
  if run "$scratch/broken" check >"$scratch/said"; then fail "does not find: $2"; fi
  grep -qF -- "$1" "$scratch/said" || fail "after $2 says not $1, but $(cat "$scratch/said")"
}
must_find '1 235.6 in "it took {} us" is 1234.56' "sed -i 's/234.6/235.6/' docs/late.md"
must_find 'there is no "it took {} us"' "sed -i 's/it took/it needs/' docs/late.md"
must_find 'no bundle has a/other.json' "sed -i 's/table.json/other.json/' docs/numbers.tsv"
must_find 'numbers.tsv:1: a/table.json: .rows[0].[' "sed -i 's/worst$/[/' docs/numbers.tsv"
must_find '2 numbers that no line of numbers.tsv names, 1 are allowed' "echo 'And 8 more.' >>docs/late.md"
must_find 'no line of numbers.tsv for: 5 us' "echo '| x | 5 us |' >>README.md"
must_find 'has another sha256' "sed -i 's/\t[0-9a-f]\{64\}\t/\t$(printf '0%.0s' {1..64})\t/' evidence/index.tsv"
must_find 'there is no evidence/first.tar.xz' "rm evidence/first.tar.xz"
must_find 'no line for evidence/second.tar.xz' "cp evidence/first.tar.xz evidence/second.tar.xz"
must_find 'not ten' "sed -i 's/How late?//' evidence/index.tsv"
must_find 'no commit abcdef0' "sed -i 's/abcdef0/1111111/' evidence/index.tsv"
must_find 'no GPU-12345678' "sed -i 's/GPU-12345678/GPU-0/' evidence/index.tsv"
must_find 'not a path once' "printf 'a/raw.csv\tabc\t1\tabcdef0\tfirst\traw\n' >>evidence/left_out.tsv"
must_find 'docs/late.md: abcdef0' "echo 'Since abcdef0 it is so.' >>docs/late.md"
must_find 'docs/late.md: commit 1234567' "echo 'Since commit 1234567 it is so.' >>docs/late.md"
must_find 'no bundle has h200/gone.json' "echo 'See \`h200/gone.json\`.' >>docs/late.md"

# What `write` writes is what `check` takes, and nothing else of the page changes.
cp -r "$scratch/good" "$scratch/written"
sed -i 's/1 234.6/9 999.9/' "$scratch/written/docs/late.md"
run "$scratch/written" write >"$scratch/said" || fail "does not write: $(cat "$scratch/said")"
cmp "$scratch/good/docs/late.md" "$scratch/written/docs/late.md"

# The same bundle from the same files, and the files out of it.
before=$(sha256sum <evidence/first.tar.xz)
touch "$scratch/new/a/table.json"
run "$scratch/good" pack first "$scratch/new"
[ "$(sha256sum <evidence/first.tar.xz)" = "$before" ] || fail "packs the same files into another bundle"
run "$scratch/good" unpack first "$scratch/out"
cmp "$scratch/new/a/table.json" "$scratch/out/a/table.json"
run "$scratch/good" list first | grep -q 'a/table.json .*abcdef0 ' || fail "list: no commit of a/table.json"
