#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
usage='Measures long runs: tests/soak/long_run.sh BIN [STEPS]... BIN: directory of the built programs.
Four ranks train an MLP 64-8-10 with batch 1, by default for 200000, 400000 and 1000000 steps.
Prints the size on disk and the memory of the coordinator at the start and at the end. Verifies each
run. Exits with 1 if a run of at most 1000000 steps needs more than 200 MB on disk, or 150 MB more
memory than at its start.'
set -euo pipefail
if [ $# -lt 1 ] || [ "$1" = --help ]; then
  echo "$usage"
  [ "${1:-}" = --help ] && exit 0 || exit 2
fi
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly root cli=$1/trainyard-cli
shift
steps=("$@")
if [ ${#steps[@]} -eq 0 ]; then steps=(200000 400000 1000000); fi
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

cat > "$scratch/long.json" <<'JSON'
{
  "version": 2,
  "name": "Long run",
  "topology": {"hosts": [{"name": "host0", "devices": [{"name": "cpu", "count": 4}]}]},
  "model": {"layers": [{"kind": "linear", "units": 8}, {"kind": "relu"}, {"kind": "linear"}]},
  "data": {"kind": "blobs", "features": 64, "classes": 10, "train_samples": 8000},
  "strategy": {"kind": "mirrored"},
  "training": {"batch_per_rank": 1, "optimizer": {"kind": "sgd", "learning_rate": 0.001}},
  "run": {"evaluate_every_steps": 20000}
}
JSON

resident_kb() { awk '/^VmRSS/ {print $2}' "/proc/$1/status" 2> /dev/null || true; }

failed=0
echo "steps disk_mb memory_start_mb memory_end_mb seconds"
for count in "${steps[@]}"; do
  run=$scratch/run-$count
  began=$SECONDS
  "$cli" run "$scratch/long.json" --steps "$count" --out "$run" --json > "$run.out" &
  coordinator=$!
  until [ -s "$run/recording.try" ]; do sleep 0.1; done
  sleep 1
  first=$(resident_kb $coordinator)
  last=$first
  while kill -0 $coordinator 2> /dev/null; do
    now=$(resident_kb $coordinator)
    last=${now:-$last}
    sleep 1
  done
  wait $coordinator
  disk=$(du -sb "$run" | cut -f1)
  echo "$count $((disk / 1000000)) $((first / 1000)) $((last / 1000)) $((SECONDS - began))"
  if [ "$count" -le 1000000 ] && { [ "$disk" -gt 200000000 ] || [ $((last - first)) -gt 150000 ]; }; then
    failed=1
  fi
  "$cli" verify "$run" --json | tail -1
  rm -rf "$run"
done
exit $failed
