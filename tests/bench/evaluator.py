#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cost of an evaluator for training ranks: samples per second of one worker and one server that
writes a checkpoint every 250 steps, with and without an evaluator that measures each of them. The
result is the ratio of the two, in pairs of alternating order, because machines are noisy. On two
cores, which worker and server fill, the loss is what a process at the lowest priority takes of
caches and memory. With --paced, devices compute at a drawn speed and leave the cores to other
processes, so that the loss is only time spent waiting.

    tests/bench/evaluator.py [--pairs 15] [--steps 4000] [--paced]
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLI = ROOT / "build" / "release" / "bin" / "trainyard-cli"
EXPERIMENT = ROOT / "resources" / "experiments" / "four_workers_parameter_server_digits.json"
EVERY = 250


SLOW = 5e9  # flop/s of a device that leaves most of a core to others


def run(out, steps, evaluator, paced):
    roles = ["worker", "idle", "idle", "evaluator" if evaluator else "idle", "parameter_server"]
    settings = [f"topology.hosts[0].devices[{i}].role={role}" for i, role in enumerate(roles)]
    settings += [
        "training.epochs=1000",
        f"run.checkpoint_every_steps={EVERY}",
        f"run.evaluate_every_steps={EVERY if evaluator else 0}",
    ]
    if paced:
        settings += ["run.devices=paced"] + [
            f"topology.hosts[0].devices[{i}].peak_flops={SLOW}" for i in (0, 4)
        ]
    command = [str(CLI), "run", str(EXPERIMENT), "--json", "--steps", str(steps), "--out", str(out)]
    for setting in settings:
        command += ["--set", setting]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def evaluations(run_directory):
    """Returns the number of checkpoints that the evaluator measured."""
    table = run_directory / "run.csv"
    subprocess.run(
        [str(CLI), "export", str(run_directory), "--format", "csv", "--out", str(table)],
        check=True,
        capture_output=True,
    )
    return sum(line.startswith("held_out_loss,") for line in table.read_text().splitlines())


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--paced", action="store_true")
    options = parser.parse_args()
    ratios, measured = [], []
    with tempfile.TemporaryDirectory() as home:
        for pair in range(options.pairs):
            speeds = {}
            for evaluator in (pair % 2 == 0, pair % 2 == 1):
                out = pathlib.Path(home) / f"{pair}-{evaluator}"
                speeds[evaluator] = run(out, options.steps, evaluator, options.paced)[
                    "samples_per_second"
                ]
                if evaluator:
                    measured.append(evaluations(out))
            ratios.append(speeds[True] / speeds[False])
            print(
                f"{speeds[False]:10.0f} samples/s without an evaluator, {speeds[True]:10.0f} with one "
                f"({measured[-1]:3d} evaluations): ratio {ratios[-1]:.3f}",
                flush=True,
            )
    quarters = statistics.quantiles(ratios, n=4)
    print(
        f"samples/s with an evaluator / without: {statistics.median(ratios):.3f} "
        f"(quartiles {quarters[0]:.3f} and {quarters[2]:.3f}, {options.pairs} pairs)"
    )


if __name__ == "__main__":
    main()
