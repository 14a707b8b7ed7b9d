# SPDX-License-Identifier: GPL-3.0-or-later
# Functions that run trainyard-cli and read its results. Sourced.

on_gpu=(--set 'topology.hosts[0].devices[0].kind=gpu' --set 'topology.hosts[0].devices[0].gpu=0')

example() { echo "$TRAINYARD_RESOURCES/experiments/$1.json"; }

# trains SECONDS STEPS EXPERIMENT [--set SETTING]...: prints the result line of a run.
trains() {
  local steps=$2
  if [ -n "$small" ]; then steps=3; fi
  limited "$1" "$bin/trainyard-cli" run "$3" --json --steps "$steps" --set data.held_out_samples=0 "${@:4}" 2>"$work/why" | tail -1
}

# figure NAME: prints a value of that line; the median if it has several.
figure() { sed -n "s/.*\"$1\":{\{0,1\}\(\"median\":\)\{0,1\}\"\{0,1\}\([^,\"}]*\).*/\2/p"; }

# median SECONDS STEPS EXPERIMENT [--set SETTING]...: prints the median step in seconds; nothing if
# the run failed.
median() { trains "$@" | figure step_seconds | grep '^[0-9]' || true; }
