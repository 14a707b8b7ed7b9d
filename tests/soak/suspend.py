#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Suspends all processes of runs and continues them. No rank may be reported as lost, the run must
continue, and Ctrl-C must end it with exit code 130. Signals: SIGSTOP to coordinator and ranks in
random order, later SIGCONT in random order. Ctrl-Z: SIGTSTP, later SIGCONT, to the coordinator.

    tests/soak/suspend.py BIN [--times 20] [--seconds 15] [--seed 1]

Runs --times trials of each way, over shared memory, ZeroMQ and parameter servers, one in five while
the run starts. Prints a line for each trial and a table, and exits with 1 on any violation. By
default it takes about 15 minutes.
"""
import argparse
import collections
import pathlib
import shutil
import signal
import sys
import tempfile
import time

import started_run
from started_run import StartedRun, percentile, signal_process, wait_until

MIRRORED, SERVERS = "four_devices_mirrored_digits", "four_workers_parameter_server_digits"
CASES = {
    "shm": (MIRRORED, "shm"),
    "zmq": (MIRRORED, "zmq"),
    "servers, shm": (SERVERS, "shm"),
    "servers, zmq": (SERVERS, "zmq"),
}
SIGNALS, CTRL_Z = "signals", "Ctrl-Z"


class Trial:
    def __init__(self, programs, scratch, way, number, wanted):
        self.random = started_run.random_of(wanted.seed, way, number)
        self.way, self.number, self.seconds = way, number, wanted.seconds
        self.case = list(CASES)[number % len(CASES)]
        example, transport = CASES[self.case]
        self.at_start = self.random.random() < 0.2
        self.violations = []
        self.resumed_after = None  # seconds from SIGCONT to the next step
        self.run = StartedRun(programs, scratch, example, [f"run.transport={transport}"])

    def execute(self):
        try:
            if not self.wait_for_moment():
                self.violations.append("the run did not train")
            else:
                self.suspend()
                time.sleep(self.seconds)
                self.resume()
                self.check()
        finally:
            self.run.kill_all()

    def wait_for_moment(self):
        if not self.at_start:
            trains = self.run.wait_for_step(self.random.randint(1, 100), 5)
            time.sleep(self.random.uniform(0, 0.3))
            return trains
        wait_until(60, lambda: self.run.ranks() or self.run.ended())
        time.sleep(self.random.uniform(0, 0.3))
        return not self.run.ended()

    def shuffled_processes(self):
        processes = [self.run.pid, *self.run.ranks().values()]
        self.random.shuffle(processes)
        return processes

    def signal_all(self, number):
        for pid in self.shuffled_processes():
            signal_process(pid, number)
            time.sleep(self.random.uniform(0, 0.02))

    def is_stopped(self):
        return all(
            started_run.process_state(pid) == "T"
            for pid in [self.run.pid, *self.run.ranks().values()]
        )

    def suspend(self):
        if self.way == CTRL_Z:
            signal_process(self.run.pid, signal.SIGTSTP)
        else:
            self.signal_all(signal.SIGSTOP)
            # Ranks that the coordinator started meanwhile.
            self.signal_all(signal.SIGSTOP)
        if not wait_until(5, self.is_stopped):
            self.violations.append("not all processes are stopped")

    def resume(self):
        self.step = self.run.step()
        self.resumed = time.monotonic()
        if self.way == CTRL_Z:
            signal_process(self.run.pid, signal.SIGCONT)
        else:
            self.signal_all(signal.SIGCONT)

    def check(self):
        moves = wait_until(30, lambda: self.run.step() > self.step or self.run.ended())
        self.resumed_after = time.monotonic() - self.resumed
        if not moves or self.run.ended():
            self.violations.append(f"the run does not continue after step {self.step}")
        else:
            time.sleep(4)  # longer than ranks may be silent
            self.violations += self.run.interrupt()
        self.violations += [
            f"false alarm: {state}"
            for state in self.run.states()
            if state["state"] == "failed" or "fault" in state
        ]
        self.violations += self.run.left_behind()

    def line(self):
        moment = "start" if self.at_start else f"step {self.run.step()}"
        after = "" if self.resumed_after is None else f"next step after {self.resumed_after:.2f} s "
        return (
            f"{self.number:4} {self.way}: {self.case}, {moment}: {after}"
            f"{'VIOLATION' if self.violations else 'ok'}"
        )


def run_trials(wanted, programs, scratch):
    """Executes all trials. Returns them by way and case, as (seconds to the next step, failed)."""
    outcomes = collections.defaultdict(list)
    for way in (SIGNALS, CTRL_Z):
        for number in range(1, wanted.times + 1):
            directory = scratch / f"{way}-{number}"
            trial = Trial(programs, directory, way, number, wanted)
            trial.execute()
            print(trial.line(), flush=True)
            outcomes[way, trial.case].append((trial.resumed_after, bool(trial.violations)))
            if not trial.violations:
                shutil.rmtree(directory)
                continue
            print("".join(f"  {violation}\n" for violation in trial.violations), end="")
            print(f"{trial.run.evidence()}  kept: {directory}", flush=True)
    return outcomes


def print_table(outcomes):
    """Returns the number of trials with violations."""
    print(f"\n{'seconds to the next step':26} {'n':>4} {'p50':>6} {'max':>6}  violations")
    for (way, case), trials in outcomes.items():
        seconds = [after for after, _ in trials if after is not None] or [float("nan")]
        print(
            f"{way + ', ' + case:26} {len(trials):4} {percentile(seconds, 50):6.2f} "
            f"{percentile(seconds, 100):6.2f}  {sum(failed for _, failed in trials)}"
        )
    return sum(failed for trials in outcomes.values() for _, failed in trials)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", metavar="BIN", help="directory of the built programs")
    parser.add_argument("--times", type=int, default=20, help="number of trials of each way")
    parser.add_argument("--seconds", type=float, default=15, help="duration of a suspension")
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    programs = started_run.find_programs(wanted.programs)
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="suspend-"))
    failed = print_table(run_trials(wanted, programs, scratch))
    if failed == 0:
        shutil.rmtree(scratch)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
