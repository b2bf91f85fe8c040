#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Install a build into an empty folder and use it from there as a stranger would: the command and what
# comes with it, the CMake package, the .pc file, each public header alone as C11 and as C++.
#   install.sh BUILD
# ctest: BUILD long release
set -euo pipefail
build=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
small=$here/../cli/inputs/small.cfg

cmake --install "$build" --prefix "$place/usr" >/dev/null
expect() { # WHAT COMMAND...: it prints "0.1.0 small"
  local what=$1 found
  shift
  found=$("$@")
  [ "$found" = "0.1.0 small" ] || { echo "$what: '$found'" >&2; exit 1; }
}

"$place/usr/bin/ttprem" check "$small" >/dev/null
"$place/usr/bin/ttprem" kernel-test --cases 2 "$here/../../examples/own_kernel/sharpen.h" >/dev/null

# What comes beside the command.
share=$place/usr/share
for schedule in "$here"/../../schedules/*/*.cfg; do
  cmp "$schedule" "$share/ttprem/schedules/${schedule#"$here"/../../schedules/}"
done
cmp "$here/../../command/ttprem.bash" "$share/bash-completion/completions/ttprem"
cmp "$here/../../command/ttprem.zsh" "$share/zsh/site-functions/_ttprem"
cmp "$here/../../command/ttprem.fish" "$share/fish/vendor_completions.d/ttprem.fish"
# Documents, whose links lead to what is installed.
for document in "$here"/../../docs/*.md; do
  page=$share/doc/ttprem/${document##*/}
  sed -zE 's/\[([^]]*)\]\(\.\.\/[^)]*\)/\1/g' "$document" | cmp - "$page"
  while read -r link; do
    [ -e "$share/doc/ttprem/$link" ] || { echo "install: ${page##*/} leads to $link, which is not installed" >&2; exit 1; }
  done < <(grep -oE '\]\([^)#: ]+[)#]' "$page" | tr -d '])#' | cut -c2-)
done
if command -v scdoc >/dev/null; then
  for page in "$here"/../../docs/man/*.scd; do
    page=$(basename "$page" .scd)
    gzip -t "$share/man/man${page: -1}/$page.gz"
  done
  gzip -t "$share/man/man5/ttprem-schedule.5.gz"
fi

# The shortest program of a user, as examples/README.md builds it.
cp -r "$here/../../examples/hello" "$place/hello"
cmake -S "$place/hello" -B "$place/hello/build" -G Ninja -DCMAKE_PREFIX_PATH="$place/usr" >/dev/null
cmake --build "$place/hello/build" >/dev/null
for backend in sim cpu; do
  "$place/hello/build/hello" "$place/hello/hello.cfg" "$backend" >"$place/said" ||
    { cat "$place/said" >&2; exit 1; }
  grep -q '^outputs right$' "$place/said"
  grep -q '^plus_one *writeback *80 times, at most ' "$place/said" || { cat "$place/said" >&2; exit 1; }
done
if [ "$(wc -l <"$here/../../examples/hello/hello.c")" -gt 60 ]; then
  echo "hello.c has more than 60 lines" >&2
  exit 1
fi

# A product by cuBLAS as best effort, where cuBLAS is.
cp -r "$here/../../examples/cuda_graph" "$place/cuda_graph"
cmake -S "$place/cuda_graph" -B "$place/cuda_graph/build" -G Ninja -DCMAKE_PREFIX_PATH="$place/usr" >"$place/said"
cmake --build "$place/cuda_graph/build" >/dev/null
"$place/usr/bin/ttprem" plan --quiet "$place/cuda_graph/cuda_graph.cfg" -o - >/dev/null
if ! grep -q '^-- No cuBLAS: cuda_graph is not built$' "$place/said"; then
  status=0
  "$place/cuda_graph/build/cuda_graph" >"$place/said" || status=$?
  [ "$status" -eq 2 ] && grep -q '^usage: cuda_graph FILE' "$place/said" || { cat "$place/said" >&2; exit 1; }
fi
if [ "$(wc -l <"$here/../../examples/cuda_graph/cuda_graph.c")" -gt 100 ]; then
  echo "cuda_graph.c has more than 100 lines" >&2
  exit 1
fi

# Linked against the driver or NVML it would start beside a driver only; against the shared runtime,
# only beside CUDA.
if ldd "$place/usr/bin/ttprem" | grep -E 'libcuda|libnvidia-ml|not found'; then
  echo "the command needs these libraries" >&2
  exit 1
fi

cmake -S "$here/consumer" -B "$place/build" -G Ninja -DCMAKE_PREFIX_PATH="$place/usr" >/dev/null
cmake --build "$place/build" >/dev/null
expect "CMake package" "$place/build/consumer" "$small"
expect "CMake package, measuring" "$place/build/measurer" "$small"

pc=$(find "$place/usr" -name ttprem.pc)
for program in consumer:ttprem measurer:ttprem_measure; do
  flags=$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --cflags --libs "${program#*:}")
  # shellcheck disable=SC2086 # the flags are words
  gcc -std=c11 "$here/consumer/${program%:*}.c" -o "$place/${program%:*}" $flags
  expect "pkg-config, ${program#*:}" env LD_LIBRARY_PATH="$(dirname "$pc")/.." "$place/${program%:*}" "$small"
done
# An application carries neither JSON nor what draws and reports.
if nm "$place/consumer" | grep -E ' (json_|prem_(compare|findings|report))'; then
  echo "the runtime brings what measures along" >&2
  exit 1
fi

for header in "$place"/usr/include/ttprem/*.h; do
  gcc -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$place/usr/include" "$header"
  clang -x c++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only -I"$place/usr/include" "$header"
done
