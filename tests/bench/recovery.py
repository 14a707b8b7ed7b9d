#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kills a parameter server at random moments of a run that writes checkpoints, and continues from
the last checkpoint. Prints how often a committed step was lost, how often the final weights equal
those of an undisturbed run, and the time from the kill to the next step.

    tests/bench/recovery.py [--kills 200]
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLI = ROOT / "build" / "release" / "bin" / "trainyard-cli"
EXPERIMENT = ROOT / "resources" / "experiments" / "four_workers_parameter_server_digits.json"
SERVER = 4
STEPS = 600


def arguments(out, *more):
    return [
        str(CLI),
        "run",
        str(EXPERIMENT),
        "--json",
        "--steps",
        str(STEPS),
        "--out",
        str(out),
        "--set",
        "strategy.servers.mode=synchronous",
        "--set",
        "data.train_samples=512",
        "--set",
        "data.held_out_samples=64",
        "--set",
        "training.optimizer.momentum=0.9",
        "--set",
        "run.checkpoint_every_steps=10",
        *more,
    ]


def result_of(text):
    return json.loads(text.strip().splitlines()[-1])


def process_of_server(run):
    """Finds the process of a rank, which the coordinator started: its arguments name the rank."""
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
        if (
            parent == run.pid
            and b"--rank" in words
            and words[words.index(b"--rank") + 1] == str(SERVER).encode()
        ):
            return int(entry.name)
    return -1


def newest_whole(run_directory):
    """Returns the steps covered by a complete manifest, according to the run directory."""
    steps = [
        int(path.parent.name.removeprefix("step-"))
        for path in (run_directory / "checkpoints").glob("step-*/manifest.json")
    ]
    return max(steps, default=-1)


def kill_once(out, moment):
    run = subprocess.Popen(
        arguments(out / "first"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    time.sleep(moment)
    victim = process_of_server(run)
    if victim > 1:
        os.kill(victim, signal.SIGKILL)
    killed = time.monotonic()
    first = result_of(run.communicate()[0])
    return first, killed, victim > 1


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=200)
    wanted = parser.parse_args()
    scratch = pathlib.Path(tempfile.mkdtemp())
    begin = time.monotonic()
    whole = result_of(
        subprocess.run(
            arguments(scratch / "whole"), check=True, capture_output=True, text=True
        ).stdout
    )
    length = time.monotonic() - begin
    weights = whole["ranks"][0]["parameters_xxh64"]
    lost = other = kills = 0
    seconds = []
    random.seed(1)
    while kills < wanted.kills:
        out = pathlib.Path(tempfile.mkdtemp(dir=scratch))
        first, killed, met = kill_once(out, random.uniform(0, length))
        if not met or first["status"] == "completed":
            shutil.rmtree(out)
            continue  # the server had ended, or had not started
        kills += 1
        committed = first.get("committed_step", -1)
        there = newest_whole(out / "first") if (out / "first").exists() else -1
        if committed >= STEPS:
            shutil.rmtree(out)
            continue  # all steps were committed: nothing is left to train
        more = ["--resume", str(out / "first")] if committed >= 0 else []
        second = result_of(
            subprocess.run(arguments(out / "second", *more), capture_output=True, text=True).stdout
        )
        if second["status"] != "completed":
            sys.exit(f"the run does not resume from step {committed}: {second}")
        begun = second.get("first_step", 0)
        lost += begun < max(committed, there, 0)
        other += second["ranks"][0]["parameters_xxh64"] != weights
        seconds.append(
            time.monotonic() - killed - second["wall_seconds"] + second["first_step_seconds"]
        )
        shutil.rmtree(out)
    seconds.sort()
    print(
        f"{kills} kills of the server: committed steps lost in {lost}, different final weights in "
        f"{other}; training continues after {statistics.median(seconds):.2f} s (median), "
        f"{seconds[-1]:.2f} s (maximum)  (targets: 0, 0, <= 5 s)"
    )
    shutil.rmtree(scratch)
    return 0 if lost == 0 and other == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
