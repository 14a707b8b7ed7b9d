#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs on several machines compared with runs on one. Needs root: the machines are network
namespaces with real ssh servers (tests/process/machines/machines.sh).

    machines.py BIN [--repeat N]     BIN: directory of trainyard-cli

Prints, as medians of N repetitions:
  - the time from the start of `run` to the first step, on three hosts over ssh, with and without
    copying the agent (targets: 30 s and 4 s), and on this machine alone;
  - the step time of two hosts as a ratio of that of the same two ranks over ZeroMQ on one host
    (target: at most 1.1), in interleaved pairs.
"""
import argparse
import json
import pathlib
import statistics
import sys
import time

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "tests/process/machines"))
from machines import Machines  # noqa: E402


def drawn(hosts, addresses, transport):
    """The benchmark MLP, a device on each of the hosts; devices of one host if there is one."""
    document = json.loads((TREE / "resources/experiments/four_hosts_ring_digits.json").read_text())
    topology = document["topology"]
    topology["hosts"] = topology["hosts"][:hosts]
    topology["links"] = topology["links"][:hosts]
    for host, address in zip(topology["hosts"][1:], addresses):
        host["address"] = address
    document.setdefault("run", {})["transport"] = transport
    return document


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binaries", type=pathlib.Path, metavar="BIN")
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    few = ("--steps", "5", "--set", "data.train_samples=800", "--set", "data.held_out_samples=100")
    many = ("--steps", "300", "--set", "data.train_samples=8000", "--set",
            "data.held_out_samples=100", "--set", "run.evaluate_every_steps=0")
    with Machines(arguments.binaries.resolve(), 2) as machines:
        begun = time.monotonic()
        for machine in ("m1", "m2"):
            machines.cli("hosts", "add", machine, "--yes")
        adding = time.monotonic() - begun
        starts = {"three hosts over ssh": [], "this machine": []}
        ratios = []
        for _ in range(arguments.repeat):
            starts["three hosts over ssh"].append(
                machines.run(drawn(3, ["m1", "m2"], "zmq"), *few)["first_step_seconds"])
            starts["this machine"].append(machines.run(drawn(3, [], "zmq"), *few)["first_step_seconds"])
            far = machines.run(drawn(2, ["m1"], "zmq"), *many)
            near = machines.run(drawn(2, [], "zmq"), *many)
            ratios.append(far["step_seconds"]["median"] / near["step_seconds"]["median"])
        for name, seconds in starts.items():
            print(f"start to first step, {name}: {statistics.median(seconds):.2f} s "
                  f"({min(seconds):.2f} to {max(seconds):.2f})")
        print(f"including the copies of the agent to two machines: "
              f"{adding + statistics.median(starts['three hosts over ssh']):.1f} s")
        print(f"step time, two hosts / one host over ZeroMQ: {statistics.median(ratios):.3f} "
              f"({min(ratios):.3f} to {max(ratios):.3f})")


if __name__ == "__main__":
    main()
