# SPDX-License-Identifier: GPL-3.0-or-later
"""Mean milliseconds of a training step of one rank in PyTorch, for the MLP 784-512-512-10, the CNN
of our example, or a character GPT (4 blocks, width 128, 4 heads, context 128, 65 characters): alone
on one thread, or as DDP ranks over Gloo with one thread each. Tuned: channels-last images,
gradients as views of DDP's buckets, a static graph."""
import argparse
import os
import statistics
import time

os.environ[
    "OMP_NUM_THREADS"
] = "1"  # like torchrun: torch.set_num_threads does not limit OpenBLAS, which would use all cores

import torch
import torch.multiprocessing as multiprocessing
from torch import nn


CONTEXT, WIDTH, HEADS, BLOCKS, CHARACTERS = 128, 128, 4, 4, 65


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.after = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.queries_keys_values, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.future = torch.triu(
            torch.ones(CONTEXT, CONTEXT, dtype=torch.bool), 1
        )  # not a buffer, which DDP would broadcast

    def attention(self, rows):
        batch = len(rows)
        queries, keys, values = (
            part.view(batch, CONTEXT, HEADS, -1).transpose(1, 2)
            for part in self.queries_keys_values(rows).chunk(3, 2)
        )
        scores = (queries @ keys.transpose(2, 3) / (WIDTH / HEADS) ** 0.5).masked_fill(
            self.future, float("-inf")
        )
        return self.out((scores.softmax(3) @ values).transpose(1, 2).reshape(batch, CONTEXT, WIDTH))

    def forward(self, rows):
        rows = rows + self.attention(self.before(rows))
        return rows + self.narrow(nn.functional.gelu(self.wide(self.after(rows))))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.places = nn.Embedding(CHARACTERS, WIDTH), nn.Parameter(
            torch.randn(CONTEXT, WIDTH)
        )
        self.blocks = nn.Sequential(*(Block() for _ in range(BLOCKS)))
        self.last, self.logits = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, CHARACTERS)

    def forward(self, samples):
        return self.logits(self.last(self.blocks(self.table(samples) + self.places))).flatten(0, 1)


def step_milliseconds(model, samples, steps):
    of_text = samples.dtype == torch.long
    optimizer = (
        torch.optim.AdamW(model.parameters(), lr=0.001)
        if of_text
        else torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    )
    loss = nn.CrossEntropyLoss()
    labels = (
        torch.randint(0, CHARACTERS, (samples.numel(),))
        if of_text
        else torch.randint(0, 10, (len(samples),))
    )
    times = []
    for _ in range(steps):
        begin = time.perf_counter()
        optimizer.zero_grad()
        loss(model(samples), labels).backward()
        optimizer.step()
        times.append(1e3 * (time.perf_counter() - begin))
    return statistics.fmean(times[steps // 5 :])


def mlp(batch):
    return nn.Sequential(
        nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
    ), torch.randn(batch, 784)


def cnn(batch):
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(1600, 128),
        nn.ReLU(),
        nn.Linear(128, 10),
    )
    return model, torch.randn(batch, 1, 28, 28)


def gpt(batch):
    return Gpt(), torch.randint(0, CHARACTERS, (batch, CONTEXT))


def prepared(arguments):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model, samples = {"mlp": mlp, "cnn": cnn, "gpt": gpt}[arguments.model](arguments.batch)
    if arguments.tuned and samples.dim() == 4:
        return model.to(memory_format=torch.channels_last), samples.to(
            memory_format=torch.channels_last
        )
    return model, samples


def run_rank(rank, arguments):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29511")
    torch.distributed.init_process_group("gloo", rank=rank, world_size=arguments.ranks)
    module, samples = prepared(arguments)
    replica = nn.parallel.DistributedDataParallel(
        module, gradient_as_bucket_view=arguments.tuned, static_graph=arguments.tuned
    )
    mean = step_milliseconds(replica, samples, arguments.steps)
    if rank == 0:
        print(f"{mean:.4f}", flush=True)
    torch.distributed.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="mlp", choices=["mlp", "cnn", "gpt"])
    parser.add_argument("--tuned", action="store_true")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--steps", type=int, default=200)
    arguments = parser.parse_args()
    if arguments.ranks == 1:
        print(f"{step_milliseconds(*prepared(arguments), arguments.steps):.4f}")
    else:
        multiprocessing.spawn(run_rank, (arguments,), nprocs=arguments.ranks)


if __name__ == "__main__":
    main()
