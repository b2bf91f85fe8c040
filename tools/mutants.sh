#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Plant mutants and report what survives the quick suites (CONTRIBUTING.md says how to read it):
#   tools/mutants.sh [-n COUNT] [-s SEED] [-j JOBS] [-o REPORT] [FILE...]
#       COUNT mutants (default 200) that SEED (default 1) picks, of FILE... or of all sources in C
#   tools/mutants.sh -l LIST [-j JOBS] [-o REPORT]
#       the mutants of LIST that are not killed there: a report, or lines FILE:LINE:COLUMN, kind, old, new
#   -k FOLDER keeps the build, and what suites take, for the next time.
# Builds what is committed, in a folder of its own; the checkout is only read. Ctrl-C writes the
# report of what has been judged until then.
set -euo pipefail
cd "$(dirname "$0")/.."

count=200 seed=1 jobs=$(nproc) report=/dev/stdout list= kept=
while getopts n:s:j:o:l:k: option; do
  case $option in
  n) count=$OPTARG ;;
  s) seed=$OPTARG ;;
  j) jobs=$OPTARG ;;
  o) report=$OPTARG ;;
  l) list=$(realpath "$OPTARG") ;;
  k) mkdir -p "$OPTARG" && kept=$(realpath "$OPTARG") ;;
  *) sed -n '3,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2 ;;
  esac
done
shift $((OPTIND - 1))
case $report in /dev/*) ;; *) report=$(realpath "$report"); : >"$report" ;; esac

readonly quick_s=5 # processor time of a suite that still counts as quick
asked="-n $count -s $seed${*:+ $*}"
if [ -n "$list" ]; then asked="-l LIST"; fi
commit=$(git rev-parse --short HEAD)
folder=$(mktemp -d "${TMPDIR:-/tmp}/ttprem-mutants.XXXXXX")
readonly folder base=${kept:-$folder}
readonly source=$base/source build=$base/build suites=$base/suites
workers=()
finish() {
  trap - EXIT INT TERM
  for worker in "${workers[@]}"; do kill -- "-$worker" 2>/dev/null || true; done
  wait || true
  rm -rf "$folder"
}
write_report() { # [WORDS]
  local killed survived others
  killed=$(grep -c '^killed' "$folder/found" || true)
  survived=$(grep -c '^survived' "$folder/found" || true)
  others=$(grep -cvE '^(killed|survived)' "$folder/found" || true)
  {
    echo "# tools/mutants.sh $asked, commit $commit${1-}"
    awk -v killed="$killed" -v all="$((killed + survived))" -v others="$others" 'BEGIN {
      printf "# %d of %d killed (%.1f %%); %d more changed nothing or were no C\n", killed, all,
        100 * killed / (all + (all == 0)), others }'
    sort -t$'\t' -k1,1r -k2,2V "$folder/found"
  } >"$report"
}
child= # the test that is running, which has a process group of its own
stop_child() { if [ -n "$child" ]; then kill "$child" 2>/dev/null || true; fi; }
interrupted() {
  trap - INT TERM
  stop_child
  if [ -s "$folder/found" ]; then write_report ", interrupted"; fi
  exit 130
}
trap finish EXIT
trap interrupted INT TERM

# ---- a build whose libraries can be exchanged -------------------------------------------------------

mkdir -p "$source" "$folder/now" "$folder/killers"
git archive HEAD | tar -x -C "$folder/now"
# What has not changed keeps its time, so that it is not built again; what is gone goes here too.
(cd "$folder/now" && find . -type f -print0 | xargs -0 -I{} sh -c 'cmp -s "$1" "$2/$1" || cp --parents "$1" "$2"' - {} "$source")
if [ -e "$suites" ]; then
  (cd "$source" && find . -type f -print0 | xargs -0 -I{} sh -c '[ -e "$2/$1" ] || rm "$1"' - {} "$folder/now")
fi
cd "$source"
# Suites call what the library hides from strangers, and libraries that it alone links.
sed -i 's/set(CMAKE_C_VISIBILITY_PRESET hidden)//' CMakeLists.txt
{
  cmake -G Ninja -B "$build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE=-O2 -DBUILD_SHARED_LIBS=ON \
    -DCMAKE_SKIP_RPATH=ON -DCMAKE_EXE_LINKER_FLAGS=-Wl,--copy-dt-needed-entries -DTTPREM_CUDA=OFF && cmake --build "$build" -j "$jobs"
} >"$folder/log" 2>&1 || { tail -n 40 "$folder/log" >&2; exit 1; }
declare -A library soname link # [target]
for target in ttprem ttprem_measure; do
  library[$target]=$(basename "$(realpath "$build/lib$target.so")")
  soname[$target]=$(basename "$(find "$build" -maxdepth 1 -name "lib$target.so.?")")
  link[$target]=$(ninja -C "$build" -t commands "${library[$target]}" | tail -n 1)
done
readonly library soname link
export CCACHE_DISABLE=1

target_of() { # FILE: the library that it is in
  case $1 in measure/* | report/* | experiments/*) echo ttprem_measure ;; *) echo ttprem ;; esac
}

object_of() { # FILE: where the build has its object; a kernel's header is compiled with the list of kernels
  local name=$1
  case $name in kernels/*.h) name=kernels/registry.c ;; esac
  echo "CMakeFiles/$(target_of "$1").dir/$name.o"
}

link_whole() { # PLACE: the libraries without a mutant
  local target
  for target in "${!library[@]}"; do ln -sfn "$build/${library[$target]}" "$1/${soname[$target]}"; done
}

# Compile FILE, of which PLACE/text has the text to take, into OBJECT. Includes have their path from the root.
compile() { # FILE PLACE OBJECT
  local file=$1 place=$2 object=$3 from command
  from=$(object_of "$file")
  command=$(ninja -C "$build" -t commands "$from" | tail -n 1)
  case $file in *.c) command=${command/-c $source\/$file/-c $place\/text\/$file} ;; esac
  command=${command//$from/$object}
  (cd "$build" && eval "$command -w -iquote $place/text") >"$place/log" 2>&1
}

# ---- the quick suites -------------------------------------------------------------------------------

# Run TEST with the libraries in PLACE, in an empty folder. A loop without end runs out of its processor time.
run_test() { # PLACE TEST SECONDS
  local place=$1 test=$2 result=0
  rm -rf "$place/run"
  mkdir "$place/run"
  (
    cd "$place/run"
    ulimit -S -t "$3" -f 2000000 -v 8000000 -c 0
    export LD_LIBRARY_PATH=$place TMPDIR=$place/run
    case $test in
    cli/*) exec timeout -k 5 60 "$source/tests/cli/run.sh" "$build/ttprem" "$source/tests/cli/cases/${test#cli/}" ;;
    fuzz_*) exec timeout -k 5 60 "$build/tests/$test" "$source/tests/fuzz/corpus/${test#fuzz_}" ;;
    *) exec timeout -k 5 120 "$build/tests/$test" ;;
    esac
  ) >"$place/said" 2>&1 </dev/null &
  child=$!
  wait "$child" || result=$?
  child=
  return $result
}

mkdir "$folder/whole"
TIMEFORMAT="%U %S"
link_whole "$folder/whole"
touch "$suites" "$suites.slow"
for test in $(cd "$source/tests" && printf '%s\n' */test_*.c fuzz/fuzz_*.c | sed 's|.*/||; s/\.c$//') \
  $(cd "$source/tests" && printf '%s\n' cli/cases/*/* | sed 's|cases/||'); do
  if cut -f2 "$suites" "$suites.slow" | grep -qx "$test"; then continue; fi
  result=0
  { time run_test "$folder/whole" "$test" $((4 * quick_s)) || result=$?; } 2>"$folder/took"
  took=$(awk '{ print $1 + $2 }' "$folder/took")
  if [ "$result" -eq 0 ] && awk "BEGIN { exit !($took <= $quick_s) }"; then
    printf '%s\t%s\n' "$took" "$test" >>"$suites"
  else
    printf '%s\t%s\t%s\n' "$took" "$test" "$result" >>"$suites.slow"
  fi
done
sed -E 's/^(.*)\t(.*)\t77$/left out: \2 needs what is not here/
  s/^(.*)\t(.*)\t(.*)$/left out: \2 (status \3 after \1 s of processor time)/' "$suites.slow" >&2
sort -n -o "$suites" "$suites"
echo "$(wc -l <"$suites") quick suites, $(awk '{ all += $1 } END { print all }' "$suites") s" >&2

# The quick suites, those first that are likely to see a change of FILE: what killed a mutant of it before,
# the suite of its name, suites that call its functions; then the others, the shortest first.
order_for() { # FILE
  local file=$1 stem names known=$folder/order.${1//\//_} mine=$folder/order.$BASHPID
  stem=$(basename "${file%.*}")
  if [ ! -s "$known" ]; then
    names=$(sed -nE 's/^[a-z].*[ *]([a-z_0-9]+)\(.*/\1/p' "$source/$file" | sort -u | paste -sd '|')
    awk -F'\t' -v stem="$stem" -v callers="$(cd "$source/tests" && grep -lEw "${names:-no}" */test_*.c | sed "s|.*/||" | paste -sd ' ') " '
      {
        rank = index(" " callers, " " $2 ".c ") ? 3 : 4
        if (index($2, "test_") == 1 && index(stem, substr($2, 6))) rank = 2
        if ($2 == "test_" stem) rank = 1
        print rank "\t" $0
      }' "$suites" | sort -k1,1n -k2,2n >"$mine"
    mv "$mine" "$known"
  fi
  cat "$folder/killers/${file//\//_}" 2>/dev/null | tac | awk '!seen[$0]++' | head -n 8 |
    while read -r test; do awk -F'\t' -v test="$test" '$3 == test' "$known"; done
  cat "$known"
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

judge() { # PLACE WHERE KIND OLD NEW; $whole has the libraries without it. The verdict and, of a killed one, the killer
  local place=$1 where=$2 old=$4 new=$5 file line column took test target tried=" "
  trap 'stop_child; exit 130' TERM
  IFS=: read -r file line column <<<"$where"
  target=$(target_of "$file")
  rm -rf "$place"/*.o "$place/text"
  link_whole "$place"
  mkdir -p "$place/text/$(dirname "$file")"
  cp "$source/$file" "$place/text/$file"
  if [ ! -f "$folder/${file//\//_}.o" ]; then
    compile "$file" "$place" "$place/whole.o" || { echo "not_built"; return; }
    mv "$place/whole.o" "$folder/${file//\//_}.o"
  fi
  plant "$file" "$line" "$column" "$old" "$new" "$place/text/$file" || { echo "not_there"; return; }
  compile "$file" "$place" "$place/mutant.o" || { echo "not_compiled"; return; }
  if cmp -s "$place/mutant.o" "$folder/${file//\//_}.o"; then
    echo "equivalent"
    return
  fi
  local mutated=$place/${soname[$target]}
  local command=${link[$target]/-o ${library[$target]}/-o $mutated}
  command=${command/$(object_of "$file")/$place\/mutant.o}
  rm "$mutated"
  (cd "$build" && eval "$command") >"$place/log" 2>&1 || { echo "not_compiled"; return; }
  while IFS=$'\t' read -r _ took test; do
    case $tried in *" $test "*) continue ;; esac
    tried+="$test "
    local most
    most=$(awk "BEGIN { print int(4 * $took) + 3 }")
    if ! run_test "$place" "$test" "$most"; then
      # A kill counts where the same suite passes without the mutant, and fails with it again.
      if run_test "$whole" "$test" "$most" && ! run_test "$place" "$test" "$most"; then
        echo "$test" >>"$folder/killers/${file//\//_}"
        printf 'killed\t%s\n' "$test"
        return
      fi
    fi
  done < <(order_for "$file")
  echo "survived"
}

work() {
  local place=$folder/work.$BASHPID whole=$folder/whole.$BASHPID number where kind old new verdict
  trap 'exit 130' INT TERM
  mkdir "$place" "$whole"
  link_whole "$whole"
  until [ "$(grep -cE '^(killed|survived)' "$folder/found")" -ge "$count" ]; do
    number=$(flock "$folder/next" sh -c "n=\$((\$(cat '$folder/next') + 1)); echo \$n | tee '$folder/next'")
    IFS=$'\t' read -r where kind old new < <(sed -n "${number}p" "$folder/sites") || break
    verdict=$(judge "$place" "$where" "$kind" "$old" "$new")
    printf '%s\t%s\t%s\t%s\t%s\t%s\n' "${verdict%%$'\t'*}" "$where" "$kind" "$old" "$new" \
      "$(cut -sf2 <<<"$verdict")" >>"$folder/found"
    printf '%s %s %s: %s -> %s %s\n' "$number" "$where" "$kind" "$old" "$new" "$verdict" >&2
  done
}

# ---- all of them ------------------------------------------------------------------------------------

if [ -n "$list" ]; then
  sed -E 's/^(survived|not_there)\t//; /^(#|killed|equivalent|not_)/d' "$list" | cut -f1-4 >"$folder/sites"
  count=$(wc -l <"$folder/sites")
else
  files=("$@")
  if [ ${#files[@]} -eq 0 ]; then
    mapfile -t files < <({
      find prem schedules runtime measure report experiments -name '*.c'
      find kernels -name '*.[ch]'
    } | grep -vE '^(runtime/cuda|experiments/(common|machine|thesis))/' | sort)
  fi
  # One mutant a line at most, in an order that the seed gives.
  awk -f tools/mutants.awk "${files[@]}" |
    awk -v seed="$seed" 'BEGIN { srand(seed) } { printf "%.9f\t%s\n", rand(), $0 }' | sort -n | cut -f2- |
    awk -F'\t' '{ split($1, at, ":") } !seen[at[1], at[2]]++' >"$folder/sites"
fi
echo 0 >"$folder/next"
: >"$folder/found"
set -m
for ((i = 0; i < jobs; ++i)); do
  work &
  workers+=($!)
done
set +m
wait "${workers[@]}"
workers=()
write_report
