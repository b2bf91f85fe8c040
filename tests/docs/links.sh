#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every relative link of a .md file leads to a file of the tree, and its #anchor to a heading there. Every path in
# `backticks` or in a block of code that begins with a folder of the root is there, from the root or from the page.
# And every room of tests/law.sh is on docs/architecture.md, every file of a folder of tests/ on its map.
#   links.sh [FOLDER]     the tree; left out, this one
# In a path NAME stands for any name, * for any text, {a,b} for a or b; what is behind a colon (`file.c:12`) is
# left out, and so is build/.
# ctest: release
set -euo pipefail
shopt -s globstar
cd "${1:-$(dirname "$0")/../..}"
checked=0 bad=0

complain() {
  echo "$1" >&2
  bad=$((bad + 1))
}

# Headings as anchors: small letters, hyphens for blanks, nothing else but letters, digits, - and _.
has_anchor() { # PAGE ANCHOR
  awk '/^```/ { code = !code } !code && /^#+ /' "$1" | sed -E 's/^#+ //' | tr '[:upper:]' '[:lower:]' |
    sed -E 's/[^a-z0-9 _-]//g; s/ /-/g' | grep -qxF -- "$2"
}

check_link() { # PAGE TARGET
  local page=$1 target=${2%%#*} anchor=
  case $2 in *://* | mailto:*) return ;; *'#'*) anchor=${2#*#} ;; esac
  local file=$page
  if [ -n "$target" ]; then file=$(dirname "$page")/$target; fi
  checked=$((checked + 1))
  if [ ! -e "$file" ]; then
    complain "$page: the link to $2 leads nowhere"
  elif [ -n "$anchor" ] && ! has_anchor "$file" "$anchor"; then
    complain "$page: the link to $2: there is no such heading"
  fi
}

check_path() { # PAGE WORD
  local page=$1 word=${2%%:*} pattern
  [ -d "${word%%/*}" ] && [[ $word == */* && $word != build* ]] || return 0
  checked=$((checked + 1))
  pattern=${word//NAME/\*}
  # {a,b} and * by the shell: the words have letters, digits and ./*{},_- only.
  eval "set -- $pattern"
  for pattern; do
    compgen -G "$pattern" >/dev/null || compgen -G "$(dirname "$page")/$pattern" >/dev/null ||
      complain "$page: there is no $word"
  done
}

while IFS= read -r page; do
  text=$(awk '/^```/ { code = !code; next } !code' "$page")
  while IFS= read -r target; do check_link "$page" "$target"; done < <(
    grep -oE '\]\([^) ]+\)' <<<"$text" | sed -E 's/^\]\((.*)\)$/\1/' | sort -u)
  while IFS= read -r word; do check_path "$page" "$word"; done < <({
    grep -oE '`[^`]+`' <<<"$text" | tr -d '`'
    awk '/^```/ { code = !code; next } code' "$page" | grep -oE '(^| )[a-z]+/[^ ]+\.[a-z]+'
  } | tr -s ' ' '\n' | grep -E '^[A-Za-z0-9_./*{},-]+(:[0-9-]+)?$' | sort -u)
done < <(find . -name '*.md' ! -path './build*' ! -path './.git/*' -printf '%P\n' | sort)

# Every room of the law is on the page that says what is in it.
while read -r room _; do
  grep -q "^| .*\`$room[/\`]" docs/architecture.md || complain "docs/architecture.md: tests/law.sh has a room $room/ more"
done < <(sed -n '/<<.LAW.$/,/^LAW$/{/LAW/!p}' tests/law.sh)

# A folder of tests has a map when it has more than six files, and the map names each of them.
for folder in tests/*/; do
  files=()
  for file in "$folder"*; do if [ -f "$file" ]; then files+=("${file##*/}"); fi; done
  if [ ! -f "${folder}README.md" ]; then
    [ ${#files[@]} -le 6 ] || complain "$folder: ${#files[@]} files, and no README.md that says where to begin"
    continue
  fi
  mapfile -t named < <(grep -oE '`[^` ]+`' "${folder}README.md" | tr -d '`')
  for file in "${files[@]}"; do
    is_named=
    # shellcheck disable=SC2053 # a name of the map is a pattern
    for name in README.md "${named[@]}"; do if [[ $file == $name ]]; then is_named=yes; fi; done
    [ -n "$is_named" ] || complain "${folder}README.md: says nothing of $file"
  done
done

if [ "$bad" -gt 0 ]; then
  echo "links: $bad of $checked lead nowhere" >&2
  exit 1
fi
[ "$checked" -gt 100 ] || { echo "links: only $checked found" >&2; exit 1; }
echo "links: $checked lead somewhere"
