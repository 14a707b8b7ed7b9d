#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""All-reduce of Trainyard against Open MPI, MPICH, Gloo and torch.distributed on this machine.

    tests/bench/allreduce.py [--bin DIRECTORY] [--pairs N] [--bytes B,...] [--ranks N,...]
                             [--without PEER,...]

All programs take turns, with one measurement per round. For each program: the median time of a
round, as the median over rounds, and the minimum of all. Ratios: the median over rounds of the
ratio of two medians measured side by side, and the ratio of the minima. Every rank rewrites its
buffer before every all-reduce. Open MPI is measured with a separate buffer for the sum and in
place, each with default settings and with a malloc that keeps its memory (MALLOC_MMAP_MAX_=0); a
ratio is relative to the faster of the two. Peers spin: on a machine with other load, or with more
ranks than cores, medians say little about them and about us, so the load is printed. Peers that are
not installed are left out (packaging/setup --bench). "floor" is no peer but the limit of memory:
the same additions and copies by a plain loop on one core per rank, all in parallel. An algorithm
whose segments fit in caches can beat it. "zmq floor" is the time of ZeroMQ for two rounds between
two processes.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
KEEPS_MEMORY = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
    "MALLOC_TOP_PAD_": str(128 << 20),
}
MEASURES_AT_LEAST = 0.3  # approximate seconds per measurement


def build(work):
    """Compiles the available peers: name -> program."""
    peers = os.path.join(HERE, "allreduce_peer")
    recipes = {
        "open_mpi": ["mpicc.openmpi", "-O2", f"{peers}/mpi.c"],
        "mpich": ["mpicc.mpich", "-O2", f"{peers}/mpi.c"],
        "gloo": ["c++", "-O2", "-std=c++20", f"{peers}/gloo.cpp", "-lgloo", "-lpthread"],
        "floor": ["cc", "-O3", "-march=native", f"{peers}/floor.c"],
        "zmq_floor": ["cc", "-O3", f"{peers}/zmq_floor.c", "-lzmq"],
        "distance": ["cc", "-O2", f"{peers}/core_distance.c", "-lpthread"],
    }
    built = {}
    for name, command in recipes.items():
        program = os.path.join(work, name)
        sources = [word for word in command if word.endswith((".c", ".cpp"))]
        at = command.index(sources[0])
        if (
            shutil.which(command[0])
            and subprocess.run(
                command[:at] + ["-o", program] + command[at:], stderr=subprocess.DEVNULL
            ).returncode
            == 0
        ):
            built[name] = program
        else:
            print(f"{name} is left out: packaging/setup --bench installs it", file=sys.stderr)
    return built


class Measured:
    """Times of one program for one size: median and minimum, in seconds."""

    def __init__(self, options, work, built):
        self.options, self.work, self.built, self.turn = options, work, built, 0

    def own(self, size, ranks, repeat, *more):
        command = [
            f"{self.options.bin}/trainyard-cli",
            "bench",
            "allreduce",
            "--ranks",
            ranks,
            "--bytes",
            size,
            "--repeat",
            repeat,
            "--json",
            *more,
        ]
        line = subprocess.run(
            [str(word) for word in command], check=True, capture_output=True, text=True
        ).stdout.splitlines()[-1]
        seconds = json.loads(line)["seconds"]
        return seconds["median"], seconds["min"]

    def mpi(self, which, size, ranks, repeat, in_place, keeps_memory):
        environment = dict(
            os.environ,
            OMPI_ALLOW_RUN_AS_ROOT="1",
            OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
            **(KEEPS_MEMORY if keeps_memory else {}),
        )
        start = (
            [
                "mpirun.openmpi",
                "--oversubscribe",
                *(["--bind-to", "core"] if ranks <= len(os.sched_getaffinity(0)) else []),
            ]
            if which == "open_mpi"
            else ["mpirun.mpich"]
        )
        for name in KEEPS_MEMORY if keeps_memory and which == "open_mpi" else ():
            start += ["-x", name]
        command = [*start, "-n", ranks, self.built[which], size, repeat, int(in_place)]
        return self.printed(
            subprocess.run(
                [str(word) for word in command],
                check=True,
                capture_output=True,
                text=True,
                env=environment,
            ).stdout
        )

    def joined(self, program, size, ranks, repeat):
        """Starts ranks that find each other by a file."""
        self.turn += 1
        place = os.path.join(self.work, f"meet-{self.turn}")
        if len(program) == 1:
            os.mkdir(place)
        started = [
            subprocess.Popen(
                [*program, str(size), str(repeat), str(rank), str(ranks), place],
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank in range(ranks)
        ]
        outputs = [process.communicate()[0] for process in started]
        if any(process.returncode != 0 for process in started):
            raise RuntimeError(f"{program} failed")
        return self.printed(outputs[0])

    @staticmethod
    def printed(text):
        return tuple(float(word) for word in text.split()[:2])

    def contenders(self, size, ranks, repeat):
        """Returns name -> function that measures it once."""
        bound = ["--bind"] if ranks <= len(os.sched_getaffinity(0)) else []  # like mpirun.openmpi
        all_of = {
            "shm auto": lambda: self.own(size, ranks, repeat, "--algorithm", "auto", *bound),
            "shm ring": lambda: self.own(size, ranks, repeat, "--algorithm", "ring", *bound),
            "zmq ring": lambda: self.own(
                size,
                ranks,
                max(3, repeat // 4),
                "--algorithm",
                "ring",
                "--transport",
                "zmq",
                "--segment-bytes",
                2 << 20,
                *bound,
            ),
        }
        for which in ("open_mpi", "mpich"):
            if which in self.built:
                for kept in (False, True):
                    all_of[which + (" tuned" if kept else "")] = lambda which=which, kept=kept: min(
                        self.mpi(which, size, ranks, repeat, in_place, kept)
                        for in_place in (False, True)
                    )
        if "gloo" in self.built:
            all_of["gloo"] = lambda: self.joined(
                [self.built["gloo"]], size, ranks, max(3, repeat // 4)
            )
        if "floor" in self.built and ranks <= len(os.sched_getaffinity(0)):
            all_of["floor"] = lambda: self.printed(
                subprocess.run(
                    [self.built["floor"], str(size), str(repeat), str(ranks)],
                    check=True,
                    capture_output=True,
                    text=True,
                ).stdout
            )
        if "zmq_floor" in self.built and ranks == 2:
            all_of["zmq floor"] = lambda: self.printed(
                subprocess.run(
                    [self.built["zmq_floor"], str(size), str(max(3, repeat // 4)), self.work],
                    check=True,
                    capture_output=True,
                    text=True,
                ).stdout
            )
        if self.options.torch:
            program = [self.options.python, os.path.join(HERE, "allreduce_peer", "torch_gloo.py")]
            all_of["torch gloo"] = lambda: self.joined(program, size, ranks, max(3, repeat // 4))
        left_out = [name for name in self.options.without.split(",") if name]
        return {
            name: measure
            for name, measure in all_of.items()
            if not any(name.startswith(other) for other in left_out)
        }


def repeats(size, ranks):
    about = 4 * ranks * size / 1e9 + 20e-6
    return max(5, min(2000, int(MEASURES_AT_LEAST / about)))


def words(seconds):
    return f"{seconds * 1e6:9.1f} us" if seconds < 1e-3 else f"{seconds * 1e3:9.2f} ms"


def report(size, ranks, rounds):
    own = [name for name in rounds if name.startswith(("shm", "zmq ring"))]
    load = os.getloadavg()[0]
    print(f"\n{size} bytes, {ranks} ranks, {len(rounds[own[0]])} rounds, load {load:.1f}")
    print(
        f"  {'':15} {'median':>12} {'minimum':>12}   speedup of "
        + ", ".join(own)
        + " (ratio of medians/ratio of minima)"
    )
    for name, times in rounds.items():
        ratios = []
        for mine in own:
            by_medians = statistics.median(
                other[0] / self[0] for self, other in zip(rounds[mine], times)
            )
            by_minima = min(t[1] for t in times) / min(t[1] for t in rounds[mine])
            ratios.append(f"{by_medians:6.2f}/{by_minima:.2f}")
        median = words(statistics.median(t[0] for t in times))
        minimum = words(min(t[1] for t in times))
        print(f"  {name:15} {median} {minimum}   " + " ".join(ratios), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=os.path.join(HERE, "../../build/release/bin"))
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--bytes", default="4096,65536,1048576,16777216,67108864")
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument(
        "--without", default="", help="peers to leave out, by their printed names: mpich,torch"
    )
    parser.add_argument("--python", default="/usr/bin/python3", help="interpreter that may have torch")
    options = parser.parse_args()
    options.torch = (
        subprocess.run(
            [options.python, "-c", "import torch.distributed"], capture_output=True
        ).returncode
        == 0
    )
    with tempfile.TemporaryDirectory() as work:
        built = build(work)
        cores = sorted(os.sched_getaffinity(0))
        if "distance" in built and len(cores) > 1:
            for core in cores[1:]:
                distance = subprocess.run(
                    [built["distance"], str(cores[0]), str(core)], capture_output=True, text=True
                ).stdout.strip()
                print(
                    f"a cache line from core {cores[0]} to core {core}: {distance} ns; "
                    f"{len(cores)} cores"
                )
        measured = Measured(options, work, built)
        for ranks in (int(word) for word in options.ranks.split(",")):
            for size in (int(word) for word in options.bytes.split(",")):
                contenders = measured.contenders(size, ranks, repeats(size, ranks))
                rounds = {name: [] for name in contenders}
                for _ in range(options.pairs):
                    for name, measure in contenders.items():
                        rounds[name].append(measure())
                report(size, ranks, rounds)


if __name__ == "__main__":
    main()
