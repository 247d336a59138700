#!/usr/bin/env python3
"""Writes a step as one CUDA file that nvcc compiles alone, here or in Compiler Explorer.

usage: ./learn take CHAPTER STEP FILE     CHAPTER: 02, or a part of it: 02/hopper

Kernel and launcher are taken as they stand in the step's file. Of the project's headers and sources comes what these
need, and below all of it the main() of the ladder's take.cu, which fills the inputs, launches, compares some elements
with a loop on the host, and says how long a launch takes.
"""
import re
import shlex
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import cpp_items
import cpp_slice
import diff_steps
import project
from project import die

# What stands in code that needs these headers. Others come wherever they are included.
USED_FOR = {
    "cublas_v2.h": r"cublas|CUBLAS",
    "cuda.h": r"CUtensorMap|CUresult",
    "cuda_bf16.h": r"bfloat16",
    "cuda_fp16.h": r"__half",
    "cuda_pipeline.h": r"__pipeline",
    "mma.h": r"wmma\b",
    "algorithm": r"std::(min|max|clamp|fill|copy|sort|nth_element|partial_sort|any_of|all_of|count|ranges)",
    "cmath": r"std::(abs|sqrt|exp|log|floor|fma|is\w+)|INFINITY|NAN|\b(exp|log|fmax)f\(",
    "functional": r"std::function",
    "limits": r"numeric_limits",
    "memory": r"std::\w+_ptr",
    "numeric": r"std::(accumulate|iota)",
    "optional": r"std::(optional|nullopt)",
    "span": r"std::span",
    "sstream": r"stringstream",
    "stdexcept": r"std::\w+_error",
    "string": r"std::(to_)?string\b",
    "utility": r"std::(move|swap|exchange|pair|forward)\b",
    "variant": r"std::(variant|visit)",
    "vector": r"std::vector",
}
# Without a word nvcc takes C++17. (A lambda with <class T> it takes as well, and warns.)
CXX20 = r"\[[^][]*\]<|std::(span|ssize|ranges|bit_cast)|using enum|\.starts_with|\) const = default|\brequires\b"
LINE = 100  # characters, as clang-format has it


class Taken(NamedTuple):
    text: str
    flags: str  # of nvcc
    library: str  # "-lcublas", or nothing
    words: str  # of the program: "M N K"
    small: str  # "200 150 100", for the simulator


# ---- main()


def main_of(folder, step):
    """The ladder's take.cu as it is for one step: a line that ends in `// only: a, b` is for these steps alone, and one
    that ends in `// but: a, b` for all others."""
    path = folder / "take.cu"
    if not path.is_file():
        die(f"there is no {project.label(folder)}/take.cu, which would hold the main() for its steps")
    lines = []
    for line in path.read_text().splitlines(True):
        if match := re.search(r" *// (only|but): ([\w, ]+)\n", line):
            if (match[1] == "only") != (step.name in match[2].split(", ")):
                continue
            line = line[:match.start()] + "\n"
        lines.append(re.sub(r"\bSTEP\b", step.name, line))
    return cpp_items.read(path, "".join(lines))


# ---- all of it


def grouped(namespace):
    """("tutorial", "softmax", "") as it is written: tutorial::softmax, and in it one without a name."""
    named = "::".join(name for name in namespace if name)
    return [named] * bool(named) + [""] * namespace.count("")


class Text:
    """The paragraphs of a file, and the namespaces around them."""

    def __init__(self):
        self.paragraphs, self.open = [], []

    def go_to(self, namespace):
        wanted = grouped(namespace)
        same = next((i for i, (one, other) in enumerate(zip(self.open, wanted)) if one != other),
                    min(len(self.open), len(wanted)))
        self.paragraphs += [f"}}  // namespace {name}".rstrip() for name in reversed(self.open[same:])]
        self.paragraphs += [f"namespace {name} {{" if name else "namespace {" for name in wanted[same:]]
        self.open = wanted

    def add(self, *paragraphs):
        self.paragraphs += [text.strip("\n") for text in paragraphs]

    def add_file(self, title, file, pieces):
        """What is left of a file: items and their texts."""
        is_of_a_gpu = file.path.parent == cpp_slice.HEADERS_OF_A_GPU
        scope = [name for name in pieces[0][0].namespace if name]
        self.go_to(scope if grouped(scope) == self.open and not is_of_a_gpu else ())
        self.add(title + "\n" + file.head * explains(file))
        if is_of_a_gpu:  # the tutorial's simulator has headers of these names, too
            self.add(f"#if __has_include(<{file.path.name}>)\n#include <{file.path.name}>\n#else")
        before = None
        for item, text in pieces:
            self.go_to(item.namespace)
            if before and item.follows(before):
                self.paragraphs[-1] += "\n" + text
            else:
                self.add(text)
            before = item
        if is_of_a_gpu:
            self.go_to(())
            self.add("#endif")

    def finished(self):
        self.go_to(())
        return "\n\n".join(self.paragraphs).replace("{\n\nnamespace {", "{\nnamespace {") + "\n"


def explains(file):
    """Does the comment at its top say what one has to know: of a ladder what it computes, of a word for tensor cores
    and Hopper how numbers lie?"""
    is_of_ladder = file.path.name == f"{file.path.parent.name}.hpp" and project.ROOT / "common" not in file.path.parents
    return is_of_ladder or file.path.suffix == ".cuh" and any(include.startswith("<ptx") for include in file.includes)


def rule(what):
    return f"// ---- {what} ".ljust(LINE, "-")


def one_file(step, main):
    """A step, with all that it needs, and below it what launches it: as code with its #include lines."""
    own = cpp_items.read(step.path, step.path.read_text())
    pieces, text = cpp_slice.Slice([own, main]), Text()
    for path in pieces.ordered():
        file, title = pieces.file(path), rule(path.relative_to(project.ROOT))
        if file is own:
            text.go_to(())
            text.add(f"{title}\n{file.head}", file.body)
        elif file is main:
            text.go_to(())
            text.add(rule("main"), file.body)
        elif kept := list(pieces.pieces(path)):
            text.add_file(title, file, kept)
    code = text.finished()
    bare = re.sub("//.*", "", code)
    includes = sorted(include for include in pieces.includes()
                      if re.search(USED_FOR.get(include.strip("<>"), ""), bare))
    return "".join(f"#include {include}\n" for include in includes) + "\n" + code


def take(folder, step, name):
    """Step and main() as the file that is to be called `name`."""
    main = main_of(folder, step)
    code = one_file(step, main)
    words = re.search(r"^// words: ([\w ]+), in the simulator ([\d ]+)$", main.head, re.M)
    library = "-lcublas" * ("cublasCreate" in code)
    taken = Taken("", flags_for(folder, step, code), library, words[1], words[2])
    return taken._replace(text=f"{heading(folder, step, name, taken)}\n{code}")


def flags_for(folder, step, code):
    listed = "".join(header.read_text() for header in folder.glob("*.hpp"))
    entry = re.search(rf'\.name = "{step.name}",.*?(?=\.name = |\Z)', listed, re.S)
    needs = re.search(r'\.needs = "(sm_\w+)"', entry[0] if entry else "")
    # A step with a smaller need, or none, takes other ways on other GPUs.
    is_for_hopper = re.search(r"PTX_HOPPER\(|__CUDA_ARCH__ >= 900", code)
    architecture = ("sm_90a" if re.search(r"\bwgmma<", code) else needs[1] if needs
                    else "sm_90" if is_for_hopper else "sm_75")
    return f"-O3 -arch={architecture}" + " -std=c++20" * bool(re.search(CXX20, code))


def commands(name, taken):
    """How one compiles and runs it; and tries it without a GPU."""
    program = name.removesuffix(".cu")
    run = program if "/" in program else f"./{program}"
    compiled = shlex.join(["nvcc", *taken.flags.split(), name, "-o", program, *taken.library.split()])
    return f"{compiled} && {shlex.quote(run)}", f"./learn try {shlex.quote(name)} --cpu {taken.small}"


def heading(folder, step, name, taken):
    compiled, tried = commands(name, taken)
    width = max(len(compiled), len(tried)) + 3
    licence = (project.ROOT / "LICENSE").read_text().splitlines()
    what = textwrap.fill(
        f"{step.name}, step {step.number} of {project.label(folder)}, in one file with all that it needs. main() "
        "compares some elements with a loop on the host, and says how long a launch takes.",
        LINE, initial_indent="// ", subsequent_indent="// ")
    return f"""\
{what}
//
//   {compiled.ljust(width)}other sizes: {taken.words}
//   {tried.ljust(width)}in the tutorial, without a GPU
//
// Written by ./learn take {project.short_name(folder)} {step.name} {shlex.quote(name)}
// {licence[2]}: {licence[0]}
"""


# ---- the command line


def main():
    project.program = "learn take"
    usage = "./learn take 02 register_tile tile.cu"
    parser = project.arguments(__doc__, prog="./learn take")
    for word in ("chapter", "step", "file"):
        parser.add_argument(word, nargs="?")
    words = parser.parse_args()
    if not words.chapter:
        die(f"take which step? For example: {usage}")
    folder = project.find_ladder(words.chapter)
    example = project.steps(folder)[0].name if words.step is None else words.step
    if not words.step:
        die(f"take which step? For example: ./learn take {project.short_name(folder)} {example} my.cu")
    place, at = diff_steps.find(folder, words.step, "take")
    step = project.steps(place)[at]
    if not words.file:
        die(f"into which file? For example: ./learn take {words.chapter} {words.step} my.cu")
    path = Path(words.file)
    if path.suffix != ".cu":
        die(f"{path} is no name for a CUDA file: it must end in .cu")
    if path.exists():
        die(f"{path} is there already: take another name, or remove it")
    taken = take(place, step, path.name)
    try:
        path.write_text(taken.text)
    except OSError as error:
        path.unlink(missing_ok=True)
        die(f"{path} cannot be written: {error.strerror}")
    compiled, tried = commands(words.file, taken)
    print(f"{path} has {step.name} and all that it needs, in {len(taken.text.splitlines())} lines. Next:\n\n"
          f"  {compiled}\n  {tried}")


if __name__ == "__main__":
    main()
