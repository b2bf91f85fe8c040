#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Run the commands of a page, in one shell, and hold what they print against what the page shows.
#   console.sh PAGE [WORD]     blocks ```console and ```console measured; or those of another WORD alone, exactly
# A line `$ COMMAND` is run and has to succeed; the lines behind it are what it prints. `...` stands for any lines, and
# at a line's end for any text. Of a block `measured` lines are judged that begin at the margin and are whole: each has to
# be there by its first word.
set -euo pipefail
page=$1 wanted=${2-}
console_scratch=$(mktemp -d)
trap 'rm -rf "$console_scratch"' EXIT
count=0

# compare KIND: shown against printed, both in the scratch folder.
compare() {
  awk -v kind="$1" '
    FILENAME ~ /printed$/ { sub(/[ \t]+$/, ""); printed[++n] = $0; if (NF) first[$1] = 1; next }
    { sub(/[ \t]+$/, ""); shown[++m] = $0 }
    function fits(text, line,    head) {
      if (text !~ / \.\.\.$/) return text == line
      head = substr(text, 1, length(text) - 4)
      return substr(line, 1, length(head)) == head
    }
    END {
      at = 1
      for (i = 1; i <= m; ++i) {
        if (shown[i] == "...") { any = 1; continue }
        if (kind == "measured") {
          split(shown[i], word, " ")
          if (shown[i] ~ /^[^ ]/ && shown[i] !~ / \.\.\.$/ && !(word[1] in first)) { print "not printed: " shown[i]; exit 1 }
          continue
        }
        for (from = at; at <= n && any && !fits(shown[i], printed[at]); ++at) ;
        if (at > n || !fits(shown[i], printed[at])) {
          print "not printed: " shown[i]
          for (j = from; j <= n && j < from + 20; ++j) print "  but: " printed[j]
          exit 1
        }
        ++at
        any = 0
      }
      if (kind != "measured" && !any && at <= n) { print "not shown: " printed[at]; exit 1 }
    }' "$console_scratch/printed" "$console_scratch/shown" >"$console_scratch/found" ||
    { cat "$console_scratch/found" >&2; return 1; }
}

command_of_page=''
kind=''
run_command() {
  [ -n "$command_of_page" ] || return 0
  count=$((count + 1))
  local status=0 tries=0
  while
    status=0
    eval "$command_of_page" >"$console_scratch/printed" 2>&1 </dev/null || status=$?
    [ "$kind" = measured ] && [ "$status" -eq 3 ] && [ $((++tries)) -lt 5 ]
  do :; done
  if [ "$kind" = measured ] && [ "$status" -eq 3 ]; then # nothing that it measured was undisturbed
    echo "console: skipped, this machine is too busy to measure: $command_of_page" >&2
    exit 77
  fi
  if [ "$status" -ne 0 ]; then
    echo "console: it fails: $command_of_page" >&2
    tail -n 20 "$console_scratch/printed" >&2
    exit 1
  fi
  compare "$kind" || { echo "console: $command_of_page" >&2; exit 1; }
  command_of_page=
}

while IFS= read -r line <&3; do
  case $line in
  '```console'*)
    kind=${line#'```console'}
    kind=${kind# }
    if [ "$kind" != "$wanted" ] && { [ -n "$wanted" ] || [ "$kind" != measured ]; }; then
      kind=''
      continue
    fi
    kind=${kind:-exactly} ;;
  '```'*)
    if [ -n "$kind" ]; then run_command; fi
    kind= ;;
  '$ '*)
    if [ -n "$kind" ]; then
      run_command
      command_of_page=${line#'$ '}
      : >"$console_scratch/shown"
    fi ;;
  *) if [ -n "$kind" ]; then printf '%s\n' "$line" >>"$console_scratch/shown"; fi ;;
  esac
done 3< <(cat "$page")
[ "$count" -gt 2 ] || { echo "console: $page has only $count commands ${wanted:+of $wanted}" >&2; exit 1; }
