#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs on several machines compared with runs on one. Needs root: the machines are network
namespaces with real ssh servers (tests/process/machines/machines.sh).

    machines.py BIN [--repeat N]     BIN: directory of trainyard-cli

Prints, as medians of N repetitions:
  - the time from the start of `run` to the first step, on three hosts over ssh, with and without
    copying the agent (targets: 30 s and 4 s), and on this machine alone;
  - the same with agents that joined by invitation, which run already (target: 1 s);
  - the step time of two hosts as a ratio of that of the same two ranks over ZeroMQ on one host
    (target: at most 1.1), in interleaved pairs, with encryption and without;
  - the time until N agents have joined one listener (--agents N, target: 20 s for 30).
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


def unencrypted(document):
    return {**document, "network": {"encryption": "none", "trusted": ["10.91.0.0/24"]}}


def join(machines, count):
    """Starts agents that join as joined:a0, ... on m1 and m2 in turn. Returns the time until all
    have joined."""
    listen = machines.cli("hosts", "listen", "--address", "10.91.0.1", "--machines", str(count),
                          "--json")
    invitation = json.loads(listen.splitlines()[-1])["invitation"]
    begun = time.monotonic()
    for agent in range(count):
        machines.on_coordinator(
            "sh", "-c",
            f"exec nsenter --target $(pgrep -f '^unshare .* {1 + agent % 2} ?{machines.binaries}' | "
            f"xargs -n 1 pgrep -P) --all sh -c 'setsid setpriv --reuid=1777 --regid=1777 "
            f"--clear-groups env -u XDG_RUNTIME_DIR HOME=/mnt/home sh -c \"exec /mnt/home/.cache/trainyard/agents/*/bin/"
            f"trainyard-agent join {invitation} --yes --name a{agent}\" </dev/null "
            ">/dev/null 2>&1 &'")
    while machines.cli("hosts", "list", "--json").count('"joined"') < count:
        time.sleep(0.05)
    return time.monotonic() - begun


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binaries", type=pathlib.Path, metavar="BIN")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--agents", type=int, default=30)
    arguments = parser.parse_args()
    few = ("--steps", "5", "--set", "data.train_samples=800", "--set", "data.held_out_samples=100")
    many = ("--steps", "300", "--set", "data.train_samples=8000", "--set",
            "data.held_out_samples=100", "--set", "run.evaluate_every_steps=0")
    with Machines(arguments.binaries.resolve(), 2) as machines:
        begun = time.monotonic()
        for machine in ("m1", "m2"):
            machines.cli("hosts", "add", machine, "--yes")
        adding = time.monotonic() - begun
        joining = join(machines, arguments.agents)
        starts = {"three hosts over ssh": [], "three hosts, agents running": [], "this machine": []}
        ratios = {"encrypted": [], "not encrypted": []}
        for _ in range(arguments.repeat):
            starts["three hosts over ssh"].append(
                machines.run(drawn(3, ["m1", "m2"], "zmq"), *few)["first_step_seconds"])
            starts["three hosts, agents running"].append(
                machines.run(drawn(3, ["joined:a0", "joined:a1"], "zmq"),
                             *few)["first_step_seconds"])
            starts["this machine"].append(machines.run(drawn(3, [], "zmq"), *few)["first_step_seconds"])
            near = machines.run(drawn(2, [], "zmq"), *many)["step_seconds"]["median"]
            far = drawn(2, ["m1"], "zmq")
            for name, document in (("encrypted", far), ("not encrypted", unencrypted(far))):
                ratios[name].append(machines.run(document, *many)["step_seconds"]["median"] / near)
        machines.cli("hosts", "listen", "--stop")
        for name, seconds in starts.items():
            print(f"start to first step, {name}: {statistics.median(seconds):.2f} s "
                  f"({min(seconds):.2f} to {max(seconds):.2f})")
        print(f"including the copies of the agent to two machines: "
              f"{adding + statistics.median(starts['three hosts over ssh']):.1f} s")
        for name, ratio in ratios.items():
            print(f"step time, two hosts / one host over ZeroMQ, {name}: "
                  f"{statistics.median(ratio):.3f} ({min(ratio):.3f} to {max(ratio):.3f})")
        print(f"{arguments.agents} agents joined within {joining:.1f} s")


if __name__ == "__main__":
    main()
