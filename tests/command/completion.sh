#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the completion offers in bash: verbs, options, their values, files.
#   completion.sh TTPREM
# ctest: TTPREM release experiments
set -euo pipefail
ttprem=$(realpath "$1")
source=$(realpath "$(dirname "$0")/../..")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
status=0

# shellcheck source=../../command/ttprem.bash
. "$source/command/ttprem.bash"
compopt() { :; } # bash has it only while it completes

# The words as bash hands them over; the last one is being typed.
offered() { # WORD...
  COMP_WORDS=(ttprem "$@")
  COMP_CWORD=$#
  COMPREPLY=()
  _ttprem "$ttprem" "${*: -1}" "${COMP_WORDS[COMP_CWORD - 1]}"
  [ ${#COMPREPLY[@]} -eq 0 ] || printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd' '
}

expect() { # WHAT, then the words
  local expected=$1 found
  shift
  found=$(offered "$@")
  [ "$found" = "$expected" ] && return
  echo "completion: ttprem $*: '$found' instead of '$expected'" >&2
  status=1
}

# The names that a message offers: "...; there are: a, b".
there_are() { # ARGUMENT...
  "$ttprem" "$@" 2>&1 | sed -n 's/,//g; s/.*there are: //p' | tr ' ' '\n' | sort | paste -sd' '
}

cd "$place"
mkdir schedules
touch one.cfg 'two words.cfg' trace.csv result.json one.h

verbs=$(offered '')
for verb in $("$ttprem" --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z-]*\) .*/\1/p'); do
  [[ " $verbs " == *" $verb "* ]] || { echo "completion: no verb $verb" >&2; status=1; }
  options=$(offered "$verb" --)
  for option in $("$ttprem" "$verb" --usage | tr -d '\n' | grep -oE -- '--[a-z-]+'); do
    [[ " $options " =~ \ "$option"=?\  ]] ||
      { echo "completion: $verb: no $option" >&2; status=1; }
  done
done
expect 'plan profile' p
expect '--help --usage --version' --
expect '--time-limit=' plan --ti
expect '--quiet' check --q

backends=$("$ttprem" list | sed -n '/^backends/,/^[^ ]*$/s/^  \([a-z][a-z]*\) .*/\1/p' | sort | paste -sd' ')
expect "$(echo "auto $backends" | tr ' ' '\n' | sort | paste -sd' ')" run --backend ''
expect 'sim' run one.cfg -b s
expect 'sim' run --backend = s
expect 'cpu' profile -b cp
expect "$(there_are run --mode none one.cfg)" run --mode ''
expect 'launched legacy lock' run -m l
expect 'tt,free' compare --modes tt,f
expect '' compare --modes tt,free,t
expect "$(there_are run --scenario none one.cfg)" compare --scenario = ''
expect "$(there_are trace --format none trace.csv)" trace -f ''
expect 'phase_blockwise phase_kernelwise' plan -P phase
expect 'alone company planned' profile --times ''
expect 'one.cfg schedules two words.cfg' plan --keep ''
expect '--sweep' tune --sw
expect 'one.cfg' tune --sweep o

expect 'one.cfg schedules two words.cfg' plan ''
expect 'one.cfg' check o
expect 'schedules trace.csv' trace ''
expect 'result.json' run one.cfg --json = re
expect '' run --repeat ''
expect '' run --repeat = ''
expect 'kernel-test' ke
expect 'one.h schedules' kernel-test ''
expect '' list ''
expect 'profile' help pro
experiments=$("$ttprem" experiment list | awk '{ print $1 }' | sort | paste -sd' ')
expect "$(echo "all thesis list result.json schedules $experiments" | tr ' ' '\n' | sort | paste -sd' ')" experiment ''
expect 'result.json' experiment res
expect 'schedules' experiment --schedules ''
exit "$status"
