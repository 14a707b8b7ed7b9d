# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of trainyard-cli for kills.py and suspend.py: start a run in private directories, find its
processes, read its recording, and list what it left behind."""
import contextlib
import json
import math
import os
import pathlib
import random
import re
import signal
import struct
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXPERIMENTS = ROOT / "resources" / "experiments"
SHORT = [
    "data.train_samples=1000",
    "data.held_out_samples=100",
    "run.evaluate_every_steps=1000000",
    "run.record_ops=false",
]
ENDLESS = 10_000_000  # steps
FILES = re.compile(  # documented files of a run directory
    r"(experiment|resolved|result)\.json|plan\.txt|(recording(\.recent-\d+)?|order)\.try|run\.log"
    r"|logs/ranks?(-\d+)?\.log|checkpoints/step-\d+/([\w-]+\.safetensors|manifest\.json)"
)
FRAME_HEADER = struct.Struct("<4sIiII")  # magic, type, rank, length, checksum
STATE_FRAME, CHECKSUM_BYTES = 5, 4


def wait_until(seconds, condition):
    """Polls every 20 ms. Returns the last value of the condition."""
    end = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return value


def signal_process(pid, number):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def read_process(pid, name):
    """Content of /proc/PID/NAME; empty if the process is gone."""
    try:
        return pathlib.Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def process_state(pid):
    """R, S, T (stopped), Z (zombie), ...; X if the process is gone."""
    fields = read_process(pid, "stat").rpartition(b")")[2].split()
    return fields[0].decode() if fields else "X"


def json_lines(path):
    for line in path.read_text(errors="replace").splitlines():
        with contextlib.suppress(ValueError):
            value = json.loads(line)
            if isinstance(value, dict):
                yield value


class StartedRun:
    """`trainyard-cli run` with endless steps. HOME, run directory and sockets are in `scratch`."""

    def __init__(self, programs, scratch, experiment, overrides):
        self.directory = scratch / "run"
        self.runtime = scratch / "runtime"
        self.out, self.err = scratch / "out", scratch / "err"
        self.runtime.mkdir(parents=True, mode=0o700)
        command = [programs / "trainyard-cli", "run", EXPERIMENTS / f"{experiment}.json", "--json"]
        command += ["--steps", str(ENDLESS), "--out", self.directory]
        for override in SHORT + overrides:
            command += ["--set", override]
        self.command = " ".join(map(str, command))
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            # A process group that is not orphaned: the kernel ignores SIGTSTP in an orphaned one.
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=self.environment(scratch),
                process_group=0,
            )
        self.pid = self.process.pid
        self.found_states, self.offset = [], 0  # what `states` has read

    def environment(self, scratch):
        values = {k: v for k, v in os.environ.items() if not k.startswith("XDG_")}
        values |= {"HOME": str(scratch), "TRAINYARD_RESOURCES": str(ROOT / "resources")}
        values |= {"XDG_DATA_HOME": str(scratch / "data"), "XDG_RUNTIME_DIR": str(self.runtime)}
        return values

    def step(self):
        """Step of the newest progress line of training; -1: there is none."""
        steps = [line["step"] for line in json_lines(self.out) if line.get("state") == "running"]
        return steps[-1] if steps else -1

    def result(self):
        """The result line; empty if the run did not print it."""
        return next((line for line in json_lines(self.out) if "status" in line), {})

    def ranks(self):
        """Process ids of the live rank processes, by rank."""
        found = {}
        children = read_process(self.pid, f"task/{self.pid}/children").split()
        for child in map(int, children):
            words = read_process(child, "cmdline").split(b"\0")
            if b"--rank" in words and process_state(child) not in "ZX":
                found[int(words[words.index(b"--rank") + 1])] = child
        return found

    def processes(self):
        """Process ids of all live processes of the run, found by their environment."""
        mark = f"XDG_RUNTIME_DIR={self.runtime}".encode()
        return [
            pid
            for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
            if mark in read_process(pid, "environ").split(b"\0") and process_state(pid) not in "ZX"
        ]

    def states(self):
        """State frames of the recording, up to an unfinished frame. Reads only new frames."""
        with contextlib.suppress(FileNotFoundError), open(
            self.directory / "recording.try", "rb"
        ) as file:
            size = os.fstat(file.fileno()).st_size
            while self.offset + FRAME_HEADER.size <= size:
                file.seek(self.offset)
                magic, kind, _, length, _ = FRAME_HEADER.unpack(file.read(FRAME_HEADER.size))
                if magic != b"TYRD":
                    return [*self.found_states, {"state": "damaged", "time_ns": 0}]
                end = self.offset + FRAME_HEADER.size + length + CHECKSUM_BYTES
                if end > size:
                    break
                if kind == STATE_FRAME:
                    self.found_states.append(json.loads(file.read(length)))
                self.offset = end
        return self.found_states

    def ended(self):
        return self.process.poll() is not None

    def wait(self, seconds):
        """Exit code; None: the run did not end in time."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.process.wait(seconds)
        return None

    def wait_for_step(self, step, seconds):
        """Waits for the step. Returns False if the run did not train in time."""
        wait_until(60, lambda: self.step() >= 0 or self.ended())
        wait_until(seconds, lambda: self.step() >= step or self.ended())
        return self.step() >= 0 and not self.ended()

    def interrupt(self):
        """Ctrl-C. Returns a list of violations if the run does not end in order."""
        signal_process(self.pid, signal.SIGINT)
        code = self.wait(20)
        return [] if code == 130 else [f"exit code {code} after Ctrl-C, not 130"]

    def left_behind(self):
        """Processes, sockets and temporary files that the run left, as violations."""
        wait_until(10, lambda: not self.processes() and not self.sockets())
        found = [
            f"process {pid} was left: {read_process(pid, 'cmdline').replace(bytes(1), b' ')!r}"
            for pid in self.processes()
        ]
        found += [f"socket directory {path} was left" for path in self.sockets()]
        files = [path for path in self.directory.rglob("*") if not path.is_dir()]
        names = [str(path.relative_to(self.directory)) for path in files]
        # A killed coordinator cannot remove the file with its endpoint.
        allowed = ["control"] if self.process.returncode == -signal.SIGKILL else []
        found += [
            f"file {name} was left"
            for name in names
            if not FILES.fullmatch(name) and name not in allowed
        ]
        return found

    def sockets(self):
        return sorted((self.runtime / "trainyard").glob("*"))

    def kill_all(self):
        """Kills what is left of the run."""
        for pid in self.processes():
            signal_process(pid, signal.SIGKILL)
        self.process.wait()

    def evidence(self):
        """Command, error output and result, for a report."""
        text = f"  {self.command}\n"
        for line in self.err.read_text(errors="replace").splitlines()[-4:]:
            text += f"  stderr: {line[:300]}\n"
        if problem := self.result().get("problem"):
            text += f"  problem: {json.dumps(problem)}\n"
        return text


def percentile(values, percent):
    """Nearest rank."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]


def random_of(*key):
    """Random numbers of one trial, so that a trial is the same in a shorter check."""
    return random.Random("-".join(map(str, key)))


def find_programs(path):
    """Directory with the built programs, from an argument."""
    programs = pathlib.Path(path).resolve()
    for name in ("trainyard-cli", "trainyard-rank"):
        if not os.access(programs / name, os.X_OK):
            sys.exit(f"{programs} has no program {name}")
    return programs
