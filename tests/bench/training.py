#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Training figures, as ratios to PyTorch if it is installed: mean step time of a rank, alone and
among others; time from the coordinator's start to the first step (bench_workbench measures it from
pressing Run); cost of telemetry; held-out accuracy on MNIST; and a step in bf16 relative to one in
fp32. Pairs are interleaved, because machines are noisy; the median of the ratios counts.

    packaging/setup --bench
    tests/bench/training.py [--repeat 5] [--pairs 30] [--mnist DIRECTORY] [--only GPT]
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "resources/experiments"
PEER = ROOT / "tests/bench/peers/torch_step.py"
TRIES_OF_PAIR = 3
STUDENT_95 = {5: 2.776, 10: 2.262, 20: 2.093, 30: 2.045}  # by the number of pairs
BIN = ROOT / "build/release/bin"
ONLY = ""
LAYERS = [
    {"kind": "linear", "units": 512},
    {"kind": "relu"},
    {"kind": "linear", "units": 512},
    {"kind": "relu"},
    {"kind": "linear"},
]
BUCKET = "strategy.bucket_bytes=1e6"  # like DDP's first bucket
GPT = [
    {"kind": "embedding", "rows": 0, "width": 128},
    {"kind": "transformer", "heads": 4, "blocks": 4, "hidden": 512},
    {"kind": "layer_norm"},
    {"kind": "linear"},
]
BIG_MLP = "model.layers=" + json.dumps(LAYERS)


def run(example, *settings):
    command = [BIN / "trainyard-cli", "run", EXAMPLES / example, "--json"]
    for setting in settings:
        command += ["--set", setting]
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            command,
            env={**os.environ, "XDG_DATA_HOME": home},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def devices(count):
    return [f"topology.hosts[0].devices[{i}].role=idle" for i in range(count, 4)]


def mean_step(result, ranks, batch):
    """Returns the step time of one rank, like the peer's. The median in the result is that of the
    slowest rank of each step, which varies if ranks share cores."""
    return 1e3 * ranks * batch / result["samples_per_second"]


def our_step(ranks):
    """Uses few samples, which are soon all in memory: the peer has its only batch there from the
    start."""
    settings = [
        BIG_MLP,
        BUCKET,
        "training.batch_per_rank=128",
        "training.steps=300",
        "data.train_samples=1024",
        "data.held_out_samples=0",
        *devices(ranks),
    ]
    return mean_step(run("four_devices_mirrored_digits.json", *settings), ranks, 128)


class PeerFailed(Exception):
    """Returns the output of the peer."""


def our_cnn_step(ranks):
    settings = [
        "training.batch_per_rank=64",
        "training.steps=200",
        "data.train_samples=1024",
        "data.held_out_samples=0",
        BUCKET,
        *devices(ranks),
    ]
    return mean_step(run("four_devices_mirrored_cnn_digits.json", *settings), ranks, 64)


def our_gpt_step(ranks, text, *more):
    settings = [
        "data.kind=text",
        f"data.file={text}",
        "data.context=128",
        "data.train_samples=512",
        "data.held_out_samples=0",
        "training.batch_per_rank=16",
        "training.steps=30",
        "model.layers=" + json.dumps(GPT),
        BUCKET,
        *[f"topology.hosts[0].devices[{i}].role=idle" for i in range(ranks, 2)],
        *more,
    ]
    return mean_step(run("two_devices_gpt_grammar.json", *settings), ranks, 16)


def mixed_precision(text, repeat):
    """Compares steps in bf16 and fp32, alternating, with AdamW. Counts compute time within steps
    only, which excludes the start of the run."""
    seconds = {"fp32": [], "bf16": []}
    for _ in range(repeat):
        for precision, of in seconds.items():
            of.append(
                our_gpt_step(
                    1, text, "training.optimizer.kind=adamw", f"training.precision={precision}"
                )
            )
    ratio = statistics.median(full / half for full, half in zip(*seconds.values()))
    name = "GPT 4 x 128, context 128, 16, bf16 against fp32"
    print(
        f"{name:48} {statistics.median(seconds['bf16']):9.2f} ms "
        f"{statistics.median(seconds['fp32']):9.2f} ms   speedup {ratio:5.2f}   target >= 1.30"
    )


def torch_step(ranks, model="mlp", batch=128, tuned=False, steps=200):
    command = [
        "/usr/bin/python3",
        PEER,
        "--ranks",
        str(ranks),
        "--model",
        model,
        "--batch",
        str(batch),
        "--steps",
        str(steps),
        *(["--tuned"] if tuned else []),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PeerFailed(done.stderr.strip() or f"exit status {done.returncode}, without output")
    return float(done.stdout)


def compare(name, ours, peers, repeat, wanted):
    if ONLY not in name:
        return
    mine, others = [], []
    try:
        for _ in range(repeat):
            mine.append(ours())
            others.append(peers())
    except PeerFailed as failed:
        print(
            f"{name:48} {statistics.median(mine):9.2f} ms   "
            "PyTorch failed (packaging/setup --bench installs it):"
        )
        return print(textwrap.indent(str(failed), "    "))
    ratio = statistics.median(a / b for a, b in zip(mine, others))
    print(
        f"{name:48} {statistics.median(mine):9.2f} ms {statistics.median(others):9.2f} ms   "
        f"ratio {ratio:5.2f}   target <= {wanted:.2f}"
    )


def telemetry(pairs):
    """Compares the median step of a rank whose process sends all op events to the coordinator with
    that of one that records none. Uses the fastest of a few tries each, because other load disturbs
    the rest."""
    settings = [
        BIG_MLP,
        "training.batch_per_rank=128",
        "training.steps=150",
        "data.held_out_samples=0",
        *devices(1),
    ]
    percents = []
    for pair in range(pairs):
        times = {True: [], False: []}
        for on in (TRIES_OF_PAIR * (True, False)) if pair % 2 else (TRIES_OF_PAIR * (False, True)):
            result = run(
                "four_devices_mirrored_digits.json", *settings, f"run.record_ops={str(on).lower()}"
            )
            times[on].append(result["step_seconds"]["median"])
        percents.append(100 * (min(times[True]) / min(times[False]) - 1))
    margin = STUDENT_95[pairs] * statistics.stdev(percents) / pairs**0.5
    print(
        f"{'step time with op events, relative to without':48} {statistics.mean(percents):+9.2f} % "
        f"+-{margin:.2f} % ({pairs} pairs, 95 % interval)   target <= 1 %"
    )


def first_step(repeat):
    seconds = [
        run("four_devices_mirrored_digits.json", "training.steps=20")["first_step_seconds"]
        for _ in range(repeat)
    ]
    print(
        f"{'coordinator to first step, 4 ranks':48} {1e3 * statistics.median(seconds):9.0f} ms "
        f"{'':12}   maximum {1e3 * max(seconds):5.0f} ms   target <= 500 ms"
    )


def mnist(directory):
    images, labels = (
        directory / "t10k-images-idx3-ubyte.gz",
        directory / "t10k-labels-idx1-ubyte.gz",
    )
    if not images.exists():
        return print(f"MNIST is not in {directory}: skipped")
    result = run(
        "four_devices_mirrored_mnist.json", f"data.images={images}", f"data.labels={labels}"
    )
    print(
        f"{'MNIST, 8,000 samples, 10 epochs, 4 ranks':48} "
        f"{100 * result['held_out_accuracy']:9.2f} %  {'':12}   "
        f"steps {result['steps']}   target >= 95 %"
    )


def main():
    global BIN, ONLY
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument(
        "--pairs", type=int, default=30, choices=STUDENT_95, help="of the telemetry figure"
    )
    parser.add_argument("--bin", type=pathlib.Path, default=BIN, help="where trainyard-cli is")
    parser.add_argument(
        "--mnist",
        type=pathlib.Path,
        default=pathlib.Path(os.environ.get("TRAINYARD_TEST_DATA", ROOT.parent / "shared/data"))
        / "mnist",
    )
    parser.add_argument(
        "--only",
        default="",
        help="the figures against PyTorch whose name holds this, or bf16, and no others",
    )
    arguments = parser.parse_args()
    BIN, ONLY = arguments.bin, arguments.only
    print(f"{'figure':48} {'Trainyard':>12} {'PyTorch':>12}")
    for ranks, wanted in ((1, 1 / 1.15), (2, 1 / 2.2), (4, 1 / 2.7)):
        of = "1 rank" if ranks == 1 else f"{ranks} ranks (DDP over Gloo)"
        compare(
            f"MLP 784-512-512-10, 128 each, {of}",
            lambda: our_step(ranks),
            lambda: torch_step(ranks),
            arguments.repeat,
            wanted,
        )
    for tuned in (False, True):
        for ranks, wanted in ((1, 1 / 2.2), (2, 1 / 2.2), (4, 1 / 2.5)):
            name = (
                f"CNN 1-32-64, 64 each, {ranks} rank"
                + ("s" if ranks > 1 else "")
                + (", PyTorch tuned" if tuned else "")
            )
            compare(
                name,
                lambda: our_cnn_step(ranks),
                lambda: torch_step(ranks, "cnn", 64, tuned),
                arguments.repeat,
                1 / 1.4 if tuned else wanted,
            )
    text = arguments.mnist.parent / "tinyshakespeare/input.txt"
    for ranks in (1, 2) if text.exists() else ():
        name = f"GPT 4 x 128, context 128, 16 each, {ranks} rank" + ("s" if ranks > 1 else "")
        compare(
            name,
            lambda: our_gpt_step(ranks, text),
            lambda: torch_step(ranks, "gpt", 16, steps=30),
            arguments.repeat,
            1 / 1.25,
        )
    if not text.exists():
        print(f"{text} is not there: GPT skipped")
    elif ONLY in "bf16":
        mixed_precision(text, arguments.repeat)
    if ONLY:
        return
    first_step(arguments.repeat)
    telemetry(arguments.pairs)
    mnist(arguments.mnist)


if __name__ == "__main__":
    main()
