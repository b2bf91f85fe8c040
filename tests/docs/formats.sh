#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs/data-formats.md is that of docs/schemas, and both are true of what the commands write and of all evidence:
# headers of CSVs, members of JSONs, and no member that nobody writes.
#   formats.sh TTPREM
# ctest: TTPREM long release
set -euo pipefail
ttprem=$(realpath "$1")
root=$(realpath "$(dirname "$0")/../..")
formats=$root/tests/docs/formats.py
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 "$formats" check

examples=$root/schedules/examples
cp "$examples"/{two_rates,thesis,mixed,increment,beside_a_load,work_while_it_runs}.cfg "$root/tests/cli/cases/command/chains/chain.cfg" .
mkdir out
# 3: a busy machine left nothing to count; 5: --break found what it was to find.
run() { "$ttprem" "$@" >/dev/null 2>said || case $? in 3|5) ;; *) { cat said >&2; echo "formats: ttprem $*" >&2; exit 1; } ;; esac; }
run plan two_rates.cfg --time-limit 0 -o planned.cfg --export plan.csv --json out/plan.json
run plan planned.cfg --keep planned.cfg -o drop.cfg --json out/keep.json
run run planned.cfg --backend sim --trace trace.csv --json out/sim.json --break 1000000
run compare planned.cfg --backend cpu --modes tt,free --repeat 5 --json out/cpu.json
run compare chain.cfg --backend sim --repeat 2 --json out/chain.json
for kind in plan trace; do python3 "$formats" columns $kind $kind.csv; done
for file in out/*.samples.csv; do python3 "$formats" columns samples "$file"; done
for file in out/*.phases.csv; do python3 "$formats" columns phases "$file"; done
sed 's/start_ns/begin_ns/' plan.csv >other.csv
if python3 "$formats" columns plan other.csv 2>/dev/null; then echo 'formats: another column goes unnoticed' >&2; exit 1; fi

for python in "${PYTHON-}" python3 /usr/bin/python3 none; do
  if [ "$python" = none ]; then
    echo 'formats: pages and CSVs are right; JSON is not validated, for there is no jsonschema (on Debian: python3-jsonschema)' >&2
    exit 77
  fi
  if [ -n "$python" ] && "$python" -c 'import jsonschema' 2>/dev/null; then break; fi
done

# Everything that a member can be about.
run compare two_rates.cfg --backend sim --modes tt,graph --json out/left_out.json
run run increment.cfg --backend sim --repeat 40000 --no-records --json out/padded.json
# A bound that no copy keeps: overruns of the gate are among it.
sed '/class = "best_effort"/,$s/wcet_ns = 10000L/wcet_ns = 400L/' beside_a_load.cfg >tight.cfg
run run tight.cfg --backend cpu --repeat 50 --json out/load.json
run run planned.cfg --backend cpu --repeat 20 --with-disturbed --break 1 --json out/break.json
run plan beside_a_load.cfg --time-limit 0 -o gated.cfg --json out/gated.json
run plan work_while_it_runs.cfg --time-limit 0 -o serving.cfg --json out/serving.json
run run serving.cfg --backend sim --errands random --json out/errands.json
run plan thesis.cfg --policy auto --time-limit 1s -o drop.cfg --json out/bound.json
cat >long.cfg <<'END'
version = 1; name = "long"; platform: { blocks = 1; };
tasks = ( { name = "a"; kernel = "none"; blocks = [ 0 ]; tiles = 2; compute: { wcet_ns = 5L; }; },
  { name = "b"; kernel = "none"; blocks = [ 0 ]; tiles = 1; compute: { wcet_ns = 5L; }; release_ns = 2305843009213693952L; } );
END
run plan long.cfg --time-limit 1s -o drop.cfg --json out/unsearched.json
sed 's/period_ns = /perio_ns = /' two_rates.cfg >wrong.cfg
"$ttprem" plan wrong.cfg --json out/refused.json >/dev/null 2>&1 && exit 1
"$ttprem" check wrong.cfg gated.cfg serving.cfg --json out/check.json >/dev/null 2>&1 && exit 1
run isolate two_rates.cfg --backend sim --json out/isolate.json
run isolate beside_a_load.cfg --backend sim --json out/isolate_load.json
run profile two_rates.cfg --backend cpu --repeat 20 -o profile.cfg --json out/profile.json
run tune increment.cfg --backend sim --json out/tune.json
run fit increment.cfg --backend cpu --time-limit 1 -o fit.cfg --json out/fit.json
for bundle in "$root"/evidence/*.tar.xz; do
  mkdir -p "evidence/$(basename "$bundle" .tar.xz)"
  tar -xJf "$bundle" -C "evidence/$(basename "$bundle" .tar.xz)" --wildcards '*.json' 2>/dev/null || true
done
mapfile -t files < <(find out evidence -name '*.json' | sort)
[ "${#files[@]}" -ge 200 ] || { echo "formats: ${#files[@]} files are too few" >&2; exit 1; }
"$python" "$formats" validate "${files[@]}"
"$python" "$formats" covers "${files[@]}"

# What is not in a schema is found.
sed 's/"label":/"lable":/' out/sim.json >out/wrong.json
if "$python" "$formats" validate out/wrong.json >said 2>&1; then echo 'formats: another member goes unnoticed' >&2; exit 1; fi
grep -q "'lable' was unexpected" said
echo "formats: ${#files[@]} files are as the schemas say"
