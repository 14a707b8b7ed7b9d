#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
usage='Trains a small model on many ranks over ZeroMQ, several times: tests/soak/many_ranks.sh BIN
[RUNS=10] [RANKS=64] [SEED=1]. BIN: directory of the built programs. Every run must complete, and
all ranks of all runs must have equal weights. Prints the seconds of each run, then a table, and
exits with 1 on any violation.'
set -euo pipefail
if [ $# -lt 1 ] || [ $# -gt 4 ] || [ "$1" = --help ]; then
  echo "$usage"
  [ "${1:-}" = --help ] && exit 0 || exit 2
fi
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly root cli=$1/trainyard-cli runs=${2:-10} ranks=${3:-64} seed=${4:-1} steps=20
readonly seconds_of_a_run=600
if [ ! -x "$cli" ]; then
  echo "$cli is no program" >&2
  exit 2
fi
scratch=$(mktemp -d)
readonly scratch
trap 'rm -rf "$scratch"' EXIT
mkdir -m 700 "$scratch/runtime"
export TRAINYARD_RESOURCES=$root/resources HOME=$scratch XDG_DATA_HOME=$scratch/data
export XDG_RUNTIME_DIR=$scratch/runtime

cat >"$scratch/experiment.json" <<JSON
{
  "version": 2,
  "name": "Many ranks",
  "topology": {
    "hosts": [
      {"name": "host0", "devices": [{"name": "cpu", "count": $ranks, "kind": "cpu"}]}
    ]
  },
  "model": {
    "layers": [{"kind": "linear", "units": 16}, {"kind": "relu"}, {"kind": "linear"}]
  },
  "data": {"kind": "digits", "train_samples": $((ranks * 16)), "held_out_samples": 64},
  "strategy": {"kind": "mirrored"},
  "training": {"batch_per_rank": 4, "seed": $seed},
  "run": {"transport": "zmq"}
}
JSON

# train NUMBER: trains once. Prints violations, and stores the hashes of all ranks in the file
# weights-NUMBER.
train() {
  local out=$scratch/out status=0 left
  timeout --kill-after 20 "$seconds_of_a_run" "$cli" run "$scratch/experiment.json" --json \
    --steps "$steps" --out "$scratch/run-$1" >"$out" 2>"$scratch/err" || status=$?
  [ "$status" -eq 0 ] || echo "  exit code $status: $(tail -n 1 "$scratch/err" | cut -c 1-300)"
  tail -n 1 "$out" | grep -o '"parameters_xxh64":"[0-9a-f]*"' >"$scratch/weights-$1" || true
  tail -n 1 "$out" | grep -q '"status":"completed"' || echo "  the run did not complete"
  [ "$(wc -l <"$scratch/weights-$1")" -eq "$ranks" ] ||
    echo "  $(wc -l <"$scratch/weights-$1") of $ranks ranks report weights"
  [ "$(sort -u "$scratch/weights-$1" | wc -l)" -eq 1 ] || echo "  the ranks have different weights"
  left=$(find "$scratch/runtime/trainyard" -mindepth 1 -maxdepth 1 2>/dev/null || true)
  [ -z "$left" ] || echo "  sockets were left: $left"
}

failed=0
for number in $(seq "$runs"); do
  start=$EPOCHREALTIME result=ok
  violations=$(train "$number")
  [ -z "$violations" ] || result=VIOLATION
  rm -rf "$scratch/run-$number"
  awk -v number="$number" -v from="$start" -v to="$EPOCHREALTIME" -v result="$result" \
    'BEGIN { printf "run %-4d %6.1f s  %s\n", number, to - from, result }' |
    tee -a "$scratch/lines"
  if [ "$result" != ok ]; then
    echo "$violations"
    failed=$((failed + 1))
  fi
done
if [ "$(cat "$scratch"/weights-* | sort -u | wc -l)" -gt 1 ]; then
  echo "the runs have different weights"
  failed=$((failed + 1))
fi

sort -n -k 3 "$scratch/lines" | awk -v ranks="$ranks" '
  { seconds[NR] = $3; sum += $3 }
  END {
    printf "\n%5s %5s %12s %8s %8s\n", "ranks", "runs", "minimum, s", "mean, s", "max, s"
    printf "%5d %5d %12.1f %8.1f %8.1f\n", ranks, NR, seconds[1], sum / NR, seconds[NR]
  }'
echo "$failed violations"
[ "$failed" -eq 0 ]
