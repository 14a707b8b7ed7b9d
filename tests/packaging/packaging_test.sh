#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Tests the scripts of packaging/ and .ci/ with substitutes for apt and other programs, which only
# record their calls: no network, no root, nothing installed. Prints failures, and exits 1 if there
# are any.
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(cd "$(mktemp -d)" && pwd -P)
trap 'rm -rf "$work"' EXIT
failed=0

# expect WHAT COMMAND...: reports a failure WHAT unless the command succeeds.
expect() {
  local what=$1
  shift
  if ! "$@"; then
    echo "FAILED: $what"
    failed=$((failed + 1))
  fi
}
holds() { grep -qF -- "$2" "$work/$1"; }          # FILE TEXT
lacks() { ! holds "$@"; }
is_empty() { [ ! -s "$work/$1" ]; }
is() { [ "$1" = "$2" ] || { echo "found: $1" && false; }; }

# Substitutes: the scripts can only call programs in $work/bin.
tool() {
  printf '#!%s\n%s\n' "$BASH" "$2" >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}
mkdir "$work/bin"
for program in bash awk cat cut dirname env find grep nproc sed wc; do
  ln -s "$(command -v "$program")" "$work/bin/$program"
done
tool dpkg-query "cat '$work/installed'"
tool apt-cache "cat '$work/known'"
tool apt-get "echo \"apt-get \$*\" >>'$work/calls'; [ \"\$1\" = update ] || [ ! -e '$work/broken' ]"
tool id "cat '$work/id'"
with_sudo() { tool sudo "echo \"sudo \$*\" >>'$work/calls'; exec \"\$@\""; }

packages() {
  awk -v wanted="$1" '$1 ~ "^(" wanted ")$" { print $2 }' "$root/packaging/packages.txt"
}
packages 'always|check|bench' >"$work/known"

# installed [WITHOUT...]: simulates that all build dependencies are installed, except WITHOUT.
installed() {
  local package
  packages always | while read -r package; do
    if [[ " $* " != *" $package "* ]]; then echo "$package installed"; fi
  done >"$work/installed"
}

# setup ARGUMENT...: runs packaging/setup. Stores its exit status in $status, its output in out and
# err, its calls in calls.
setup() {
  status=0
  : >"$work/calls"
  PATH=$work/bin "$root/packaging/setup" "$@" >"$work/out" 2>"$work/err" || status=$?
}
asked_for() {
  sed -n 's/^apt-get install //p' "$work/calls" | tr ' ' '\n' |
    { grep -Fx -f "$work/known" || true; } | xargs
}

echo 0 >"$work/id"

scripts_parse() {
  local script
  for script in packaging/{setup,run,test,bundle,functions.sh} tests/gpu/{run,run_test.sh} \
    tests/gpu/parts/{rows,libraries,steps,tests,figures,peers}.sh \
    tests/soak/{fuzz,verify_examples,many_ranks}.sh .ci/run; do
    expect "$script parses" bash -n "$root/$script"
    expect "$script names its license" \
      grep -q 'SPDX-License-Identifier: GPL-3.0-or-later' "$root/$script"
  done
}

help_lists_the_options() {
  installed
  setup --help
  expect "help succeeds" is "$status" 0
  expect "help shows the usage" holds out 'usage: packaging/setup [--check] [--bench]'
  expect "help explains --bench" holds out '--bench  the peers'
}

an_unknown_option_is_bad_usage() {
  installed ninja-build
  setup --everything
  expect "an unknown option exits with 2" is "$status" 2
  expect "an unknown option shows the usage" holds err 'usage: packaging/setup'
  expect "an unknown option installs nothing" is_empty calls
}

setup_without_missing_packages_prints_nothing() {
  installed
  setup
  expect "nothing missing succeeds" is "$status" 0
  expect "nothing missing prints nothing" is_empty out
  expect "nothing missing complains of nothing" is_empty err
  expect "nothing missing calls no program" is_empty calls
}

missing_packages_are_printed_and_installed() {
  installed ninja-build zlib1g-dev
  setup
  expect "what is missing is installed" is "$status" 0
  expect "just what is missing is asked for" is "$(asked_for)" "ninja-build zlib1g-dev"
  expect "it says why" grep -qE 'ninja-build +runs the build' "$work/out"
  expect "it does not speak of what is there" lacks out cppzmq-dev
  expect "root needs no sudo" lacks calls sudo
}

removed_package_is_missing() {
  installed cmake
  echo "cmake config-files" >>"$work/installed"
  setup
  expect "what is only configured is not installed" is "$(asked_for)" cmake
}

options_add_packages() {
  installed
  setup --check --bench
  expect "--check and --bench ask for theirs" is "$(asked_for)" "$(packages 'check|bench' | xargs)"
}

users_other_than_root_use_sudo() {
  installed cmake
  echo 1000 >"$work/id"
  setup
  expect "without sudo it fails" is "$status" 1
  expect "without sudo it says what to type" holds err 'as root, run: apt-get install cmake'
  expect "without sudo it calls no program" is_empty calls
  with_sudo
  setup
  expect "with sudo it succeeds" is "$status" 0
  expect "with sudo it becomes root" \
    holds calls 'sudo env DEBIAN_FRONTEND=noninteractive apt-get install'
  rm "$work/bin/sudo"
  echo 0 >"$work/id"
}

failed_installation_is_reported() {
  installed cmake
  touch "$work/broken"
  setup
  rm "$work/broken"
  expect "it exits with 1" is "$status" 1
  expect "it says what to look at" holds err 'setup: apt-get failed'
}

compiler_jobs_are_between_one_and_the_cores() {
  local jobs
  mkdir "$work/empty"
  jobs=$(cd "$work/empty" && source "$root/packaging/functions.sh" && jobs_at_once)
  expect "jobs_at_once is one or more: $jobs" [ "$jobs" -ge 1 ]
  expect "jobs_at_once is no more than cores: $jobs" [ "$jobs" -le "$(nproc)" ]
  expect "jobs_at_once leaves no file" is "$(ls "$work/empty")" ""
}

phase_returns_the_exit_status() {
  local status=0
  (source "$root/packaging/functions.sh" && phase "work" bash -c 'exit 7') >"$work/out" || status=$?
  expect "phase gives the exit status" is "$status" 7
  expect "phase says that it failed" holds out 'FAILED (7)'
  (source "$root/packaging/functions.sh" && phase "work" true) >"$work/out"
  expect "phase says how long it took" grep -qE '^== work: [0-9]+\.[0-9] s$' "$work/out"
}

unreadable_experiment_is_reported_first() {
  local status=0
  "$root/packaging/run" "$work/none.json" >"$work/out" 2>"$work/err" || status=$?
  expect "run exits with 1" is "$status" 1
  expect "run names the file" holds err "run: cannot read $work/none.json"
  expect "run does nothing before" is_empty out
}

# run_in_house [NAME=VALUE...]: runs packaging/run of another checkout, whose programs only print
# their calls, in that environment.
run_in_house() {
  local house=$work/house program
  mkdir -p "$house/packaging" "$house/build/release/bin" "$house/resources/experiments"
  cp "$root"/packaging/{run,functions.sh} "$house/packaging"
  cp "$root/resources/experiments/four_devices_mirrored_digits.json" "$house/resources/experiments"
  for program in packaging/setup build/release/bin/trainyard build/release/bin/trainyard-cli; do
    printf '#!%s\necho "${0##*/} $*"\n' "$BASH" >"$house/$program"
    chmod +x "$house/$program"
  done
  tool cmake "echo \"cmake \$*\""
  for program in mkdir realpath basename; do
    ln -sf "$(command -v "$program")" "$work/bin/$program"
  done
  env -i PATH="$work/bin" "$@" "$house/packaging/run" ${ARGUMENTS:-} >"$work/out" 2>"$work/err"
}

run_opens_the_workbench_or_trains_on_the_command_line() {
  local example=$work/house/resources/experiments/four_devices_mirrored_digits.json
  expect "run succeeds without a display" run_in_house
  expect "it looks for what is missing first" is "$(sed -n 1p "$work/out" | xargs)" setup
  expect "it builds" grep -q '^cmake --build --preset release .*trainyard-cli' "$work/out"
  expect "it says that there is no display" \
    holds out 'no display (DISPLAY and WAYLAND_DISPLAY are unset)'
  expect "it trains in the terminal" is "$(sed -n '$p' "$work/out")" "trainyard-cli run $example"
  for display in DISPLAY=:0 WAYLAND_DISPLAY=wayland-0; do
    expect "run succeeds with $display" run_in_house "$display"
    expect "it opens the workbench with $display" \
      is "$(sed -n '$p' "$work/out")" "trainyard $example"
  done
}

# The module for GPUs takes minutes to compile: it is built on request, or if a driver is loaded.
run_builds_the_module_for_gpus_on_request() {
  local ninja=$work/house/build/release/build.ninja
  mkdir -p "$(dirname "$ninja")"
  rm -f "$ninja"
  expect "run succeeds without the CUDA Toolkit" run_in_house
  expect "it says that there is no toolkit" holds out "the CUDA Toolkit was not found"
  echo "build trainyard_cuda_module: phony bin/trainyard-cuda.so" >"$ninja"
  ARGUMENTS=--cuda
  expect "run --cuda succeeds" run_in_house
  ARGUMENTS=
  expect "it builds the module" \
    grep -q '^cmake --build --preset release .*trainyard_cuda_module' "$work/out"
  expect "it still opens the example" is "$(sed -n '$p' "$work/out")" \
    "trainyard-cli run $work/house/resources/experiments/four_devices_mirrored_digits.json"
  if [ ! -e /proc/driver/nvidia/version ]; then
    expect "run succeeds without a driver" run_in_house
    expect "it says how to build the module" holds out "packaging/run --cuda"
    expect "it does not build the module" bash -c "! grep -q trainyard_cuda_module '$work/out'"
  fi
  rm -f "$ninja"
}

# Contents of a bundle, for dummy programs, one of which needs a library.
bundle_has_the_files_of_gpu_tests() {
  local house=$work/bundling program files
  mkdir -p "$house/packaging" "$house"/build/release/{bin,schema}
  mkdir -p "$house"/resources/{experiments,manual}
  cp "$root"/packaging/{bundle,functions.sh} "$house/packaging"
  cp -r "$root/tests" "$house"
  touch "$house"/build/release/bin/{trainyard-cli,trainyard-rank,trainyard-cuda.so,test_gpu} \
    "$house/build/release/bin/gpu_figures" "$house"/lib{needed.so.1,stdc++.so.6} \
    "$house/build/release/schema/experiment.schema.json" "$house/resources/experiments/one.json" \
    "$house/resources/manual/index.md"
  tool cmake :
  tool strip :
  tool ldd "if [ -e $house/build/bundle/lib/libneeded.so.1 ]; then echo 'libneeded.so.1 => $house/build/bundle/bin/../lib/libneeded.so.1 (0x1)'
    else echo 'libneeded.so.1 => $house/libneeded.so.1 (0x1)'; fi; echo 'libstdc++.so.6 => $house/libstdc++.so.6 (0x3)'; echo 'libcublasLt.so.13 => /cuda/libcublasLt.so.13 (0x2)'"
  cp "$work/bin/strip" "$house/packaging/setup"
  for program in basename cp du mkdir mv rm sort tar xargs xz; do
    ln -sf "$(command -v "$program")" "$work/bin/$program"
  done
  expect "bundle succeeds" env -i PATH="$work/bin" "$house/packaging/bundle" >"$work/out"
  expect "it says how large the archive is" grep -qE 'build/bundle\.tar\.xz: [0-9.]+K' "$work/out"
  files=$(tar -tf "$house/build/bundle.tar.xz")
  for program in gpu-tests bin/{trainyard-cuda.so,test_gpu} \
    lib/{libneeded.so.1,cxx/libstdc++.so.6} \
    resources/{experiments/one.json,manual/index.md,schema/experiment.schema.json} \
    gpu/{peer.py,gpt2.json,parts/peers.sh}; do
    expect "the archive has $program" grep -qx "bundle/$program" <<<"$files"
  done
  expect "CUDA's libraries stay out" is "$(grep -c cublas <<<"$files")" 0
  tool ldd "echo 'libneeded.so.1 => $house/libneeded.so.1 (0x1)'"
  env -i PATH="$work/bin" "$house/packaging/bundle" >"$work/out" 2>&1 || true
  expect "programs that would not take the bundle's libraries are refused" \
    grep -qF "these libraries of the machine instead of its own: $house/libneeded.so.1" "$work/out"
}

ci_prints_failed_tests_with_their_reasons() {
  source /dev/stdin <<<"$(sed -n '/^what_failed() {/,/^}/p' "$root/.ci/run")"
  cat >"$work/tests.xml" <<'XML'
	<testcase name="Ring.is_round" status="run">
		<system-out>said: no Failure here</system-out>
	</testcase>
	<testcase name="Ring.is_closed" status="fail">
		<system-out>chatter
ring_test.cpp:7: Failure
Expected: 1 &lt; 0
</system-out>
	</testcase>
XML
  what_failed "$work/tests.xml" "$work/none.xml" >"$work/out"
  expect "it names the failed test" grep -qx '   Ring.is_closed' "$work/out"
  expect "it says why" holds out 'Expected: 1 < 0'
  expect "it begins with the error" lacks out chatter
  expect "it leaves out what passed" lacks out is_round
  expect "it says when there are no results" holds out "no results: $work/none.xml"
}

# counted FILE COMMAND...: prints "PASSED FAILED" as counted by .ci/run for a command that writes
# its results to FILE.
counted() (
  source "$root/packaging/functions.sh"
  source /dev/stdin <<<"$(sed -n '/^part() {/,/^}/p; /^check() {/,/^}/p; /^attribute() {/p; /^tests() {/,/^}/p' "$root/.ci/run")"
  passed=0 failed=0 minutes=""
  if [ "$1" = none ]; then
    check "part" "${@:2}" >"$work/out"
  else
    tests "$1" "part" "${@:2}" >"$work/out"
  fi
  echo "$passed $failed"
)

# results TESTS FAILURES SKIPPED STATUS: creates a ctest that writes these results and exits with
# STATUS.
results() {
  printf '<?xml version="1.0"?>\n<testsuite name="all"\n\ttests="%s"\n\tfailures="%s"\n\tdisabled="0"\n\tskipped="%s"\n\ttime="3"\n>\n' "$@" >"$work/results.xml"
  return "$4"
}

ci_counts_the_results() {
  local file=$work/results.xml
  expect "what passed, without the skipped" is "$(counted "$file" results 10 0 1 0)" "9 0"
  expect "what failed" is "$(counted "$file" results 10 2 1 8)" "7 2"
  expect "a ctest that fails though no test did is one failure" \
    is "$(counted "$file" results 10 0 0 1)" "9 1"
  expect "no results are one failure" is "$(counted "$file" false)" "0 1"
  results 10 0 0 0
  expect "results of another run do not count" is "$(counted "$file" true)" "0 1"
  expect "a part that is no ctest counts as one" is "$(counted none true)" "1 0"
  expect "and as one failure" is "$(counted none false)" "0 1"
}

scripts_parse
help_lists_the_options
an_unknown_option_is_bad_usage
setup_without_missing_packages_prints_nothing
missing_packages_are_printed_and_installed
removed_package_is_missing
options_add_packages
users_other_than_root_use_sudo
failed_installation_is_reported
compiler_jobs_are_between_one_and_the_cores
phase_returns_the_exit_status
unreadable_experiment_is_reported_first
run_opens_the_workbench_or_trains_on_the_command_line
run_builds_the_module_for_gpus_on_request
bundle_has_the_files_of_gpu_tests
ci_prints_failed_tests_with_their_reasons
ci_counts_the_results

[ "$failed" -eq 0 ]
