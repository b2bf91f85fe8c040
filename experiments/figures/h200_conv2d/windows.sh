#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Where the tiles of a result spend their time: windows.sh NAME.phases.csv[.gz]
#
# A tile is fetched, waits for its turn to compute, computes, waits to be written back, and is written
# back; its cycle lasts until the block's next tile is fetched. For every mode, and for the tiles at the
# start of a block (the first four, the next two), at its end (the last two) and between: how long each
# of these took, in ns: mean, median, longest.
set -euo pipefail
if [ $# -ne 1 ]; then
  sed -n '3,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
fi

gzip -cdf "$1" | awk -F, '
  $1 == "label" { next }
  {
    gsub(/"/, "")
    block = $1 "," $2 "," $4 "," $13 # a run is one of those kept: the first, the worst, the one before it
    if ($6 == "prefetch") {
      number[block, $5] = tiles[block]
      fetch[block, tiles[block]++] = $11
    }
    begin[block, $5, $6] = $11; finish[block, $5, $6] = $12
  }
  function stage(order, name, ns) { print label, group_order, group, order, name, ns }
  END {
    OFS = "\t"
    for (key in number) {
      split(key, part, SUBSEP); block = part[1]; tile = part[2]
      split(block, word, ","); label = word[1]
      n = number[key]; last = tiles[block] - 1
      group_order = n < 4 ? 1 : n < 6 ? 2 : n > last - 2 ? 4 : 3
      group = n < 4 ? "first 4" : n < 6 ? "next 2" : n > last - 2 ? "last 2" : "between"
      fetched = finish[block, tile, "prefetch"]
      computed = finish[block, tile, "compute"]
      stage(1, "prefetch", fetched - begin[block, tile, "prefetch"])
      stage(2, "wait", begin[block, tile, "compute"] - fetched)
      stage(3, "compute", computed - begin[block, tile, "compute"])
      stage(4, "wait", begin[block, tile, "writeback"] - computed)
      if (n < last) stage(6, "cycle", fetch[block, n + 1] - begin[block, tile, "prefetch"])
      stage(5, "writeback", finish[block, tile, "writeback"] - begin[block, tile, "writeback"])
    }
  }' | sort -t "$(printf '\t')" -k1,1 -k2,2n -k4,4n -k6,6n | awk -F '\t' '
  function show() {
    if (count)
      printf "%-8s %-8s %-10s %7d %9.0f %7d %8d\n", mode, group, name, count, sum / count,
        ns[int((count + 1) / 2)], ns[count]
    count = sum = 0
  }
  BEGIN {
    printf "%-8s %-8s %-10s %7s %9s %7s %8s\n", "mode", "tiles", "stage", "count", "mean",
      "median", "longest"
  }
  {
    key = $1 FS $2 FS $4
    if (key != before) show()
    before = key; mode = $1; group = $3; name = $5
    ns[++count] = $6; sum += $6
  }
  END { show() }'
