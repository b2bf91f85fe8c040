#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Plant mutants and report what survives the quick suites (CONTRIBUTING.md says how to read it):
#   tools/mutants.sh [-n COUNT] [-s SEED] [-j JOBS] [-o REPORT] [FILE...]
#       COUNT mutants (default 200) that SEED (default 1) picks, of FILE... or of all sources in C
#   tools/mutants.sh -l LIST [-j JOBS] [-o REPORT]
#       the mutants of LIST that are not killed there: a report, or lines FILE:LINE:COLUMN, kind, old, new
#   -k FOLDER keeps the build, and which suite runs which line, for the next time; where only suites have
#   changed since, only those are timed and counted again.
#   -t MINUTES ends after that time, in good order; those under way are undecided, and said.
# What counts is every place that mutants.awk finds, but for those whose object is the same bytes, and for
# those of tests/mutants_equivalent.txt: each is there with the reason why nobody can see it. They are
# counted apart. Off by one in error handling, in a limit or in a message is no such reason.
# Builds what is committed, in a folder of its own; the checkout is only read. Ctrl-C writes the
# report of what has been judged until then.
set -euo pipefail
cd "$(dirname "$0")/.."

count=200 seed=1 jobs=$(nproc) report=/dev/stdout list= kept= minutes=
while getopts n:s:j:o:l:k:t: option; do
  case $option in
  n) count=$OPTARG ;;
  s) seed=$OPTARG ;;
  j) jobs=$OPTARG ;;
  o) report=$OPTARG ;;
  l) list=$(realpath "$OPTARG") ;;
  t) minutes=$OPTARG ;;
  k) mkdir -p "$OPTARG" && kept=$(realpath "$OPTARG") ;;
  *) sed -n '3,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2 ;;
  esac
done
shift $((OPTIND - 1))
case $report in /dev/*) ;; *) report=$(realpath "$report"); : >"$report" ;; esac

readonly quick_s=20 # processor time of a suite that still counts as quick, under the sanitizers
readonly ends_s=${minutes:+$((SECONDS + 60 * minutes))} # on bash's clock
readonly sanitize=-fsanitize=address,undefined
asked="-n $count -s $seed${*:+ $*}"
if [ -n "$list" ]; then asked="-l LIST"; fi
commit=$(git rev-parse --short HEAD)
readonly checkout=$PWD
folder=$(mktemp -d "${TMPDIR:-/tmp}/ttprem-mutants.XXXXXX")
readonly folder base=${kept:-$folder}
readonly source=$base/source build=$base/build suites=$base/suites lines=$base/lines
workers=()
finish() {
  trap - EXIT INT TERM
  for worker in "${workers[@]}"; do kill -- "-$worker" 2>/dev/null || true; done
  wait || true
  rm -rf "$folder"
}
write_report() { # [WORDS]
  local killed survived others listed undecided
  killed=$(grep -c '^killed' "$folder/found" || true)
  survived=$(grep -c '^survived' "$folder/found" || true)
  listed=$(grep -c '^listed' "$folder/found" || true)
  undecided=$(grep -c '^undecided' "$folder/found" || true)
  others=$(grep -cvE '^(killed|survived|listed|undecided)' "$folder/found" || true)
  {
    echo "# tools/mutants.sh $asked, commit $commit${1-}"
    awk -v killed="$killed" -v all="$((killed + survived))" -v others="$others" -v listed="$listed" -v undecided="$undecided" 'BEGIN {
      printf "# %d of %d killed (%.1f %%); %d more are listed as equivalent, %d changed nothing or were no C%s\n",
        killed, all, 100 * killed / (all + (all == 0)), listed, others,
        (undecided > 0 ? sprintf("; %d were undecided when the time was over", undecided) : "") }'
    sort -t$'\t' -k1,1r -k2,2V "$folder/found"
  } >"$report"
}
# Run WORK on each line of LIST, in as many workers as there are jobs.
in_parallel() { # WORK LIST
  local i
  echo 0 >"$folder/next"
  set -m
  for ((i = 0; i < jobs; ++i)); do
    "$1" "$2" &
    workers+=($!)
  done
  set +m
  wait "${workers[@]}"
  workers=()
}
next_of() { # LIST: the line that no worker has had
  local number
  number=$(flock "$folder/next" sh -c "n=\$((\$(cat '$folder/next') + 1)); echo \$n | tee '$folder/next'")
  sed -n "${number}p" "$1"
}
child= # the test that is running, which has a process group of its own
stop_child() { if [ -n "$child" ]; then kill "$child" 2>/dev/null || true; fi; }
interrupted() {
  trap - INT TERM
  stop_child
  if [ -e "$folder/found" ]; then write_report ", interrupted"; fi
  exit 130
}
trap finish EXIT
trap interrupted INT TERM

# ---- a build whose libraries can be exchanged -------------------------------------------------------

mkdir -p "$source" "$folder/now" "$folder/killers"
ready= # Is all of this commit in the folder that was kept?
before=$(cat "$base/commit" 2>/dev/null || true)
if [ "$before" = "$commit" ]; then ready=yes; fi
if [ -z "$ready" ]; then
  rm -f "$base/commit"
  git archive HEAD | tar -x -C "$folder/now"
  # Suites call what the library hides from strangers, and libraries that it alone links.
  sed -i 's/set(CMAKE_C_VISIBILITY_PRESET hidden)//' "$folder/now/CMakeLists.txt"
  # What has not changed keeps its time, so that it is not built again; what is gone goes here too.
  (cd "$folder/now" && find . -type f -print0 | xargs -0 -I{} sh -c 'cmp -s "$1" "$2/$1" || cp --parents "$1" "$2"' - {} "$source")
  (cd "$source" && find . -type f -print0 | xargs -0 -I{} sh -c '[ -e "$2/$1" ] || rm "$1"' - {} "$folder/now")
fi
cd "$source"

make_build() { # FOLDER FLAGS SANITIZERS [TARGET...]
  local folder_of=$1 flags=$2 sanitizers=$3
  shift 3
  {
    cmake -G Ninja -B "$folder_of" -DCMAKE_BUILD_TYPE=Release "-DCMAKE_C_FLAGS_RELEASE=$flags" -DBUILD_SHARED_LIBS=ON \
      -DCMAKE_SKIP_RPATH=ON "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--copy-dt-needed-entries,--no-as-needed -lm" -DTTPREM_CUDA=OFF -DTTPREM_GOLD=OFF \
      -DTTPREM_ALL_SUITES=ON \
      "-DTTPREM_SANITIZE=$sanitizers" && cmake --build "$folder_of" -j "$jobs" ${*:+--target "$@"}
  } >"$folder/log" 2>&1 || { tail -n 40 "$folder/log" >&2; exit 1; }
}
if [ -z "$ready" ]; then make_build "$build" -O1 "${sanitize#*=}"; fi
declare -A library soname link # [target]
for target in ttprem ttprem_measure; do
  library[$target]=$(basename "$(realpath "$build/lib$target.so")")
  soname[$target]=$(basename "$(find "$build" -maxdepth 1 -name "lib$target.so.?")")
  link[$target]=$(ninja -C "$build" -t commands "${library[$target]}" | tail -n 1)
done
readonly library soname link
export CCACHE_DISABLE=1

target_of() { # FILE: the library that it is in
  case $1 in measure/* | report/* | studies/*) echo ttprem_measure ;; *) echo ttprem ;; esac
}

object_of() { # FILE: where the build has its object; a kernel's header is compiled with the list of kernels
  local name=$1
  case $name in kernels/*.h) name=kernels/registry.c ;; esac
  echo "CMakeFiles/$(target_of "$1").dir/$name.o"
}

link_whole() { # PLACE [BUILD]: the libraries without a mutant
  local target
  for target in "${!library[@]}"; do ln -sfn "${2:-$build}/${library[$target]}" "$1/${soname[$target]}"; done
}

# Compile FILE, of which PLACE/text has the text to take, into OBJECT. Includes have their path from the root.
# PLAIN: without what sanitizers write of lines and columns, to see whether it does the same.
compile() { # FILE PLACE OBJECT [PLAIN]
  local file=$1 place=$2 object=$3 from command
  from=$(object_of "$file")
  command=$(ninja -C "$build" -t commands "$from" | tail -n 1)
  case $file in *.c) command=${command/-c $source\/$file/-c $place\/text\/$file} ;; esac
  command=${command//$from/$object}
  if [ -n "${4-}" ]; then command="${command/$sanitize/} -O2"; fi
  (cd "$build" && eval "$command -w -iquote $place/text") >"$place/log" 2>&1
}

# ---- the quick suites -------------------------------------------------------------------------------

# Run TEST with the libraries in PLACE, in an empty folder. A loop without end runs out of its processor
# time, and who waits for ever out of ten times as much, and ten seconds.
run_test() { # PLACE TEST SECONDS
  local place=$1 test=$2 wall=$((10 * $3 + 10)) result=0
  rm -rf "$place/run"
  mkdir "$place/run"
  (
    cd "$place/run"
    ulimit -S -t "$3" -f 2000000 -c 0
    export LSAN_OPTIONS=suppressions=$source/tests/lsan.supp:print_suppressions=0 ASAN_OPTIONS=hard_rss_limit_mb=6000${ASAN_OPTIONS:+:$ASAN_OPTIONS}
    export CK_TIMEOUT_MULTIPLIER=20 # the limits are ours: others may have the cores
    export LD_LIBRARY_PATH=$place${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} TMPDIR=$place/run
    case $test in
    cli/*) exec timeout -k 5 "$wall" "$source/tests/cli/run.sh" "$build/ttprem" "$source/tests/cli/cases/${test#cli/}.case" ;;
    fuzz_*) exec timeout -k 5 "$wall" "$build/tests/$test" "$source/tests/fuzz/corpus/${test#fuzz_}" ;;
    *:*) CK_RUN_CASE=${test#*:} exec timeout -k 5 "$wall" "$build/tests/${test%:*}" ;;
    *) exec timeout -k 5 "$wall" "$build/tests/$test" ;;
    esac
  ) >"$place/said" 2>&1 </dev/null &
  child=$!
  wait "$child" || result=$?
  child=
  return $result
}

# What each suite takes, and whether it is quick.
time_suites() { # LIST
  local place=$folder/time.$BASHPID test took result
  trap 'stop_child; exit 130' INT TERM
  mkdir "$place"
  link_whole "$place"
  TIMEFORMAT="%U %S"
  while test=$(next_of "$1") && [ -n "$test" ]; do
    result=0
    { time run_test "$place" "$test" $((4 * quick_s)) || result=$?; } 2>"$place/took"
    took=$(awk '{ print $1 + $2 }' "$place/took")
    if [ "$result" -eq 0 ] && awk "BEGIN { exit !($took <= $quick_s) }"; then
      printf '%s\t%s\n' "$took" "$test" >>"$suites"
    else
      printf '%s\t%s\t%s\n' "$took" "$test" "$result" >>"$suites.slow"
    fi
  done
}

# Which lines of which source each quick suite runs: $lines/SOURCE has a line for each suite, and one for
# all lines that have code. Counting asks for memory and writes files: a suite that fails of it may run any line.
cover() { # LIST
  local place=$folder/cover.$BASHPID test
  trap 'stop_child; exit 130' INT TERM
  mkdir "$place" "$place/objects"
  link_whole "$place" "$covered"
  (cd "$covered" && find . -name '*.gcno' -print0 | xargs -0 cp --parents -t "$place/objects")
  export GCOV_PREFIX=$place/objects GCOV_PREFIX_STRIP
  GCOV_PREFIX_STRIP=$(tr -dc / <<<"$covered" | wc -c)
  while test=$(next_of "$1") && [ -n "$test" ]; do
    find "$place/objects" -name '*.gcda' -delete
    if ! run_test "$place" "$test" $((20 * quick_s)); then
      echo "$test fails when its lines are counted: it is tried on every line" >&2
      echo "$test" >"$lines/any.${test//[\/:]/_}"
      continue
    fi
    (cd "$place/objects" && find . -name '*.gcda' -print0 | xargs -0 -r gcov -t 2>/dev/null) |
      awk -F: -v root="$source/" -v test="$test" '
        $2 + 0 == 0 { if ($3 == "Source") file = index($4, root) == 1 ? substr($4, length(root) + 1) : "" ; next }
        file == "" || $1 ~ /-$/ { next }
        { code[file] = code[file] ($2 + 0) ","; if ($1 !~ /[#=]/) run[file] = run[file] ($2 + 0) "," }
        END {
          for (file in code) print file "\t\t," code[file]
          for (file in run) print file "\t" test "\t," run[file]
        }' >"$lines/of.${test//[\/:]/_}" || true
  done
}

# Every case of a suite is run on its own, so that one that takes long does not keep the others out.
list_suites() {
  local file name cases
  for file in */test_*.c fuzz/fuzz_*.c; do
    name=$(basename "$file" .c)
    cases=$(grep -oP '(tcase_create|GROUP)\("\K[^"]+' "$file" | sort -u || true)
    if [ "$(wc -l <<<"$cases")" -gt 1 ]; then awk -v name="$name" '{ print name ":" $0 }' <<<"$cases"; else echo "$name"; fi
  done
  printf '%s\n' cli/cases/*/*.case | sed 's|cases/||; s|\.case$||'
}

# The suites that are others since COMMIT, one a line; fails where what they test is, or what they share.
changed_since() { # COMMIT
  local file files
  files=$(git -C "$checkout" diff --name-only "$1" "$commit" 2>/dev/null) || return 1
  while read -r file; do
    case $file in
    tests/*/test_*.c) basename "$file" .c ;;
    tests/*/*.txt) grep -l "${file##*/}\"" "$source"/tests/*/test_*.c | sed 's|.*/||; s|\.c$||' ;;
    tests/cli/cases/*.case) file=${file%.case} && echo "cli/${file#tests/cli/cases/}" ;;
    '' | *.md | tests/mutants*.txt | tools/mutants.*) ;;
    *) return 1 ;;
    esac
  done <<<"$files"
}
# Forget the suites of LIST in FILE..., of which COLUMN names one.
forget() { # LIST COLUMN FILE...
  local list=$1 column=$2 file
  shift 2
  for file; do
    awk -F'\t' -v column="$column" '
      FILENAME == ARGV[1] { gone[$1]; next }
      { name = $column; sub(/:.*/, "", name) }
      !(name in gone)' "$list" "$file" >"$folder/kept" && cp "$folder/kept" "$file"
  done
}
touch "$suites" "$suites.slow"
partly= # Is what was known of the suites that are the same still right?
if [ -z "$ready" ] && [ -n "$before" ] && [ -d "$lines" ] && changed_since "$before" >"$folder/changed"; then
  partly=yes
  forget "$folder/changed" 2 "$suites" "$suites.slow"
  forget "$folder/changed" 1 "$lines"/* "$base/any"
fi
(cd "$source/tests" && list_suites) | grep -vxFf <(cut -f2 "$suites" "$suites.slow") >"$folder/unknown" || true
in_parallel time_suites "$folder/unknown"
sed -E 's/^(.*)\t(.*)\t77$/left out: \2 needs what is not here/
  s/^(.*)\t(.*)\t(.*)$/left out: \2 (status \3 after \1 s of processor time)/' "$suites.slow" >&2
if grep -q $'\t127$' "$suites.slow"; then
  echo "not built, so that nothing would be known of what it kills: $(awk -F'\t' '$3 == 127 { print $2 }' "$suites.slow" | xargs)" >&2
  exit 1
fi
sort -n -o "$suites" "$suites"
echo "$(wc -l <"$suites") quick suites, $(awk '{ all += $1 } END { print all }' "$suites") s" >&2
if [ -z "$ready" ]; then
  covered=$base/covered
  make_build "$covered" "-O0 --coverage" "" ttprem ttprem_measure
  if [ -z "$partly" ]; then
    rm -rf "$lines" "$base/any"
    mkdir "$lines"
    touch "$base/any"
  fi
  # The longest first.
  awk -F'\t' '$3 + 0 == 0' "$suites" "$suites.slow" | sort -rn | cut -f2 >"$folder/passing"
  if [ -n "$partly" ]; then
    cut -f1 "$lines"/* "$base/any" | sort -u >"$folder/known"
    grep -vxFf "$folder/known" "$folder/passing" >"$folder/uncovered" || true
    mv "$folder/uncovered" "$folder/passing"
  fi
  in_parallel cover "$folder/passing"
  find "$lines" -name 'any.*' -exec cat {} + >>"$base/any"
  find "$lines" -name 'of.*' -exec cat {} + | sort -u | awk -F'\t' -v lines="$lines" '
    { file = $1; gsub("/", "_", file); file = lines "/" file }
    file != before { if (before != "") close(before); before = file }
    { print $2 "\t" $3 >>file }'
  rm -f "$lines"/of.* "$lines"/any.*
  echo "$commit" >"$base/commit"
fi

# LINE of FILE with those before it that it goes on from. What is counted of a condition of several lines may be
# counted on another one of them.
statement_of() { # FILE LINE
  awk -v line="$2" '
    NR > line { exit }
    { text[NR] = $0 }
    END {
      first = line
      while (first > 1 && (text[first - 1] ~ /[-+*\/%&|^=?,(<>]$/ || text[first] ~ /^ *[?:] /)) --first
      for (; first <= line; ++first) printf "%d ", first
    }' "$source/$1"
}

# The quick suites that run LINE of FILE: what killed a mutant of FILE before, then the suite of its name, then
# the shortest first. A line without code of its own, or that nobody was seen to run (as a child that becomes
# another program), belongs to all that run some of FILE.
order_for() { # FILE LINE
  local stem known=$lines/${1//\//_} killers=$folder/killers/${1//\//_}
  stem=$(basename "${1%.*}")
  touch "$killers"
  if [ ! -e "$known" ]; then known=/dev/null; fi
  awk -F'\t' -v stem="$stem" -v line="$2" -v all="$(statement_of "$1" "$2")" '
    BEGIN { count = split(all, lines, " ") }
    function has(list,    i) {
      for (i = 1; i <= count; ++i) if (index(list, "," lines[i] ",")) return 1
      return 0
    }
    FILENAME == ARGV[1] { killer[$1] = 10 - (FNR > 9 ? 9 : FNR); next }
    FILENAME == ARGV[2] { runs[$1] = 2; next }
    FILENAME == ARGV[3] {
      if ($1 == "") needed = index($2, "," line ",") ? 2 : 1
      else counted += (runs[$1] = has($2) ? 2 : 1) == 2
      next
    }
    runs[$2] < (counted ? needed : 1) { next }
    {
      rank = 12
      name = $2
      sub(/:.*/, "", name)
      if (index(name, "test_") == 1 && index(stem, substr(name, 6))) rank = 11
      if (name == "test_" stem) rank = 10
      print ($2 in killer ? killer[$2] : rank) + (runs[$2] < needed ? 20 : 0) "\t" $1 "\t" $0
    }' "$killers" "$base/any" "$known" "$suites" | sort -k1,1n -k2,2n
}

# ---- one mutant -------------------------------------------------------------------------------------

plant() { # FILE LINE COLUMN OLD NEW TO
  OLD=$4 NEW=$5 awk -v line="$2" -v column="$3" '
    NR == line {
      old = ENVIRON["OLD"]
      if (substr($0, column, length(old)) != old) exit 1
      $0 = substr($0, 1, column - 1) ENVIRON["NEW"] substr($0, column + length(old))
    }
    { print }' "$source/$1" >"$6"
}

# Is it on the list of those that nobody can see? Lines are known by their text, so that they may move.
is_listed() { # FILE LINE COLUMN OLD NEW
  OLD=$4 NEW=$5 TEXT=$(sed -n "$2p" "$source/$1") awk -F'\t' -v file="$1" -v column="$3" '
    BEGIN {
      text = ENVIRON["TEXT"]
      match(text, /^ */)
      column -= RLENGTH
      text = substr(text, RLENGTH + 1)
    }
    $1 == file && $2 == column && $3 == ENVIRON["OLD"] && $4 == ENVIRON["NEW"] && $5 == text { found = 1; exit }
    END { exit !found }' "$source/tests/mutants_equivalent.txt"
}

judge() { # PLACE WHERE KIND OLD NEW; $whole has the libraries without it. The verdict and, of a killed one, the killer
  local place=$1 where=$2 old=$4 new=$5 file line column took test target most
  trap 'stop_child; exit 130' TERM
  IFS=: read -r file line column <<<"$where"
  target=$(target_of "$file")
  rm -rf "$place"/*.o "$place/text"
  link_whole "$place"
  mkdir -p "$place/text/$(dirname "$file")"
  cp "$source/$file" "$place/text/$file"
  if [ ! -f "$folder/${file//\//_}.o" ]; then
    compile "$file" "$place" "$place/whole.o" plain || { echo "not_built"; return; }
    mv "$place/whole.o" "$folder/${file//\//_}.o"
  fi
  plant "$file" "$line" "$column" "$old" "$new" "$place/text/$file" || { echo "not_there"; return; }
  if is_listed "$file" "$line" "$column" "$old" "$new"; then
    echo "listed"
    return
  fi
  compile "$file" "$place" "$place/mutant.o" plain || { echo "not_compiled"; return; }
  if cmp -s "$place/mutant.o" "$folder/${file//\//_}.o"; then
    echo "equivalent"
    return
  fi
  compile "$file" "$place" "$place/mutant.o" || { echo "not_compiled"; return; }
  local mutated=$place/${soname[$target]}
  local command=${link[$target]/-o ${library[$target]}/-o $mutated}
  command=${command/$(object_of "$file")/$place\/mutant.o}
  rm "$mutated"
  (cd "$build" && eval "$command") >"$place/log" 2>&1 || { echo "not_compiled"; return; }
  order_for "$file" "$line" >"$place/order"
  while IFS=$'\t' read -r _ _ took test; do
    if is_over; then
      echo "undecided"
      return
    fi
    most=$(awk "BEGIN { print int(3 * $took) + 2 }")
    if ! run_test "$place" "$test" "$most"; then
      # A kill counts where the same suite passes without the mutant, and fails with it again.
      if run_test "$whole" "$test" "$most" && ! run_test "$place" "$test" "$most"; then
        grep -qx "$test" "$folder/killers/${file//\//_}" || echo "$test" >>"$folder/killers/${file//\//_}"
        printf 'killed\t%s\n' "$test"
        return
      fi
    fi
  done <"$place/order"
  if awk -F'\t' '$1 < 20 { print $4 }' "$place/order" | grep -qvxFf "$base/any"; then echo "survived"; else printf 'survived\tno quick suite is known to run it\n'; fi
}

is_over() { [ -n "$ends_s" ] && [ "$SECONDS" -ge "$ends_s" ]; }

work() { # LIST
  local place=$folder/work.$BASHPID whole=$folder/whole.$BASHPID where kind old new verdict
  trap 'exit 130' INT TERM
  mkdir "$place" "$whole"
  link_whole "$whole"
  until [ "$(grep -cE '^(killed|survived)' "$folder/found")" -ge "$count" ]; do
    if is_over; then break; fi
    IFS=$'\t' read -r where kind old new < <(next_of "$1") || break
    verdict=$(judge "$place" "$where" "$kind" "$old" "$new")
    printf '%s\t%s\t%s\t%s\t%s\t%s\n' "${verdict%%$'\t'*}" "$where" "$kind" "$old" "$new" \
      "$(cut -sf2 <<<"$verdict")" >>"$folder/found"
    printf '%s %s: %s -> %s %s\n' "$where" "$kind" "$old" "$new" "$verdict" >&2
  done
}

# ---- all of them ------------------------------------------------------------------------------------

if [ -n "$list" ]; then
  sed -E 's/^(survived|undecided|not_there)\t//; /^(#|killed|listed|equivalent|not_)/d' "$list" | cut -f1-4 >"$folder/sites"
  count=$(wc -l <"$folder/sites")
else
  files=("$@")
  if [ ${#files[@]} -eq 0 ]; then
    mapfile -t files < <({
      find prem schedules runtime measure report studies -name '*.c'
      find kernels -name '*.[ch]'
    } | grep -v '^runtime/cuda/' | sort)
  fi
  # One mutant a line at most, in an order that the seed gives.
  awk -f tools/mutants.awk "${files[@]}" |
    awk -v seed="$seed" 'BEGIN { srand(seed) } { printf "%.9f\t%s\n", rand(), $0 }' | sort -n | cut -f2- |
    awk -F'\t' '{ split($1, at, ":") } !seen[at[1], at[2]]++' >"$folder/sites"
fi
: >"$folder/found"
in_parallel work "$folder/sites"
over=
if is_over; then over=", ended after $minutes minutes"; fi
write_report "$over"
