#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Make the Debian packages of a build, have lintian judge them, unpack them into an empty folder and
# use them from there: the command, a program by CMake and one by pkg-config.
#   package.sh BUILD
# ctest: BUILD long release
set -euo pipefail
build=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
for tool in lintian dpkg-shlibdeps; do
  if ! command -v $tool >/dev/null; then
    echo "package: no $tool" >&2
    exit 77
  fi
done
if [ ! -f "$build/CPackConfig.cmake" ]; then
  echo "package: packages hold the static library, which this build has not" >&2
  exit 77
fi
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
small=$here/../cli/inputs/small.cfg

fail() {
  echo "package: $*" >&2
  exit 1
}

(cd "$place" && cpack --config "$build/CPackConfig.cmake" -B "$place") >"$place/log" 2>&1 ||
  fail "$(cat "$place/log")"
command=$(echo "$place"/ttprem_*.deb) library=$(echo "$place"/libttprem-dev_*.deb)
[ -f "$command" ] && [ -f "$library" ] || fail "not two packages: $(ls "$place")"

said=$(lintian --allow-root --fail-on none "$place"/*.deb 2>&1) || fail "lintian: $said"
[ -z "$(grep -E '^[EW]:' <<<"$said" || true)" ] || fail "$said"

# What the licences ask for.
dpkg-deb --fsys-tarfile "$command" | tar -xO ./usr/share/doc/ttprem/copyright >"$place/copyright"
grep -q 'Files: report/page/uPlot' "$place/copyright" || fail "copyright: nothing of uPlot"
with_cuda=$(grep -c '^Libs.*cudart_static' "$build/ttprem.pc" || true)
names_cuda=$(grep -c '^License: NVIDIA-CUDA-Toolkit' "$place/copyright" || true)
[ "$with_cuda" -eq "$names_cuda" ] || fail "copyright: names cudart $names_cuda times, the command holds it $with_cuda times"

# What Debian's tools make of it.
version=$(dpkg-parsechangelog -l "$here/../../debian/changelog" -S Version)
[ "$(dpkg-deb -f "$command" Version)" = "$version" ] || fail "the changelog is of $version"
for name in $(PKG_CONFIG_PATH=$build pkg-config --print-requires ttprem ttprem_measure | grep -v "^ttprem$"); do
  owner=$(dpkg -S "$(pkg-config --variable=pcfiledir "$name")/$name.pc" | cut -d: -f1)
  [[ ", $(dpkg-deb -f "$library" Depends), " == *", $owner, "* ]] ||
    fail "libttprem-dev needs $name and does not depend on $owner"
done

# debian/control, for the source package, says the same.
controlled=$(awk '/^Package:/ { on = $2 == "libttprem-dev" } on && /^Depends:/,/\$\{misc/' "$here/../../debian/control" |
  grep -oE '[a-z0-9][a-z0-9.+-]+-dev' | sort | paste -sd' ')
packed=$(dpkg-deb -f "$library" Depends | tr -d ',' | tr ' ' '\n' | sort | paste -sd' ')
if [[ " $packed " == *" libz3-dev "* ]]; then
  [ "$controlled" = "$packed" ] || fail "debian/control: libttprem-dev depends on $controlled, the package on $packed"
fi

dpkg-deb -x "$command" "$place/root"
dpkg-deb -x "$library" "$place/root"
root=$place/root/usr
"$root/bin/ttprem" plan --quiet --time-limit 0 "$small" -o "$place/planned.cfg"
"$root/bin/ttprem" run --quiet --backend sim "$place/planned.cfg" >"$place/table" || fail "$(cat "$place/table")"
grep -q '^tt ' "$place/table" || fail "$(cat "$place/table")"
"$root/bin/ttprem" check --quiet "$root/share/ttprem/schedules/examples/mixed.cfg" >"$place/log" 2>&1 ||
  fail "$(cat "$place/log")"
[ -f "$root/share/bash-completion/completions/ttprem" ] || fail "no completion"
[ -f "$root/share/man/man1/ttprem.1.gz" ] || fail "no man page; install scdoc"

# The Python package, from there, with nothing of this tree.
if [ -e "$build/python/ttprem/_declarations.py" ]; then
  package=$(echo "$place"/python3-ttprem_*.deb)
  [ -f "$package" ] || fail "no package python3-ttprem: $(ls "$place")"
  dpkg-deb -x "$package" "$place/python"
  for python in "${PYTHON-}" python3 /usr/bin/python3; do
    if [ -z "$python" ] || ! "$python" -c 'import _cffi_backend, numpy' 2>/dev/null; then continue; fi
    said=$(cd "$place" && PYTHONPATH=$place/python/usr/lib/python3/dist-packages "$python" -c "
import ttprem
kernel = ttprem.Kernel(open('$here/../../examples/own_kernel/sharpen.h').read())
schedule = ttprem.Schedule('$here/../../examples/own_kernel/sharpen.cfg', kernels=[kernel])
print(ttprem.__file__, schedule.run('sim')['tt'].output_ok)" 2>&1) || fail "python3-ttprem: $said"
    [ "$said" = "$place/python/usr/lib/python3/dist-packages/ttprem/__init__.py True" ] || fail "python3-ttprem: $said"
    break
  done
fi

cmake -S "$here/consumer" -B "$place/build" -G Ninja -DCMAKE_PREFIX_PATH="$root" >"$place/log" 2>&1 &&
  cmake --build "$place/build" >>"$place/log" 2>&1 || fail "$(cat "$place/log")"
found=$("$place/build/consumer" "$small")
[ "$found" = "0.1.0 small" ] || fail "CMake package: $found"

PKG_CONFIG_PATH=$(dirname "$(find "$root" -name ttprem.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046 # the flags are words
gcc -std=c11 "$here/consumer/consumer.c" -o "$place/consumer" $(pkg-config --cflags --libs ttprem)
found=$("$place/consumer" "$small")
[ "$found" = "0.1.0 small" ] || fail "pkg-config: $found"
