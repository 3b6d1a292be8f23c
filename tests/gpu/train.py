#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Trains a small network by PyTorch on a GPU, from pinned batches that another process makes, then
runs a graph and functions of CUDA's libraries. Its output is the same natively and in a guest."""

import warnings

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

WIDTH, CLASSES = 16, 4


def batches():
    """Returns batches of pictures; the brighter quarter of a picture is its class."""
    generator = torch.Generator().manual_seed(1)
    pictures = torch.rand(256, 1, WIDTH, WIDTH, generator=generator)
    kinds = torch.arange(256) % CLASSES
    half = WIDTH // 2
    for picture, kind in zip(pictures, kinds.tolist()):
        row, column = kind // 2 * half, kind % 2 * half
        picture[0, row:row + half, column:column + half] += 1
    return DataLoader(TensorDataset(pictures, kinds), batch_size=64, num_workers=1, pin_memory=True)


def train():
    torch.manual_seed(2)
    network = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                            nn.Linear(8 * WIDTH * WIDTH // 4, CLASSES)).cuda()
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(3):
        for pictures, kinds in batches():
            assert pictures.is_pinned()
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = nn.functional.cross_entropy(network(pictures.cuda(non_blocking=True)), kinds.cuda())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        right = sum((network(pictures.cuda()).argmax(1).cpu() == kinds).sum().item() for pictures, kinds in batches())
    print("trained", "well" if right > 250 and loss.item() < 0.2 else f"badly: {right} of 256, {loss.item()}", flush=True)


def recorded():
    """Records operations as a graph, and replays it."""
    value = torch.zeros(1 << 16, device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        value.add_(1)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        value.mul_(2).add_(1)
    for _ in range(10):
        graph.replay()
    print("graph", value.double().mean().item(), flush=True)


def beside():
    torch.manual_seed(3)
    a = torch.rand(256, 256, dtype=torch.float64)
    g = a.cuda()
    print("solve", torch.allclose(torch.linalg.solve(g, g @ g), g), flush=True)
    print("singular values", torch.allclose(torch.linalg.svdvals(g).cpu(), torch.linalg.svdvals(a)), flush=True)
    print("sparse", torch.allclose((g * (g > 0.9)).to_sparse_csr() @ g, (g * (g > 0.9)) @ g), flush=True)
    print("sort", torch.equal(g.flatten().sort().values.cpu(), a.flatten().sort().values), flush=True)
    print("random", torch.rand(4, device="cuda", generator=torch.Generator("cuda").manual_seed(4)).tolist(), flush=True)
    try:
        torch.empty(1 << 40, dtype=torch.uint8, device="cuda")
    except torch.cuda.OutOfMemoryError:
        print("too much is refused", flush=True)


if __name__ == "__main__":
    # Warnings are off, because they contain the program's folder.
    warnings.simplefilter("ignore")
    print(torch.__version__, torch.cuda.get_device_name(), torch.cuda.get_device_properties(0).total_memory, flush=True)
    recorded()
    beside()
    train()
