#!/usr/bin/env python3
"""Shows what nvcc makes of a step's inner loop: each line of code, and below it the instructions that it became.

usage: ./learn sass CHAPTER STEP [--arch 80] [--kernel NAME] [--loop N] [--all] [--ptx]
       common/tools/learn/sass.py --json    what is recorded of all steps, for the site

CHAPTER is 02, or a part of it: 02/hopper. What is shown is SASS, the machine's own language, made anew from the file as
it is now: no GPU is needed, but nvcc and nvdisasm. Without nvdisasm it is PTX, from which SASS is made; of a step that
was not edited the recorded SASS (docs/results/sass), which is there without nvcc, too.
"""
import hashlib
import json
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import diff_steps
import machine_code
import project
import registers
from project import die

RECORDS = project.ROOT / "docs/results/sass"
SAMPLES = project.ROOT / "docs/results/samples.csv"


class Compiled(NamedTuple):
    kernels: dict  # {name: machine_code.Kernel}
    takes: dict  # {name: (registers, bytes of shared memory, of the stack, spilled; threads of a block, or 0)}
    adds: bool  # does a launch ask for shared memory besides?


def dotted(architecture):
    """9.0a, of 90a."""
    return re.sub(r"(\d)(a?)$", r".\1\2", architecture)


# ---- the compiler


def compile_step(path, architecture, ptx):
    """A step's kernels as SASS, or as PTX. Raises ValueError with what nvcc says where it does not compile."""
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder, "step.cubin")
        command = registers.command(project.tool("nvcc"), str(path.relative_to(project.ROOT)), architecture, cubin)
        done = subprocess.run([*command, "--keep", "--keep-dir", folder], capture_output=True, text=True)
        if done.returncode != 0:
            raise ValueError(done.stderr)
        text = Path(folder, path.stem + ".ptx").read_text()
        about = found = machine_code.parse_ptx(text, str(path))
        if not ptx:
            said = subprocess.run([project.tool("nvdisasm"), "-c", "-gi", cubin], capture_output=True, text=True)
            if said.returncode != 0:
                die(f"nvdisasm does not take what nvcc has made: {said.stderr.strip()}")
            found = machine_code.parse_sass(said.stdout, str(path))
    symbols = [symbol for symbol in about if symbol in found]
    name_of = dict(zip(symbols, map(short_name, registers.names_of(symbols) if symbols else [])))
    takes = {name_of[symbol]: (int(count), int(shared or 0), int(stack), int(spilled), about[symbol].about["threads"])
             for symbol, stack, spilled, count, shared in registers.KERNEL.findall(done.stderr) if symbol in name_of}
    return Compiled({name_of[symbol]: found[symbol] for symbol in symbols}, takes, ".extern .shared" in text)


def short_name(name):
    """row_kernel<64>, of tutorial::softmax::(anonymous namespace)::row_kernel<64>."""
    return re.sub(r"(\w+|\(anonymous namespace\))::", "", name)


def is_called(name, letters):
    return letters.replace(" ", "") in name.replace(" ", "")


def architecture_here(source, asked):
    """The one that is asked for, 80, 8.0 or sm_80; else that of the GPU here, else 8.0; of what needs it 9.0a."""
    known = [one for one in registers.ARCHITECTURES if registers.has_code_on(source, one)]
    if asked:
        wanted = re.sub(r"^(sm|compute)_|\.", "", asked.lower())
        wanted = wanted + "a" * (wanted == "90")
        if wanted not in registers.ARCHITECTURES:
            die(f"'{asked}' is no architecture here; choose from {', '.join(map(dotted, registers.ARCHITECTURES))}")
        return wanted if wanted in known else die(
            f"on {dotted(wanted)} {Path(source).name} has no code, only on {', '.join(map(dotted, known))}")
    try:
        wanted = project.gpu("compute_cap").strip().replace(".", "").replace("90", "90a")
    except (OSError, subprocess.CalledProcessError, IndexError):
        wanted = "80"
    return wanted if wanted in known else "80" if "80" in known else known[0]


# ---- the record


def fingerprint(path):
    """Of a step's code: of its file and the project's headers that it includes, without comments."""
    found = [path]
    for file in found:
        names = re.findall(r'^#include "([^"]+)"', file.read_text(), re.M)
        places = [project.ROOT, project.ROOT / path.relative_to(project.ROOT).parts[0], file.parent,
                  project.ROOT / "common/backend/include"]
        headers = {(place / name).resolve() for name in names for place in places if (place / name).exists()}
        found += sorted(headers - set(found))
    code = [re.sub(r"\s*//.*", "", file.read_text()) for file in found]
    return hashlib.sha256("\0".join(code).encode()).hexdigest()[:12]


def record_of(path):
    return RECORDS / path.relative_to(project.ROOT).with_suffix(".txt")


def recorded(path):
    """What is recorded of a step as it is now: {("sass", "90a"): (how it was made, the text)}."""
    if not record_of(path).exists():
        return {}
    parts = re.split(r"^== (\w+) (\w+) of (\w+): (.*)\n", record_of(path).read_text(), flags=re.M)[1:]
    return {(parts[i], parts[i + 1]): (parts[i + 3], parts[i + 4].strip("\n"))
            for i in range(0, len(parts), 5) if parts[i + 2] == fingerprint(path)}


def all_as_data():
    """{"02_tiled_matmul/step1_shared_tile.cu": [["9.0a", how it was made, the text], …]} of the SASS that is still true."""
    paths = [step.path for folder in project.ladders() for step in project.steps(folder)]
    found = {str(path.relative_to(project.ROOT)): [[dotted(arch), *made] for (kind, arch), made in recorded(path).items()
                                                   if kind == "sass"] for path in paths}
    return {source: records for source, records in found.items() if records}


def show_recorded(words, path, architecture, why):
    """Prints it and ends, if there is a record that answers these words."""
    have = {arch: found for (kind, arch), found in recorded(path).items() if kind == ("ptx" if words.ptx else "sass")}
    architecture = architecture if architecture in have or words.arch else next(iter(have), None)
    how, text = have.get(architecture, ("", ""))
    name = re.match(r"(.*?)(: (SASS|PTX) for|$)", text)[1]
    if how and not (words.all or words.loop) and is_called(name, words.kernel):
        print(f"{why}, so this is the record for {dotted(architecture)}, made by {how}.\n")
        sys.exit(print(text + elsewhere(path, name)))


def no_answer(path):
    """Why the record of a step does not answer, and what would."""
    toolkit = "install the CUDA Toolkit (docs/setup.md)"
    if have := ", ".join(f"{kind.upper()} for {dotted(arch)}" for kind, arch in recorded(path)):
        return f"of this step only the inner loop of one kernel is recorded ({have}); for anything else {toolkit}"
    if record_of(path).exists():
        return f"this step, or a header of it, has changed since its record was made; {toolkit}"
    return f"nothing is recorded of this step; {toolkit}"


# ---- what is shown


def what_it_takes(architecture, compiled, name):
    count, shared, stack, spilled, threads = compiled.takes[name]
    spills = f"{spilled} bytes spilled" if spilled else "none spilled"
    text = f"{count} registers a thread, {spills}; {shared} bytes of shared memory a block"
    text += ", and what the launch asks for" if compiled.adds else ""
    text += f"; {stack} bytes of stack" if stack else ""
    if not threads:
        return f"{text}. No __launch_bounds__ says how many threads a block has."
    blocks, bound = registers.most_blocks(architecture, count, shared, threads)
    part = blocks * threads / registers.LIMITS[architecture][0]
    return (f"{text}. Of blocks of {threads} threads {'at most ' if compiled.adds else ''}{blocks} find a place on a "
            f"multiprocessor: {100 * part:.0f} % of its threads{f', for want of {bound}' if part < 1 else ''}.")


def elsewhere(path, name):
    """A sentence on the registers that the step as it is shipped takes, where they are recorded."""
    if not registers.RECORD.exists():
        return ""
    row = next((row for row in project.read_csv(registers.RECORD) if short_name(row["kernel"]) == name
                and row["source"] == str(path.relative_to(project.ROOT))), {})
    cells = [(dotted(one), row[f"sm_{one}"].split("/")) for one in registers.ARCHITECTURES if row.get(f"sm_{one}")]
    each = [f"{count} on {one}{f' and {spilled} bytes spilled' if spilled != '0' else ''}"
            for one, (count, _, spilled) in cells]
    return f"\nRegisters as recorded of the shipped step: {', '.join(each)}." if each else ""


def launched(path):
    """The kernels that the step launches at the sizes of docs/results/samples.csv: the first size's."""
    name = next((step.name for step in project.steps(path.parent) if step.path == path), "")
    rows = [row for row in project.read_csv(SAMPLES)
            if row["step"] == name and row["chapter"] == project.short_name(path.parent)] if SAMPLES.exists() else []
    return {short_name(row["kernel"]) for row in rows if row["options"] == rows[0]["options"]}


def choose(path, compiled, wanted, sass):
    """The kernel that is meant: of those whose name has these letters, and that a step is known to launch if no letters
    are given, the one with most work in its inner loop, the shortest of these."""
    names = [name for name in compiled.kernels if is_called(name, wanted)]
    if not wanted:
        known = launched(path)
        names = [name for name in names if name in known] or names
    if not names:
        known = list(dict.fromkeys(name.split("<")[0] for name in compiled.kernels))
        die(f"there is no kernel '{wanted}'; {project.did_you_mean(wanted, known)}choose from {', '.join(known)}")
    best = {name: machine_code.inner(compiled.kernels[name], sass) for name in names}
    return max(names, key=lambda name: (machine_code.weight(best[name])[:2] if best[name] else [0, 0],
                                        -len(compiled.kernels[name].instructions)))


def listing(path, architecture, ptx, compiled, kernel="", everything=False, number=0, most=None):
    """The lines that the command prints. The record has them with `most` instructions of a line of code."""
    name = choose(path, compiled, kernel, not ptx)
    code = compiled.kernels[name]
    loops = machine_code.loops(code, not ptx)
    if not 0 <= number <= len(loops):
        die(f"{name} has {len(loops)} loops, and no loop {number}")
    loop = loops[number - 1] if number else machine_code.inner(code, not ptx)
    count = len(compiled.kernels)
    others = f" (one of {count} kernels: --kernel takes another)" if count > 1 else ""
    heading = [f"{name}: {'PTX' if ptx else 'SASS'} for {dotted(architecture)}{others}"]
    positions = range(len(code.instructions))
    if everything or not loop:
        heading.append("The whole kernel." if loops else "The whole kernel: it has no loop.")
    else:
        positions = loop.positions
        heading.append(f"Its inner loop, {machine_code.lines_of(code, positions, path)}: {len(positions)} of the "
                       f"kernel's {len(code.instructions)} instructions, each with its place among them.")
    if len(loops) > 1:
        shown = None if everything else loop
        each = [f"{at} {machine_code.lines_of(code, one.positions, path)}{' (this one)' if one == shown else ''}"
                for at, one in enumerate(loops, 1)]
        heading.append(f"Its loops (--loop takes one): {', '.join(each)}.")
    body = machine_code.listing(code, positions, str(path), most)
    # Parameters of the kernel, arrays in it, and other names.
    body = [re.sub(r"_ZZ\w+E\d+([A-Za-z]\w*)|_Z\w+_(param_\d+)", r"\1\2", line) for line in body]
    plain = registers.names_of(body) if any("_Z" in line for line in body) else body
    body = [line if line == was else short_name(line) for was, line in zip(body, plain)]
    return [*heading, "", *body, "", machine_code.in_all([code.instructions[at] for at in positions]),
            what_it_takes(architecture, compiled, name)]


# ---- the command line


def main():
    project.program = "learn sass"
    parser = project.arguments(__doc__, prog="./learn sass")
    for word in ("chapter", "step"):
        parser.add_argument(word, nargs="?")
    for word in ("--arch", "--kernel"):
        parser.add_argument(word, default="")
    for word in ("--all", "--ptx", "--json"):
        parser.add_argument(word, action="store_true")
    parser.add_argument("--loop", type=int, default=0)
    words = parser.parse_intermixed_args()
    if words.json:
        return json.dump(all_as_data(), sys.stdout)
    folder = project.find_ladder(words.chapter or die("sass of which step? For example: ./learn sass 02 vectorised"))
    example = project.steps(folder)[-1].name if project.steps(folder) else "STEP"
    place, at = diff_steps.find(folder, words.step or die(
        f"sass of which step? For example: ./learn sass {project.short_name(folder)} {example}"), "sass")
    path = project.steps(place)[at].path
    source = str(path.relative_to(project.ROOT))
    if path.suffix != ".cu":
        die(f"{source} has no kernel of its own")
    architecture = architecture_here(source, words.arch)
    ptx = words.ptx
    if not project.tool("nvcc"):
        show_recorded(words, path, architecture, "There is no nvcc here")
        die(f"there is no nvcc here, and {no_answer(path)}")
    if not ptx and not project.tool("nvdisasm"):
        show_recorded(words, path, architecture, "There is no nvdisasm here")
        ptx = True
        package = f"cuda-nvdisasm-{project.toolkit().replace('.', '-')}"
        print(f"There is no nvdisasm here, so this is PTX: for SASS install {package}, or the whole toolkit.\n")
    try:
        compiled = compile_step(path, architecture, ptx)
    except ValueError as error:
        die(f"{source} does not compile for {dotted(architecture)}:\n{error}")
    if not compiled.kernels:
        die(f"{source} has no kernel of its own")
    lines = listing(path, architecture, ptx, compiled, words.kernel, words.all, words.loop)
    print("\n".join(lines) + elsewhere(path, lines[0].split(": ")[0]))


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` is no error
    main()
