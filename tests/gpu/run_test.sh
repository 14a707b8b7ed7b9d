#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Tests gpu-tests itself, with tiny sizes, on substitutes for GPUs and PyTorch. Prints failures, and
# exits 1 if there are any.
#   run_test.sh BIN STAND_IN        folders of the programs, and of GPU tests with substitutes
set -euo pipefail
export LC_ALL=C TRAINYARD_STAND_INS=1
unset LD_LIBRARY_PATH PYTHON

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(cd "$(mktemp -d)" && pwd -P)
trap 'rm -rf "$work"' EXIT
failed=0
source "$here/parts/rows.sh"

# expect WHAT COMMAND...: reports a failure WHAT unless the command succeeds.
expect() {
  local what=$1
  shift
  if ! "$@"; then
    echo "FAILED: $what"
    failed=$((failed + 1))
  fi
}
holds() { grep -qE -- "$1" "$work/out" || { cat "$work/out" && false; }; }
lacks() { ! grep -qE -- "$1" "$work/out"; }
is() { [ "$1" = "$2" ] || { echo "found: $1" && false; }; }

mkdir -p "$work"/bundle/{bin,lib,resources} "$work/path"
cp "$1"/trainyard-{cli,rank} "$2"/{trainyard-cuda.so,test_gpu,gpu_figures} "$work/bundle/bin"
if [ -e "$2/libnccl.so.2" ]; then cp "$2/libnccl.so.2" "$work/bundle/lib"; fi
cp -r "$here/../../resources/experiments" "$work/bundle/resources"
cp -r "$here" "$work/bundle/gpu"
cp "$here/run" "$work/bundle/gpu-tests"

# python LINES: creates a python3 without wheels that prints LINES in place of peer.py.
python() {
  printf '#!%s\n[ "$1" != -c ] && printf "%%s\\n" %s\n' "$BASH" "$(printf '%q ' "$@")" >"$work/path/python3"
  chmod +x "$work/path/python3"
}

# tested ARGUMENT...: runs gpu-tests. Stores its output in out, its exit status in $status.
tested() {
  status=0
  PATH=$work/path:$PATH "$work/bundle/gpu-tests" "$@" >"$work/out" 2>&1 || status=$?
}

step_times_are_printed_beside_pytorch() {
  python '{"torch": "2.9.1 on a GPU"}' '{"case": "mlp", "way": "eager", "median_seconds": 0.5}' '{"case": "cnn", "way": "eager", "why": "out of memory"}' \
    '{"case": "gpt2", "way": "eager", "median_seconds": 2}' '{"case": "gpt2", "way": "compiled", "median_seconds": 1.5}'
  tested --only peers --small
  expect "peers succeed" is "$status" 0
  expect "our step times are printed" holds '^MLP of the digits.* [0-9.]+ ms a step$'
  expect "GPT-2 also has tokens per second" holds '^GPT-2 124M.* [0-9.]+ ms a step, [0-9]+ tokens/s$'
  expect "the version of PyTorch is printed" holds '^PyTorch +2.9.1 on a GPU$'
  expect "step times of PyTorch are compared" holds '^   beside PyTorch eager: mlp +500.000 ms a step: [0-9.]+ times ours \(1.2 wanted\)$'
  expect "a failed peer has a reason" holds '^   beside PyTorch eager: cnn +none: out of memory$'
  expect "compiled PyTorch is compared" holds '^   beside PyTorch compiled: gpt2 +1500.000 ms a step, 43 tokens/s: [0-9.]+ times ours \(0.9 wanted\)$'
  expect "nothing else is tested" lacks 'pass$|copy on the GPU'
}

missing_pytorch_is_reported() {
  local gpus="none" small=yes gpu=$here python=$work/path/python3 libraries_of_python=""
  source "$here/parts/peers.sh"
  python '{"why": "none to compare with: no torch"}'
  beside_peers >"$work/out"
  expect "the reason of missing PyTorch is printed" is "$(xargs <"$work/out")" "PyTorch none to compare with: no torch"
  printf '#!%s\necho it broke >&2; exit 1\n' "$BASH" >"$python"
  beside_peers >"$work/out"
  expect "a broken python3 is reported" is "$(xargs <"$work/out")" "PyTorch none to compare with: it broke"
  python=$work/path/none
  beside_peers >"$work/out"
  expect "a missing python3 is reported" holds '^PyTorch +none to compare with: .*No such file'
}

# driver MIB_AT_THE_END: creates an nvidia-smi that reports 100 MiB in use, 700 while ranks run, and
# MIB_AT_THE_END afterwards.
driver() {
  printf '#!%s\nif pgrep -f ^%q/bundle/bin/trainyard-rank >/dev/null; then echo 700 && touch %q/lived; elif [ -e %q/lived ]; then echo %s; else echo 100; fi\n' \
    "$BASH" "$work" "$work" "$work" "$1" >"$work/path/nvidia-smi"
  chmod +x "$work/path/nvidia-smi"
  rm -f "$work/lived"
}

arguments_are_passed_to_googletest() {
  driver 100
  tested --only tests --small --gtest_filter='GpuAndCpu.*'
  expect "tests succeed" is "$status" 0
  expect "the selected tests run" holds '^GpuAndCpu +1 of 1 pass$'
  expect "no other tests run" lacks '^GpuTraining'
  expect "libraries are printed once" is "$(grep -c '^what a rank computes by  *kernels of the GPU on the host$' "$work/out")" 1
  expect "ranks that export memory are tested" holds '^exported memory of the GPU +the same to the bit'
  expect "memory is freed" holds '^memory of the GPU, where a rank is lost +100 MiB are taken before, 700 MiB by two ranks, 100 MiB after one was killed$'
  expect "ranks that compress are tested" holds '^gradients by power_sgd +the same to the bit'
  if [ -e "$work/bundle/lib/libnccl.so.2" ]; then expect "ranks by NCCL are among tests" holds '^layers on two ranks of one GPU +the same to the bit'; fi
  tested --only nothing
  expect "an unknown part is bad usage" is "$status" 2
  expect "and shows the usage" holds '^usage: gpu-tests \[--only tests'
}

memory_that_is_not_freed_fails() {
  local on_one_gpu=() bin=$work/bundle/bin status=0
  export TRAINYARD_RESOURCES=$work/bundle/resources
  source "$here/parts/steps.sh"
  source /dev/stdin <<<"$(sed -n '/^memory_taken() /p; /^is_number() /p; /^wait_until() {/,/^}/p; /^rank_of() {/,/^}/p; /^frees_memory() {/,/^}/p' "$here/parts/tests.sh")"
  driver 300
  PATH=$work/path:$PATH frees_memory memory two_devices_gpt_grammar >"$work/out"
  expect "the memory in use is printed" is "$(xargs <"$work/out")" "memory 300 MiB are taken, 100 MiB were before"
  expect "the test fails" is "$status" 1
  printf '#!%s\necho no devices were found; exit 6\n' "$BASH" >"$work/path/nvidia-smi"
  PATH=$work/path:$PATH frees_memory memory two_devices_gpt_grammar >"$work/out"
  expect "a failed measurement is reported" is "$(xargs <"$work/out")" "memory not measured: no devices were found"
}

figures_can_be_printed_alone() {
  tested --only figures --small
  expect "figures succeed" is "$status" 0
  expect "copies are printed" holds '^copy on the GPU'
  expect "step times are printed" holds 'ms a step on the GPU, [0-9.]+ ms on a CPU core'
}

suites_are_printed_when_they_end() {
  local status=0
  source /dev/stdin <<<"$(sed -n '/^suites() {/,/^}/p; /^suite_row() {/,/^}/p; /^readonly/p' "$here/parts/tests.sh")"
  suites <<'SAID' >"$work/out" || status=$?
[ RUN      ] Run/Sums.are_right/a
[       OK ] Run/Sums.are_right/a (1 ms)
[ RUN      ] Run/Sums.are_right/b
sums_test.cpp:7: Failure
Expected: 1 < 0
[  FAILED  ] Run/Sums.are_right/b (1 ms)
[ RUN      ] Copies.are_right
[  SKIPPED ] Copies.are_right (0 ms)
[ RUN      ] Copies.are_fast
Segmentation fault
SAID
  expect "an early end fails" is "$status" 1
  expect "passed tests are counted" holds '^Sums +1 of 2 pass$'
  expect "the failure is printed" holds '^Expected: 1 < 0$'
  expect "skipped tests are counted" holds '^Copies +0 of 2 pass, 1 are skipped$'
  expect "the last line is printed" holds '^tests +ended early: Segmentation fault$'
}

run_time_is_limited() {
  limited 1 bash -c 'echo begun; sleep 20' >"$work/out" 2>"$work/why" || echo failed >>"$work/out"
  expect "output before the limit is kept" is "$(cat "$work/out")" begun
  expect "the exceeded limit is reported" is "$(said_why)" "was not done in 1 s"
}

# A module that needs a library which only a wheel has, and one which only the system has.
wheels_replace_the_toolkit() {
  local wheels=$work/wheels bin=$work/module libraries_of_python="" python=$work/path/python3
  mkdir -p "$wheels"/{cu13,cublas,nccl}/lib "$bin"
  echo 'int product(void) { return 1; }' | cc -shared -fPIC -x c - -Wl,-soname,libproduct.so.13 -o "$wheels/cu13/lib/libproduct.so.13"
  echo 'int product(void); int uses(void) { return product(); }' | cc -shared -fPIC -x c - -x none "$wheels/cu13/lib/libproduct.so.13" -o "$bin/trainyard-cuda.so"
  touch "$wheels/nccl/lib/libnccl.so.2"
  printf '#!%s\nprintf "%%s\\n" %q/{cu13,cublas,nccl}/lib\n' "$BASH" "$wheels" >"$python"
  source "$here/parts/libraries.sh"
  is_found() { [ "$1" = libcudnn.so.9 ]; }
  (LD_LIBRARY_PATH=/first && add_wheels && echo "$LD_LIBRARY_PATH" && lacking) >"$work/out"
  expect "folders with missing libraries are added last" is "$(sed -n 1p "$work/out")" "/first:$wheels/cu13/lib:$wheels/nccl/lib"
  expect "the libraries are found" is "$(sed -n 2p "$work/out")" libnccl.so.2 # is_found still finds it
  (LD_LIBRARY_PATH=$wheels/cu13/lib && is_found() { true; } && add_wheels && echo "$LD_LIBRARY_PATH") >"$work/out"
  expect "nothing is added if no library is missing" is "$(cat "$work/out")" "$wheels/cu13/lib"
}

# Simulates a system whose C++ library is older than that of the programs.
old_libraries_are_detected() {
  source "$here/parts/libraries.sh"
  expect "libraries of this machine are new enough" is_new_enough "$work/bundle/bin/trainyard-cli"
  ldd() { echo "$1: /lib/libstdc++.so.6: version \`GLIBCXX_3.4.30' not found (required by $1)"; }
  if is_new_enough "$work/bundle/bin/trainyard-cli"; then expect "a missing version is detected" false; fi
  ldd() { echo "libstdc++.so.6 => not found"; }
  if is_new_enough "$work/bundle/bin/trainyard-cli"; then expect "a missing library is detected" false; fi
  unset -f ldd
}

step_times_are_printed_beside_pytorch
missing_pytorch_is_reported
arguments_are_passed_to_googletest
memory_that_is_not_freed_fails
figures_can_be_printed_alone
suites_are_printed_when_they_end
run_time_is_limited
wheels_replace_the_toolkit
old_libraries_are_detected

[ "$failed" -eq 0 ]
