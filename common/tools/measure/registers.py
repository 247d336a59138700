#!/usr/bin/env python3
"""Records what nvcc gives each kernel of the chapters on each architecture: docs/results/registers.csv.

  python3 common/tools/measure/registers.py [--jobs 16] [--only '06_flash_attention/*'] [--arch 75,90a]

No GPU and no CMake are needed, only nvcc (CUDACXX, the PATH or /usr/local/cuda/bin), 12.8 or newer for 100 and 120.
A line a kernel, a column an architecture: "registers of a thread/bytes of its stack/bytes spilled". `shared` is the most
static shared memory. With --only or --arch what is not compiled keeps its record.
"""
import argparse
import concurrent.futures
import csv
import fnmatch
import os
import re
import subprocess
import sys

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import project

RECORD = project.ROOT / "docs/results/registers.csv"
ARCHITECTURES = ["75", "80", "86", "89", "90a", "100", "120"]
COLUMNS = ["source", "kernel", "shared", *(f"sm_{architecture}" for architecture in ARCHITECTURES)]
# As CMake calls nvcc for RelWithDebInfo (common/cmake/Tutorial.cmake); only for the device.
FLAGS = ["-std=c++20", "-O2", "-DNDEBUG", "-lineinfo", "-cubin", "-Xptxas=-v"]

KERNEL = re.compile(r"Compiling entry function '(\w+)' for.*?(\d+) bytes stack frame, (\d+) bytes spill stores.*?"
                    r"Used (\d+) registers(?:[^\n]*?(\d+) bytes smem)?", re.S)


def sources():
    """All kernels that programs run, by their path below the root."""
    found = [path for folder in project.chapters() for path in folder.rglob("*.cu")]
    return sorted(str(path.relative_to(project.ROOT)) for path in found
                  if "exercises" not in path.parts and path.name not in project.NOT_IN_LIBRARY)


def included(path, chapter, seen):
    """The text of a file of a chapter, and of the chapter's headers that it includes."""
    text = path.read_text()
    for name in re.findall(r'^#include "([^"]+)"', text, re.M):
        for header in (chapter / name, path.parent / name):
            if header.exists() and header not in seen:
                seen.add(header)
                text += included(header, chapter, seen)
    return text


def has_code_on(source, architecture):
    """Is there anything for this architecture? Elsewhere the kernels are empty."""
    path = project.ROOT / source
    text = included(path, project.ROOT / source.split("/")[0], {path})
    if '"common/kernel/wgmma.cuh"' in text:
        return architecture == "90a"
    has_products = '"common/kernel/mma.cuh"' in text or "<mma.h>" in text
    return not has_products or architecture != "75" or "/fp16/" in source  # its products are those that 7.5 has


def command(nvcc, source, architecture, cubin):
    """The compiler's command line, of which ptxas says what each kernel takes."""
    chapter = project.ROOT / source.split("/")[0]
    return [nvcc, f"-arch=sm_{architecture}", *FLAGS, "-I", project.ROOT, "-I", chapter,
            "-I", project.ROOT / "common/backend/include", "-o", cubin, project.ROOT / source]


def compiled(nvcc, source, architecture):
    """What ptxas says of each kernel: symbol, static shared memory, cell of the table."""
    done = subprocess.run(command(nvcc, source, architecture, os.devnull), capture_output=True, text=True)
    if done.returncode != 0:
        raise ValueError(f"{source} does not compile for sm_{architecture}:\n{done.stderr}")
    return [(symbol, int(shared or 0), f"{registers}/{stack}/{spilled}")
            for symbol, stack, spilled, registers, shared in KERNEL.findall(done.stderr)]


def names_of(symbols):
    """"tutorial::softmax::(anonymous namespace)::row_on_chip_kernel<1024>", as the simulator names it."""
    demangled = subprocess.run(["c++filt", "-p"], input="\n".join(symbols), capture_output=True, text=True, check=True)
    return [re.sub(r"_GLOBAL__N_\w+", "(anonymous namespace)", name) for name in demangled.stdout.splitlines()]


# Of a multiprocessor: places for threads, for blocks, bytes of shared memory (as the simulator has them, which names
# the source), and what each block takes of these besides its own.
LIMITS = {"75": (1024, 16, 64 << 10, 0), "80": (2048, 32, 164 << 10, 1024), "86": (1536, 16, 100 << 10, 1024),
          "89": (1536, 24, 100 << 10, 1024), "90a": (2048, 32, 228 << 10, 1024), "100": (2048, 32, 228 << 10, 1024),
          "120": (1536, 24, 100 << 10, 1024)}


def most_blocks(architecture, registers, shared, threads):
    """How many blocks find a place on a multiprocessor, and what does not let more: (blocks, "registers")."""
    of_threads, of_blocks, of_shared, besides = LIMITS[architecture]
    warps = -(-threads // 32)
    of_warp = -(-32 * registers // 256) * 256  # they are given out by 256; each of 4 schedulers has 16384
    places = {"registers": 16384 // of_warp * 4 // warps, "threads": of_threads // (32 * warps), "blocks": of_blocks,
              "shared memory": of_shared // max(shared + besides, 1)}
    bound = min(places, key=places.get)
    return places[bound], bound


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="*", help="sources whose path fits: '02_*/tf32/*'")
    parser.add_argument("--arch", default=",".join(ARCHITECTURES), help="75,90a")
    options = parser.parse_args()
    architectures = options.arch.split(",")
    if wrong := [one for one in architectures if one not in ARCHITECTURES]:
        project.die(f"{wrong[0]} is none of {', '.join(ARCHITECTURES)}")
    chosen = [source for source in sources() if fnmatch.fnmatch(source, options.only)]
    if not chosen:
        project.die(f"no source fits {options.only}")
    nvcc = project.tool("nvcc") or project.die("there is no nvcc here; CUDACXX may say where it is")

    # What stays of the record: lines of other sources, and other columns of these.
    old = project.read_csv(RECORD) if RECORD.exists() else []
    known = set(sources())
    kept = [line for line in old if line["source"] in known and line["source"] not in chosen]
    before = {(line["source"], line["kernel"]): line for line in old}
    others = [f"sm_{one}" for one in ARCHITECTURES if one not in architectures]
    lines, failures = {}, []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        tasks = {pool.submit(compiled, nvcc, source, architecture): (source, architecture) for source in chosen
                 for architecture in architectures if has_code_on(source, architecture)}
        for count, task in enumerate(concurrent.futures.as_completed(tasks), 1):
            source, architecture = tasks[task]
            print(f"\r{count} of {len(tasks)}", end="", file=sys.stderr, flush=True)
            try:
                kernels = task.result()
            except ValueError as error:
                failures.append(str(error))
                continue
            for (symbol, shared, cell), name in zip(kernels, names_of([symbol for symbol, *_ in kernels])):
                line = lines.setdefault((source, name), {"source": source, "kernel": name, "shared": 0})
                line["shared"] = max(shared, line["shared"])
                line[f"sm_{architecture}"] = cell
    print(file=sys.stderr)
    for failure in failures:
        project.say(failure)
    if failures:
        project.die("nothing was recorded")
    for key, line in lines.items():
        line |= {column: before[key][column] for column in others if key in before}
    for key, line in before.items():  # kernels that none of these architectures has, and others may
        if key[0] in chosen and key not in lines and any(line[column] for column in others):
            kept.append(line | {f"sm_{architecture}": "" for architecture in architectures})
    RECORD.parent.mkdir(exist_ok=True)
    with open(RECORD, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted([*kept, *lines.values()], key=lambda line: (line["source"], line["kernel"])))
    project.say(f"wrote {RECORD.relative_to(project.ROOT)}: {len(kept) + len(lines)} kernels")


if __name__ == "__main__":
    main()
