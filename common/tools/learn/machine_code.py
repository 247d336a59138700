"""Machine code as text: what nvcc writes as PTX and what nvdisasm prints of a cubin (SASS), as instructions with the
line that each came from; a kernel's loops, and which of them does the work."""
import collections
import os
import re
from pathlib import Path
from typing import NamedTuple


class Instruction(NamedTuple):
    text: str  # "@P0 BRA `(.L_x_3)"
    file: str  # of its line: that of the source where this or a caller of it stands there, else where it was written
    line: int  # 0: of no line


class Kernel(NamedTuple):
    instructions: list
    labels: dict  # .L_x_3: the position that it stands before
    about: dict  # of PTX: threads, dynamic


class Loop(NamedTuple):
    positions: list
    depth: int  # 1: in no other loop
    work: tuple  # how much it does beside the loops in it: products on tensor cores, other arithmetic


def place(frames, source):
    """Of (file, line), the innermost first, the first that is in the source; if none is, the innermost."""
    return next((frame for frame in frames if frame[0] == source), frames[0] if frames else ("", 0))


# ---- the two languages


def parse_sass(text, source):
    """What `nvdisasm -c -gi` prints: {symbol: Kernel}. A line of it is a section, a label, where the next instructions
    came from (a line for each function that was inlined, the innermost first), or an instruction."""
    kernels, kernel, frames, is_open = {}, None, [], False
    for line in text.splitlines():
        if match := re.match(r"\s*\.text\.(\S+):", line):
            kernel = kernels[match[1]] = Kernel([], {}, {})
            frames = []
        elif kernel is None:
            continue
        elif match := re.match(r'\s*//## File "(.*?)", line (\d+)', line):
            frames = [*(frames if is_open else []), (os.path.normpath(match[1]), int(match[2]))]
            is_open = True
            continue
        elif match := re.match(r"\s*([.$][\w.$]+):\s*$", line):
            kernel.labels[match[1]] = len(kernel.instructions)
        elif match := re.match(r"\s*/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;", line):
            kernel.instructions.append(Instruction(" ".join(match[1].split()), *place(frames, source)))
        is_open = False
    for kernel in kernels.values():  # the end is a branch to itself, and NOPs that fill a line of the cache
        while kernel.instructions and re.match("NOP|BRA", kernel.instructions[-1].text):
            kernel.instructions.pop()
    return kernels


def parse_ptx(text, source):
    """What nvcc -ptx writes: {symbol: Kernel}. A .loc with inlined_at names the .loc that stands above it, too."""
    files = {number: os.path.normpath(path) for number, path in re.findall(r'^\s*\.file\s+(\d+)\s+"(.*?)"', text, re.M)}
    kernels = {}
    for entry in re.split(r"^(?:\.\w+ )*(?=\.(?:entry|func) )", text, flags=re.M):
        match = re.match(r"\.entry (\w+)\((.*?)^\{(.*)", entry, re.M | re.S)
        if not match:
            continue
        threads = re.search(r"\.(?:maxntid|reqntid) (\d+)(?:, (\d+))?(?:, (\d+))?", match[2])
        kernel = kernels[match[1]] = Kernel([], {}, {"threads": 0})
        if threads:
            kernel.about["threads"] = int(threads[1]) * int(threads[2] or 1) * int(threads[3] or 1)
        outer, frames, statement = {}, [], ""
        for line in match[3].splitlines():
            line = re.sub(r"//.*", "", line).strip()
            if loc := re.match(r"\.loc\s+(\d+) (\d+) (\d+)(?:.*inlined_at (\d+) (\d+) (\d+))?", line):
                here, caller = loc.group(1, 2, 3), loc.group(4, 5, 6)
                outer[here] = [*outer.get(caller, [(caller[0], int(caller[1]))])] if caller[0] else []
                outer[here] = [(here[0], int(here[1])), *outer[here]]
                frames = [(files.get(number, ""), at) for number, at in outer[here]]
                continue
            if label := re.fullmatch(r"([\w$]+):", line):
                kernel.labels[label[1]] = len(kernel.instructions)
                continue
            *whole, statement = re.split(r";|(?<![\w%,]) ?[{}](?=\s|$)", f"{statement} {line}")
            for one in whole:
                if one.strip() and not one.strip().startswith("."):
                    kernel.instructions.append(Instruction(" ".join(one.split()), *place(frames, source)))
    return kernels


# ---- loops


def jump(text):
    """Of an instruction: the label that it goes to (None: it goes on), and whether it may also go on."""
    guard, rest = re.match(r"(@!?%?\w+ )?(.*)", text).groups()
    if match := re.match(r"(?:BRA|JMP)\S*\s(.*?)`\((.*)\)", rest):
        if rest.startswith("BRA.DIV"):  # only if lanes have parted: its other way is not the kernel's work
            return None, True
        return match[2], bool(guard or match[1].strip())
    if match := re.match(r"bra(?:\.uni)?\s+([\w$]+)", rest):
        return match[1], bool(guard)
    return None, bool(guard) or not re.match(r"EXIT|RET|ret$|exit$|trap$", rest)


def blocks_of(kernel):
    """Its basic blocks: [(first position, last + 1)], and for each the blocks that may follow."""
    count = len(kernel.instructions)
    jumps = [jump(one.text) for one in kernel.instructions]
    starts = {0, *kernel.labels.values(), *(at + 1 for at, (to, goes_on) in enumerate(jumps) if to or not goes_on)}
    starts = sorted(at for at in starts if at < count)
    number = {at: i for i, at in enumerate(starts)}
    blocks, following = list(zip(starts, [*starts[1:], count])), []
    for first, end in blocks:
        to, goes_on = jumps[end - 1]
        after = [kernel.labels.get(to)] if to else []
        after += [end] if goes_on else []
        following.append([number[at] for at in after if at in number])
    return blocks, following


def loops(kernel, sass):
    """Its loops, in their order. A loop is an edge back to a block that every way to the edge's beginning passes, with
    all that leads to the edge without that block; code that the compiler put behind the end belongs to it, too."""
    blocks, following = blocks_of(kernel)
    if not blocks:
        return []
    before = [[i for i, after in enumerate(following) if at in after] for at in range(len(blocks))]
    everything = (1 << len(blocks)) - 1
    passed = [1, *[everything] * (len(blocks) - 1)]  # a bit for each block that every way to this one passes
    changed = True
    while changed:
        changed = False
        for at in range(1, len(blocks)):
            new = everything
            for i in before[at]:
                new &= passed[i]
            new |= 1 << at
            changed |= new != passed[at]
            passed[at] = new
    bodies = {}
    for at, after in enumerate(following):
        for head in after:
            if passed[at] >> head & 1 and passed[at] != everything:
                body, open_ends = bodies.setdefault(head, {head}), [at]
                while open_ends:
                    one = open_ends.pop()
                    if one not in body:
                        body.add(one)
                        open_ends += before[one]
    found = []
    for head, body in sorted(bodies.items()):
        inner = set().union(*(other for top, other in bodies.items() if top != head and top in body and other <= body))
        depth = sum(head in other for other in bodies.values())
        own = [at for i in sorted(body - inner) for at in range(*blocks[i])]
        found.append(Loop([at for i in sorted(body) for at in range(*blocks[i])], depth,
                          work([kernel.instructions[at] for at in own], sass)))
    return found


PRODUCTS = {True: "[A-Z]*MMA", False: r"(wmma\.)?mma\.|wgmma\.mma"}
# (With an HFMA2 of zeros ptxas sets a register.)
ARITHMETIC = {True: "[FD](FMA|MUL|ADD|MNMX)|MUFU|H(FMA|MUL|ADD|MNMX)2(?!.*RZ, RZ)",
              False: r"fma|ex2|lg2|rcp|rsqrt|sqrt|(add|sub|mul|div|max|min).*\.b?f\d+"}


def work(instructions, sass):
    """How many of them are products on tensor cores, and how many other arithmetic, not counting that of indices."""
    texts = [unguarded(one.text) for one in instructions]
    return tuple(sum(bool(re.match(what[sass], one)) for one in texts) for what in (PRODUCTS, ARITHMETIC))


def weight(loop):
    """By what the loop that does the work is chosen: an inner loop makes some rounds, 16, for one of the outer's."""
    return [16 ** loop.depth * count for count in (*loop.work, len(loop.positions))]


def inner(kernel, sass):
    """The loop that does the work, or None."""
    return max(loops(kernel, sass), key=weight, default=None)


# ---- what is shown


def unguarded(text):
    """LDS.128 R4, [R8], of "@P0 LDS.128 R4, [R8]"."""
    return re.sub(r"^@!?%?\w+ ", "", text)


def kind(text):
    """LDS.128 of both."""
    return unguarded(text).split(" ")[0]


def counts(instructions):
    """[(kind, how many)], the most frequent first."""
    found = collections.Counter(kind(one.text) for one in instructions)
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))


def listing(kernel, positions, source, most=None):
    """The lines of code, in their order, and below each the instructions that it became, with their place among those
    at the positions; the first `most` of them. Of other files than the source the line's own file is named."""
    by_line = {}
    for number, at in enumerate(positions, 1):
        one = kernel.instructions[at]
        by_line.setdefault((one.line == 0, one.file != source, one.file, one.line), []).append((number, one))
    texts, shown = {}, []
    for (unknown, elsewhere, file, line), found in sorted(by_line.items()):
        if file not in texts:
            texts[file] = Path(file).read_text().splitlines() if file and Path(file).exists() else []
        text = texts[file][line - 1].strip() if 0 < line <= len(texts[file]) else ""
        where = f"{Path(file).name}:{line}" if elsewhere else f"{line:>4}"
        shown.append("   –  of no line" if unknown else f"{where}  {text}".rstrip())
        shown += [f"{number:>10}  {shorter(one.text)}" for number, one in found[:most]]
        if rest := counts(one for _, one in found[most:]) if most else []:
            shown.append(f"{'…':>10}  {', '.join(f'{count} {one}' for one, count in rest)}")
    return shown


def lines_of(kernel, positions, path):
    """Lines 62–71, from the first to the last of the step's own that they came from."""
    lines = [kernel.instructions[at].line for at in positions if kernel.instructions[at].file == str(path)]
    lines = [line for line in lines if line]
    if not lines:
        return "of no line"
    return f"lines {min(lines)}–{max(lines)}" if min(lines) < max(lines) else f"line {lines[0]}"


def in_all(instructions):
    """64 FFMA, 4 LDS.128, 3 others; 88 % of the 73 instructions are FFMA."""
    kinds = counts(instructions)
    shown, rest = kinds[:12], sum(count for _, count in kinds[12:])
    text = ", ".join(f"{count} {one}" for one, count in shown) + (f", {rest} others" if rest else "")
    family, most = counts(one._replace(text=one.text.replace(".", " ", 1)) for one in instructions)[0]
    return f"{text}; {100 * most / len(instructions):.0f} % of the {len(instructions)} instructions are {family}."


def shorter(text):
    """Without the middle of a long list of registers."""
    return re.sub(r"\{([^{},]+, [^{},]+), [^{}]{60,}, ([^{},]+)\}", r"{\1, …, \2}", text)
