#!/usr/bin/env python3
"""Every program with each of its sizes 0: it computes nothing and ends with 0, or refuses it in one sentence.

usage: zero_sizes.py BUILD
"""
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import project  # noqa: E402

MANY = {"--neighbours"}  # no extents: the least is 1


def problem_of(case):
    """What is wrong, or ""."""
    program, size = case
    ran = subprocess.run([program, size, "0"], capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
    is_refused = ran.returncode == 2 and ran.stdout == "" and ran.stderr.count("\n") == 1 and size in ran.stderr
    if ran.returncode == 0 and size not in MANY or is_refused:
        return ""
    return f"{program.name} {size} 0 ends with {ran.returncode}:\n{(ran.stdout + ran.stderr)[-600:]}\n"


def main():
    build = Path(sys.argv[1])
    cases = []
    for ladder in project.ladders():
        program = build / project.label(ladder) / project.target(ladder)
        said = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
        sizes = re.findall(r"^  (--[\w-]+) N ", said.partition("\nSizes:\n")[2].partition("\n\n")[0], re.M)
        cases += [(program, size) for size in sizes]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = list(filter(None, pool.map(problem_of, cases)))
    print("\n".join(problems))
    print(f"{len(cases)} problems of nothing, {len(problems)} of which end as none should")
    sys.exit(1 if problems or len(cases) < 2 * len(project.ladders()) else 0)


if __name__ == "__main__":
    main()
