#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Idle share of the ranks of a pipeline, compared with the formula (p-1)/(m+p-1) of GPipe (Huang et
al. 2019, section 2) and 1F1B for equal stages. The model is a GPT of 8 blocks, partitioned by
measured times. As in the timeline, the idle share of a step is 1 - busy / (p x makespan), from the
first begin to the last end of all cells (the work of a rank on one micro-batch in one pass),
without the update. The result is the median of the steps after the first ten. Stages are never
exactly equal, so the formula's value for stages that take t[i] per micro-batch, as measured, is
printed too: a makespan of sum t + (m-1) max t. Each rank needs a core. With fewer cores, or with
--paced, devices are drawn slow, partitioned by cost, and paced to the drawn speed, which is
printed: two cores then take the same time for the same work, as the formula assumes.

    tests/bench/bubble.py [--ranks 2] [--steps 60] [--repeat 3] [--micro-batches 2 4 8] [--paced]
"""
import argparse
import itertools
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLI = ROOT / "build" / "release" / "bin" / "trainyard-cli"
EXPERIMENT = ROOT / "resources" / "experiments" / "two_devices_gpt_grammar.json"
SLOW = 2e10  # flop/s of all devices that share a core, if they are paced
FIRST = 10  # warm-up steps
PASS = re.compile(r"(F|B|W|LOSS)\b.*\.m(\d+)$")


def cores():
    return len(os.sched_getaffinity(0))


def share_cores(ranks):
    return cores() < ranks


def call(arguments):
    done = subprocess.run(
        [str(CLI), *map(str, arguments)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))} failed:\n{done.stdout}{done.stderr}")


def trained(home, ranks, schedule, micro_batches, steps, paced):
    """Returns all ops of a run, from its trace."""
    document = json.loads(EXPERIMENT.read_text())
    devices = document["topology"]["hosts"][0]["devices"]
    devices[:] = [dict(devices[0], name=f"cpu{rank}") for rank in range(ranks)]
    for layer in document["model"]["layers"]:
        if layer["kind"] == "embedding":
            layer["width"] = 128
        if layer["kind"] == "transformer":
            layer["blocks"] = 8
    document["strategy"]["kind"] = "pipeline"
    document["strategy"]["stages"].update(
        schedule=schedule, partition="cost" if paced else "measured"
    )
    if paced:
        document["run"]["devices"] = "paced"
        for device in devices:
            device["peak_flops"] = SLOW / math.ceil(ranks / cores())
    document["training"].update(accumulation_steps=micro_batches, epochs=1000)
    document["run"]["evaluate_every_steps"] = 0
    experiment, run, trace = home / "experiment.json", home / "run", home / "trace.json"
    experiment.write_text(json.dumps(document))
    call(["run", experiment, "--json", "--steps", steps, "--out", run])
    call(["export", run, "--format", "trace", "--out", trace])
    loaded = json.loads(trace.read_text())
    return [
        event
        for event in (loaded["traceEvents"] if isinstance(loaded, dict) else loaded)
        if event.get("cat") == "op"
    ]


def cells(ops):
    """Returns (begin, end) of each cell of a rank in a step: consecutive ops of one pass of one
    micro-batch."""
    passes = sorted(
        (op["ts"], op["ts"] + op["dur"], found) for op in ops if (found := PASS.match(op["name"]))
    )
    for _, group in itertools.groupby(passes, key=lambda op: (op[2][1] == "F", op[2][2])):
        of_cell = list(group)
        yield of_cell[0][0], max(end for _, end, _ in of_cell)


def bubble(ranks, micro_batches, ops):
    """Returns for a step the measured idle share, that of the formula for stages with these busy
    times, and the busy time of the slowest stage divided by the mean."""
    by_rank = [list(cells(op for op in ops if op["pid"] == rank)) for rank in range(ranks)]
    begin, end = min(cell[0] for rank in by_rank for cell in rank), max(
        cell[1] for rank in by_rank for cell in rank
    )
    busy = [sum(to - since for since, to in rank) for rank in by_rank]
    makespan = (sum(busy) + (micro_batches - 1) * max(busy)) / micro_batches
    return (
        1 - sum(busy) / (ranks * (end - begin)),
        1 - sum(busy) / (ranks * makespan),
        max(busy) * ranks / sum(busy),
    )


def measured(ranks, schedule, micro_batches, steps, paced):
    """Returns medians over the steps of a run."""
    with tempfile.TemporaryDirectory() as home:
        ops = trained(pathlib.Path(home), ranks, schedule, micro_batches, steps, paced)
    by_step = {}
    for op in ops:
        if op["args"]["program"] == "train" and op["args"]["step"] >= FIRST:
            by_step.setdefault(op["args"]["step"], []).append(op)
    return [
        statistics.median(column)
        for column in zip(*(bubble(ranks, micro_batches, of_step) for of_step in by_step.values()))
    ]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--micro-batches", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--paced", action="store_true", help="pace the devices to their drawn speed, as if ranks shared cores")
    options = parser.parse_args()
    ranks, paced = options.ranks, options.paced or share_cores(options.ranks)
    print(
        f"{ranks} ranks, "
        + ("sharing cores" if share_cores(ranks) else "each with its own core")
        + (": devices are paced to their drawn speed" if paced else "")
    )
    print("bubble fractions; expected: the formula applied to the measured times of the stages")
    print(
        "schedule   m  formula  expected  measured  measured/formula  measured/expected  slowest stage"
    )
    for schedule, micro_batches in itertools.product(("gpipe", "1f1b"), options.micro_batches):
        formula = (ranks - 1) / (micro_batches + ranks - 1)
        idle, expected, slowest = (
            statistics.median(column)
            for column in zip(
                *(
                    measured(ranks, schedule, micro_batches, options.steps, paced)
                    for _ in range(options.repeat)
                )
            )
        )
        print(
            f"{schedule:8s} {micro_batches:3d}  {formula:7.3f}  {expected:8.3f}  {idle:8.3f}  "
            f"{idle / formula:16.3f}  {idle / expected:17.3f}  {slowest:.3f} of the mean",
            flush=True,
        )


if __name__ == "__main__":
    main()
