#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trains with paced devices and imposed links on several drawn layouts, and compares the median
step with the simulated one.

    tests/soak/paced_layouts.py BIN [--steps 5] [--allowed 0.03] [NAME...]

Devices and links are drawn so slow that the machine is not the limit: a step takes about a second,
and waking four ranks on two cores takes about 10 ms of it. Prints a line for each layout and exits
with 1 if a median differs from the simulation by more than --allowed. NAME: only layouts whose name
contains it. All of them take about six minutes on two cores, which must be idle.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

MEGABIT = 1e6
LINK = {"bandwidth_bits_per_second": 15 * MEGABIT, "latency_seconds": 200e-6}
MODEL = {
    "layers": [
        {"kind": "linear", "units": 256},
        {"kind": "relu"},
        {"kind": "linear", "units": 128},
        {"kind": "relu"},
        {"kind": "linear"},
    ]
}


def host(number, devices=1, roles=()):
    return {
        "name": f"host{number}",
        "bus_bandwidth_bits_per_second": 50 * MEGABIT,
        "devices": [
            {
                "name": f"cpu{number}{chr(97 + device)}",
                "kind": "cpu",
                "peak_flops": 1.25e8,
                **({"role": roles[device]} if device < len(roles) else {}),
            }
            for device in range(devices)
        ],
    }


def linked(hosts, links, switches=()):
    return {
        "hosts": hosts,
        "switches": [{"name": name} for name in switches],
        "links": [{"from": a, "to": b, **LINK} for a, b in links],
    }


def chain(count):
    return linked(
        [host(i) for i in range(count)],
        [(f"host{i}", f"host{i + 1}") for i in range(count - 1)],
    )


def star(count):
    return linked(
        [host(i) for i in range(count)],
        [(f"host{i}", "switch") for i in range(count)],
        ["switch"],
    )


def ring(count):
    return linked(
        [host(i) for i in range(count)],
        [(f"host{i}", f"host{(i + 1) % count}") for i in range(count)],
    )


ONE_HOST = linked([host(0, 4)], [])
TWO_HOSTS = linked([host(0, 2), host(1, 2)], [("host0", "host1")])
SERVERS = linked(
    [host(i) for i in range(3)] + [host(3, 1, ["parameter_server"])],
    [(f"host{i}", "switch") for i in range(4)],
    ["switch"],
)
DRAWINGS = {
    "chain": chain(4),
    "switch": star(4),
    "ring of links": ring(4),
    "one host": ONE_HOST,
    "two hosts": TWO_HOSTS,
}
FLAT = ["ring", "direct", "halving_doubling", "binary_tree", "double_binary_tree", "star"]
HIERARCHICAL = ["leader_hierarchical", "sharded_hierarchical"]

# (name, drawing, strategy)
LAYOUTS = [
    (f"{algorithm}, {name}", drawing, {"kind": "mirrored", "algorithm": algorithm})
    for name, drawing in DRAWINGS.items()
    for algorithm in FLAT + ["all_to_all"] + HIERARCHICAL * (name == "two hosts")
] + [
    ("small buckets, chain", DRAWINGS["chain"], {"kind": "mirrored", "bucket_bytes": 100_000}),
    ("fsdp, chain", DRAWINGS["chain"], {"kind": "fsdp"}),
    ("gossip, chain", DRAWINGS["chain"], {"kind": "gossip"}),
    ("local_sgd, chain", DRAWINGS["chain"], {"kind": "local_sgd"}),
    ("servers, switch", SERVERS, {"kind": "parameter_server", "servers": {"mode": "synchronous"}}),
]


def experiment(name, drawing, strategy, transport):
    return {
        "version": 2,
        "name": name,
        "topology": drawing,
        "model": MODEL,
        "data": {"kind": "digits", "train_samples": 4000, "held_out_samples": 100},
        "strategy": strategy,
        "training": {"batch_per_rank": 32, "optimizer": {"kind": "sgd"}},
        "run": {
            "transport": transport,
            "links": "imposed",
            "devices": "paced",
            "evaluate_every_steps": 1_000_000,
        },
    }


def measured(cli, scratch, document, steps):
    file = scratch / "experiment.json"
    file.write_text(json.dumps(document))
    run = subprocess.run(
        [cli, "run", file, "--steps", str(steps), "--json"],
        capture_output=True,
        text=True,
        timeout=600,
    )
    if run.returncode != 0:
        return None, run.stderr.strip() or run.stdout.strip()
    result = json.loads(run.stdout.splitlines()[-1])
    return (result["step_seconds"]["median"], result["simulated_step_seconds"]), ""


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--allowed", type=float, default=0.03)
    parser.add_argument("--transport", default="shm", choices=["shm", "zmq", "inproc"])
    parser.add_argument("names", nargs="*")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        scratch = pathlib.Path(directory)
        runtime = scratch / "runtime"
        runtime.mkdir(mode=0o700)
        os.environ.update(
            HOME=directory, XDG_DATA_HOME=str(scratch / "data"), XDG_RUNTIME_DIR=str(runtime)
        )
        outside = 0
        for name, drawing, strategy in LAYOUTS:
            if wanted.names and not any(part in name for part in wanted.names):
                continue
            document = experiment(name, drawing, strategy, wanted.transport)
            seconds, problem = measured(
                wanted.bin / "trainyard-cli", scratch, document, wanted.steps
            )
            if seconds is None:
                outside += 1
                print(f"{name}: FAILED: {problem}", flush=True)
                continue
            median, simulated = seconds
            longer = median / simulated - 1
            is_outside = abs(longer) > wanted.allowed
            outside += is_outside
            print(
                f"{name}: {1e3 * median:.1f} ms, simulated {1e3 * simulated:.1f} ms, "
                f"{100 * longer:+.1f} %{' OUTSIDE' if is_outside else ''}",
                flush=True,
            )
        print(f"outside {100 * wanted.allowed:g} %, or failed: {outside}")
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
