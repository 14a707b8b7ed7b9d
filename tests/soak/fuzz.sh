#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs the fuzz tests (suites called Fuzz, tests/fuzzing.h) for a longer time, and prints the number
# of inputs and of failed tests. Exits 1 if a test failed. A failed test prints the seed of its
# input: TRAINYARD_FUZZ_SEED=SEED with the test repeats it first.
#   fuzz.sh SECONDS [SEED] [BUILD]    BUILD: build folder, by default build/release
set -euo pipefail
export LC_ALL=C QT_QPA_PLATFORM=offscreen

if [ $# -lt 1 ] || [ $# -gt 3 ] || ! [[ ${1}${2:-1} =~ ^[0-9]+$ ]]; then
  echo "usage: fuzz.sh SECONDS [SEED] [BUILD]" >&2
  exit 2
fi
seconds=$1
seed=${2:-20240607}
tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
bin=${3:-$tree/build/release}/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Tests as lines "PROGRAM TEST", of all programs that have a suite Fuzz.
tests=()
for name in core_telemetry core_experiment core_session ui_model ui_panels ui_charts; do
  program=$bin/test_$name
  if ! [ -x "$program" ]; then
    echo "not built, omitted: $program" >&2
    continue
  fi
  while read -r test; do
    tests+=("$program Fuzz.$test")
  done < <("$program" --gtest_list_tests --gtest_filter='Fuzz.*' |
    sed -n 's/^  \([a-z_0-9]*\).*/\1/p')
done
if [ ${#tests[@]} -eq 0 ]; then
  echo "no fuzz test is built in $bin" >&2
  exit 2
fi

each=$((seconds / ${#tests[@]}))
if [ "$each" -lt 1 ]; then each=1; fi
inputs=0 failures=0
for entry in "${tests[@]}"; do
  read -r program test <<< "$entry"
  status=0
  # Three times the duration: a hang must not stop the other tests.
  TRAINYARD_FUZZ_SECONDS=$each TRAINYARD_FUZZ_SEED=$seed timeout $((3 * each + 120)) \
    "$program" --gtest_filter="$test" > "$work/out" 2>&1 || status=$?
  count=$(sed -n 's/^fuzzed inputs: //p' "$work/out" | tail -n 1)
  inputs=$((inputs + ${count:-0}))
  if [ $status -eq 0 ]; then
    echo "passed: $test in $(basename "$program"), ${count:-0} inputs"
  else
    failures=$((failures + 1))
    echo "FAILED: $test in $(basename "$program"), exit code $status"
    tail -n 40 "$work/out"
  fi
done
echo "inputs: $inputs, failed tests: $failures of ${#tests[@]}, seed $seed, $each s each"
[ $failures -eq 0 ]
