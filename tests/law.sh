#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The dependency law of CONTRIBUTING.md: which room may include from which, and call which.
#   law.sh          judges the #includes
#   law.sh BUILD    and the calls, as the objects in BUILD have them: a public header lets anybody call
#                   anybody
# Prints every breach and fails.
# ctest: BUILD release
set -euo pipefail
cd "$(dirname "$0")/.."

# room | what it may include from and call | what it may call besides, through public headers
# A file belongs to the longest room that its path begins with, and may always use its own. No planner
# calls the checker, nor the other way round: the second opinion is worth nothing if it is the first
# one again. schedules/prepare.c alone sees both.
# The experiments are next door: nothing here uses them but the command's table of verbs, in builds that have them, and
# their own tests. Of the inside they use the headers that are named here, no others: a list that may only shrink.
law() {
  cat <<'LAW'
include                  | |
prem/base                | include |
prem/model               | include prem/base |
prem/file                | include prem/base prem/model |
kernels                  | | prem/model
schedules/checker        | include prem/base prem/model |
schedules/planner/common | include prem/base prem/model |
schedules/planner/repair | include prem/base prem/model schedules/planner/common |
schedules/planner/greedy | include prem/base prem/model schedules/planner/common schedules/planner/repair |
schedules/planner/search | include prem/base prem/model schedules/planner/common |
schedules/planner/proof  | include prem/base prem/model schedules/planner/common schedules/planner/greedy |
schedules/planner        | include prem/base prem/model schedules/planner/* |
schedules                | include prem/base prem/model schedules/planner | schedules/checker
runtime/core             | include prem/base prem/model |
runtime/sim              | include prem/base prem/model runtime/core |
runtime/cpu              | include prem/base prem/model runtime/core |
runtime/cuda/device      | include kernels runtime/core |
runtime/cuda/host        | include prem/base prem/model runtime/core runtime/cuda/device |
runtime/cuda/baselines   | include prem/base prem/model kernels runtime/core runtime/cuda/device runtime/cuda/host |
runtime/cuda             | include prem/base prem/model runtime/core runtime/cuda/* |
runtime/session          | include prem/base prem/model runtime/core runtime/sim runtime/cpu runtime/cuda | prem/file kernels
measure                  | include prem/base prem/model/conflicts.h | prem/model runtime/core runtime/session
report/traces            | include prem/base | prem/model
report/pictures          | include prem/base measure | prem/model
report/findings          | include prem/base measure report report/pictures |
report/page              | include prem/base report report/traces |
report                   | include prem/base measure | prem/model
studies                  | include prem/base measure report report/* | prem/model kernels schedules runtime/core runtime/session
experiments/common       | include prem/base measure/times.h measure/job_times.h report/findings/parts.h report/findings/tables.h | prem/model prem/file kernels schedules runtime/core runtime/session measure report report/findings
experiments/machine      | include prem/base measure/times.h report/findings/parts.h report/findings/tables.h runtime/core/ring.h experiments/common | prem/model prem/file kernels runtime/core runtime/session measure report report/findings studies
experiments/thesis       | include prem/base measure/standstills.h measure/interleave.h report/findings/tables.h experiments/common | prem/model prem/file runtime/core runtime/session measure report report/findings
experiments/live         | include prem/base report/findings/tables.h experiments/common | prem/model prem/file kernels schedules runtime/core runtime/session measure report report/findings
experiments/sweep        | include prem/base measure/times.h report/findings/tables.h experiments/common experiments/thesis/ordinary/ordinary.h | prem/model prem/file runtime/core runtime/session measure report report/findings experiments/thesis
experiments              | include prem/base experiments/common experiments/sweep/sweep.h command/command.h command/options.h command/progress.h | experiments/* prem/model runtime/core runtime/session report report/findings command
examples                 | include | *
command                  | include prem/* kernels schedules schedules/* runtime/* measure report report/* studies |
command/main.c           | include command | experiments
tests                    | * |
LAW
}

# Where a hyperperiod began, the trace says: epoch_ns. Who multiplies takes plans to repeat without a gap.
epochs() {
  ! grep -nE '[*] *[A-Za-z_>.-]*hyperperiod_ns|hyperperiod_ns *[*]' -r measure report --include='*.[ch]' >&2 || {
    echo "law: measure/ and report/ take a hyperperiod's beginning from the trace's epoch_ns" >&2
    return 1
  }
}

# A word that threads or a GPU write as well is an atomic one: `volatile` orders nothing. On the GPU it is for words of
# a block's own scratchpad.
words() {
  ! find prem runtime measure report studies schedules command -name '*.c' -print0 |
    xargs -0 grep -nE '(^|[^_[:alnum:]])volatile[^_[:alnum:]]' | grep -vE 'asm__? volatile|volatile sig_atomic_t' >&2 || {
    echo "law: words that others write as well are atomic, not volatile" >&2
    return 1
  }
}

# Lines "i FILE LINE INCLUDED".
includes() {
  find include prem schedules kernels runtime measure report studies experiments command tests -type f \
    \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) \
    ! -path 'tests/cmake/consumer/*' -print0 | sort -z |
    xargs -0 awk '/^[ \t]*#[ \t]*include[ \t]*"/ { split($0, part, "\""); print "i", FILENAME, FNR, part[2] }'
}

# Lines "o FILE", and of each what nm says of its object.
objects() { # BUILD
  local build file object
  build=$(realpath "$1")
  sed -nE 's/.* -o ([^ ]+) (.* )?-c ([^ "]+)".*/\1 \3/p' "$build/compile_commands.json" | sort -u |
    while read -r object file; do
      file=${file#"$PWD"/}
      if [[ $file == tests/* || $file == examples/* || $file == /* || ! -f $build/$object ]]; then continue; fi
      echo "o $file"
      nm -g "$build/$object"
    done
}

epochs
words

# A check that looks at nothing finds nothing: `files` and `calls` are how much was looked at.
{
  law | sed 's/^/l /'
  find include prem schedules kernels runtime measure report studies experiments command tests examples -type f | sed 's/^/f /'
  includes
  if [ $# -gt 0 ]; then objects "$1"; fi
} | awk -v judges_calls=$# '
  function room_of(path) {
    while (path != "" && !(path in may))
      sub(/\/?[^\/]*$/, "", path)
    return path
  }
  function allows(list, room,   words, count, i) {
    count = split(list, words, " ")
    for (i = 1; i <= count; ++i)
      if (words[i] == room || words[i] == "*" ||
          (words[i] ~ /\/\*$/ && index(room, substr(words[i], 1, length(words[i]) - 1)) == 1))
        return 1
    return 0
  }
  function breach(what) { print what > "/dev/stderr"; ++breaches }
  $1 == "l" {
    line = $0; sub(/^l */, "", line); split(line, part, /\|/); gsub(/ /, "", part[1])
    may[part[1]] = part[2]; calls[part[1]] = part[3]
    next
  }
  $1 == "f" && NF == 2 { exists[$2] = 1; next }
  $1 == "i" {
    target = $4 ~ /^ttprem\// ? "include/" $4 : $4
    from = room_of($2); to = room_of(target)
    if (!($2 in seen)) { seen[$2] = 1; ++files }
    if (!(target in exists) && $4 != "kernels/kernel_headers.h")
      breach($2 ":" $3 ": \"" $4 "\" is no file of this tree: an include has its path from the root")
    else if (from == "kernels" && to == "include") {
      if ($4 != "ttprem/kernel.h" && $4 != "ttprem/fft.h")
        breach($2 ":" $3 ": kernels/ may include ttprem/kernel.h and ttprem/fft.h alone, not \"" $4 "\"")
    } else if (from != to && !allows(may[from], to) && !allows(may[from], target))
      breach($2 ":" $3 ": " from "/ may not include \"" $4 "\" of " to "/")
    next
  }
  $1 == "o" { object = $2; next }
  NF == 2 { wanted[object] = wanted[object] " " $2; next }
  NF == 3 && $2 ~ /[TDBRVW]/ { if (!($3 in defined) || $2 != "W") defined[$3] = object; next }
  # Rooms that use no other go first; what is left in the end goes in a circle.
  function find_circles(   left, a, b, free, gone) {
    for (a in may)
      if (may[a] !~ /^ \* $/)
        left[a] = 1
    do {
      gone = 0
      for (a in left) {
        free = 1
        for (b in left)
          if (a != b && allows(may[a] " " calls[a], b))
            free = 0
        if (free) {
          delete left[a]
          gone = 1
        }
      }
    } while (gone)
    for (a in left)
      breach("the law lets " a "/ use a room that uses it")
  }
  END {
    find_circles()
    for (object in wanted) {
      from = room_of(object)
      count = split(wanted[object], names, " ")
      for (i = 1; i <= count; ++i) {
        if (!(names[i] in defined))
          continue
        ++made
        to = room_of(defined[names[i]])
        if (from != to && !allows(may[from] " " calls[from], to))
          breach(object ": " from "/ may not call " names[i] "() of " defined[names[i]])
      }
    }
    if (files < 100 || (judges_calls && made < 500))
      breach("looked at " files + 0 " files and " made + 0 " calls only")
    if (breaches) {
      print "law: " breaches " breaches in " files " files" > "/dev/stderr"
      exit 1
    }
    print "law: " files " files keep the law" (judges_calls ? ", and " made " calls" : "")
  }'
