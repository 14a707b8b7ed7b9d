#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs every example with 30 steps and verifies it: tests/soak/verify_examples.sh [BIN_DIRECTORY]
# BIN_DIRECTORY: directory of trainyard-cli (default: build/release/bin). Prints the seconds of each
# example and its mismatches. TRAINYARD_TEST_DATA: directory with mnist/; without it, the example
# that needs MNIST is skipped. Exits with 1 if an example fails. Takes about a minute on two cores.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly root cli=${1:-$root/build/release/bin}/trainyard-cli steps=30
export TRAINYARD_RESOURCES=$root/resources
scratch=$(mktemp -d)
readonly scratch mnist=${TRAINYARD_TEST_DATA:-}/mnist
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0 skipped=0

# verify FILE [OPTION...]: trains the example and verifies the run.
verify() {
  local run=$scratch/run
  rm -rf "$run"
  "$cli" run "$@" --steps "$steps" --out "$run" --json >"$scratch/log" 2>&1 || return 1
  "$cli" verify "$run" >"$scratch/log" 2>&1
}

for file in "$root"/resources/experiments/*.json; do
  name=$(basename "$file" .json)
  options=()
  if grep -q '"kind": *"idx"' "$file"; then
    if [ ! -e "$mnist/t10k-images-idx3-ubyte.gz" ]; then
      echo "$name: skipped, MNIST is not in TRAINYARD_TEST_DATA"
      skipped=$((skipped + 1))
      continue
    fi
    options=(--set "data.images=$mnist/t10k-images-idx3-ubyte.gz"
      --set "data.labels=$mnist/t10k-labels-idx1-ubyte.gz")
  fi
  start=$EPOCHREALTIME result=ok
  verify "$file" "${options[@]}" || result=FAILED
  awk -v name="$name" -v from="$start" -v to="$EPOCHREALTIME" -v result="$result" \
    'BEGIN { printf "%-48s %6.1f s  %s\n", name, to - from, result }'
  if [ "$result" = ok ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    { grep -E 'MISMATCH|error' "$scratch/log" || tail -n 5 "$scratch/log"; } | cut -c 1-300
  fi
done
echo "$passed verified, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
