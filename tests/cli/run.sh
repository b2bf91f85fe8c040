#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Run one CLI test: run.sh [--update] TTPREM CASE
#
# CASE is a file NAME.case: a shell script that calls `ttprem`, and behind it what it must give:
#   >>> status N   its exit status; 0 where there is no such line
#   >>> stdout     exactly the lines that follow; nothing where there is no such line
#   >>> stderr     the same
#   >>> files      the files that it leaves in its working folder, one a line; else none
# The files of inputs/, and of the folder NAME beside the case where there is one, are copied to the working
# folder first. $SOURCE is the root of the tree.
# --update writes the expectations anew: read the difference before you commit it.
set -eu

update=
if [ "$1" = --update ]; then
  update=yes
  shift
fi
ttprem=$(realpath "$1")
case=$(realpath "$2")
SOURCE=$(realpath "$(dirname "$0")/../..")
PATH=$(dirname "$ttprem"):$PATH
ARGP_HELP_FMT=
LC_ALL=C
CUDA_VISIBLE_DEVICES= # the same text with a GPU and without
export SOURCE PATH ARGP_HELP_FMT LC_ALL CUDA_VISIBLE_DEVICES

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/work" "$scratch/expected" "$scratch/found"
cp "$SOURCE"/tests/cli/inputs/* "$scratch/work"
if [ -d "${case%.case}" ]; then cp "${case%.case}"/* "$scratch/work"; fi
(cd "$scratch/work" && ls) >"$scratch/before"

# The case in its parts.
for name in stdout stderr files; do : >"$scratch/expected/$name"; done
echo 0 >"$scratch/expected/status"
awk -v folder="$scratch/expected" '
  BEGIN { part = "script" }
  /^>>> status [0-9]+$/ { print $3 >(folder "/status"); next }
  /^>>> (stdout|stderr|files)$/ { part = $2; next }
  { print >(folder "/" part) }' "$case"

status=0
(cd "$scratch/work" && sh "$scratch/expected/script") </dev/null >"$scratch/found/stdout" \
  2>"$scratch/found/stderr" || status=$?
echo "$status" >"$scratch/found/status"
(cd "$scratch/work" && ls) | comm -13 "$scratch/before" - >"$scratch/found/files"

if [ -n "$update" ]; then
  {
    cat "$scratch/expected/script"
    if [ "$status" -ne 0 ]; then echo ">>> status $status"; fi
    for name in stdout stderr files; do
      if [ -s "$scratch/found/$name" ]; then
        echo ">>> $name"
        cat "$scratch/found/$name"
      fi
    done
  } >"$scratch/case"
  cat "$scratch/case" >"$case"
  exit 0
fi
result=0
for name in status stdout stderr files; do
  diff -u --label "expected $name" --label "found $name" "$scratch/expected/$name" "$scratch/found/$name" ||
    result=1
done
exit "$result"
