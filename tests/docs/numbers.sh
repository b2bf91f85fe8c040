#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every number of docs/numbers.tsv stands on its page as its result file has it, rounded to nearest; and the
# Measured tables of README.md and docs/measured.md have no result that this list does not name.
# `numbers.sh -v` shows what it compared.
#
# A line of the list: page, text, file below experiments/results, expression; separated by tabs. The text stands
# on the page with a number for each {}; the expression gives their values in that order, with jq for JSON and
# with awk for anything else. File -: nothing is kept of it, and the expression says where it is from.
# ctest: release
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v jq >/dev/null || { echo "numbers: no jq" >&2; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# What the expressions may use: a row of a comparison by its label, a table by the beginning of its title.
readonly words='
  def row($mode): .rows[] | select(.label == $mode);
  def mean_us($mode): row($mode).makespan_ns.mean / 1000;
  def times($mode): row("tt").makespan_ns.mean / row($mode).makespan_ns.mean;
  def table($title): .tables[] | select(.title | startswith($title));
'
# Each expression on a line of its own, of FILE: what it gives, on one line. A file is read once for all of them.
values() { # FILE <EXPRESSIONS
  case $1 in
  -) sed 's/.*/-/' ;;
  *.json) jq -r "$words $(sed 's/.*/([&] | map(tostring) | join(" "))/' | paste -sd ,)" "experiments/results/$1" ;;
  *) while IFS= read -r expression; do awk "$expression" "experiments/results/$1" </dev/null | paste -sd ' ' || return 1; done ;;
  esac
}

# Number of the line, page, text, file, expression; then by files.
awk -F'\t' -v OFS='\t' '$1 != "" && $1 !~ /^#/ { print NR, $1, $2, $3, $4 }' docs/numbers.tsv >"$scratch/lines"
cut -f 4 "$scratch/lines" | sort -u | while IFS= read -r file; do
  awk -F'\t' -v file="$file" '$4 == file' "$scratch/lines" >"$scratch/of_file"
  if ! cut -f 5 "$scratch/of_file" | values "$file" >"$scratch/found" 2>/dev/null; then
    while IFS=$'\t' read -r number _ _ _ expression; do # which of them?
      values "$file" <<<"$expression" >/dev/null || echo "numbers.tsv:$number: $file: $expression" >&2
    done <"$scratch/of_file"
    exit 1
  fi
  cut -f 1-4 "$scratch/of_file" | paste - "$scratch/found"
done | sort -n >"$scratch/list"

awk -F'\t' -v verbose="${1-}" '
  function complain(what) { print what > "/dev/stderr"; bad = 1 }

  # Paragraphs are one line each, however they are broken; rows of tables are lines already.
  function page_of(name,    line, all, glue) {
    all = ""
    while ((getline line < name) > 0) {
      glue = line ~ /^(\||#|```|$)/ || before ~ /^(\||#|```|$)/ ? "\n" : " "
      sub(/^ +/, "", line)
      all = all glue line
      before = line
    }
    close(name)
    return all
  }

  # Does the text stand at `at`? Fills shown[1..], and mask with the page where numbers are struck out.
  function stands_at(page, at, pieces, count,    i, next_at, rest, number) {
    mask = substr(page, 1, at - 1) pieces[1]
    at += length(pieces[1])
    for (i = 2; i <= count; ++i) {
      if (!match(substr(page, at), /^[0-9]+( [0-9][0-9][0-9])*(\.[0-9]+)?/)) return 0
      number = substr(page, at, RLENGTH)
      at += RLENGTH
      if (substr(page, at, length(pieces[i])) != pieces[i]) return 0
      gsub(/ /, "", number)
      shown[i - 1] = number
      at += length(pieces[i])
      mask = mask "~" pieces[i]
    }
    mask = mask substr(page, at)
    return 1
  }

  # To nearest; a half may go either way.
  function is_rounded(value, shown,    digits, apart) {
    digits = match(shown, /\./) ? length(shown) - RSTART : 0
    apart = value - shown
    return (apart < 0 ? -apart : apart) <= 0.5 * 10 ^ -digits + 1e-9 * shown
  }

  {
    if (!($2 in pages)) pages[$2] = page_of($2)
    where = "numbers.tsv:" $1 ": " $2
    count = split($3, pieces, /\{\}/)
    from = 1
    while ((at = index(substr(pages[$2], from), pieces[1])) > 0 && !stands_at(pages[$2], from + at - 1, pieces, count))
      from += at
    if (at == 0) { complain(where ": there is no \"" $3 "\""); next }
    pages[$2] = mask
    if ($4 == "-") next
    n = split($5, value, " ")
    if (n != count - 1) { complain(where ": " n " values for " count - 1 " numbers in \"" $3 "\": " $5); next }
    for (i = 1; i <= n; ++i) {
      ++compared
      if (verbose) print where ": " shown[i] " is " value[i] " in " $4
      if (!is_rounded(value[i], shown[i]))
        complain(where ": " shown[i] " in \"" $3 "\" is " value[i] " in " $4)
    }
  }

  # What is left of the results in a Measured table is held against nothing.
  function find_unnamed(name,    page, rows, row, cell, i, at) {
    if (!(name in pages)) pages[name] = page_of(name)
    page = pages[name]
    at = index(page, "\n## Measured")
    if (at == 0) { complain(name ": no section Measured"); return }
    rows = split(substr(page, at), row, "\n")
    for (i = 3; i <= rows && row[i] !~ /^## /; ++i) {
      split(row[i], cell, / \| /)
      if (row[i] ~ /^\|/ && (cell[2] ~ /[0-9]/)) complain(name ": no line of numbers.tsv for: " cell[2])
    }
  }

  END {
    find_unnamed("README.md")
    find_unnamed("docs/measured.md")
    print "numbers: " compared + 0 " compared"
    exit bad
  }' "$scratch/list"
