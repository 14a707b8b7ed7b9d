#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Loss of a small GPT on a text of a million characters (Tiny Shakespeare) on two ranks, with
strategies that must learn equally well: 4 blocks of width 128, 4 heads, context 128, AdamW 0.002
with warm-up and cosine schedule. The budget is 2,080 steps of 32 samples (8 epochs, 8.5 million
characters), about five minutes on two cores each. Target: a held-out loss of 1.75 nats per
character.

    tests/bench/shakespeare.py --text FILE [--only ddp fsdp pipeline]
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLI = ROOT / "build" / "release" / "bin" / "trainyard-cli"
EXPERIMENT = ROOT / "resources" / "experiments" / "two_devices_gpt_grammar.json"
STEPS, WANTED = 2080, 1.75
GPT = [
    {"kind": "embedding", "rows": 0, "width": 128},
    {"kind": "transformer", "heads": 4, "blocks": 4, "hidden": 512},
    {"kind": "layer_norm"},
    {"kind": "linear"},
]
TRAINING = [
    "data.kind=text",
    "data.context=128",
    "data.train_samples=8320",
    "data.held_out_samples=384",
    "model.layers=" + json.dumps(GPT),
    f"training.steps={STEPS}",
    "training.epochs=8",
    "training.optimizer.kind=adamw",
    "training.optimizer.learning_rate=0.002",
    "training.optimizer.weight_decay=0.01",
    "training.schedule.kind=cosine",
    "training.schedule.warmup_steps=100",
    "run.evaluate_every_steps=520",
]
BY = {
    "ddp": ["training.batch_per_rank=16", "training.accumulation_steps=1"],
    "fsdp": ["training.batch_per_rank=16", "training.accumulation_steps=1"],
    "pipeline": ["training.batch_per_rank=8", "training.accumulation_steps=4"],
}  # 1F1B with four micro-batches


def learn(text, strategy):
    command = [str(CLI), "run", str(EXPERIMENT), "--json"]
    for setting in [f"data.file={text}", f"strategy.kind={strategy}", *TRAINING, *BY[strategy]]:
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
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--text", type=pathlib.Path, required=True)
    parser.add_argument("--only", nargs="+", choices=BY, default=list(BY))
    options = parser.parse_args()
    for strategy in options.only:
        result = learn(options.text.resolve(), strategy)
        print(
            f"{strategy:10} {result['held_out_loss']:6.3f} nats/character after "
            f"{result['steps']} steps, {result['wall_seconds']:5.0f} s   target <= {WANTED}",
            flush=True,
        )


if __name__ == "__main__":
    main()
