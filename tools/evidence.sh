#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What was measured: bundles in evidence/, one a figure, and the numbers that pages have from them.
#
#   tools/evidence.sh list [NAME]              all bundles; or commit, GPU, date, runs of a mode and command of each file of one
#   tools/evidence.sh unpack NAME|all [FOLDER] their files into FOLDER (build/evidence)
#   tools/evidence.sh draw NAME TTPREM [FOLDER]   that, and draws each of its findings: .svg and .txt
#   tools/evidence.sh pack NAME FOLDER         makes the bundle of what is in FOLDER, and its checksum
#   tools/evidence.sh check [-v]               bundles, index and pages agree
#   tools/evidence.sh write                    writes the numbers of all pages from the bundles
#   tools/evidence.sh left PAGE...             the numbers of a page that nothing holds yet
#
# evidence/index.tsv has a line for each bundle, docs/numbers.tsv one for each number: page, text, file in a bundle,
# expression; separated by tabs. The text stands on the page with {} for each number, and ~ for one that a line
# before has named; the expression gives their values in that order, with jq for JSON and with awk for anything else.
# File -: nothing is kept of it, and the expression says where it is from. File `left`: so many numbers of the page
# have no line. Numbers are rounded to nearest, with as many digits as the page has.
set -euo pipefail
cd "${EVIDENCE_ROOT:-$(dirname "$0")/..}"
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
readonly here versions=evidence/versions.tsv index=evidence/index.tsv left_out=evidence/left_out.tsv numbers=docs/numbers.tsv

usage() {
  sed -n '3,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
}

die() {
  echo "evidence: $1" >&2
  exit "${2:-1}"
}

need() { # TOOL...
  for tool; do command -v "$tool" >/dev/null || die "no $tool: \`tools/setup.sh --tests\` installs it" 77; done
}

bundles() { awk -F'\t' '!/^#/ { print $1 }' "$index"; }
has_bundle() { bundles | grep -qxF -- "$1" || die "there is no bundle $1: \`tools/evidence.sh list\` shows all"; }

unpack() { # NAME FOLDER
  tar -xJf "evidence/$1.tar.xz" -C "$2"
}

list_files() { # NAME
  local folder=$scratch/files
  mkdir -p "$folder"
  unpack "$1" "$folder"
  awk -F'\t' -v name="$1" '$1 == name {
    print $3; print "command  " $4; print "machine  " $5; print "GPU      " $6; print "driver   " $7
    print "commits  " $8; print "N        " $9; if ($10 != "-") print "note     " $10 }' "$index"
  printf '\n%-60s %-8s %-9s %-11s %-7s %s\n' file commit GPU date N command
  (cd "$folder" && find . -type f -printf '%P\n' | sort) | while IFS= read -r file; do
    case $file in
    *.json)
      jq -r --arg file "$file" '.provenance as $p | [$file, $p.commit[0:7], (($p.machine | objects | .uuid) // "-")[4:12],
        $p.date[0:10], ([.rows[]?.repeats?] | max), $p.command] | map(. // "-" | tostring) | @tsv' "$folder/$file" 2>/dev/null || echo "$file" ;;
    *) echo "$file" ;;
    esac
  done | awk -F'\t' '{ printf "%-60s %-8s %-9s %-11s %-7s %s\n", $1, $2, $3, $4, $5, $6 }' | sed 's/ *$//'
  awk -F'\t' -v name="$1" '$5 == name && $6 == "raw" { ++n; bytes += $3 }
    END { if (n) printf "\n%d raw files of %.1f MB are in the history: evidence/left_out.tsv\n", n, bytes / 1e6 }' "$left_out"
}

# The same bytes from the same files: sorted, without times and owners.
pack() { # NAME FOLDER
  local new=evidence/$1.tar.xz.new sum
  [ -d "$2" ] || die "there is no folder $2"
  [[ $1 =~ ^[a-z0-9_]+$ ]] || die "$1 is no name of a bundle: small letters, digits and _ only"
  tar -c -C "$2" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --format=ustar --mode=u=rw,go=r \
    -T <(cd "$2" && find . -type f -printf '%P\n' | sort) | xz -9e -T1 >"$new"
  mv "$new" "evidence/$1.tar.xz"
  sum=$(sha256sum "evidence/$1.tar.xz" | cut -d' ' -f1)
  if bundles | grep -qxF -- "$1"; then
    awk -F'\t' -v OFS='\t' -v name="$1" -v sum="$sum" '$1 == name { $2 = sum } 1' "$index" >"$scratch/index"
    cat "$scratch/index" >"$index"
  else
    printf '%s\t%s\tQUESTION\tCOMMAND\tMACHINE\t-\t-\tCOMMITS\tN\t-\n' "$1" "$sum" >>"$index"
    echo "evidence: fill in the line of $1 in $index" >&2
  fi
}

# ---- check ----------------------------------------------------------------------------------------------------

complain() {
  echo "$1" >&2
  bad=1
}

# Ten columns, each filled; the bundle's checksum; and the commits and GPUs that its JSONs name.
check_index() { # FOLDER: with all bundles unpacked
  local name sum columns file extra
  while IFS=$'\t' read -r columns name sum; do
    [ "$columns" = 10 ] || complain "$index: $name: $columns filled columns, not ten"
    [ -f "evidence/$name.tar.xz" ] || { complain "$index: there is no evidence/$name.tar.xz"; continue; }
    [ "$(sha256sum "evidence/$name.tar.xz" | cut -d' ' -f1)" = "$sum" ] || complain "$index: $name: evidence/$name.tar.xz has another sha256"
  done < <(awk -F'\t' '!/^#/ { n = 0; for (i = 1; i <= NF; ++i) n += $i != "" && $i !~ /^(QUESTION|COMMAND|MACHINE|COMMITS|N)$/; print n "\t" $1 "\t" $2 }' "$index")
  extra=$(bundles | sort | uniq -d)
  [ -z "$extra" ] || complain "$index: twice: $extra"
  for file in evidence/*.tar.xz; do
    bundles | grep -qxF -- "$(basename "$file" .tar.xz)" || complain "$index: no line for $file"
  done
  extra=$(cut -f 2 "$scratch/members" | sort | uniq -d)
  [ -z "$extra" ] || complain "evidence: in two bundles: $extra"
  # bundle, file, commit, GPU of all JSONs; of each those that its line does not have
  awk -F'\t' '$2 ~ /\.json$/ { print $2 }' "$scratch/members" | (cd "$1" && xargs jq -r '.provenance as $p |
    [input_filename, ($p.commit // "")[0:7], (($p.machine | objects | .uuid) // "")] | @tsv') |
    awk -F'\t' -v OFS='\t' 'FILENAME == ARGV[1] { of[$2] = $1; next } { print of[$1], $0 }' "$scratch/members" - |
    awk -F'\t' 'FILENAME == ARGV[1] { gpus[$1] = $6; commits[$1] = $8; next }
      $3 != "" && !index(commits[$1], $3) { print $1 ": no commit " $3 ", which " $2 " names" }
      $4 != "" && !index(gpus[$1], $4) { print $1 ": no " $4 ", which " $2 " names" }' "$index" - >"$scratch/unnamed"
  while IFS= read -r line; do complain "$index: $line"; done <"$scratch/unnamed"
  awk -F'\t' '!/^#/ && (NF != 6 || $2 !~ /^[0-9a-f]+$/ || length($2) != 64 || $3 !~ /^[0-9]+$/ || $4 !~ /^[0-9a-f]+$/ || seen[$1]++) {
    print FILENAME ":" NR ": not a path once, a sha256, bytes, a commit, a bundle and why" }' "$left_out" >"$scratch/wrong"
  while IFS= read -r line; do complain "$line"; done <"$scratch/wrong"
}

# A path of a bundle in `backticks` is in one, and no page has a commit or a GPU's number: the index has them.
check_pages() { # FOLDER
  local page word pages
  mapfile -t pages < <(find . -name '*.md' ! -name CHANGELOG.md ! -path './build*' ! -path './.git/*' -printf '%P\n' | sort)
  while IFS=: read -r page word; do
    (cd "$1" && compgen -G "$word" >/dev/null) || complain "$page: no bundle has $word"
  done < <(grep -oHE '`(cpu|h100|h200|planner)/[^` ]*`' "${pages[@]}" | tr -d '`' | sort -u)
  while IFS= read -r page; do
    while IFS= read -r word; do complain "$page: $word: commits stand in $versions alone, GPUs in $index"; done < <(
      tr '\n' ' ' <"$page" | sed -E 's/\]\([^)]*\)//g; s/github.com[^.]*[( ]commit [0-9a-f]{7}//g' |
        grep -oE '\b([0-9a-f]*[0-9][a-f][0-9a-f]*|[0-9a-f]*[a-f][0-9][0-9a-f]*|commits? [0-9a-f]+)\b|GPU-[0-9a-f]{8}' |
        grep -E '[0-9a-f]{7}' | sort -u)
  done < <(grep -lE '[0-9a-f]{7}' "${pages[@]}")
}

# What the expressions may use: a row of a comparison by its label, a table by the beginning of its title, and a
# row of that by its first cell.
readonly words='
  def row($mode): .rows[] | select(.label == $mode);
  def mean_us($mode): row($mode).makespan_ns.mean / 1000;
  def times($mode): row("tt").makespan_ns.mean / row($mode).makespan_ns.mean;
  def table($title): .tables[] | select(.title | startswith($title));
  def cells($title; $first): table($title).rows[] | select(.[0] == $first);
'
# Numbered expressions, of JSONs all at once, since jq takes long to begin: NUMBER, page, text, file, expression.
json_values() {
  local number file expression last="" program="$words empty" files=()
  while IFS=$'\t' read -r number _ _ file expression; do
    if [ "$file" != "$last" ]; then
      [ -z "$last" ] || program+=" else empty end)"
      program+=", (if input_filename == \"$unpacked/$file\" then empty"
      files+=("$unpacked/$file")
      last=$file
    fi
    program+=", \"$number\\t\" + ([$expression] | map(tostring) | join(\" \"))"
  done
  [ -n "$last" ] || return 0
  printf '%s else empty end)\n' "$program" >"$scratch/program.jq"
  jq -r -f "$scratch/program.jq" "${files[@]}"
}

text_values() {
  local number file expression
  while IFS=$'\t' read -r number _ _ file expression; do
    printf '%s\t' "$number"
    case $file in
    - | left) echo "$expression" ;;
    *) awk -v ORS=' ' "$expression" "$unpacked/$file" </dev/null || return 1; echo ;;
    esac
  done
}

# Lines of numbers.tsv with their values: number of the line, page, text, file, values.
collect_values() {
  local number file line
  awk -F'\t' -v OFS='\t' '$1 != "" && $1 !~ /^#/ { print NR, $1, $2, $3, $4 }' "$numbers" >"$scratch/lines"
  while IFS=$'\t' read -r number _ _ file _; do
    [ "$file" = - ] || [ "$file" = left ] || [ -f "$unpacked/$file" ] || complain "numbers.tsv:$number: no bundle has $file"
  done <"$scratch/lines"
  [ $bad = 0 ] || return 1
  awk -F'\t' '$4 ~ /\.json$/' "$scratch/lines" | sort -t$'\t' -s -k 4,4 >"$scratch/json_lines"
  awk -F'\t' '$4 !~ /\.json$/' "$scratch/lines" >"$scratch/text_lines"
  if ! json_values <"$scratch/json_lines" >"$scratch/values" 2>/dev/null; then
    while IFS= read -r line; do # which of them?
      json_values <<<"$line" >/dev/null || echo "numbers.tsv:$(cut -f 1,4,5 --output-delimiter=': ' <<<"$line")" >&2
    done <"$scratch/json_lines"
    return 1
  fi
  if ! text_values <"$scratch/text_lines" >>"$scratch/values"; then
    echo "numbers.tsv:$(tail -n 1 "$scratch/values" | cut -f 1): its awk program fails" >&2
    return 1
  fi
  awk -F'\t' -v OFS='\t' 'FILENAME == ARGV[1] { value[$1] = $2; next } { print $1, $2, $3, $4, value[$1] }' \
    "$scratch/values" "$scratch/lines" >"$scratch/list"
}

unpack_all() {
  need jq
  unpacked=$scratch/all
  mkdir -p "$unpacked"
  : >"$scratch/members"
  while IFS= read -r name; do
    tar -xvJf "evidence/$name.tar.xz" -C "$unpacked" 2>/dev/null | sed "s|^|$name\t|" >>"$scratch/members" ||
      complain "evidence/$name.tar.xz: cannot be unpacked"
  done < <(bundles)
}

hold() { # MODE [awk option...]
  collect_values || exit 1
  awk -v mode="$1" "${@:2}" -f "$here/numbers.awk" "$scratch/list" || bad=1
}

need xz
bad=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
case ${1-} in
list)
  if [ $# -eq 1 ]; then
    awk -F'\t' '!/^#/ { printf "%-24s %s\n", $1, $3 }' "$index"
  else
    need jq
    has_bundle "$2"
    list_files "$2"
  fi ;;
unpack)
  [ $# -ge 2 ] || usage
  folder=${3:-build/evidence}
  mkdir -p "$folder"
  if [ "$2" = all ]; then mapfile -t names < <(bundles); else has_bundle "$2"; names=("$2"); fi
  for name in "${names[@]}"; do unpack "$name" "$folder"; done
  [ -n "${3-}" ] || echo "evidence: in $folder" >&2 ;;
draw)
  [ $# -ge 3 ] || usage
  has_bundle "$2"
  folder=${4:-build/evidence}
  mkdir -p "$folder"
  unpack "$2" "$folder"
  while IFS= read -r file; do
    grep -q '"schema": *"ttprem.findings/' "$folder/$file" || continue
    "$3" experiment "$folder/$file" -o "$(dirname "$folder/$file")" >"$folder/${file%.json}.txt"
  done < <(tar -tJf "evidence/$2.tar.xz" | grep '\.json$')
  [ -n "${4-}" ] || echo "evidence: in $folder" >&2 ;;
pack)
  [ $# -eq 3 ] || usage
  pack "$2" "$3" ;;
check)
  unpack_all
  check_index "$unpacked"
  check_pages "$unpacked"
  hold check -v verbose="${2:+1}"
  exit $bad ;;
write)
  unpack_all
  hold write
  exit $bad ;;
left)
  [ $# -ge 2 ] || usage
  unpack_all
  hold left -v left_pages="${*:2}"
  exit $bad ;;
*) usage ;;
esac
