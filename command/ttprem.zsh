#compdef ttprem
# SPDX-License-Identifier: Apache-2.0
# zsh completion of ttprem. Verbs, options and names are asked of the command that is on the line, so that they are
# those of that build; command/options.h says what the lines of --complete are.

_ttprem_verbs() { # COMMAND: verb:what it does
  $1 --help 2>/dev/null | sed -n '/^Verbs:/,/^$/s/^  \([a-z-]*\)  *\(.*\)/\1:\2/p'
}

_ttprem_names() { # COMMAND GROUP, one of `ttprem list`
  $1 list 2>/dev/null | awk -v group=$2 '/^[^ ]/ { inside = $0 == group; next } inside && /^  [^ ]/ { print $1 }'
}

# What _arguments is to offer for a value.
_ttprem_action() { # COMMAND VALUES
  local -a kinds words
  local kind
  kinds=(${=2})
  case ${kinds[1]-} in
  @files) print -r -- "_files${kinds[2]:+ -g ${(qq)kinds[2]}}" ;;
  @folders) print -r -- '_files -/' ;;
  @list) print -r -- "_values -s , ${kinds[2]} ${(f)$(_ttprem_names $1 ${kinds[2]})}" ;;
  @experiments) print -r -- "(all list thesis $($1 experiment list 2>/dev/null | awk '{ print $1 }' | tr '\n' ' '))" ;;
  '') print -r -- ' ' ;;
  *)
    for kind in $kinds; do
      if [[ $kind == @* ]]; then words+=(${(f)"$(_ttprem_names $1 ${kind#@})"}); else words+=($kind); fi
    done
    print -r -- "($words)"
    ;;
  esac
}

# A line for each option of a verb, and one for its arguments, as _arguments takes them.
_ttprem_specs() { # COMMAND VERB
  local names values name
  $1 --complete=$2 2>/dev/null | while IFS= read -r line; do
    names=${line%%$'\t'*} values=${line#*$'\t'}
    [[ -n $names ]] || { [[ -z $values ]] || print -r -- "*:argument:$(_ttprem_action $1 $values)"; continue; }
    for name in ${=names}; do
      if [[ $names != *= ]]; then
        print -r -- "$name"
      elif [[ $name == --* ]]; then
        print -r -- "$name:value:$(_ttprem_action $1 $values)"
      else
        print -r -- "$name+:value:$(_ttprem_action $1 $values)"
      fi
    done
  done
}

_ttprem() {
  local command=${words[1]}
  local -a found
  if ((CURRENT == 2)); then
    found=(${(f)"$(_ttprem_verbs $command)"})
    _describe verb found
    return
  fi
  found=(${(f)"$(_ttprem_specs $command ${words[2]})"})
  shift words
  ((CURRENT--))
  _arguments $found
}

# When zsh loads the file to complete, not when a test reads it.
if [[ ${funcstack[1]-} == _ttprem ]]; then _ttprem "$@"; fi
