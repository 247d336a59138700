#!/usr/bin/env python3
"""Records what ./learn sass shows of each step, for those who have no nvcc or no nvdisasm: docs/results/sass.

usage: common/tools/measure/record_sass.py [--only '02_*/step4*'] [--arch 80,90a] [--kind sass,ptx] [--jobs 16]

No GPU is needed, only the CUDA Toolkit. A file a step, a section an architecture, of the inner loop alone and of each
line of code the first 8 instructions. What is not compiled keeps its record if the step is as it was then. RECORDS
names another folder, COMMIT what git says.
"""
import concurrent.futures
import fnmatch
import os
import sys
from pathlib import Path

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import project
import registers
import sass

MOST = 8  # instructions of a line of code: with all of them the records would have some megabytes


def section(path, kind, architecture):
    """The lines of one, or None where the step has no kernel."""
    compiled = sass.compile_step(path, architecture, kind == "ptx")
    return sass.listing(path, architecture, kind == "ptx", compiled, most=MOST) if compiled.kernels else None


def write(path, made, origin):
    """A step's file, with what is made now and what is still true of before."""
    found = sass.recorded(path) | {key: (origin, "\n".join(lines)) for key, lines in made.items()}
    record = sass.record_of(path)
    record.parent.mkdir(parents=True, exist_ok=True)
    mark = sass.fingerprint(path)
    record.write_text("\n".join(f"== {kind} {architecture} of {mark}: {how}\n\n{text}\n"
                                for (kind, architecture), (how, text) in sorted(found.items(), reverse=True)))
    return record


def main():
    parser = project.arguments(__doc__)
    parser.add_argument("--only", default="*")
    parser.add_argument("--arch", default="80,90a")
    parser.add_argument("--kind", default="sass")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    words = parser.parse_args()
    kinds, architectures = words.kind.split(","), words.arch.split(",")
    for asked, known in ((kinds, ["sass", "ptx"]), (architectures, registers.ARCHITECTURES)):
        if wrong := [one for one in asked if one not in known]:
            project.die(f"'{wrong[0]}' is none of {', '.join(known)}")
    if not project.tool("nvcc") or "sass" in kinds and not project.tool("nvdisasm"):
        project.die("nvcc and nvdisasm are needed: install the CUDA Toolkit (docs/setup.md)")
    sass.RECORDS = Path(os.environ.get("RECORDS", sass.RECORDS))
    chosen = [path for source in registers.sources() if fnmatch.fnmatch(source, words.only)
              and (path := project.ROOT / source).name.startswith("step")]
    if not chosen:
        project.die(f"no step fits {words.only}")
    come_from = project.made_from()
    origin = f"CUDA {come_from['toolkit']}, {come_from['date']}, at commit {come_from['commit']}"
    made, failures = {}, []
    with concurrent.futures.ThreadPoolExecutor(words.jobs) as pool:
        tasks = {pool.submit(section, path, kind, architecture): (path, kind, architecture) for path in chosen
                 for kind in kinds for architecture in architectures
                 if registers.has_code_on(str(path.relative_to(project.ROOT)), architecture)}
        for count, task in enumerate(concurrent.futures.as_completed(tasks), 1):
            path, *key = tasks[task]
            print(f"\r{count} of {len(tasks)}", end="", file=sys.stderr, flush=True)
            try:
                if lines := task.result():
                    made.setdefault(path, {})[tuple(key)] = lines
            except ValueError as error:
                failures.append(f"{path.name} does not compile for sm_{key[1]}:\n{error}")
    print(file=sys.stderr)
    for failure in failures:
        project.say(failure)
    if failures:
        project.die("nothing was recorded")
    records = [write(path, found, origin) for path, found in made.items()]
    project.say(f"wrote {len(records)} files, {sum(record.stat().st_size for record in records) / 1e6:.2f} MB, "
                f"below {sass.RECORDS}")


if __name__ == "__main__":
    main()
