#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# experiments/figures/h200_conv2d/pauses.sh finds the pauses that were planted in a trace, none where there are
# none, and refuses what is no trace. Usage: pauses.sh TTPREM
# ctest: TTPREM release timing
set -euo pipefail
ttprem=$(realpath "$1")
root=$(realpath "$(dirname "$0")/../..")
pauses=$root/experiments/figures/h200_conv2d/pauses.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

fail() {
  echo "pauses: $*" >&2
  exit 1
}

expect() { # WHAT TRACE, the output on stdin
  "$pauses" "$2" >said || fail "$1: exit status $?"
  diff -u - said >&2 || fail "$1: says something else"
}

# Four tasks, each with three blocks that fetch together, one task every 1000 ns; 100 groups a run.
# Memory stops for 1400 ns every 20 000 ns, first at 7500, and what is in flight then takes as much
# longer; of all others one block is always slow. Behind a pause the first group from 2000 ns on has a
# late block, and behind the sixth the one from 12 000 on as well. The last run has one 3500 ns before
# its first pause. CONTINUES: times go on from run to run, as in a resident launch.
plant() { # CONTINUES
  awk -v continues="$1" 'BEGIN {
    OFS = ","
    print "run,task,block,tile,phase,release_ns,ready_ns,start_ns,end_ns"
    for (run = 0; run < 3; ++run)
      for (group = 0; group < 100; ++group) {
        release = group * 1000
        behind = (release + 20000 - 7500) % 20000
        pause = int((release + 20000 - 7500) / 20000)
        slow = release + 1700 > 7500 && (behind < 1400 || behind > 20000 - 1700)
        late = pause > 0 && behind >= 2000 && behind < 3000
        late = late || (run == 1 && pause == 1 && behind >= 12000 && behind < 13000)
        late = late || (run == 2 && group == 4)
        if (continues) release += run * 100000
        for (block = 0; block < 3; ++block) {
          start = release + (late && block == 1 ? 160 : 32)
          takes = (block == 2 ? 2900 : 1700 - 10 * block) + 1400 * slow
          print run, "task" group % 4, block, group, "prefetch", release, release, start, start + takes
          print run, "task" group % 4, block, group, "compute", "", start, start + 4000, start + 5000
          print run, "task" group % 4, block, group, "writeback", release + 500, release, release + 500,
            release + 1500
        }
      }
  }'
}

plant 1 >resident.csv
expect "a resident launch" resident.csv <<'END'
300 groups of prefetches take 1700 ns, half of them; a pause is above 2295 ns
15 pauses in 0.299 ms
from one to the next: 20.000 us (20.000 to 20.000)
17 of 1800 releases are late
after a pause begins               late    % of late    % of time
  within 5 us                        15       88.235       25.084
  within 10 us                       15       88.235       50.167
  within 15 us                       16       94.118       74.582
  within 20 us                       17      100.000       97.993
  later, or before any                0        0.000
END

plant 0 | gzip >relaunched.csv.gz
expect "a launch for each run" relaunched.csv.gz <<'END'
300 groups of prefetches take 1700 ns, half of them; a pause is above 2295 ns
15 pauses in 0.297 ms
from one to the next: 20.000 us (20.000 to 20.000)
17 of 1800 releases are late
after a pause begins               late    % of late    % of time
  within 5 us                        15       88.235       25.253
  within 10 us                       15       88.235       50.505
  within 15 us                       16       94.118       73.737
  within 20 us                       16       94.118       93.939
  later, or before any                1        5.882
END

"$ttprem" run "$root/schedules/figures/h200_conv2d_x4_large.cfg" --backend sim --repeat 2 --quiet \
  --trace sim.csv >/dev/null
"$pauses" sim.csv >said || fail "sim: exit status $?"
grep -q '^360 groups of prefetches take 3712 ns' said || fail "sim: other groups: $(head -1 said)"
grep -q '^0 pauses in ' said || fail "sim: pauses in a simulated memory"
grep -q '^0 of 47520 releases are late$' said || fail "sim: late releases"

echo "run,task" >cut.csv
if "$pauses" cut.csv >said 2>&1; then fail "a file that is no trace is taken for one"; fi
grep -q '^pauses: this is no trace' said || fail "says of no trace: $(cat said)"
head -1 resident.csv >empty.csv
if "$pauses" empty.csv >said 2>&1; then fail "a trace without prefetches is judged"; fi
grep -q 'no released prefetch' said || fail "says of an empty trace: $(cat said)"
if "$pauses" resident.csv 1us >said 2>&1; then fail "a limit that is no number is taken"; fi
grep -q 'LATE_NS' said || fail "says of a limit that is no number: $(cat said)"
