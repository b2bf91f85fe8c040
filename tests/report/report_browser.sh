#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The page of `ttprem report` in a real browser: everything is drawn, nothing is complained about, it
# can be zoomed by its address, seen in the dark and printed: report_browser.sh TTPREM
# ctest: TTPREM long timing release
set -euo pipefail
ttprem=$(realpath "$1")
cd "$(dirname "$0")"
source=$PWD

for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null; then
    browser=$name
    break
  fi
done
if [ -z "${browser-}" ]; then
  echo "report_browser: no chromium here: skipped" >&2
  exit 77
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

browse() { # ADDRESS OPTIONS...: what the browser writes; what it complains about to `complaints`
  address=$1
  shift
  timeout 600 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$scratch/user" \
    --virtual-time-budget=2000 --window-size=1280,2000 --enable-logging=stderr "$@" \
    "file://$scratch/$address" 2>log
  grep -a 'CONSOLE' log >>complaints || true
}

failed=0
expect() { # WHAT FOUND WANTED
  if [ "$2" != "$3" ]; then
    printf '%s:\n  found  %s\n  wanted %s\n' "$1" "$2" "$3" >&2
    failed=1
  fi
}
attribute() { # FILE NAME: the value of a data attribute, as the browser left it
  grep -aoE "data-$2=\"[^\"]*\"" "$1" | head -n 1 | cut -d'"' -f2
}

: >complaints
"$ttprem" compare --backend sim --quiet "$source/../cli/inputs/small.cfg" --modes tt,free \
  --json result.json >/dev/null
"$ttprem" report result.json "$source/chart_kinds.json" -o page.html
"$ttprem" report "$source/late.json" -o late.html

browse page.html --dump-dom >dom
expect 'what was drawn' "$(attribute dom ready)" 'bars=1 histograms=1 lines=6 maps=1 timelines=1'
expect 'an error' "$(attribute dom error)" ''
# Scripts and their data go for what the page shows; the title of the findings is no markup.
sed -e 's/<script.*<\/script>//' dom | grep -ac '<b>&amp;' >markup || true
expect 'markup from data' "$(cat markup)" 0
expect 'curves' "$(grep -aoE 'class="u-series"' dom | wc -l)" 15
# All points are within the axes, whatever their order; 0 stands on a logarithmic axis as well.
expect 'ends of the axes' "$(grep -aoE 'data-x="[^"]*"' dom | tail -n 2 | tr '\n' ' ')" 'data-x="0,131" data-x="0,137.6" '
expect 'rows of a lane' "$(attribute dom rows)" 1
shown=$(attribute dom view)
expect 'phases at first' "${shown##*,}" 24

# A writeback beside a prefetch hides neither: each has a row of its own.
mkdir beside
cp result.json result.samples.csv beside
awk -F, -v OFS=, '$6 == "writeback" { $11 = 0 } 1' result.phases.csv >beside/result.phases.csv
"$ttprem" report beside/result.json -o beside.html
browse beside.html --dump-dom >rows
expect 'rows of prefetch, compute, writeback' "$(attribute rows rows)" 3

# Causes of late releases, the window that they waited for, and rows that were padded.
browse late.html --dump-dom >late
rows_of() { # TEXT: the cells of every table row that begins with it, without their elements
  grep -aoE '<tr[^>]*><td[^>]*>.*' late | sed -e 's/<\/tr>/\n/g' | sed -e 's/<\/td>/|/g; s/<[^>]*>//g' | sed -e 's/\xe2\x80\xaf/ /g' | grep -aF "$1" || true
}
expect 'causes' "$(rows_of 'conv.0|prefetch|9 223')" 'conv.0|prefetch|9 223|7 611|202|100|1 303|7|'
expect 'first causes' "$(rows_of 'the hand-over from')" \
  'the hand-over from conv.1 to conv.0 took longer than planned|1 303|1 504|1 440|5|131|0|131|1 200|'
expect 'lost causes' "$(rows_of 'not known: raw' | cut -d'|' -f2)" '409'
expect 'how many first causes' "$(sed -e 's/\xe2\x80\xaf/ /g' late | grep -aoE '[0-9 ]+ late releases have [0-9]+ first causes' | head -n 1)" \
  ' 10 570 late releases have 2 first causes'
expect 'a padded row' "$(rows_of 'makespan|free')" 'makespan|free|100|–|–|–|–|5 689.984|0 of 100|'

# A result from before first causes were named.
sed -e '/"first_causes"/,/^   \],$/d' "$source/late.json" >older.json
"$ttprem" report older.json -o older.html
browse older.html --dump-dom >late
expect 'the window to widen' "$(rows_of 'conv.0|compute|100')" 'conv.0|compute|100|506|1 440|'
expect 'published by padding' "$(rows_of 'conv.0|free|5' | grep -aoE '[^|]*\*\|$')" '5 689.984*|'

# How many hyperperiods were verified, where it is not all.
verified_of() { # OPTIONS...
  "$ttprem" run --backend sim --quiet --no-save "$source/../cli/inputs/increment.cfg" --scenario resident --repeat 100 "$@" \
    --json verified.json >/dev/null
  "$ttprem" report verified.json -o verified.html
  browse verified.html --dump-dom >verified
  grep -aoE 'tt: outputs were verified after [0-9]+ of [0-9]+' verified || echo "no word"
}
expect 'what was verified' "$(verified_of)" 'tt: outputs were verified after 10 of 100'
expect 'that all was verified' "$(verified_of --verify-every 1)" 'no word'

# A promise that was broken is seen at the verdict's edge.
verdicts() { grep -aoE '<div class="verdict[^"]*"' "$1" | sort | uniq -c | tr -s ' '; }
"$ttprem" report "$source/chart_kinds.json" -o kept.html
sed 's/"complete": true,/"complete": true, "kept": false,/' "$source/chart_kinds.json" >broken.json
"$ttprem" report broken.json -o broken.html
sed 's/"complete": true,/"complete": true, "kept": true,/' "$source/chart_kinds.json" >good.json
"$ttprem" report good.json -o good.html
browse good.html --dump-dom >good
expect 'verdict of a kept promise' "$(verdicts good)" ' 1 <div class="verdict good"'
browse kept.html --dump-dom >kept
browse broken.html --dump-dom >broken
expect 'verdict' "$(verdicts kept)" ' 1 <div class="verdict"'
expect 'verdict of a broken promise' "$(verdicts broken)" ' 1 <div class="verdict bad"'

# The worst run is shown first, the others behind buttons.
mkdir worst
sed 's/"first_causes"/"worst": {"run": 7, "by": "lateness", "ns": 900, "before": 6, "first": 2}, "first_causes"/' \
  result.json >worst/result.json
cp result.samples.csv worst
awk -F, -v OFS=, 'NR == 1 { print $0, "run"; next } { for (run = 7; run > 1; run = run == 6 ? 2 : run - 1) print $0, run }' \
  result.phases.csv >worst/result.phases.csv
"$ttprem" report "$PWD/worst/result.json" -o worst.html
browse worst.html --dump-dom >worst.dom
buttons() { grep -aoE '<button type="button"[^>]*>(tt|free):[^<]*' "$1" | sed -e 's/.*>//' | sed -e 's/&nbsp;/ /g' | tr '\n' ';'; }
expect 'runs to choose' "$(buttons worst.dom)" "tt: run 7 (worst by lateness, 900 ns);tt: run 6 (before the worst);tt: run 2 (the first);\
free: run 7 (worst by lateness, 900 ns);free: run 6 (before the worst);free: run 2 (the first);"
shown=$(attribute worst.dom view)
expect 'shown first' "${shown%%,*}" 'tt 7'
expect 'folders of absolute paths' "$(grep -ac "$PWD" worst.html)" 0

# On a telephone nothing is wider than the screen, and the histogram ends with its worst bucket.
cat >probe.html <<'END'
<script>addEventListener('load', () => setTimeout(() => {
  const histogram = document.querySelector('svg[data-buckets]'), ends = histogram.getBoundingClientRect().right;
  const last = Math.max(...[...histogram.querySelectorAll('rect, text')].map((part) => part.getBoundingClientRect().right));
  parent.postMessage(`${document.documentElement.scrollWidth <= innerWidth} ${last <= ends + 1}`, '*');
}, 200));</script>
END
cat late.html probe.html >inner.html
cat >telephone.html <<'END'
<body><iframe src="inner.html" width="420" height="2000"></iframe>
<script>onmessage = (event) => { document.body.dataset.fits = event.data; };</script></body>
END
browse telephone.html --dump-dom >telephone
expect 'page and histogram fit into 420 pixels' "$(attribute telephone fits)" 'true true'

browse 'page.html#zoom=0,free,0,1500' --dump-dom >zoomed
zoomed=$(attribute zoomed view)
expect 'zoomed to' "${zoomed%,*}" free,0,1500
if [ "${zoomed##*,}" -ge 24 ] || [ "${zoomed##*,}" -lt 1 ]; then
  expect 'fewer phases when zoomed' "${zoomed##*,}" 'from 1 to 23'
fi

for paper in 0 1; do # dark, light
  browse page.html --blink-settings=preferredColorScheme=$paper --screenshot="$scratch/$paper.png" \
    >/dev/null
done
if cmp -s 0.png 1.png || [ ! -s 0.png ]; then
  expect 'dark and light' same different
fi

browse page.html --print-to-pdf="$scratch/page.pdf" >/dev/null
expect 'print' "$(head -c 5 page.pdf)" '%PDF-'
# Charts stand beside each other on paper; one below the other they take five pages.
browse kept.html --print-to-pdf="$scratch/kept.pdf" >/dev/null
pages=$(grep -ac '/Type /Page$' kept.pdf || true)
if [ "$pages" -lt 1 ] || [ "$pages" -gt 4 ]; then expect 'printed pages' "$pages" '3 or 4'; fi
expect 'complaints' "$(cat complaints)" ''
exit "$failed"
