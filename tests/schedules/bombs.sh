#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ctest: TTPREM long release
# Small files that ask for much: bombs.sh TTPREM. Each is judged, and where it has a plan run, in 60 s of processor
# time and 500 MB, or refused with the code of a limit. (The longest takes 2 to 9 s on a core that nothing else uses, most
# a tenth of that; beside other work on the same machine it was 32 s.)
set -eu
ttprem=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failed=0

# try NAME STATUS WHAT VERB...: what must come of NAME.cfg: its exit status, and a text among all that is said.
try() {
  name=$1 wanted=$2 said=$3
  shift 3
  status=0
  (
    ulimit -t 60
    ulimit -d 500000 # of data: libraries count as addresses, and a build has more or fewer of them
    exec "$ttprem" "$@" "$name.cfg"
  ) >"$name.out" 2>&1 || status=$?
  if [ "$status" -ne "$wanted" ] || ! grep -qF "$said" "$name.out"; then
    echo "$* $name.cfg: status $status, wanted $wanted and '$said':"
    head -c 600 "$name.out"
    failed=1
  fi
}

phases='prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 10L; }; writeback: { wcet_ns = 10L; };'
blend="kernel = \"blend\"; blocks = \"0\"; tile = [ 1, 8 ]; $phases"
none="kernel = \"none\"; blocks = \"0\"; tiles = 1; $phases"
array='type = "f32"; shape = [ 1, 8 ];'
head='version = 1; name = "bomb"; platform: { blocks = 1; };'
xy="arrays = ( { name = \"x\"; $array }, { name = \"y\"; $array } );"

# Includes: 30 of each in nine levels.
for level in 0 1 2 3 4 5 6 7 8; do
  for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
    echo "@include \"level$((level + 1)).cfg\""
  done >level$level.cfg
done
echo '# nothing' >level9.cfg
echo "@include \"level0.cfg\"
$head tasks = ( { name = \"a\"; $none } );" >includes.cfg
try includes 1 'E011: @include: "level8.cfg": more than the limit of 256 includes' check -q

# A run of many blocks, one of them with a tile; many such runs.
blocks='version = 1; name = "bomb"; platform: { blocks = 65535; };
tasks = ( { name = "a"; kernel = "none"; blocks = 65535; tiles = 1; compute: { wcet_ns = 1L; }; } );'
run='task = "a"; phase = "compute"; count = 65535; start_ns = 0L;'
echo "$blocks plan: { hyperperiod_ns = 10L; runs = ( { $run jobs = 400000; job_step_ns = 0L; } ); };" >jobs.cfg
try jobs 1 'E032: plan.runs[0]: job 1 of task' check -q
try jobs 1 'E032: plan.runs[0]: job 1 of task' run -q --backend sim
awk -v run="$run" -v head="$blocks" 'BEGIN { print head " plan: { hyperperiod_ns = 10L; runs = (";
  for (i = 0; i < 4000; ++i) print "{ " run " tile = 1; }" (i < 3999 ? "," : ""); print "); };" }' >runs.cfg
try runs 1 'E013: plan.runs: the runs up to this one name 16842495 blocks on which they have no tile' check -q

# Copies: writers of one array, arrays of their own, readers of a state array and of one that is written after them.
echo "$head $xy tasks = ( { name = \"a\"; copies = 65535; arrays: { a = \"x\"; b = \"x\"; out = \"y\"; }; $blend } );" \
  >writers.cfg
try writers 1 "E045: tasks.a.1.arrays: task 'a.0' writes array 'y'" check -q
echo "$head $xy tasks = ( { name = \"a\"; copies = 65535; arrays: { a = \"x\"; b = \"x\"; out = \"new\"; }; $blend } );" \
  >arrays.cfg
try arrays 0 'ok, no plan yet' check -q
try arrays 0 'backend sim' run -q --backend sim
echo "$head arrays = ( { name = \"x\"; $array }, { name = \"s\"; $array versions = 2; } );
tasks = ( { name = \"w\"; arrays: { a = \"s\"; b = \"x\"; out = \"s\"; }; period_ns = 10000000L; $blend },
  { name = \"a\"; copies = 65000; arrays: { a = \"s\"; b = \"s\"; out = \"new\"; }; after = ( { task = \"w\"; } );
    period_ns = 10000000L; $blend } );" >state.cfg
try state 0 'ok, no plan yet' check -q
try state 0 'backend sim' run -q --backend sim
echo "$head $xy tasks = ( { name = \"a\"; copies = 65535; arrays: { a = \"x\"; b = \"x\"; out = \"new\"; };
  period_ns = 100000000L; deadline_ns = 100000000L; overrun = \"abort\"; $blend } );" >overruns.cfg
try overruns 0 'ok, no plan yet' check -q
echo "$head tasks = ( { name = \"a\"; copies = 4000; $none },
  { name = \"b\"; copies = 4000; after = ( { task = \"a\"; } ); $none } );" >edges.cfg
try edges 1 'E020: tasks.b.after[0]: 4000 tasks after 4000 each make more than the limit of 1048576 edges' check -q

# Tiles that follow those of another task on their block.
echo "version = 1; name = \"bomb\"; platform: { blocks = 2; };
arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 200000, 8 ]; } );
tasks = ( { name = \"a\"; arrays: { a = \"x\"; b = \"x\"; out = \"new\"; }; $blend },
  { name = \"b\"; arrays: { a = \"a.out\"; b = \"a.out\"; out = \"new\"; };
    after = ( { task = \"a\"; per = \"block\"; } ); $blend } );" | sed 's/blocks = "0"/blocks = "0-1"/' >tiles.cfg
try tiles 0 'ok, no plan yet' check -q

# A block named many times, and arrays saved in many files.
awk -v phases="$phases" 'BEGIN { printf "version = 1; name = \"bomb\"; platform: { blocks = 65535; };\n"
  printf "tasks = ( { name = \"a\"; kernel = \"none\"; tiles = 1; blocks = \"0-65534"
  for (i = 0; i < 2000; ++i) printf ",0-65534"
  print "\"; " phases " } );" }' >ranges.cfg
try ranges 1 'E027: tasks.a.blocks: block 0 stands here twice' check -q
awk -v phases="$phases" 'BEGIN { print "version = 1; name = \"bomb\"; platform: { blocks = 1; };\narrays = ("
  for (i = 0; i < 10000; ++i) printf "{ name = \"x%d\"; type = \"f32\"; shape = [ 1 ]; save = \"../x%d.f32\"; }%s\n", i, i,
    i < 9999 ? "," : ""
  print "); tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 1; " phases " } );" }' >saves.cfg
try saves 1 'E020: arrays: 10000 arrays are saved, the limit is 256' check -q

# Blocks of many tasks: by name, as a plan keeps them, and dealt.
many() { # BLOCKS
  echo "version = 1; name = \"bomb\"; platform: { blocks = 65535; };
tasks = ( { name = \"a\"; copies = 20000; kernel = \"none\"; tiles = 60000; $1 compute: { wcet_ns = 1L; }; } );"
}
many 'blocks = "0-65534";' >named.cfg
try named 1 "E020: tasks.a.blocks: the tasks' blocks and arguments are above the limit of 16777216 in all" check -q
{
  many ''
  awk 'BEGIN { print "plan: { hyperperiod_ns = 1L; blocks = ("
    for (i = 0; i < 20000; ++i)
      printf "{ task = \"a.%d\"; blocks = \"0-65534\"; }%s\n", i, i < 19999 ? "," : ""
    print "); };" }'
} >kept.cfg
try kept 1 "E020: plan.blocks[256].blocks: the tasks' blocks and arguments are above the limit of 16777216 in all" check -q
many '' >dealt.cfg
try dealt 1 'E020: blocks: the blocks of tasks that leave them open are above the limit of 4194304 in all; name some' check -q

# Servers: more than a schedule may have; with as many errands as may be; more tiles than may wait; many on one block.
servers() { # NAME SETTINGS
  echo "version = 1; name = \"bomb\"; platform: { blocks = 65535; }; tasks = (
    { name = \"c\"; kernel = \"none\"; blocks = \"0\"; tiles = 1; period_ns = 1000000L; $phases },
    { name = \"s\"; class = \"best_effort\"; kernel = \"none\"; $2 $phases } );" >"$1.cfg"
}
servers many 'copies = 65000; blocks = "1-3"; tiles = 1; server: { capacity = 1; };'
try many 1 'E020: tasks: 65000 tasks with a server, the limit is 16' check -q
servers wide 'copies = 16; blocks = "1-65534"; tiles = 1; server: { capacity = 65536; distance_ns = 10000L; burst = 100; };'
try wide 0 'generator' plan -q
servers long 'blocks = "1-3"; tiles = 1000000; server: { capacity = 65536; };'
try long 1 'E020: tasks.s.server.capacity: 65536 errands of 1000000 tiles make more than the limit' check -q
servers crowd 'copies = 16; blocks = "1"; tiles = 100; server: { capacity = 4096; distance_ns = 400000L; };'
try crowd 0 'generator' plan -q
servers crowd 'copies = 16; blocks = "1"; tiles = 1; server: { capacity = 64; distance_ns = 400000L; };'
try crowd 0 'generator' plan -q

# Blocks and tasks, of which few meet.
awk 'BEGIN { n = 12000
  print "version = 1; name = \"bomb\"; platform: { blocks = 65535; };\ntasks = ( { name = \"a\"; copies = " n ";"
  print "kernel = \"none\"; blocks = \"0\"; tiles = 1; compute: { wcet_ns = 1L; }; } );"
  print "plan: { hyperperiod_ns = " n "L; runs = ("
  for (i = 0; i < n; ++i)
    printf "{ task = \"a.%d\"; phase = \"compute\"; start_ns = %dL; }%s\n", i, i, i < n - 1 ? "," : ""
  print "); };" }' >blocks.cfg
try blocks 0 'ok, 12000 phases' check -q
try blocks 0 'backend sim' run -q --backend sim

# Many tasks, measured many times.
awk -v head="$head" 'BEGIN { n = 16000; print head " tasks = ( { name = \"a\"; copies = " n "; kernel = \"none\";"
  print "blocks = \"0\"; tiles = 1; compute: { wcet_ns = 1L; }; } ); plan: { hyperperiod_ns = " n "L; runs = ("
  for (i = 0; i < n; ++i)
    printf "{ task = \"a.%d\"; phase = \"compute\"; start_ns = %dL; }%s\n", i, i, i < n - 1 ? "," : ""
  print "); };" }' >measured.cfg
try measured 0 'backend sim' run -q --backend sim --repeat 60

# A backlog that grows because of the clock's grid, which leaves gaps without an instant of it.
echo 'version = 1; name = "bomb"; platform: { blocks = 1; clock_step_ns = 1000L; };
tasks = ( { name = "a"; kernel = "none"; blocks = "0"; tiles = 1; period_ns = 700L; compute: { wcet_ns = 350L; }; },
  { name = "b"; kernel = "none"; blocks = "0"; tiles = 1; period_ns = 1000L; compute: { wcet_ns = 350L; }; },
  { name = "c"; kernel = "none"; blocks = "0"; tiles = 1; period_ns = 56000000L; compute: { wcet_ns = 1L; }; } );' >grid.cfg
try grid 1 'E038: tasks.c: no plan found' plan -q

# An array that is read by many and then written.
awk -v head="$head $xy" -v blend="$blend" 'BEGIN { n = 20000; print head
  print "tasks = ( { name = \"r\"; copies = " n "; arrays: { a = \"x\"; b = \"x\"; out = \"new\"; }; " blend " },"
  print "{ name = \"w\"; arrays: { a = \"y\"; b = \"y\"; out = \"x\"; }; after = ( { task = \"r\"; } ); " blend " } );"
  print "plan: { hyperperiod_ns = " 30 * n + 30 "L; runs = ("
  for (i = 0; i <= n; ++i)
    printf "{ task = \"%s\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ]; start_ns = %dL; }%s\n",
      i < n ? "r." i : "w", 30 * i, i < n ? "," : ""
  print "); };" }' >readers.cfg
try readers 0 'ok, 60003 phases' check -q
# What legal files take is said before.
echo "$head tasks = ( { name = \"a\"; $none } );" | sed 's/tiles = 1/tiles = 1300000/' >phases.cfg
try phases 1 'bomb: to plan 3900000 phases takes some 0.5 GiB of memory' plan
echo "$head tasks = ( { name = \"a\"; period_ns = 1000L; $none }, { name = \"b\"; period_ns = 700000000L; $none } );" >many_jobs.cfg
try many_jobs 1 'bomb: to plan 2100003 phases takes some 0.6 GiB of memory' plan
echo "$head $xy tasks = ( { name = \"a\"; arrays: { a = \"x\"; b = \"x\"; out = \"new\"; }; period_ns = 20000000L; $blend } );" \
  >runs.cfg
status=0
timeout -s INT 3 "$ttprem" run --backend cpu --repeat 1000000 --no-records runs.cfg >runs.out 2>&1 || status=$?
if [ "$status" -ne 124 ] || ! grep -q 'runs take some [0-9]* s; Ctrl-C shows' runs.out; then
  echo "run --repeat 1000000: status $status, and nothing of the time that it takes:"
  head -c 600 runs.out
  failed=1
fi
exit $failed
