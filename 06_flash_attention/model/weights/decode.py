"""The same model in PyTorch, with a KV cache: what it writes, and how fast. To stand beside ./learn run 06/model.

usage: decode.py [--prompt "A warp is"] [--tokens 200] [--texts 1] [--weights FOLDER]

On a GPU if there is one. PyTorch launches each operation by itself, as the program here does.
"""
import argparse
import time
from pathlib import Path

import torch
from torch.nn import functional

import train


def attend(block, x, cache):
    """What attention adds to x (B, T, width); cache holds k and v of all bytes so far, (B, NH, ·, HS)."""
    B, T, width = x.shape
    q, k, v = block.qkv(block.norm1(x)).view(B, T, 3, train.HEADS, width // train.HEADS).permute(2, 0, 3, 1, 4)
    k, v = (torch.cat([old, new], 2) for old, new in zip(cache, (k, v))) if cache else (k, v)
    cache[:] = k, v
    if T > 1:
        out = train.attention(q, k, v)  # the prompt, at once
    elif hasattr(functional, "scaled_dot_product_attention"):  # from PyTorch 2.0 on
        out = functional.scaled_dot_product_attention(q, k, v)
    else:
        out = ((q @ k.transpose(-2, -1)) / (width // train.HEADS) ** 0.5).softmax(-1) @ v
    return block.out(out.transpose(1, 2).reshape(B, T, width))


@torch.no_grad()
def write(model, prompts, count):
    """The best byte each time, behind each of the prompts (B, T)."""
    caches, unread, text = [[] for _ in model.blocks], prompts, prompts
    for _ in range(count):
        first = text.shape[1] - unread.shape[1]
        x = model.token(unread) + model.position.weight[first: text.shape[1]]
        for block, cache in zip(model.blocks, caches):
            x = x + attend(block, x, cache)
            x = x + block.down(functional.gelu(block.up(block.norm2(x))))
        unread = model.head(model.norm(x[:, -1:])).argmax(-1)
        text = torch.cat([text, unread], 1)
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompt", default="A warp is")
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--texts", type=int, default=1)
    parser.add_argument("--weights", type=Path, default=Path(__file__).parent)
    asked = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = train.load(asked.weights / "weights.bin", train.Model()).to(device).eval()
    prompts = torch.tensor([list(asked.prompt.encode())] * asked.texts, device=device)
    write(model, prompts, min(asked.tokens, 20))  # loads the kernels
    begun = time.perf_counter()
    text = write(model, prompts, asked.tokens).cpu()  # waits for the device
    seconds = time.perf_counter() - begun
    print(bytes(text[0].tolist()).decode(errors="replace"))
    print(f"\n{asked.texts * asked.tokens} tokens, {asked.texts * asked.tokens / seconds:.0f} a second")


if __name__ == "__main__":
    main()
