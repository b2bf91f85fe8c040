# SPDX-License-Identifier: Apache-2.0
# bash completion of ttprem. Verbs, options and names are asked of the command that is on the line, so
# that they are those of that build.

_ttprem_verbs() { # COMMAND
  "$1" --help 2>/dev/null | sed -n '/^Verbs:/,/^$/s/^  \([a-z-]*\) .*/\1/p'
}

# "-o --output=", "--strict": = stands behind those that take a value; behind a tab, what it may be
# (command/options.h). The last line, without an option, are the verb's arguments.
_ttprem_options() { # COMMAND VERB
  "$1" --complete="$2" 2>/dev/null
}

_ttprem_names() { # COMMAND GROUP, one of `ttprem list`
  "$1" list 2>/dev/null | awk -v group="$2" '/^[^ ]/ { inside = $0 == group; next } inside && /^  [^ ]/ { print $1 }'
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

# Words for a value, which is often anything.
_ttprem_offer() { # COMMAND VALUES
  local kinds kind words=()
  read -ra kinds <<<"$2"
  case ${kinds[0]-} in
  @files) _ttprem_files "${kinds[@]:1}" ;;
  @folders) _ttprem_folders ;;
  @list) mapfile -t words < <(_ttprem_names "$1" "${kinds[1]}"); _ttprem_list "${words[@]}" ;;
  @experiments) # a name, or findings that were written before
    _ttprem_files '*.json'
    local files=("${COMPREPLY[@]}")
    _ttprem_words all list thesis "$("$1" experiment list | awk '{ print $1 }')"
    COMPREPLY+=("${files[@]}")
    ;;
  *)
    for kind in "${kinds[@]}"; do
      if [[ $kind == @* ]]; then kind=$(_ttprem_names "$1" "${kind#@}"); fi
      words+=("$kind")
    done
    _ttprem_words "${words[@]}"
    ;;
  esac
}

# What may follow an option; fails if it takes no value.
_ttprem_value() { # COMMAND VERB OPTION
  local option
  option=$(_ttprem_options "$1" "$2" | awk -F '\t' -v given="$3" \
    '{ n = split($1, name, " ") } n && (name[1] == given || name[n] == given "=") { print name[n] "\t" $2 }')
  [[ ${option%%$'\t'*} == *= ]] || return 1
  _ttprem_offer "$1" "${option#*$'\t'}"
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
    _ttprem_words "$(_ttprem_options "$1" "$verb" | awk -F '\t' '{ n = split($1, name, " ") } n { print name[n] }')"
    [[ ${COMPREPLY[*]} != *= ]] || compopt -o nospace
  else
    _ttprem_offer "$1" "$(_ttprem_options "$1" "$verb" | awk -F '\t' '!$1 { print $2 }')"
  fi
}
complete -F _ttprem ttprem
