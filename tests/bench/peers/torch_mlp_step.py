# SPDX-License-Identifier: GPL-3.0-or-later
"""Median milliseconds of a training step of the MLP 784-512-512-10 in PyTorch: alone on one thread, or as DDP ranks over Gloo."""
import argparse
import os
import statistics
import time

import torch
import torch.multiprocessing as multiprocessing
from torch import nn


def step_milliseconds(model, batch, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss = nn.CrossEntropyLoss()
    samples, labels = torch.randn(batch, 784), torch.randint(0, 10, (batch,))
    times = []
    for _ in range(steps):
        begin = time.perf_counter()
        optimizer.zero_grad()
        loss(model(samples), labels).backward()
        optimizer.step()
        times.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times[steps // 5:])


def mlp():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


def run_rank(rank, ranks, batch, steps):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29511")
    torch.distributed.init_process_group("gloo", rank=rank, world_size=ranks)
    median = step_milliseconds(nn.parallel.DistributedDataParallel(mlp()), batch, steps)
    if rank == 0:
        print(f"{median:.4f}", flush=True)
    torch.distributed.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--steps", type=int, default=200)
    arguments = parser.parse_args()
    if arguments.ranks == 1:
        print(f"{step_milliseconds(mlp(), arguments.batch, arguments.steps):.4f}")
    else:
        multiprocessing.spawn(run_rank, (arguments.ranks, arguments.batch, arguments.steps), nprocs=arguments.ranks)


if __name__ == "__main__":
    main()
