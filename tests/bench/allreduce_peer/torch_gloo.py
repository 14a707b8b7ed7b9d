# SPDX-License-Identifier: GPL-3.0-or-later
# Peer: torch.distributed.all_reduce with the backend gloo, timed like `trainyard-cli bench
# allreduce`.
# Arguments: bytes repeats rank ranks file (a new file, by which ranks find each other). Rank 0
# prints median and minimum in seconds.
import statistics
import sys
import time

import torch
import torch.distributed as dist


def once(data, rewrite):
    if rewrite:
        data.zero_()
    dist.barrier()
    first = time.monotonic()
    dist.all_reduce(data)
    last = time.monotonic()
    times = torch.tensor([-first, last], dtype=torch.float64)
    dist.all_reduce(times, dist.ReduceOp.MAX)
    return float(times[1] + times[0])


size, repeats, rank, ranks = (int(word) for word in sys.argv[1:5])
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method="file://" + sys.argv[5], rank=rank, world_size=ranks)
data = torch.arange(size // 4, dtype=torch.float32) % 1009 + rank
expected = ranks * (torch.arange(size // 4, dtype=torch.float32) % 1009) + ranks * (ranks - 1) // 2
once(data, False)
assert torch.equal(data, expected)
for _ in range(3):
    once(data, True)
seconds = [once(data, True) for _ in range(repeats)]
if rank == 0:
    print(f"{statistics.median(seconds):.9f} {min(seconds):.9f}")
dist.barrier()
