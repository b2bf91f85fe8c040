#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The schedules of four tasks that fill an H200, with their plans, from a few numbers each.
#
#   figure.sh NAME [KEY=VALUE...]    the figure on stdout; VALUEs replace those below
#   figure.sh --list                 the NAMEs
#   figure.sh --check FOLDER         is every figure in FOLDER what this makes? exit status 1 if not
#
# Every plan is a pipeline: a start of a task prefetches a tile on each of its blocks and writes back an
# earlier one as soon as there is one; computing follows the prefetch by itself. Times in ns.
set -euo pipefail

# ---- what differs ------------------------------------------------------------------------------

# blocks: of a task; rounds: tiles that each of its blocks works.
# Regulated: a task starts offset_ns behind the one before it, and a tile takes four of these, in which
# the phases of all four overlap. Published: outputs count at the hyperperiod's end, not before.
# Exclusive: a start has pair_ns, or lone_ns where it prefetches or writes back alone; cold_ns the first.
readonly names=(h200_conv2d_x4 h200_conv2d_x4_large h200_conv2d_7x7_x4 h200_increment_x4
  h200_conv2d_x4_resident h200_conv2d_x4_large_resident h200_conv2d_x4_gang
  h200_conv2d_x4_tune h200_conv2d_x4_spare h200_conv2d_x4_free)

numbers_of() { # NAME
  kernel=conv2d task=conv array=image shape='4292, 4098' tile='10, 256'
  sms=132 blocks=132 per_sm=4 threads=224 scratch_bytes=45568
  rounds=52 offset_ns=896
  pair_ns=0 lone_ns=0 cold_ns=0 published=0
  measure='scenario = "relaunch";  runs = 1000;  discard = 5;'
  modes='"legacy", "launched", "free", "lock", "tt"'
  case $1 in
  h200_conv2d_x4) ;;
  h200_conv2d_x4_large | h200_conv2d_x4_large_resident | h200_conv2d_x4_tune)
    blocks=66 per_sm=2 threads=384 scratch_bytes=103424 shape='4754, 3842' tile='24, 256'
    rounds=45 offset_ns=928
    measure='scenario = "relaunch";  runs = 400;  discard = 5;' modes='"legacy", "free", "tt"'
    ;;
  h200_conv2d_7x7_x4)
    blocks=66 per_sm=2 threads=384 scratch_bytes=101376
    kernel=conv2d_7x7 shape='4164, 4102' tile='18, 256'
    rounds=56 offset_ns=1280
    ;;
  h200_increment_x4)
    kernel=vector_increment task=add array=vector shape=19058688 tile=3008
    scratch_bytes=48128 rounds=48 offset_ns=928
    ;;
  h200_conv2d_x4_resident) ;;
  h200_conv2d_x4_spare)
    sms=128 blocks=64 per_sm=2 threads=384 scratch_bytes=103424 shape='4610, 3842' tile='24, 256'
    rounds=45 offset_ns=928
    measure='scenario = "resident";  hyperperiods = 1000;  discard = 2;' modes='"free", "tt"'
    ;;
  h200_conv2d_x4_free)
    blocks=33 per_sm=1 threads=512 scratch_bytes=223104 shape='4666, 3842' tile='53, 256'
    rounds=40 offset_ns=1024
    measure='scenario = "relaunch";  runs = 400;  discard = 5;' modes='"legacy", "free", "tt"'
    ;;
  h200_conv2d_x4_gang)
    blocks=132 per_sm=1 threads=512 scratch_bytes=219136 shape='9242, 1874' tile='42, 312'
    rounds=10 pair_ns=4800 lone_ns=3584 cold_ns=10016
    modes='"legacy", "free", "tt"'
    ;;
  *)
    echo "figure: no figure '$1'; there are: ${names[*]}" >&2
    exit 2
    ;;
  esac
  case $1 in
  h200_conv2d_x4_large | h200_conv2d_x4_large_resident) published=1 ;;
  esac
  case $1 in
  *_tune) offset_ns=672 measure='scenario = "relaunch";  runs = 30;  discard = 2;' modes='"tt"' ;;
  *_resident)
    measure='scenario = "resident";  hyperperiods = 100000;  discard = 20;' modes='"free", "tt"'
    ;;
  esac
}

comment_of() { # NAME
  case $1 in
  h200_conv2d_x4) cat <<'END' ;;
# Four convolutions that fill an H200: a block of each on every SM, 128 compute and 96 memory threads
# each. The memory belongs to one of them at a time: each may start its copies, the next tile's
# prefetch joined with the writeback of the tile before last, for 896 ns in turn, so a tile takes four
# offsets, 3584 ns. Inputs and outputs are 563 MB together, far more than the L2 holds.
END
  h200_conv2d_x4_large) cat <<'END' ;;
# Four convolutions that fill an H200 as in h200_conv2d_x4.cfg, but with two large blocks on every SM
# instead of four: each task has 66 SMs, tiles of 24 rows fetch less halo, and 288 threads compute. Rows
# of 256 elements begin at 128-byte boundaries and are short enough for boxes of tensor maps. The memory
# belongs to one task at a time, for an offset in turn, and a tile takes four offsets. Inputs and outputs
# are 584 MB together.
END
  h200_conv2d_7x7_x4) cat <<'END' ;;
# Four 7 x 7 convolutions that fill an H200, as h200_conv2d_x4_large.cfg does with 3 x 3: the
# compute-heavy case. 49 multiplications for each output; a tile computes for 3.6 us, 5.5 at the longest
# (h200/h200_conv2d/table_7x7 in evidence/), and that decides the cycle, not the memory.
END
  h200_increment_x4) cat <<'END' ;;
# Four vector increments that fill an H200, as h200_conv2d_x4.cfg does with convolutions: the case
# without any reuse, where every element that is moved is used once. 610 MB altogether. The times are
# arithmetic with a margin, 13 MB a round at 4.2 TB/s: measure them with `ttprem profile`, shorten the
# cycle with `ttprem tune`.
END
  h200_conv2d_x4_gang) cat <<'END' ;;
# Four convolutions that fill an H200 and take turns at the memory: each has all SMs, a block with all of an
# SM's scratchpad, and moves 14 MB at a time on all of them. The next one starts when the last byte should
# have landed; single phases take longer, so that two tasks do meet now and then. Whose tasks must not, takes
# h200_conv2d_x4_exclusive.cfg. Two take turns, so that each start prefetches a tile and writes back the
# task's last one, then the other two. Inputs and outputs are 554 MB together.
END
  h200_conv2d_x4_tune) cat <<'END' ;;
# h200_conv2d_x4_large.cfg as it cannot be: a cycle that asks for more than the memory delivers, 672 ns
# for 12 MB. `ttprem tune` starts from it and finds the smallest cycle that this GPU keeps; windows stay
# as they are, so the file's have to be as short as those of the shortest cycle to try.
END
  h200_conv2d_x4_spare) cat <<'END' ;;
# The convolutions of h200_conv2d_x4_large_resident.cfg on 128 of an H200's SMs: those that are left are
# for whoever disturbs them (experiments/thesis/intruders).
END
  h200_conv2d_x4_free) cat <<'END' ;;
# The convolutions of h200_conv2d_x4_large.cfg in the tiles that run fastest when nobody keeps to a plan:
# one block with all of an SM's scratchpad, 33 SMs for each task. Inputs and outputs are 573 MB together.
END
  *_resident) cat <<END ;;
# The convolutions of ${1%_resident}.cfg over and over again: one launch runs hyperperiod
# after hyperperiod, so that nothing is cold but the first, and there is no warm-up.
END
  esac
}

# ---- the file ----------------------------------------------------------------------------------

write_arrays() {
  local k
  echo 'arrays = ('
  for k in 0 1 2 3; do
    printf '  { name = "%s%d"; type = "f32"; shape = [ %s ]; fill = "random"; seed = %d; }%s\n' \
      "$array" "$k" "$shape" $((k + 1)) "$(comma "$k")"
  done
  echo ');'
}

comma() { if [ "$1" -lt 3 ]; then echo ,; fi; }

write_tasks() {
  local k on=$blocks length="wcet_ns = ${cycle_ns}L;" alone="wcet_ns = ${cycle_ns}L;" hold="busy_ns = ${offset_ns}L; "
  local publish=
  if [ "$published" -gt 0 ]; then publish="publish_ns = ${hyperperiod_ns}L;  "; fi
  if [ "$pair_ns" -gt 0 ]; then
    on='"0-'$((blocks - 1))'"' length="wcet_ns = ${pair_ns}L;" alone="wcet_ns = ${lone_ns}L;" hold=
  fi
  echo 'tasks = ('
  for k in 0 1 2 3; do
    cat <<END
  {
    name = "$task$k";  kernel = "$kernel";  tile = [ $tile ];  blocks = $on;  together = true;
    ${publish}arrays: { in = "$array$k"; out = "new"; };
    prefetch: { $alone $hold};  writeback: { $alone $hold};
    joined: { $length $hold};  compute: { $alone };
  }$(comma "$k")
END
  done
  echo ');'
}

write_run() { # TASK PHASE START_NS REPEAT STEP_NS TILE [JOINED TILE]
  printf '    { task = "%s%d"; phase = %s; count = %d;\n' "$task" "$1" "$2" "$blocks"
  printf '      start_ns = %dL; repeat = %d; step_ns = %dL; tile = %d;%s }' "$3" "$4" "$5" "$6" \
    "${7:+ join: { tile = $7; \};}"
}

readonly prefetch='"prefetch"; chain = [ "compute" ]' writeback='"writeback"'

# A tile's writeback goes with the prefetch two tiles later.
regulated_runs() { # TASK
  local start_ns=$(($1 * offset_ns))
  write_run "$1" "$prefetch" "$start_ns" 2 "$cycle_ns" 0
  echo ,
  write_run "$1" "$prefetch" $((start_ns + 2 * cycle_ns)) $((rounds - 2)) "$cycle_ns" $((2 * blocks)) 0
  echo ,
  write_run "$1" "$writeback" $((start_ns + rounds * cycle_ns)) 2 "$cycle_ns" \
    $(((rounds - 2) * blocks))
}

# A tile's writeback goes with the task's next prefetch; the other task has its turn between the two.
exclusive_runs() { # TASK
  local turn=$(($1 % 2)) half=$(($1 / 2)) half_ns=$((4 * lone_ns + 2 * (rounds - 1) * pair_ns))
  local begin_ns=$((cold_ns - lone_ns + half * half_ns))
  local pairs_ns=$((begin_ns + 2 * lone_ns)) end_ns=$((begin_ns + half_ns))
  write_run "$1" "$prefetch" $(($1 == 0 ? 0 : begin_ns + turn * lone_ns)) 1 "$lone_ns" 0
  echo ,
  write_run "$1" "$prefetch" $((pairs_ns + turn * pair_ns)) $((rounds - 1)) $((2 * pair_ns)) "$blocks" 0
  echo ,
  write_run "$1" "$writeback" $((end_ns - (2 - turn) * lone_ns)) 1 "$lone_ns" $(((rounds - 1) * blocks))
}

write_plan() {
  local k
  echo 'plan: {'
  printf '  hyperperiod_ns = %dL;  clock_step_ns = 32L;\n  runs = (\n' "$hyperperiod_ns"
  for k in 0 1 2 3; do
    if [ "$pair_ns" -gt 0 ]; then exclusive_runs "$k"; else regulated_runs "$k"; fi
    comma "$k"
  done
  printf '\n  );\n};\n'
}

write_figure() { # NAME [KEY=VALUE...]
  local setting
  numbers_of "$1"
  for setting in "${@:2}"; do declare -g "$setting"; done
  cycle_ns=$((4 * offset_ns))
  hyperperiod_ns=$(((rounds + 2) * cycle_ns + 3 * offset_ns))
  if [ "$pair_ns" -gt 0 ]; then
    hyperperiod_ns=$((cold_ns + 7 * lone_ns + 4 * (rounds - 1) * pair_ns))
  fi
  comment_of "$1"
  cat <<END
version = 1;
name = "$1";
platform: {
  sms = $sms;  blocks_per_sm = $per_sm;  block_threads = $threads;  buffers = 2;  scratch_bytes = ${scratch_bytes}L;
  clock_step_ns = 32L;  late_ns = 128L;
  resources = ( { name = "memory"; capacity = 1; per = "task"; } );
};
END
  write_arrays
  write_tasks
  cat <<END
measure: {
  $measure
  modes = [ $modes ];
};
END
  write_plan
}

# ---- what to do --------------------------------------------------------------------------------

check_figures() { # FOLDER
  local name differing=0
  for name in "${names[@]}"; do
    diff -u "$1/$name.cfg" <(write_figure "$name") || differing=1
  done
  return "$differing"
}

case ${1-} in
--list) printf '%s\n' "${names[@]}" ;;
--check) check_figures "${2:?--check needs a folder}" ;;
'' | -*)
  sed -n '3,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
  ;;
*) write_figure "$@" ;;
esac
