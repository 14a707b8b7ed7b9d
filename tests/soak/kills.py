#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kills and stalls ranks and coordinators at random moments of runs, also while they start, and
checks that each run ends or continues as documented in fault_tolerance.md: exit code, named rank,
step and op, and nothing left behind. A stalled coordinator continues after some seconds, and the
run must continue too. Detection time: from the signal to the recorded state that reports the rank.
For a killed coordinator: until no process of the run is left.

    tests/soak/kills.py BIN [--kills 400] [--stalls 200] [--seed 1]

Prints a line for each trial and a table, and exits with 1 on any violation. The limits of the table
need a machine that is otherwise idle. 600 trials take about an hour on two cores.
"""
import argparse
import collections
import dataclasses
import pathlib
import re
import shutil
import signal
import sys
import tempfile
import time

import started_run
from started_run import StartedRun, percentile, signal_process, wait_until

GONE_SECONDS = 10  # until a run has ended, and all its processes
PLACE = re.compile(
    r"at step ([\d,]+)( in op [A-Z]|, before its first op|, between two ops)", re.ASCII
)
RANK_DIED, RANK_UNRESPONSIVE = "rank_died", "rank_unresponsive"


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    example: str
    overrides: tuple = ()
    replaceable: frozenset = frozenset()  # ranks without which training continues
    restarts: bool = False
    global_steps: bool = True  # all ranks are at the same step


WORKERS = frozenset(range(4))
SERVERS = "four_workers_parameter_server_digits"
# Each strategy is drawn with the same probability, then one of its cases.
CASES = {
    "mirrored": [Case("mirrored", "four_devices_mirrored_digits")],
    "ddp": [Case("ddp", "four_devices_mirrored_digits", ("strategy.kind=ddp",))],
    "fsdp": [Case("fsdp", "four_devices_fsdp_gpt_grammar")],
    "pipeline": [Case("pipeline", "four_devices_pipeline_gpt_grammar")],
    "tensor_parallel": [Case("tensor_parallel", "four_devices_tensor_parallel_gpt_grammar")],
    "hybrid": [Case("hybrid", "four_devices_sharded_hybrid_bf16_gpt_grammar")],
    "gossip": [Case("gossip", "eight_devices_gossip_digits")],
    "local_sgd": [Case("local_sgd", "four_devices_local_sgd_digits")],
    "rpc": [Case("rpc", "two_trainers_rpc_clicks", global_steps=False)],
    "parameter_server": [
        Case("synchronous", SERVERS, ("strategy.servers.mode=synchronous",), global_steps=False),
        Case("asynchronous", SERVERS, (), WORKERS, global_steps=False),
        Case("asynchronous, restarts", SERVERS, ("run.restarts=1",), WORKERS, True, False),
        Case(
            "backup_workers",
            SERVERS,
            ("strategy.servers.mode=backup_workers", "strategy.servers.backups=1"),
            WORKERS,
            global_steps=False,
        ),
        Case(
            "stale_synchronous, restarts",
            "three_workers_stale_synchronous_digits",
            (),
            frozenset([0, 1, 2, 4]),
            True,
            False,
        ),
    ],
}


class Trial:
    def __init__(self, programs, scratch, stall, number, seed):
        self.random = started_run.random_of(seed, "stall" if stall else "kill", number)
        self.stall, self.number = stall, number
        self.case = self.random.choice(CASES[self.random.choice(list(CASES))])
        self.transport = self.random.choice(["shm", "zmq"])
        self.violations = []
        self.outcome = ""
        self.kind = "stall" if stall else "kill"
        self.seconds = None  # detection time
        self.signaled_ns = 0
        self.step = -1  # last reported step before the signal
        self.victim = "no rank"
        pace = self.random.choice([0, 0.005, 0.02])
        overrides = [f"run.transport={self.transport}", f"run.seconds_per_step={pace}"]
        self.run = StartedRun(
            programs, scratch, self.case.example, [*overrides, *self.case.overrides]
        )

    def expect(self, condition, violation):
        if not condition:
            self.violations.append(violation)
        return bool(condition)

    def execute(self):
        try:
            harm_coordinator = self.random.random() < 0.1
            if self.wait_for_moment():
                self.harm_coordinator() if harm_coordinator else self.harm_rank()
            if self.expect(self.run.ended(), "the run did not end"):
                self.violations += self.run.left_behind()
        finally:
            self.run.kill_all()

    def wait_for_moment(self):
        """Waits for a random moment of the start, or for a random step."""
        if self.random.random() < 0.25:
            wait_until(60, lambda: self.run.ranks() or self.run.ended())
            time.sleep(self.random.uniform(0, 0.5))
            return self.expect(not self.run.ended(), "the run ended before the signal")
        trains = self.run.wait_for_step(self.random.randint(1, 100), 5)
        time.sleep(self.random.uniform(0, 0.3))
        return self.expect(trains, "the run did not train")

    def send(self, pid, number):
        self.step = self.run.step()
        self.signaled_ns = time.monotonic_ns()
        signal_process(pid, number)

    def seconds_since_signal(self):
        return (time.monotonic_ns() - self.signaled_ns) * 1e-9

    # Coordinator

    def harm_coordinator(self):
        self.victim = "coordinator"
        self.kind += " of coordinator"
        if self.stall:
            return self.stall_coordinator()
        self.send(self.run.pid, signal.SIGKILL)
        self.expect(self.run.wait(GONE_SECONDS) == -signal.SIGKILL, "the coordinator lives")
        wait_until(GONE_SECONDS, lambda: not self.run.processes())
        self.seconds = self.seconds_since_signal()
        states = [state["state"] for state in self.run.states()]
        self.expect("damaged" not in states, "the recording is damaged")
        self.expect(not (self.run.directory / "result.json").exists(), "there is a result.json")
        self.outcome = "killed"

    def stall_coordinator(self):
        duration = self.random.uniform(0.5, 8)
        self.send(self.run.pid, signal.SIGSTOP)
        time.sleep(duration)
        signal_process(self.run.pid, signal.SIGCONT)
        self.expect_progress()
        self.expect(not self.reports(), f"false alarm: {self.reports()}")
        self.violations += self.run.interrupt()
        self.outcome = f"continued after {duration:.1f} s"

    def expect_progress(self):
        """The run makes more steps."""
        wait_until(30, lambda: self.run.step() >= 0 or self.run.ended())
        first = self.run.step()
        self.expect(
            wait_until(30, lambda: self.run.step() >= first + 5 or self.run.ended())
            and not self.run.ended(),
            f"the run does not continue: it stays at step {first}",
        )

    # Ranks

    def reports(self):
        """States of the recording that report a failed rank, or the failure of the run."""
        return [
            state
            for state in self.run.states()
            if state["state"] in ("failed", "damaged")
            or state.get("fault", {}).get("kind") == "lost"
        ]

    def harm_rank(self):
        ranks = self.run.ranks()
        if not self.expect(ranks, "the run has no rank process"):
            return
        rank = self.random.choice(sorted(ranks))
        self.victim = f"rank {rank}"
        self.send(ranks[rank], signal.SIGSTOP if self.stall else signal.SIGKILL)
        report = wait_until(GONE_SECONDS + 5, lambda: next(iter(self.reports()), None))
        training = any(
            state["state"] == "running" and state["time_ns"] <= self.signaled_ns
            for state in self.run.states()
        )
        if not training:
            self.kind += " at start"
        if not self.expect(report, "the failure was not reported"):
            return
        self.seconds = (report["time_ns"] - self.signaled_ns) * 1e-9
        continues = report["state"] not in ("failed", "damaged")
        # Training cannot continue without a rank that was lost before it started.
        self.expect(
            continues == (rank in self.case.replaceable) or not training,
            f"the run {'continued' if continues else 'ended'}, unlike documented",
        )
        if continues:
            self.check_continuation(rank, report["fault"])
        else:
            self.check_end(rank)
        self.expect(process_is_gone(ranks[rank]), f"{self.victim} was not killed")

    def check_continuation(self, rank, fault):
        self.outcome = "continued"
        self.expect(fault["rank"] == rank, f"rank {fault['rank']} is reported, not rank {rank}")
        self.check_text(fault["text"])
        if self.case.restarts:
            self.expect(wait_until(20, lambda: self.is_back(rank)), f"rank {rank} does not rejoin")
        self.expect_progress()
        lost = [state["fault"]["rank"] for state in self.reports() if "fault" in state]
        self.expect(lost == [rank], f"lost ranks: {lost}")
        self.violations += self.run.interrupt()

    def is_back(self, rank):
        faults = [state.get("fault", {}) for state in self.run.states()]
        return any(fault.get("kind") == "back" and fault["rank"] == rank for fault in faults)

    def check_end(self, rank):
        code = self.run.wait(GONE_SECONDS)
        result = self.run.result()
        problem = result.get("problem") or {}
        self.outcome = "ended"
        self.expect(code == 3, f"exit code {code}, not 3")
        self.expect(result.get("status") == "failed", f"status {result.get('status')}, not failed")
        name = RANK_UNRESPONSIVE if self.stall else RANK_DIED
        self.expect(problem.get("id") == name, f"problem {problem.get('id')}, not {name}")
        self.expect(
            problem.get("where", "").startswith(f"rank {rank} ("),
            f"the message names {problem.get('where')}, not rank {rank}",
        )
        self.check_text(problem.get("what", ""))
        self.expect((self.run.directory / "result.json").exists(), "there is no result.json")

    def check_text(self, text):
        place = PLACE.search(text)
        self.expect(place, f"the message names no step and op: {text}")
        if place and self.case.global_steps:
            named = int(place[1])
            self.expect(named >= self.step, f"step {named} is named after step {self.step}")

    def line(self):
        time_text = "" if self.seconds is None else f", {self.seconds * 1e3:.0f} ms"
        return (
            f"{self.number:4} {self.kind}: {self.case.name}, {self.transport}, {self.victim}, "
            f"step {self.step}: {self.outcome}{time_text} "
            f"{'VIOLATION' if self.violations else 'ok'}"
        )


def process_is_gone(pid):
    return wait_until(GONE_SECONDS, lambda: started_run.process_state(pid) in "ZX")


# Percentile and milliseconds of each kind.
LIMITS = {
    "kill": (99, 100),
    "kill at start": (99, 100),
    "stall": (100, 5000),
    "stall at start": (100, 5000),
    "kill of coordinator": (100, 1000 * GONE_SECONDS),
}


def print_table(times):
    """Returns the number of exceeded limits."""
    print(f"\n{'detection, ms':22} {'n':>5} {'p50':>7} {'p95':>7} {'p99':>7} {'max':>7}  limit")
    exceeded = 0
    for kind, (percent, limit) in LIMITS.items():
        values = [1e3 * seconds for seconds in times[kind]]
        if not values:
            continue
        row = " ".join(f"{percentile(values, p):7.0f}" for p in (50, 95, 99, 100))
        over = percentile(values, percent) > limit
        exceeded += over
        print(
            f"{kind:22} {len(values):5} {row}  {'max' if percent == 100 else f'p{percent}'} <= "
            f"{limit}{' EXCEEDED' if over else ''}"
        )
    return exceeded


def run_trials(wanted, programs, scratch):
    """Executes all trials. Returns detection times by kind, and the number of failed trials."""
    times, failed = collections.defaultdict(list), 0
    for stall, count in ((False, wanted.kills), (True, wanted.stalls)):
        for number in range(1, count + 1):
            directory = scratch / f"{'stall' if stall else 'kill'}-{number}"
            trial = Trial(programs, directory, stall, number, wanted.seed)
            trial.execute()
            print(trial.line(), flush=True)
            if trial.seconds is not None:
                times[trial.kind].append(trial.seconds)
            if not trial.violations:
                shutil.rmtree(directory)
                continue
            failed += 1
            print("".join(f"  {violation}\n" for violation in trial.violations), end="")
            print(f"{trial.run.evidence()}  kept: {directory}", flush=True)
    return times, failed


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", metavar="BIN", help="directory of the built programs")
    parser.add_argument("--kills", type=int, default=400, help="number of SIGKILLs")
    parser.add_argument("--stalls", type=int, default=200, help="number of SIGSTOPs")
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    programs = started_run.find_programs(wanted.programs)
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="kills-"))
    times, failed = run_trials(wanted, programs, scratch)
    exceeded = print_table(times)
    print(
        f"{wanted.kills + wanted.stalls} trials, {failed} with violations, "
        f"{exceeded} limits exceeded"
    )
    if failed == 0:
        shutil.rmtree(scratch)
    sys.exit(1 if failed or exceeded else 0)


if __name__ == "__main__":
    main()
