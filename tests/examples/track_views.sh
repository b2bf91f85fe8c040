#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The command `trackview` of examples/tracker: videos saved and read again, through ffmpeg where there is one, scores,
# a sheet, a page, findings and a film; and that what fails leaves no file.
#   track_views.sh TTPREM BUILD
# ctest: TTPREM BUILD long
set -euo pipefail
ttprem=$(realpath "$1")
trackview=$(realpath "$2")/tests/trackview
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

fail() {
  echo "track_views: $*" >&2
  exit 1
}
says() { # TEXT COMMAND...: it succeeds and prints that line
  local found
  found=$("${@:2}" 2>&1) || fail "${*:2}: $found"
  [ "$found" = "$1" ] || fail "${*:2}: '$found' instead of '$1'"
}
refuses() { # STATUS TEXT COMMAND...: it ends so and says something with that text, in one line
  local status=0 found
  found=$("${@:3}" 2>&1 >/dev/null) || status=$?
  [ "$status" -eq "$1" ] || fail "${*:3}: status $status: $found"
  [[ $found == *"$2"* ]] && [ "$(wc -l <<<"$found")" -eq 1 ] || fail "${*:3}: '$found' without '$2'"
}

# ---- numbers ----
video=synth:frames=24,scale=20,noise=3,size=160x120,box=24x20
sum=$("$trackview" sum "$video" | sed 's/.*, sum //')
"$trackview" save "$video" all.pgm truth.csv
says "all.pgm: 24 frames of 160 x 120, sum $sum" "$trackview" sum all.pgm
[ "$(wc -l <truth.csv)" -eq 25 ] || fail "truth.csv has not a line a frame"
says "-: 24 frames of 160 x 120, sum $sum" "$trackview" sum - <all.pgm

# A tracker that is 6 px off to the right from frame 12 on, and another that stays where it began.
awk -F, -v OFS=, 'NR > 1 { $8 = "tracked"; if ($1 >= 12) $3 += 6 } { print }' truth.csv >off.csv
awk -F, -v OFS=, 'NR == 2 { x = $3; y = $4 } NR > 1 { $3 = x; $4 = y; $8 = $1 ? "lost" : "started" } { print }' \
  truth.csv >stays.csv
"$trackview" score "$video" truth.csv off.csv stays.csv >scores
grep -Eq '^synth +truth +24 +1\.000 +1\.000 +0\.952 +0\.00$' scores || fail "$(cat scores)"
grep -Eq '^synth +off +24 +1\.000 +0\.500 +0\.[0-9]+ +3\.00$' scores || fail "$(cat scores)"
says "$(cat scores)" "$trackview" score "$video" truth.csv off.csv stays.csv

# ---- pictures ----
"$trackview" sheet "$video" off.csv sheet.png
head -c 8 sheet.png | od -An -tx1 | grep '89 50 4e 47 0d 0a 1a 0a' >/dev/null || fail "sheet.png is no PNG"
"$trackview" sheet "$video" off.csv again.png
cmp sheet.png again.png
"$trackview" sheet "$video" truth.csv other.png
if cmp -s sheet.png other.png; then fail "a sheet does not show the log"; fi
"$trackview" page page.html "$video" off.csv stays.csv + "$video" truth.csv
for text in '<!doctype html>' 'width=device-width' "src='data:image/png;base64,iVBORw0KGgo" '<svg ' 'off on synth' \
  '<td>0.500</td>' '</html>'; do
  grep -qF "$text" page.html || fail "page.html has no $text"
done
! grep -Eq "(src|href)='?http" page.html || fail "page.html needs a network"

# ---- findings ----
"$trackview" json findings.json "$video" off.csv stays.csv
grep -qF '"schema": "ttprem.findings/1"' findings.json
"$ttprem" report findings.json -o report.html
grep -q 'CLE' report.html || fail "the report has no scores"

# ---- when boxes were shown ----
printf 'frame,planned_ns,shown_ns\n0,1000,3000\n1,2000,1000\n' >early.csv
printf 'frame,planned_ns,shown_ns\n0,1000,1000\n' >exact.csv
"$trackview" instants instants.json early=early.csv exact=exact.csv
grep -qF 'From the earliest to the latest box: 0.0 us of exact, 3.0 us of early.' instants.json || fail "$(cat instants.json)"
"$ttprem" report instants.json -o instants.html
refuses 2 "'early.csv' is no NAME=FILE" "$trackview" instants none.json early.csv
refuses 1 'truth.csv:1: its first line is not' "$trackview" instants none.json truth=truth.csv
[ ! -e none.json ] || fail "instants that cannot be read leave findings"

# ---- findings out of lines, and what else is on a page ----
printf '%s\n' '# lines' '' $'findings\tnumbers\tSome numbers\tHow many?' $'verdict\t3 & 4' $'command\tby hand' $'table\tall\tAll of them' \
  $'columns\tname\tcount\ttime|ms' $'row\tone\t12\t0.25' $'row\ttwo\t7\t-' $'chart\tbars\tall\tCounts\tname\tcount' \
  $'chart\tlog-steps\tall\tTimes\tcount\ttime\tname' >lines
"$trackview" findings lines.json lines
"$trackview" findings - - <lines >again.json
grep -Ev '"date"|_ns"' again.json | cmp - <(grep -Ev '"date"|_ns"' lines.json)
for text in '"verdict": "3 & 4"' '"command": "by hand"' '"unit": "ms"' '0.25'; do
  grep -qF -- "$text" lines.json || fail "lines.json has no $text: $(cat lines.json)"
done
"$ttprem" report lines.json -o lines.html
echo '<svg xmlns="http://www.w3.org/2000/svg"/>' >empty.svg
echo 'a < b' >words.txt
"$trackview" --add words.txt --add empty.svg --add sheet.png page more.html "$video" off.csv
for text in 'a &lt; b' "data:image/svg+xml;base64,$(base64 -w 0 empty.svg)"; do
  grep -qF "$text" more.html || fail "more.html has no $text"
done
base64 -w 0 sheet.png >embedded # too long for a command line
grep -qFf embedded more.html || fail "more.html does not hold sheet.png"
printf '%s\n' 'A name' '  words that may be broken' '  column  another' '              us' >table.txt
"$trackview" --title 'A < title' --head 'Its > head' --add table.txt --add empty.svg page alone.html
for text in '<title>A &lt; title</title>' '<h2>Its &gt; head</h2>' "<span class='name'>A name</span><span>words that may be broken</span>  column  another"; do
  grep -qF "$text" alone.html || fail "alone.html has no $text"
done
grep -qx '              us' alone.html && [ "$(grep -c '<h2>' alone.html)" -eq 1 ] || fail "alone.html: $(cat alone.html)"
cp words.txt words.doc

# ---- what fails leaves nothing ----
mkdir closed
grep -v '^columns' lines >unnamed
sed 's/^row.*7/&\tmore/' lines >long
sed 's/^chart.bars/chart\tpies/' lines >pies
sed 's/^verdict/sentence/' lines >sentence
tail -n +4 lines >headless
sed 's/\tcount$/\tcounts/' lines >stranger
head -c 60000 all.pgm >cut.pgm
before=$(ls -A | sort)
refuses 2 'is no setting' "$trackview" sum synth:colour=3
refuses 2 'has no end' "$trackview" sum synth:frames=0
refuses 2 'no ground truth' "$trackview" page p.html all.pgm off.csv
refuses 1 'absent.csv: No such file' "$trackview" sheet "$video" absent.csv p.png
refuses 1 'unnamed:7: row: has not a cell' "$trackview" findings p.json unnamed
refuses 1 'long:9: row: has not a cell' "$trackview" findings p.json long
refuses 1 'pies:10: chart: has a kind' "$trackview" findings p.json pies
refuses 1 'sentence:4: sentence: is none of' "$trackview" findings p.json sentence
refuses 1 'headless:1: verdict: stands before' "$trackview" findings p.json headless
refuses 1 'is missing' "$trackview" findings p.json /dev/null
refuses 2 'counts' "$trackview" findings p.json stranger
refuses 1 'absent: No such file' "$trackview" findings p.json absent
refuses 2 'words.doc: is none of .svg' "$trackview" --add words.doc page p.html "$video" off.csv
refuses 2 'absent.svg: No such file' "$trackview" --add absent.svg page p.html "$video" off.csv
refuses 1 'more frames than the video' "$trackview" sheet synth:frames=3 off.csv p.png
refuses 1 'No such file' "$trackview" page nowhere/p.html "$video" off.csv
refuses 1 'closed' "$trackview" save "$video" closed
refuses 1 'frame 3 is cut short' "$trackview" save cut.pgm p.pgm p.csv
refuses 1 'install ffmpeg' env PATH=/nowhere "$trackview" film "$video" off.csv p.mp4
[ "$(ls -A | sort)" = "$before" ] || fail "files were left: $(ls -A)"

if ! command -v ffmpeg >/dev/null; then
  echo "track_views: no ffmpeg here: pictures in folders, films and real decoders are not tried" >&2
  exit 77
fi

# ---- a folder of pictures: PNG has the bytes as they were ----
mkdir -p "100% new/img"
ffmpeg -loglevel error -nostdin -f pgm_pipe -i all.pgm -start_number 7 "100%% new/img/%04d.png"
awk -F, 'NR > 1 { printf "%s,%s\t%s %s\n", $3 + 1, $4 + 1, $5, $6 }' truth.csv >"100% new/groundtruth_rect.txt"
says "100% new: 24 frames of 160 x 120, sum $sum" "$trackview" sum "100% new/"
"$trackview" score "100% new" truth.csv | grep -E ' 24 +1\.000 +1\.000 +0\.952 +0\.00$' >/dev/null || fail "boxes counted from 1"
refuses 2 'leave out the size' "$trackview" --size 80x60 sum "100% new"
rm "100% new/img/0012.png"
refuses 1 'some are missing' "$trackview" sum "100% new"
: >"100% new/img/0012.png"
refuses 1 'ffmpeg gave up after' "$trackview" sum "100% new"

# ---- a video, whole, scaled, and damaged ----
ffmpeg -loglevel error -nostdin -f pgm_pipe -framerate 10 -i all.pgm -c:v ffv1 lossless.mkv
says "lossless.mkv: 24 frames of 160 x 120, sum $sum" "$trackview" sum lossless.mkv
"$trackview" --size 80x60 sum lossless.mkv | grep ': 24 frames of 80 x 60, ' >/dev/null || fail "it is not scaled"
head -c 20000 lossless.mkv >cut.mkv
if "$trackview" sum cut.mkv >said 2>&1; then grep -Eq ': ([1-9]|1[0-9]) frames' said || fail "$(cat said)"; fi
head -c 300 lossless.mkv >cut.mkv
refuses 1 'ffmpeg gave up after 0 frames' "$trackview" sum cut.mkv
head -c 5000 /dev/urandom >noise.mp4
refuses 1 'ffmpeg gave up after 0 frames' "$trackview" sum noise.mp4

# ---- a film ----
"$trackview" film "$video" off.csv film.mp4 || fail "no film"
"$trackview" sum film.mp4 | grep 'film.mp4: 24 frames of 640 x 480' >/dev/null || fail "$("$trackview" sum film.mp4 2>&1)"
refuses 1 'more frames than the video' "$trackview" film synth:frames=3 off.csv short.mp4
[ ! -e short.mp4 ] || fail "half a film"
