#!/usr/bin/env python3
"""Tests the tests: makes mutants, files with one small change each, and sees whether the tests fail.

usage: ./learn mistakes --mutate COUNT [--seed SEED] [CHAPTER | PART]

A mutant is one operator, constant, index, condition, call, barrier, argument, operand or name that is another one, in a
kernel, a launcher, a rule of the host, a reference or a bound (sites.js finds where). The seed names them: the same ones
for the same sources. Each is built as a planted mistake is, and its step's tests run until the first failure, then, if
there is none, those of the whole part. What was judged is kept in build/cpu/mutants/judged.csv, line by line, and is not
judged again; KEEP names another file. The end says how many were caught, and how many of those with a line within
three of the change; the survivors follow, to be judged by hand.
"""
import csv
import json
import os
import random
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import project
sys.path.append(f"{sys.path[0]}/../mistakes")
import mistake_reports
import mistakes

BUILD = project.ROOT / "build/cpu"
FOLDER = BUILD / "mutants"
KEPT = Path(os.environ.get("KEEP", FOLDER / "judged.csv"))
COLUMNS = ("seed", "number", "file", "line", "kind", "old", "new", "verdict", "check", "named", "said")
AT_ONCE = 16  # for each time that CMake is asked
SECONDS = 240  # for the tests of a mutant: those of most parts take less than 60
NEAR = 3  # lines


class Mutant(mistakes.Mistake):
    """A planted mistake that a program made."""

    def __init__(self, site, seed, number):
        super().__init__(Path(site["file"]).parent / "mistakes.txt", f"{seed}_{number}")
        self.site, self.seed, self.number = site, seed, number
        self.field["file"] = Path(site["file"]).name
        self.text = Path(site["file"]).read_text()
        self.line = self.text.count("\n", 0, site["start"]) + 1
        self.old = self.text[site["start"]:site["end"]]

    def changed_text(self):
        return self.text[:self.site["start"]] + self.site["new"] + self.text[self.site["end"]:]

    def target(self):
        return f"mutant_{self.id}"

    def tests(self):
        return FOLDER / self.id / "tests"

    def step(self):
        """The step whose file it is in, or ""."""
        found = re.fullmatch(r"step\d+_(\w+)\.cu", self.field["file"])
        return found[1] if found else ""


def sources(ladder):
    """What is linked into a ladder's programs: kernels, launchers, rules, references, bounds."""
    return [path for path in sorted(ladder.iterdir())
            if path.suffix in mistakes.SOURCES and path.name not in project.NOT_IN_LIBRARY]


def drawn(count, seed, ladders):
    """The mutants of a seed: of each kind as many as of the others, as far as there are."""
    files = [str(path) for ladder in ladders for path in sources(ladder)]
    here = Path(__file__).parent
    if not (here / "node_modules").is_dir():
        subprocess.run(["npm", "ci", "--silent"], cwd=here, check=True)
    sites = json.loads(subprocess.run(["node", here / "sites.js", *files], stdout=subprocess.PIPE, check=True).stdout)
    by_kind = {}
    for site in sites:
        by_kind.setdefault(site["kind"], []).append(site)
    draw = random.Random(seed)
    for some in by_kind.values():
        draw.shuffle(some)
    mutants = []
    while len(mutants) < count and any(by_kind.values()):
        for kind in sorted(by_kind):
            if by_kind[kind] and len(mutants) < count:
                mutants.append(Mutant(by_kind[kind].pop(), seed, len(mutants)))
    return mutants


def build(some):
    """Their tests, as far as they compile."""
    lines = []
    for mutant in some:
        folder = FOLDER / mutant.id
        mutant.apply(folder)
        ladder = os.path.relpath(mutant.folder, project.ROOT).replace("/", "_")
        lines.append(f'tutorial_changed_program({mutant.target()} {ladder} "{mutant.chapter}" "{folder}" {" ".join(mutant.touched())})')
    (FOLDER / "list.cmake").write_text("\n".join(lines) + "\n")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.STDOUT, "cwd": project.ROOT}
    subprocess.run(["cmake", BUILD], check=True, **quiet)
    subprocess.run(["cmake", "--build", BUILD, "-j", str(os.cpu_count()), "--target", *[mutant.target() for mutant in some],
                    "--", "-k", "0"], **quiet)


def run_tests(mutant, step):
    """The exit status, and what the tests wrote."""
    environment = {**os.environ, **({"TUTORIAL_STEP": step} if step else {})}
    try:
        ran = subprocess.run([mutant.tests(), "--reporter", "compact", "--abort"], stdin=subprocess.DEVNULL, capture_output=True,
                             text=True, errors="replace", timeout=SECONDS, env=environment)
        return ran.returncode, ran.stdout, ran.stderr
    except subprocess.TimeoutExpired as late:
        return "late", *((said or b"").decode(errors="replace") for said in (late.stdout, late.stderr))


def judge(mutant):
    """The line for the record."""
    row = dict.fromkeys(COLUMNS, "")
    row |= {"seed": mutant.seed, "number": mutant.number, "file": os.path.relpath(mutant.site["file"], project.ROOT),
            "line": mutant.line, "kind": mutant.site["kind"], "old": mutant.old, "new": mutant.site["new"]}
    if not mutant.tests().exists():
        return row | {"verdict": "does not compile"}
    status, out, err = run_tests(mutant, mutant.step())
    if status == 0 and mutant.step():
        status, out, err = run_tests(mutant, "")
    mutant.tests().unlink()
    if status == 0:
        return row | {"verdict": "survived"}
    kinds = [kind for kind in mistake_reports.KINDS if mistake_reports.reports(kind, out, err)]
    lines = {int(line) for line in re.findall(rf"(?<![\w.]){re.escape(mutant.field['file'])}:(\d+)", f"{err}\n{out}")}
    near = any(abs(line - mutant.line) <= NEAR for line in lines)
    said = next((line for line in f"{err}\n{out}".splitlines() if line.strip() and not line.startswith("device:")), "")
    return row | {"verdict": "caught", "check": "late" if status == "late" else " ".join(kinds) or "test",
                  "named": "near" if near else "elsewhere" if lines else "no", "said": said.strip()[:160]}


def keep(rows):
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    new = not KEPT.exists()
    with KEPT.open("a", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if new:
            table.writeheader()
        table.writerows(rows)


def judged():
    if not KEPT.exists():
        return {}
    with KEPT.open(newline="") as file:
        return {(row["seed"], int(row["number"])): row for row in csv.DictReader(file)}


def summary(rows):
    caught = [row for row in rows if row["verdict"] == "caught"]
    alive = [row for row in rows if row["verdict"] == "survived"]
    built = len(caught) + len(alive)
    near = sum(row["named"] == "near" for row in caught)
    yield f"{len(rows)} mutants: {len(rows) - built} do not compile, {len(caught)} caught, {len(alive)} survived"
    if built:
        yield f"caught {100 * len(caught) / built:.0f} %, of these {100 * near / max(len(caught), 1):.0f} % with a line within {NEAR}"
    for row in alive:
        yield f"  {row['file']}:{row['line']}  {row['kind']}: {' '.join(row['old'].split())}  ->  {' '.join(row['new'].split())}"


def main():
    project.program = "learn"
    parser = project.arguments(__doc__)
    parser.add_argument("--mutate", dest="count", type=int, required=True, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("where", nargs="?", default="")
    chosen = parser.parse_args()
    ladders = [project.find_ladder(chosen.where)] if chosen.where else project.ladders()
    if chosen.count < 1:
        project.die(f"--mutate takes how many mutants, one or more, and {chosen.count} is none")
    if not shutil.which("node") or not shutil.which("npm"):
        project.die("mutants are found by a parser for Node.js: install nodejs and npm")
    mutants = drawn(chosen.count, chosen.seed, ladders)
    known = judged()
    waiting = [mutant for mutant in mutants if (str(chosen.seed), mutant.number) not in known]
    print(f"{len(mutants)} mutants, {len(mutants) - len(waiting)} judged before", flush=True)
    for first in range(0, len(waiting), AT_ONCE):
        some = waiting[first:first + AT_ONCE]
        build(some)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for row in pool.map(judge, some):
                keep([row])
                print(f"{row['number']:5} {row['verdict']:16} {row['check']:8} {row['named']:9} {row['file']}:{row['line']} {row['kind']}", flush=True)
    (FOLDER / "list.cmake").unlink(missing_ok=True)
    known = judged()
    print("\n".join(summary([known[str(chosen.seed), mutant.number] for mutant in mutants])))


if __name__ == "__main__":
    main()
