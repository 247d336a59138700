"""Trains the model of this folder with PyTorch; writes weights.bin, weights.txt and written.txt beside this file.

usage: train.py [TEXT...] [--minutes 3] [--batch 64] [--seed 1] [--out FOLDER] [--record]

TEXT: files, .md or .rst.txt, of which the prose is taken: no code, no tables. PyTorch 1.13 or newer, a GPU if there is
one. What the weights of the tutorial were trained on stands in weights.txt. written.txt has what PyTorch writes with
them, which the tests compare with. --record trains nothing, and looks at the weights that are there.
"""
import argparse
import math
import re
import time
import zlib
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

LAYERS, WIDTH, HEADS, CONTEXT, VOCABULARY = 4, 192, 6, 256, 256  # as model.hpp has them
HELD_OUT = 20  # one in so many pieces of text is not learnt from


def causal_scores(q, k):
    """q·kᵀ / √HS of (B, NH, T, HS), -inf where a key comes after its query."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
    return scores.masked_fill(hidden, -math.inf)


def attention(q, k, v):
    """Causal, of (B, NH, T, HS). A test puts the tutorial's own in its place."""
    return causal_scores(q, k).softmax(-1) @ v


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.qkv, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.norm2, self.up, self.down = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x, drop, attend):
        B, T, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(B, T, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        x = x + drop(self.out(attend(q, k, v).transpose(1, 2).reshape(B, T, WIDTH)))
        return x + drop(self.down(functional.gelu(self.up(self.norm2(x)))))


class Model(nn.Module):
    """Logits (B, T, 256) of the next byte after each of tokens (B, T)."""

    def __init__(self, dropout=0.0):
        super().__init__()
        self.token, self.position = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.drop = nn.Dropout(dropout)
        for name, weight in self.named_parameters():
            if weight.dim() == 2:  # GPT-2's start: what is added to x is smaller the more layers add
                last = name.endswith(("out.weight", "down.weight"))
                nn.init.normal_(weight, std=0.02 / math.sqrt(2 * LAYERS if last else 1))
            elif name.endswith("bias"):
                nn.init.zeros_(weight)

    def forward(self, tokens, attend=attention):
        x = self.drop(self.token(tokens) + self.position.weight[: tokens.shape[1]])
        for block in self.blocks:
            x = block(x, self.drop, attend)
        return self.head(self.norm(x))


def in_file_order(model):
    """The weights as weights.bin has them, one after another; a product's as (K, N), x·W."""
    for name, weight in model.named_parameters():
        is_product = weight.dim() == 2 and name not in ("token.weight", "position.weight")
        yield weight.t() if is_product else weight


def save(model, path):
    flat = torch.cat([weight.detach().reshape(-1).cpu() for weight in in_file_order(model)])
    path.write_bytes(flat.bfloat16().view(torch.int16).numpy().tobytes())


def load(path, model):
    flat = torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.int16).view(torch.bfloat16).float()
    place = 0
    with torch.no_grad():
        for weight in in_file_order(model):
            weight.copy_(flat[place: place + weight.numel()].view(weight.shape))
            place += weight.numel()
    return model


# ---- the text


def prose(path):
    """The paragraphs of a page, links without their addresses."""
    text = re.sub(r"^```.*?^```|<!--.*?-->|<svg.*?</svg>", "", path.read_text(errors="ignore"), flags=re.S | re.M)
    found = []
    for paragraph in re.split(r"\n\s*\n", text):
        lines = [line.strip() for line in paragraph.splitlines()]
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(lines))
        plain = re.sub(r"`([^`<]*?)\s*<[^>`]*>`_+", r"\1", plain).replace("``", "`").replace("**", "")
        if re.match(r"[A-Z`][^|<>{}\\]{60,}[.:!?]$", plain) and not re.search(r"[=~^.-]{4}|:\w+:`|::", plain):
            found.append(plain)
    return "\n".join(found)


def learnt_and_held_out(paths):
    pieces = [piece for path in paths for piece in re.findall(r"(?s).{1,2048}", prose(path))]
    parts = [[p for i, p in enumerate(pieces) if (i % HELD_OUT == 0) == held_out] for held_out in (False, True)]
    return [torch.tensor(list("".join(part).encode()), dtype=torch.long) for part in parts]


def loss_of(model, text, device):
    """Mean over all of it, in nats a byte."""
    model.eval()
    windows = text[: len(text) // CONTEXT * CONTEXT].view(-1, CONTEXT)
    total = 0.0
    with torch.no_grad():
        for rows in windows.split(64):
            rows = rows.to(device)
            total += functional.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten(),
                                              reduction="sum").item()
    model.train()
    return total / (len(windows) * (CONTEXT - 1))


def train(text, held_out, minutes, batch, device, rate=2e-3):
    """Until the time is over: the rate rises for the first 50th of it, then falls as a cosine."""
    model = Model(dropout=0.1).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98), weight_decay=0.1)
    begun, step, done = time.time(), 0, 0.0
    while (done := (time.time() - begun) / (60 * minutes)) < 1:
        for group in optimizer.param_groups:
            group["lr"] = rate * min(50 * done + 0.01, (1.02 + math.cos(math.pi * done)) / 2)
        starts = torch.randint(len(text) - CONTEXT - 1, (batch,))
        rows = torch.stack([text[start: start + CONTEXT + 1] for start in starts]).to(device)
        loss = functional.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 200 == 0:
            print(f"{100 * done:5.1f} %, step {step}: loss {loss.item():.3f}, "
                  f"held out {loss_of(model, held_out, device):.3f}", flush=True)
        step += 1
    return model, step


# ---- what the tests compare with

PROMPTS = ["Each thread", "Shared memory", "The", "x"]
GIVEN = 200  # bytes: of what PyTorch writes, the first so many are the text whose logits are compared


def rounded(x):
    return x.bfloat16().float()


def attention_bf16(q, k, v):
    """attention() whose products take bf16; the sum that it divides by is that of the weights before, and out is bf16."""
    q, k, v = map(rounded, (q, k, v))
    scores = causal_scores(q, k)
    weights = (scores - scores.amax(-1, keepdim=True)).exp()
    return rounded(rounded(weights) @ v / weights.sum(-1, keepdim=True))


def greedy(model, prompt, count, device):
    """The bytes that follow, the best one each time."""
    text = list(prompt.encode())
    with torch.no_grad():
        for _ in range(count):
            text.append(model(torch.tensor([text], device=device))[0, -1].argmax().item())
    return bytes(text)


def record(folder, about, device):
    """Adds to weights.txt how far PyTorch's logits are from those in double: in float32, and with what is multiplied
    rounded to bf16, as tensor cores take it. Writes written.txt."""
    model = load(folder / "weights.bin", Model()).to(device).eval()
    double = load(folder / "weights.bin", Model()).double().to(device).eval()
    written = [greedy(model, prompt, GIVEN, device) for prompt in PROMPTS]
    given = torch.tensor([list(text[:GIVEN]) for text in written], device=device)
    with torch.no_grad():
        want = double(given)
        error = (model(given).double() - want).abs().amax().item()
        for block in model.modules():
            if isinstance(block, nn.Linear):
                block.register_forward_pre_hook(lambda _, inputs: tuple(map(rounded, inputs)))
        error_bf16 = (model(given, attention_bf16).double() - want).abs().amax().item()
    (folder / "weights.txt").write_text(f"{about}logit_error {error:.3g}\nlogit_error_bf16 {error_bf16:.3g}\n")
    (folder / "written.txt").write_bytes(b"".join(
        text.replace(b"\\", b"\\\\").replace(b"\n", b"\\n") + b"\n" for text in written))


def main():
    what, usage, *more = __doc__.strip().split("\n\n")
    parser = argparse.ArgumentParser(usage=usage.removeprefix("usage: "), description="\n\n".join([what, *more]),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", nargs="*", type=Path)
    parser.add_argument("--minutes", type=float, default=3)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    parser.add_argument("--record", action="store_true")
    asked = parser.parse_args()
    torch.manual_seed(asked.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    text, held_out = learnt_and_held_out(asked.text)
    print(f"{len(text)} bytes to learn from, {len(held_out)} held out")
    about = (asked.out / "weights.txt").read_text().partition("logit_error")[0] if asked.record else ""
    if not asked.record:
        model, steps = train(text, held_out, asked.minutes, asked.batch, device)
        save(model, asked.out / "weights.bin")
        model = load(asked.out / "weights.bin", Model()).to(device)  # rounded to bf16, as they will be used
        checksum = zlib.crc32((asked.out / "weights.bin").read_bytes())
        name = torch.cuda.get_device_name() if device == "cuda" else f"{torch.get_num_threads()} CPU thread(s)"
        about = (f"layers {LAYERS}\nwidth {WIDTH}\nheads {HEADS}\ncontext {CONTEXT}\ncrc32 {checksum:08x}\n"
                 f"# {steps} steps of {asked.batch} pieces of {CONTEXT} bytes in {asked.minutes:g} minutes on {name}, "
                 f"PyTorch {torch.__version__}, seed {asked.seed}\n"
                 f"# {len(text)} bytes of prose; loss on the first {len(held_out)} "
                 f"{loss_of(model, text[:len(held_out)], device):.3f} nats a byte, on as many held out {loss_of(model, held_out, device):.3f}\n")
    record(asked.out, about, device)


if __name__ == "__main__":
    main()
