# SPDX-License-Identifier: Apache-2.0
# bash completion of ttprem. Verbs, options and names are asked of the command that is on the line, so
# that they are those of that build.

_ttprem_verbs() { # COMMAND
  "$1" --help 2>/dev/null | sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p'
}

# "-o --output=", "--strict": = stands behind those that take a value.
_ttprem_options() { # COMMAND VERB
  ARGP_HELP_FMT='' "$1" "$2" --help 2>/dev/null |
    sed -nE 's/^  (    |(-.), )(--[a-z-]+=?).*/\2 \3/p'
}

_ttprem_names() { # COMMAND GROUP, one of `ttprem list`
  "$1" list 2>/dev/null | awk -v group="$2" '/^[^ ]/ { inside = $0 == group; next } inside { print $1 }'
}

_ttprem_words() { # WORD...
  mapfile -t COMPREPLY < <(compgen -W "$*" -- "$current")
}

# Files of a kind, and the folders on the way to them.
_ttprem_files() { # [PATTERN]
  compopt -o filenames
  mapfile -t COMPREPLY < <(compgen -d -- "$current"; compgen -f -X "!${1-*}" -- "$current" |
    while read -r file; do [ -d "$file" ] || echo "$file"; done)
}

_ttprem_folders() {
  compopt -o filenames
  mapfile -t COMPREPLY < <(compgen -d -- "$current")
}

# A list with commas: no word twice.
_ttprem_list() { # WORD...
  local before='' word left=''
  [[ $current != *,* ]] || before=${current%,*},
  for word; do
    [[ ,$before == *,$word,* ]] || left+=" $before$word"
  done
  compopt -o nospace
  # shellcheck disable=SC2086 # words
  _ttprem_words $left
}

# What may follow an option, which is often anything; fails if the option takes no value.
_ttprem_value() { # COMMAND VERB OPTION
  local option modes
  option=$(_ttprem_options "$1" "$2" | awk -v given="$3" '$1 == given || $NF == given "=" { print $NF }')
  [[ $option == *= ]] || return 1
  case $option in
  --backend=) _ttprem_words auto "$(_ttprem_names "$1" backends)" ;;
  --policy=) _ttprem_words "$(_ttprem_names "$1" policies)" ;;
  --mode=) _ttprem_words "$(_ttprem_names "$1" modes)" ;;
  --modes=) mapfile -t modes < <(_ttprem_names "$1" modes); _ttprem_list "${modes[@]}" ;;
  --engine=) _ttprem_words best bulk cp_async vector ;;
  --scenario=) _ttprem_words relaunch resident ;;
  --format=) _ttprem_words perfetto chrome csv ;;
  --schedules=) _ttprem_folders ;;
  --output=) if [ "$2" = experiment ]; then _ttprem_folders; else _ttprem_files; fi ;;
  --json= | --trace= | --svg= | --picture=) _ttprem_files ;;
  esac
}

_ttprem() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb='' i
  # --option=value comes in three words.
  if [ "$current" = = ]; then
    current=
  elif [ "$before" = = ]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    [[ ${COMP_WORDS[i]} == -* ]] || { verb=${COMP_WORDS[i]}; break; }
  done
  if [ -z "$verb" ]; then
    if [[ $current == -* ]]; then
      _ttprem_words --help --usage --version
    else
      _ttprem_words "$(_ttprem_verbs "$1")"
    fi
  elif [[ $before == -* ]] && _ttprem_value "$1" "$verb" "$before"; then
    return
  elif [[ $current == -* ]]; then
    _ttprem_words "$(_ttprem_options "$1" "$verb" | awk '{ print $NF }')"
    [[ ${COMPREPLY[*]} != *= ]] || compopt -o nospace
  else
    case $verb in
    plan | check | run | compare | profile | tune | isolate) _ttprem_files '*.cfg' ;;
    trace) _ttprem_files '*.csv' ;;
    report) _ttprem_files '*.json' ;;
    experiment) # a name, or findings that were written before
      _ttprem_files '*.json'
      local files=("${COMPREPLY[@]}")
      _ttprem_words all thesis list "$("$1" experiment list | awk '{ print $1 }')"
      COMPREPLY+=("${files[@]}")
      ;;
    esac
  fi
}
complete -F _ttprem ttprem
