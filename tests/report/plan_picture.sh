#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Draw plans of 8, 528 and 132 blocks and count what was drawn: plan_picture.sh TTPREM
#
# 77: no gnuplot here, nothing was judged but that it is said.
# ctest: TTPREM release
set -euo pipefail
cd "$(dirname "$0")/../.."
ttprem=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
figures=schedules/figures

fail() {
  echo "$*" >&2
  exit 1
}

# Colours of prefetch, compute and writeback; each has one more rectangle, in the legend.
shapes() { # SVG COLOUR
  echo $(($(grep -o "<polygon fill = '$2'" "$1" | wc -l) - 1))
}

check_shapes() { # SVG PREFETCHES COMPUTES WRITEBACKS
  local found
  found="$(shapes "$1" 'rgb(  0, 114, 178)') $(shapes "$1" 'rgb(230, 159,   0)') $(
    shapes "$1" 'rgb(  0, 158, 115)')"
  [ "$found" = "$2 $3 $4" ] || fail "$1: $found phases drawn, expected $2 $3 $4"
}

check_text() { # SVG TEXT
  grep -qF -- "$2" "$1" || fail "$1 does not say: $2"
}

check_well_formed() { # SVG
  if command -v xmllint >/dev/null; then
    xmllint --noout --nonet "$1" || fail "$1 is not well-formed"
  elif command -v python3 >/dev/null; then
    python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$1" ||
      fail "$1 is not well-formed"
  fi
  [ "$(wc -c <"$1")" -lt 5000000 ] || fail "$1 is larger than 5 MB"
}

# Without gnuplot: one line, exit status 1, and the plan is there.
mkdir "$scratch/empty"
status=0
said=$(PATH=$scratch/empty "$ttprem" plan --quiet "$figures/thesis_tile_blockwise.cfg" \
  -o "$scratch/8.cfg" --svg "$scratch/8.svg" 2>&1) || status=$?
[ "$status" = 1 ] || fail "without gnuplot: exit status $status"
[ "$said" = "ttprem: --svg needs gnuplot, which is not on the PATH; install gnuplot-nox" ] ||
  fail "without gnuplot: $said"
[ ! -e "$scratch/8.svg" ] || fail "without gnuplot: a picture is left"
"$ttprem" check "$scratch/8.cfg" >/dev/null

command -v gnuplot >/dev/null || exit 77

# 8 blocks, cut: block b's tile k starts at 10000 + 3000 b + 24000 k ns, its compute 1781 ns later,
# its writeback another 506 ns later.
svg=$scratch/8.svg
"$ttprem" plan --quiet "$figures/thesis_tile_blockwise.cfg" -o "$scratch/8.cfg" --svg "$svg"
check_well_formed "$svg"
end_us=$(sed -n 's/.*8 blocks, 0 to \([0-9.]*\) us of 12273.7 us.*/\1/p' "$svg")
[ -n "$end_us" ] || fail "$svg does not say where it is cut"
expected=$(awk -v end="$end_us" 'BEGIN {
  for (b = 0; b < 8; b++)
    for (at = 10000 + 3000 * b; at < 1000 * end; at += 24000) {
      fetch += 1; compute += at + 1781 < 1000 * end; store += at + 2287 < 1000 * end
    }
  print fetch, compute, store }')
# shellcheck disable=SC2086 # three words
check_shapes "$svg" $expected
check_text "$svg" "block 7: conv.3"
check_text "$svg" "memory: used over time, capacity 1; in the time shown at most 1"

# 132 SMs with 4 blocks each, which are alike in fours of 132: 52 tiles of each of 4 rows, all drawn.
svg=$scratch/528.svg
"$ttprem" check "$figures/h200_conv2d_x4.cfg" --svg "$svg" >/dev/null
check_well_formed "$svg"
check_shapes "$svg" 208 208 208
check_text "$svg" "the whole plan: 82368 phases on 528 blocks (equal ones in one row)"
check_text "$svg" "blocks 396-527: conv3"
check_text "$svg" "memory: used over time, capacity 1 (the blocks of a task count once); in the time"

# 132 blocks, no two alike: a row each, labels thinned out.
cat >"$scratch/132.cfg" <<'END'
version = 1;
name = "one at a time";
platform: { blocks = 132; resources = ( { name = "memory"; capacity = 1; } ); };
tasks = (
  { name = "a"; kernel = "none"; blocks = 132; tiles = 396; prefetch: { wcet_ns = 300L; };
    compute: { wcet_ns = 4000L; }; writeback: { wcet_ns = 150L; }; }
);
END
svg=$scratch/132.svg
"$ttprem" plan --quiet "$scratch/132.cfg" -o "$scratch/planned.cfg" --time-limit 0 --svg "$svg"
check_well_formed "$svg"
check_shapes "$svg" 396 396 396
check_text "$svg" "the whole plan: 1188 phases on 132 blocks"
check_text "$svg" "block 130: a"
! grep -qF "block 131: a" "$svg" || fail "$svg: labels are not thinned out"

# The writeback at 96 of a hyperperiod of 100 goes on for 4 ns of the next: it is drawn at both ends.
cat >"$scratch/wraps.cfg" <<'END'
version = 1;
name = "it's <odd> & \"wraps\"";
platform: { blocks = 1; };
tasks = (
  { name = "a"; kernel = "none"; blocks = [ 0 ]; tiles = 1; period_ns = 100L; release_ns = 50L;
    prefetch: { wcet_ns = 6L; }; compute: { wcet_ns = 10L; }; writeback: { wcet_ns = 8L; }; }
);
plan: {
  hyperperiod_ns = 100L;
  runs = (
    { task = "a"; phase = "prefetch"; start_ns = 50L; },
    { task = "a"; phase = "compute"; start_ns = 60L; },
    { task = "a"; phase = "writeback"; start_ns = 96L; }
  );
};
END
svg=$scratch/wraps.svg
"$ttprem" check "$scratch/wraps.cfg" --svg "$svg" >/dev/null
check_well_formed "$svg"
check_shapes "$svg" 1 1 2
check_text "$svg" "the whole plan: 3 phases on 1 block<"

# As a PNG.
"$ttprem" check "$scratch/planned.cfg" --svg "$scratch/132.png" >/dev/null
[ "$(head -c 4 "$scratch/132.png" | tail -c 3)" = PNG ] || fail "132.png is no PNG"

# Where a writeback runs beside a prefetch of its block, a picture of a run shows both: they have no
# height in common but that of the legend.
"$ttprem" run --backend sim --quiet "$figures/h200_conv2d_x4_large.cfg" --picture "$scratch/run.svg" \
  >/dev/null
heights() { # COLOUR
  grep -o "<polygon fill = '$1' points = '[0-9.]*,[0-9.]*" "$scratch/run.svg" | sed 's/.*,//' | sort -u
}
heights 'rgb(  0, 114, 178)' >"$scratch/prefetches"
heights 'rgb(  0, 158, 115)' >"$scratch/writebacks"
[ "$(comm -12 "$scratch/prefetches" "$scratch/writebacks" | wc -l)" = 1 ] ||
  fail "run.svg: writebacks hide prefetches"

# Two rates: a row for each task, arrows up at releases and down at deadlines, the end's among them.
"$ttprem" plan --quiet --time-limit 0 schedules/examples/two_rates.cfg -o "$scratch/rates.cfg" \
  --svg "$scratch/rates.svg"
svg=$scratch/rates.svg
check_well_formed "$svg"
[ "$(shapes "$svg" 'rgb( 32,  32,  32)') $(shapes "$svg" 'rgb(160,  32, 127)')" = "6 4" ] ||
  fail "$svg: expected arrows at 6 releases and 4 deadlines"
check_text "$svg" "block 0: filter"

# Two blocks that are planned alike share the rows of their tasks: one phase a task. Where a hyperperiod is
# too long to be read, the excerpt is where most begins: c's job at 500000 comes while a and b begin too.
cat >"$scratch/rows.cfg" <<'END'
version = 1;
name = "rows";
platform: { blocks = 2; resources = ( { name = "memory"; capacity = 2; } ); };
tasks = (
  { name = "a"; kernel = "none"; blocks = [ 0, 1 ]; tiles = 2; together = true; period_ns = 100000L;
    prefetch: { wcet_ns = 60L; }; },
  { name = "b"; kernel = "none"; blocks = [ 0, 1 ]; tiles = 2; together = true; period_ns = 500000L; deadline_ns = 5000L;
    prefetch: { wcet_ns = 60L; }; },
  { name = "c"; kernel = "none"; blocks = [ 0, 1 ]; tiles = 2; together = true; period_ns = 1000000L; release_ns = 500000L;
    deadline_ns = 5000L; prefetch: { wcet_ns = 60L; }; }
);
END
"$ttprem" plan --quiet --time-limit 0 "$scratch/rows.cfg" -o "$scratch/rows.plan.cfg" --svg "$scratch/rows.svg"
svg=$scratch/rows.svg
check_text "$svg" "an excerpt, where most happens: 500 to 511.4 of 1000 us, 2 blocks"
check_text "$svg" "blocks 0-1: a"
check_shapes "$svg" 3 0 0
[ "$(shapes "$svg" 'rgb( 32,  32,  32)') $(shapes "$svg" 'rgb(160,  32, 127)')" = "3 2" ] ||
  fail "$svg: expected arrows at 3 releases and 2 deadlines"

# A warm-up of a single nanosecond is shown, too.
cat >"$scratch/warm.cfg" <<'END'
version = 1; name = "warm"; platform: { blocks = 1; };
policy: { warmup_tiles = 1; warmup_ns = 1L; };
tasks = ( { name = "a"; kernel = "none"; blocks = 1; tiles = 2; prefetch: { wcet_ns = 1L; }; } );
END
"$ttprem" plan --quiet "$scratch/warm.cfg" -o "$scratch/warm_planned.cfg" --svg "$scratch/warm.svg"
check_text "$scratch/warm.svg" 'warm-up, not planned'
