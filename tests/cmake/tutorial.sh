#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs/tutorial.md, as a reader follows it: its files are those of examples/tutorial, its commands run with an installed
# ttprem and print what it shows. Those of its last chapter are run by tracker.sh, which builds the tracker anyway.
#   tutorial.sh BUILD
# ctest: BUILD long release timing
set -euo pipefail
build=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
source=${here%/tests/cmake}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

fail() {
  echo "tutorial: $*" >&2
  exit 1
}

# ---- what the page shows of a file stands there: all of it, or some lines of it ----
awk -v folder="$source/examples/tutorial/" '
  function text_of(name,    line, all) {
    all = "\n"
    while ((getline line < (folder name)) > 0) if (line !~ /SPDX-License-Identifier/) all = all line "\n"
    close(folder name)
    return all
  }
  /^```/ && inside {
    all = text_of(name)
    if (is_whole ? all != "\n" block : index(all, "\n" block) == 0) {
      print "docs/tutorial.md:" NR ": examples/tutorial/" name " has other lines"
      bad = 1
    }
    ++count; inside = 0; name = ""
    next
  }
  /^```/ && name != "" { inside = 1; block = ""; next }
  inside { block = block $0 "\n"; next }
  /^(From )?`[a-zA-Z_]+\.[a-z]+`:$/ { is_whole = !/^From/; split($0, part, "`"); name = part[2]; next }
  END {
    if (count < 10) { print "only " count " pieces of files found"; bad = 1 }
    exit bad
  }' "$source/docs/tutorial.md" >"$place/said" || fail "$(cat "$place/said")"

# ---- its commands, in the root of a tree that is built ----
flags=$(sed -n 's/^CMAKE_CUDA_FLAGS:[A-Z]*=//p' "$build/CMakeCache.txt")
if ! nvidia-smi -L >/dev/null 2>&1; then # one kind of GPU code is enough, and nobody waits for fast code
  export CUDAFLAGS="$flags -Xptxas=-O0" CUDAARCHS=75-real
fi
mkdir "$place/tree" "$place/home"
ln -s "$build" "$place/tree/build"
ln -s "$source/examples" "$place/tree/examples"
cd "$place/tree"
HOME=$place/home "$here/console.sh" "$source/docs/tutorial.md"

for file in moved.png edges.png plan.svg certificate.json; do
  [ -s "$place/home/tutorial/$file" ] || fail "there is no $file"
done
