#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Median seconds of a training step in PyTorch on the first GPU, for gpu-tests: the MLP
784-512-512-10, the CNN of our example, and GPT-2 with 124 million parameters, also compiled. Prints
one JSON line per result, after a line with the version of PyTorch or the reason why there is none.
A step does what ours does: it copies another batch from the host (page-locked), clips the full
gradient by its norm, and reads norm and loss. Digits are in fp32 without TF32, convolutions in the
faster layout. GPT-2 is in bf16 (autocast; parameters, gradients and moments in fp32) on synthetic
tokens.

    peer.py [--small] [--cpu]        small: tiny sizes, to check that everything runs
"""
import argparse
import json
import statistics
import sys
import time

try:
    import torch
    from torch import nn
except Exception as failed:
    print(
        json.dumps({"why": f"none to compare with: {failed}".replace('"', "'").replace(",", ";")})
    )
    sys.exit()

CLIP = 1.0


class Classifier(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, samples, labels):
        return nn.functional.cross_entropy(self.layers(samples), labels)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.queries_keys_values, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attention(self, rows):
        parts = (
            part.unflatten(2, (self.heads, -1)).transpose(1, 2)
            for part in self.queries_keys_values(rows).chunk(3, 2)
        )
        return self.out(
            nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
            .transpose(1, 2)
            .flatten(2)
        )

    def forward(self, rows):
        rows = rows + self.attention(self.before(rows))
        return rows + self.narrow(nn.functional.gelu(self.wide(self.after(rows))))


class Gpt(nn.Module):
    """The last layer is tied to the token embedding and has no bias."""

    def __init__(self, vocabulary, context, width, heads, blocks):
        super().__init__()
        self.table, self.places = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(blocks)))
        self.last = nn.LayerNorm(width)
        for weight in (one for one in self.parameters() if one.dim() > 1):
            nn.init.normal_(weight, std=0.02)

    def forward(self, tokens, following):
        rows = self.last(self.blocks(self.table(tokens) + self.places.weight))
        return nn.functional.cross_entropy(
            nn.functional.linear(rows, self.table.weight).flatten(0, 1), following.flatten()
        )


class Peer:
    def __init__(self, small, device):
        self.small, self.device = small, device

    def digits(self, shape):
        batch = 8 if self.small else 4096
        return [
            self.on_host(torch.randn(batch, *shape), torch.randint(0, 10, (batch,)))
            for _ in range(2)
        ]

    def mlp(self):
        model = Classifier(
            nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
        )
        return self.step_seconds(model.to(self.device), self.sgd, self.digits((784,)))

    def cnn(self):
        def of(layout):
            model = Classifier(
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
            batches = [
                (images.to(memory_format=layout), labels)
                for images, labels in self.digits((1, 28, 28))
            ]
            return self.step_seconds(model.to(self.device, memory_format=layout), self.sgd, batches)

        return min(of(torch.contiguous_format), of(torch.channels_last))

    def gpt2(self, compiled=False):
        vocabulary, context, batch = (500, 32, 2) if self.small else (50257, 1024, 16)
        model = Gpt(vocabulary, context, *((24, 2, 1) if self.small else (768, 12, 12))).to(
            self.device
        )
        windows = [torch.randint(0, vocabulary, (batch, context + 1)) for _ in range(4)]
        batches = [
            self.on_host(window[:, :-1].contiguous(), window[:, 1:].contiguous())
            for window in windows
        ]
        return self.step_seconds(
            torch.compile(model) if compiled else model,
            self.adamw,
            batches,
            precision=torch.bfloat16,
        )

    def step_seconds(self, model, optimizer_of, batches, precision=None):
        optimizer, times = optimizer_of(model.parameters()), []
        warm, timed = (1, 2) if self.small else (8, 40)
        for step in range(warm + timed):
            begin = time.perf_counter()
            samples, labels = (
                part.to(self.device, non_blocking=True) for part in batches[step % len(batches)]
            )
            with torch.autocast(
                self.device, precision or torch.bfloat16, enabled=precision is not None
            ):
                loss = model(samples, labels)
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            torch.stack(
                [loss.detach(), norm]
            ).tolist()  # synchronizes with the device, as reading the values does
            times.append(time.perf_counter() - begin)
        return statistics.median(times[warm:])

    def on_host(self, *parts):
        return tuple(part.pin_memory() if self.device == "cuda" else part for part in parts)

    def sgd(self, parameters):
        return torch.optim.SGD(parameters, lr=0.01, momentum=0.9, **self.fused())

    def adamw(self, parameters):
        return torch.optim.AdamW(
            parameters, lr=6e-4, betas=(0.9, 0.95), weight_decay=0.1, **self.fused()
        )

    def fused(self):
        return {"fused": True} if self.device == "cuda" else {}


def tell(case, way, seconds_of):
    try:
        result = {"median_seconds": seconds_of()}
    except Exception as failed:  # other cases may still work
        result = {"why": " ".join(str(failed).split())[:160].replace('"', "'").replace(",", ";")}
    print(json.dumps({"case": case, "way": way, **result}), flush=True)
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--cpu", action="store_true")
    arguments = parser.parse_args()
    if not arguments.cpu and not torch.cuda.is_available():
        print(json.dumps({"why": f"none to compare with: PyTorch {torch.__version__} sees no GPU"}))
        return
    print(
        json.dumps(
            {
                "torch": f"{torch.__version__} on "
                + ("the CPU" if arguments.cpu else torch.cuda.get_device_name(0))
            }
        ),
        flush=True,
    )
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    peer = Peer(arguments.small, "cpu" if arguments.cpu else "cuda")
    tell("mlp", "eager", peer.mlp)
    tell("cnn", "eager", peer.cnn)
    tell("gpt2", "eager", peer.gpt2)
    tell("gpt2", "compiled", lambda: peer.gpt2(compiled=True))


if __name__ == "__main__":
    main()
