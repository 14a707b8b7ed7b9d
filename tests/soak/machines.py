#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trains every example on three machines, with its devices dealt as 1:2:4, and on one machine, and
compares the saved weights and the bytes. Needs root: the machines are network namespaces with real
ssh servers (tests/process/machines/machines.sh). Exits 1 if a pair differs.

    tests/soak/machines.py BIN [--steps 6]     BIN: directory of trainyard-cli

Omits examples that several machines do not support, and says why. Asynchronous runs depend on the
order of messages, so only their end is compared.
"""
import argparse
import hashlib
import json
import pathlib
import sys

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "tests/process/machines"))
from machines import Machines  # noqa: E402

SMALL = ("--set", "data.train_samples=800", "--set", "data.held_out_samples=100")


def spread(document, addresses):
    """The experiment with its devices on three hosts, which a switch connects."""
    devices = []
    for host in document["topology"]["hosts"]:
        for device in host["devices"]:
            count = device.pop("count", 1)
            devices += [dict(device, name=f"{device['name']}{k if count > 1 else ''}")
                        for k in range(count)]
    first = max(1, len(devices) // 7)
    second = first + max(1, 2 * len(devices) // 7)
    parts = [devices[:first], devices[first:second], devices[second:]]
    hosts = [{"name": f"host{k}", "devices": part} for k, part in enumerate(parts) if part]
    for host, address in zip(hosts, addresses):
        host["address"] = address
    document["topology"] = {
        "hosts": hosts,
        "switches": [{"name": "switch"}],
        "links": [{"from": host["name"], "to": "switch"} for host in hosts],
    }
    return document


def is_asynchronous(document):
    strategy = document.get("strategy", {})
    servers = strategy.get("kind") == "parameter_server"
    return (servers and strategy.get("servers", {}).get("mode") != "synchronous") or (
        strategy.get("gossip", {}).get("mode") == "asynchronous")


def weights(machines, result):
    machines.on_coordinator("rm", "-f", "/mnt/weights")
    machines.cli("export", result["run_directory"], "--format", "safetensors", "--out",
                 "/mnt/weights")
    return hashlib.sha256((machines.files() / "weights").read_bytes()).hexdigest()


def compare(machines, name, document, steps):
    """Returns a line about the example, and true unless the two runs differ."""
    settings = ("--steps", str(steps)) + SMALL
    if document.get("strategy", {}).get("gossip", {}).get("graph") == "drawn":
        settings += ("--set", "strategy.gossip.graph=ring")
    try:
        far = machines.run(spread(json.loads(json.dumps(document)), ["m1", "m2"]), *settings)
    except RuntimeError as problem:
        reasons = [line for line in str(problem).splitlines() if line.startswith("error")]
        supported = not any(word in str(problem) for word in (
            "not supported if ranks run on other machines", "one host", "same host", "neighbors",
            "the file does not exist", "hosts"))
        return f"{'FAILED' if supported else 'omitted'}: {name}: {reasons[0] if reasons else problem}", not supported
    near = machines.run(spread(json.loads(json.dumps(document)), []), *settings)
    if is_asynchronous(document):
        return f"completed: {name}", far["status"] == near["status"] == "completed"
    alike = (weights(machines, far) == weights(machines, near)
             and far["wire_bytes"] == near["wire_bytes"])
    return f"{'equal' if alike else 'DIFFERENT'}: {name}", alike


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binaries", type=pathlib.Path, metavar="BIN")
    parser.add_argument("--steps", type=int, default=6)
    arguments = parser.parse_args()
    good = True
    with Machines(arguments.binaries.resolve(), 2) as machines:
        for machine in ("m1", "m2"):
            machines.cli("hosts", "add", machine, "--yes")
        for path in sorted((TREE / "resources/experiments").glob("*.json")):
            line, alike = compare(machines, path.stem, json.loads(path.read_text()),
                                  arguments.steps)
            print(line, flush=True)
            good = good and alike
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
