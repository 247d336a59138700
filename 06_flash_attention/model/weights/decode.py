"""The same model in PyTorch, with a KV cache: does it write the same text, and how fast?

usage: ./learn torch 06/model [--prompt TEXT] [--tokens 200] [--texts 1] [--weights FOLDER] [OPTION...]

Runs ./learn run 06/model with these options and others of its own, and then PyTorch, on a GPU if there is one. PyTorch
launches each operation by itself, as the program does.
"""
import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

try:
    import torch
    from torch.nn import functional

    import train
except ImportError:
    print(f"learn torch: {sys.executable} has no PyTorch: https://pytorch.org says how to install it", file=sys.stderr)
    sys.exit(2)

ROOT = Path(__file__).resolve().parents[3]


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


def of_program(asked, options):
    """What ./learn run 06/model writes with these options, and its tokens a second. Ends with its status if it fails."""
    words = [f"--{name}={getattr(asked, name)}" for name in ("prompt", "tokens", "texts", "weights")]
    run = subprocess.run([ROOT / "learn", "run", "06/model", *words, *options], stdout=subprocess.PIPE, text=True)
    print(run.stdout, end="", flush=True)
    speed = re.search(r"^\d+ tokens, (\S+) a second", run.stdout, re.M)
    if run.returncode or not speed:
        sys.exit(run.returncode or 2)
    return run.stdout, float(speed[1])


def main():
    what, usage, *more = __doc__.strip().split("\n\n")
    parser = argparse.ArgumentParser(usage=usage.removeprefix("usage: "), description="\n\n".join([what, *more]),
                                     formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("--prompt", default=train.PROMPTS[0])
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--texts", type=int, default=1)
    parser.add_argument("--weights", type=Path, default=Path(__file__).resolve().parent)
    asked, options = parser.parse_known_args()
    said, ours = of_program(asked, options)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = train.load(asked.weights / "weights.bin", train.Model()).to(device).eval()
    prompts = torch.tensor([list(asked.prompt.encode())] * asked.texts, device=device)
    write(model, prompts, min(asked.tokens, 20))  # loads the kernels
    begun = time.perf_counter()
    text = write(model, prompts, asked.tokens).cpu()  # waits for the device
    its = asked.texts * asked.tokens / (time.perf_counter() - begun)
    text = bytes(text[0].tolist()).decode(errors="replace")
    print(f"\nPyTorch {torch.__version__} on {torch.cuda.get_device_name() if device == 'cuda' else 'the CPU'}: "
          f"{its:.0f} tokens a second, this program {ours:.0f}.")
    if "--temperature" not in " ".join(options):
        print("It writes the same text." if text in said else f"It writes another text:\n\n{text}")


if __name__ == "__main__":
    main()
