#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A stranger's kernel: install a build into an empty folder, build examples/own_kernel, of which
# docs/adding-a-kernel.md shows pieces, from there, run it on every backend there is, and make its mistakes.
#   own_kernel.sh BUILD
# ctest: BUILD long release
set -euo pipefail
build=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

fail() {
  echo "own_kernel: $*" >&2
  exit 1
}

# Without a GPU that could run them, one kind of GPU code is enough, and nobody waits for fast code.
flags=$(sed -n 's/^CMAKE_CUDA_FLAGS:[A-Z]*=//p' "$build/CMakeCache.txt")
options=(-DCMAKE_PREFIX_PATH="$place/usr")
has_idle_device_code=false
if ! nvidia-smi -L >/dev/null 2>&1; then
  if grep -q '^CMAKE_CUDA_COMPILER:' "$build/CMakeCache.txt"; then has_idle_device_code=true; fi
  options+=(-DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS=-O1 -DTTPREM_CUDA_ARCHITECTURES=75-real
    -DCMAKE_CUDA_FLAGS="$flags -Xptxas=-O0")
fi
configure() { cmake -S "$place/own" -B "$place/build" -G Ninja "${options[@]}" >"$place/log" 2>&1; }

cmake --install "$build" --prefix "$place/usr" >/dev/null

# What the page shows of a file stands there.
source=$(realpath "$here/../../examples/own_kernel")
awk -v folder="$source/" '
  function text_of(name,    line, all) {
    all = "\n"
    while ((getline line < (folder name)) > 0) all = all line "\n"
    close(folder name)
    return all
  }
  /^```/ && inside {
    if (index(text_of(name), "\n" block) == 0) {
      print "docs/adding-a-kernel.md:" NR ": examples/own_kernel/" name " has other lines"
      bad = 1
    }
    ++count; inside = 0; name = ""
    next
  }
  /^```/ && name != "" { inside = 1; block = ""; next }
  inside { block = block $0 "\n"; next }
  match($0, /From `[a-zA-Z_]+\.[a-z]+`:$/) { split(substr($0, RSTART), part, "`"); name = part[2]; next }
  END {
    if (count < 3) { print "only " count " pieces of files found"; bad = 1 }
    exit bad
  }' "$here/../../docs/adding-a-kernel.md" >"$place/said" || fail "$(cat "$place/said")"
mkdir "$place/own"
cp "$source"/{CMakeLists.txt,sharpen.h,sharpen.cfg,own_program.c} "$place/own/"
if ! configure || ! cmake --build "$place/build" >"$place/log" 2>&1; then
  fail "$(cat "$place/log")"
fi

own=$place/build/own_ttprem
"$own" list | grep '^  sharpen ' >/dev/null || fail "its command does not list the kernel"
for backend in cpu sim cuda; do
  "$own" info | grep "^$backend: not available" >/dev/null && continue
  "$own" run --quiet --backend "$backend" --repeat 3 --with-disturbed "$place/own/sharpen.cfg" >"$place/table" ||
    fail "$backend: $(cat "$place/table")"
  grep -Eq '^tt .* ok$' "$place/table" || fail "$backend: $(cat "$place/table")"
done
for backend in sim cpu; do
  said=$("$place/build/own_program" "$place/own/sharpen.cfg" "$backend" 2>&1) ||
    fail "its program on $backend: $said"
done
# What the checker refuses is not run.
sed 's/scratch_bytes = 49152L/scratch_bytes = 1024L/' \
  "$place/own/sharpen.cfg" >"$place/own/tight.cfg"
if said=$("$place/build/own_program" "$place/own/tight.cfg" 2>&1); then
  fail "its program runs what does not fit: $said"
fi

# Mistakes show on cpu and sim. Where nobody runs device code, nobody waits for that of theirs: a build without it, as
# that of `tools/test.sh shared`, makes them all.
if $has_idle_device_code; then
  echo 'own_kernel: mistakes are left to a build without device code'
  exit 0
fi

describe() { # ARGUMENT...: a project of ttprem_add_kernels() with them alone
  printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(own_kernel LANGUAGES C)' \
    'find_package(ttprem 0.1 REQUIRED)' "ttprem_add_kernels(own_ttprem $*)" >"$place/own/CMakeLists.txt"
}

# Kernels that are wrong or break the contract are named in a line. One command has them all.
broken() { # NAME SED: sharpen with this mistake
  sed "s/sharpen/$1/g; s/SHARPEN_H/${1}_H/; $2" "$place/own/sharpen.h" >"$place/own/$1.h"
  sed "s/sharpen/$1/g" "$place/own/sharpen.cfg" >"$place/own/$1.cfg"
}
told() { # NAME BACKEND MESSAGE: a run says so, and nothing else
  if said=$("$own" run --quiet --backend "$2" --repeat 3 "$place/own/$1.cfg" 2>&1); then
    fail "$1 on $2 passes for right"
  elif [ $? -ne 1 ] || [ "$said" != "$place/own/$1.cfg:9: E031: tasks.$1.kernel: kernel '$1'$3" ]; then
    fail "$1 on $2: not said: $3; but: $said"
  fi
}
broken wrong 's/const float strength = params->strength;/const float strength = 2.0F;/'
broken stray 's/^  PREM_LANES_2D/  PREM_AT(float, out, out.extent[2] + 2, 0) = 0;\n&/'
broken overlap 's/^  bind->window.0. = bind->window.1.;/  bind->window[1].extent[2] += 2;\n&/'
broken hole 's/^  bind->window.0. = bind->window.1.;/  bind->window[1].extent[2] -= 2;\n&/'
broken large 's/float strength;/float strength, table[99];/'
describe KERNELS wrong.h stray.h overlap.h hole.h BUILTIN conv2d
if ! configure || ! cmake --build "$place/build" >"$place/log" 2>&1; then
  fail "$(cat "$place/log")"
fi
# A comparison that always holds would hide a kernel that is wrong.
if "$own" run --quiet --backend cpu --repeat 3 --with-disturbed "$place/own/wrong.cfg" >"$place/table" 2>&1; then
  fail "a wrong kernel passes for right"
fi
grep -q '^tt: OUTPUT WRONG' "$place/table" || fail "a wrong kernel is not told: $(cat "$place/table")"
for backend in sim cpu; do
  told stray $backend " wrote row 66, column 0 of 'out' in tile 0, whose view has 64 x 64 elements; compute may write to its views alone"
  told overlap $backend ": tiles 0 and 5 both write row 64 of 'out'"
  told hole $backend ": row 62 of 'out' is in no tile's window"
done
describe KERNELS large.h BUILTIN none
configure || fail "$(cat "$place/log")"
if cmake --build "$place/build" >"$place/log" 2>&1; then
  fail "400 bytes of parameters pass"
fi
grep -q 'large_params is larger than PREM_PARAMS_BYTES' "$place/log" ||
  fail "400 bytes of parameters are not told: $(cat "$place/log")"

refused() { # MESSAGE KERNEL...: CMake says so
  describe "${@:2}"
  if configure; then fail "not refused: $*"; fi
  tr -s ' \n' ' ' <"$place/log" | grep -F "$1" >/dev/null || fail "not said: $1; but: $(cat "$place/log")"
}
cd "$place/own"
cp sharpen.h conv2d.h
sed 's/sharpen/lost/g; s/lost_compute/lost_work/g' sharpen.h >lost.h
refused "lost.h: there is no lost_compute in it" KERNELS lost.h
refused "conv2d.h: there is a kernel 'conv2d' already" KERNELS conv2d.h
refused "sharpen.h: there is a kernel 'sharpen' already" KERNELS sharpen.h sharpen.h
refused "absent.h: no such file" KERNELS absent.h
refused "usage: ttprem_add_kernels(" sharpen.h
refused "usage: ttprem_add_kernels(" KERNELS sharpen.h BUILTIN
refused "BUILTIN conv2: ttprem has no kernel of this name" KERNELS sharpen.h BUILTIN noop conv2
refused "BUILTIN none: ttprem has no kernel of this name" KERNELS sharpen.h BUILTIN noop none

listed() { # WHAT BUILTIN...: its list of kernels, when it names these of ttprem's own
  describe KERNELS sharpen.h BUILTIN "${@:2}"
  configure || fail "$(cat "$place/log")"
  found=$(sed -nE 's/.*KERNEL\(([a-z0-9_]+).*/\1/p' "$place/build/own_ttprem-kernels/kernels/kernels.def" | paste -sd ' ')
  [ "$found" = "$1" ] || fail "BUILTIN ${*:2}: the list is '$found', not '$1'"
  found=$(sed -nE 's|.*/([a-z0-9_]+)\.h"$|\1|p' "$place/build/own_ttprem-kernels/kernels/kernel_headers.h" | paste -sd ' ')
  [ "$found" = "$1" ] || fail "BUILTIN ${*:2}: the headers are '$found', not '$1'"
}
listed "sharpen" none
listed "noop walk conv2d_u8 sharpen" walk conv2d_u8 noop walk
