#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Pictures as PDF: as wide as a paper's column, axes in words, and nothing that is the caption's.
#   pdf.sh TTPREM
#
# 77: no gnuplot, or none that draws PDF; what the command says of it is judged all the same.
# ctest: TTPREM release experiments
set -euo pipefail
ttprem=$(realpath "$1")
root=$(realpath "$(dirname "$0")/../..")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
fail() { echo "pdf: $*" >&2; exit 1; }
cp "$root/examples/three_tasks/three_tasks.cfg" tasks.cfg

# A gnuplot that draws no PDF is told by the package to install.
mkdir bin
printf '#!/bin/sh\necho "         line 0: unknown or ambiguous terminal type; type just set terminal for a list" >&2\nexit 1\n' >bin/gnuplot
chmod +x bin/gnuplot
if PATH=$place/bin:$PATH "$ttprem" plan tasks.cfg --time-limit 0 -o planned.cfg --svg plan.pdf 2>said; then fail 'no PDF, and no failure'; fi
grep -q 'install gnuplot-nox' said || fail "$(cat said)"
[ ! -e plan.pdf ] || fail 'something is left'
rm -r bin

if ! command -v gnuplot >/dev/null || ! gnuplot -e 'set terminal pdfcairo' 2>/dev/null; then
  echo 'pdf: no gnuplot that draws PDF: nothing is drawn (on Debian: gnuplot-nox)' >&2
  exit 77
fi
"$ttprem" plan tasks.cfg --quiet --time-limit 0 -o planned.cfg --svg plan.pdf
"$ttprem" run planned.cfg --quiet --backend sim --picture run.pdf >/dev/null
"$ttprem" isolate planned.cfg --quiet --backend sim --picture isolate.pdf --json isolate.json >/dev/null
"$ttprem" experiment "$root/tests/report/chart_kinds.json" --quiet --picture kinds.pdf >/dev/null
"$ttprem" experiment isolate.json --quiet --picture again.pdf >/dev/null
for picture in *.pdf; do # 252 points are 3.5 inches
  head -c 5 "$picture" | grep -q '%PDF-' || fail "$picture is no PDF"
  grep -aqE '/MediaBox \[ ?0 0 252(\.0+)? ' "$picture" || fail "$picture is of another width"
done

if ! command -v pdftotext >/dev/null; then
  echo 'pdf: words are not judged, for there is no pdftotext (on Debian: poppler-utils)' >&2
  exit 0
fi
says() { pdftotext -layout "$1" text && grep -q -- "$2" text || fail "$1 does not say: $2"; }
hides() { pdftotext -layout "$1" text && ! grep -q -- "$2" text || fail "$1 says: $2"; }
says plan.pdf 'time from the start of the hyperperiod'
hides plan.pdf 'the whole plan'
says run.pdf 'lateness'
hides run.pdf 'certain'
for picture in isolate.pdf again.pdf; do
  says $picture 'clock steps'
  says $picture 'ratio median'
  hides $picture 'clock_steps'
  hides $picture 'response times moved by'
done
