#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cost of offloading outputs and moments, and the share of the copies that overlaps computation: a
GPT on one device with one core, while the copying thread has the other core. Each kind of
offloading runs right after the same training without it, in alternating order. The ratio is that of
the two median steps of a pair; prints medians over the pairs. Hidden time is the part of the time
between begin and end of all OUT and IN ops of a step, as recorded, in which an op was computed.
Time in which several ops of one kind overlap counts once.

    tests/bench/swap.py [--steps 40] [--repeat 3] [--ranks 1] [--batch 16]
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLI = ROOT / "build" / "release" / "bin" / "trainyard-cli"
EXPERIMENT = ROOT / "resources" / "experiments" / "two_devices_gpt_grammar.json"
FIRST = 5  # warm-up steps
KINDS = {
    "host": ("host", "host"),
    "disk": ("disk", "disk"),
    "host, outputs alone": ("host", "nowhere"),
}  # outputs, moments


def call(arguments):
    done = subprocess.run(
        [str(CLI), *map(str, arguments)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def document(options, outputs, moments):
    drawn = json.loads(EXPERIMENT.read_text())
    devices = drawn["topology"]["hosts"][0]["devices"]
    devices[:] = [dict(devices[0], name=f"cpu{rank}") for rank in range(options.ranks)]
    drawn["strategy"]["kind"] = "one_device" if options.ranks == 1 else "mirrored"
    for layer in drawn["model"]["layers"]:
        layer["width"] = 128
        layer["blocks"] = 4
    drawn["training"].update(batch_per_rank=options.batch, epochs=1000)
    drawn["training"]["swap"].update(activations=outputs, optimizer=moments)
    return drawn


def trained(options, outputs, moments):
    """Returns the median step in seconds, the ops after the warm-up, and the result."""
    with tempfile.TemporaryDirectory() as name:
        home = pathlib.Path(name)
        experiment, run, trace = home / "experiment.json", home / "run", home / "trace.json"
        experiment.write_text(json.dumps(document(options, outputs, moments)))
        result = json.loads(
            call(
                ["run", experiment, "--json", "--steps", options.steps, "--out", run]
            ).splitlines()[-1]
        )
        call(["export", run, "--format", "trace", "--out", trace])
        events = json.loads(trace.read_text())["traceEvents"]
    ops = [
        event
        for event in events
        if event.get("cat") == "op"
        and event["args"]["program"] == "train"
        and event["args"]["step"] >= FIRST
    ]
    lanes = {
        (event["pid"], event["tid"]): event["args"]["name"]
        for event in events
        if event.get("name") == "thread_name"
    }
    return (
        result["step_seconds"]["median"],
        [dict(op, lane=lanes[op["pid"], op["tid"]]) for op in ops if op["pid"] == 0],
        result,
    )


def union(ops):
    """Returns the disjoint intervals in which any of the ops was running, in order."""
    stretches = []
    for begin, end in sorted((op["ts"], op["ts"] + op["dur"]) for op in ops):
        if stretches and begin <= stretches[-1][1]:
            stretches[-1][1] = max(stretches[-1][1], end)
        else:
            stretches.append([begin, end])
    return stretches


def length(stretches):
    return sum(end - begin for begin, end in stretches)


def common(a, b):
    """Returns the time covered by intervals of both lists."""
    time = i = j = 0
    while i < len(a) and j < len(b):
        time += max(0, min(a[i][1], b[j][1]) - max(a[i][0], b[j][0]))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return time


def hidden(ops):
    """Returns medians over the steps: seconds of copying, the hidden share, and bytes copied."""
    by_step = {}
    for op in ops:
        by_step.setdefault(op["args"]["step"], []).append(op)
    figures = []
    for of_step in by_step.values():
        copies = [op for op in of_step if op["lane"] == "copy"]
        copying, computing = union(copies), union(op for op in of_step if op["lane"] == "compute")
        figures.append(
            (
                length(copying) * 1e-6,
                common(copying, computing) / length(copying),
                sum(op["args"]["bytes"] for op in copies),
            )
        )
    return [statistics.median(column) for column in zip(*figures)]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--batch", type=int, default=16)
    options = parser.parse_args()
    threads, cores = 2 * options.ranks, len(os.sched_getaffinity(0))
    print(
        f"{options.ranks} ranks and as many copying threads, "
        + ("each with its own core" if threads <= cores else f"on {cores} cores")
    )
    print("offloaded             without     with    ratio   copies per step    hidden")
    for kind, (outputs, moments) in KINDS.items():
        pairs = []
        for _ in range(options.repeat):
            without, _, _ = trained(options, "nowhere", "nowhere")
            offloaded, ops, _ = trained(options, outputs, moments)
            pairs.append((without, offloaded, offloaded / without, *hidden(ops)))
        without, offloaded, ratio, copying, part, copied = (
            statistics.median(column) for column in zip(*pairs)
        )
        print(
            f"{kind:20s} {without * 1e3:6.1f} ms {offloaded * 1e3:6.1f} ms  {ratio:6.3f}  "
            f"{copying * 1e3:6.1f} ms {copied / 1e6:5.1f} MB  {part:7.1%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
