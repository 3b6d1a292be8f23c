#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs a small language model of Hugging Face's transformers, with random weights, on a GPU. It
writes the same natively, in a guest, and on the processor."""

import os
import warnings

# The library must not download anything.
os.environ["HF_HUB_OFFLINE"] = "1"

import torch                                            # pylint: disable=wrong-import-position
from transformers import GPT2Config, GPT2LMHeadModel    # pylint: disable=wrong-import-position

if __name__ == "__main__":
    # Warnings are off, because they contain the program's folder.
    warnings.simplefilter("ignore")
    torch.manual_seed(1)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=256, n_positions=128, n_embd=64, n_layer=2, n_head=4,
                                       bos_token_id=0, eos_token_id=255, pad_token_id=255)).double().eval()
    start = torch.arange(8)[None]

    def written(device):
        with torch.no_grad():
            return model.to(device).generate(start.to(device), attention_mask=torch.ones_like(start).to(device),
                                             max_new_tokens=24, min_new_tokens=24, do_sample=False)[0].tolist()

    by_card = written("cuda")
    print("written", by_card[8:], by_card == written("cpu"), flush=True)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model.float().cuda()(start.cuda(), labels=start.cuda()).loss
    loss.backward()
    print("gradients", all(bool(weight.grad.isfinite().all()) for weight in model.parameters() if weight.grad is not None), flush=True)
