#!/usr/bin/env python3
"""Tests the tests: makes mutants, files with one small change each, and sees whether the tests fail.

usage: ./learn mistakes --mutate COUNT [--seed SEED] [CHAPTER | PART]
       ./learn mistakes --mutate COUNT --again [--only NAME,NAME]

A mutant is one operator, constant, index, condition, call, barrier, argument, operand or name that is another one, in a
kernel, a launcher, a rule of the host, a reference or a bound (sites.js finds where). The seed names them: the same ones
for the same sources. Each is built as a planted mistake is, and its step's tests run until the first failure, then, if
there is none, those of the whole part, of which a step that is as it was takes a sixth of the shapes. Tests that do not
end are "late": they say nothing, so it is no catch. What was judged is kept in build/cpu/mutants/judged.csv, line by line,
and is not judged again, as a mutant keeps its name as long as its line is as it was; KEEP names another file. The end says
how many were caught, and how many of those with a line within three of the change; the survivors follow, to be judged by
hand.

docs/results/mutants.csv is a record of a long run, with those judgements in its last column: "equal: why", "slower: why",
"hole: what catches it now", or "open: what would". --again takes COUNT of those that the record says are caught, now or
then, each day others, and fails if one survives; or those with these names, whatever it says of them.
"""
import contextlib
import csv
import datetime
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import project
sys.path.append(f"{sys.path[0]}/../mistakes")
import mistake_reports
import mistakes

BUILD = project.ROOT / "build/cpu"
FOLDER = BUILD / "mutants"
KEPT = Path(os.environ.get("KEEP", FOLDER / "judged.csv"))
RECORD = project.ROOT / "docs/results/mutants.csv"
COLUMNS = ("seed", "name", "file", "line", "kind", "old", "new", "verdict", "check", "named", "said", "judgement")
AT_ONCE = 16  # for each time that CMake is asked
SECONDS = 400  # for the tests of a mutant: those of most parts take less than 60
NEAR = 3  # lines
GROUPS = set()  # of the tests that run: no key of the terminal reaches them


class Mutant(mistakes.Mistake):
    """A planted mistake that a program made. The program changes, too, where it includes what changes."""

    left_alone = ("tests.cpp", "take.cu")

    def __init__(self, site, seed):
        super().__init__(Path(site["file"]).parent / "mistakes.txt", site["name"])
        self.site, self.seed = site, seed
        self.field["file"] = Path(site["file"]).name
        self.text = Path(site["file"]).read_text()
        self.line = self.text.count("\n", 0, site["start"]) + 1
        self.old = self.text[site["start"]:site["end"]]

    def changed_text(self):
        return self.text[:self.site["start"]] + self.site["new"] + self.text[self.site["end"]:]

    def apply(self, folder):
        super().apply(folder)
        if program := self.program():
            copy = folder / program  # as common/cmake/Tutorial.cmake has it in the tests
            copy.write_text(f'extern "C" int program_main(int, char**);\n#line 1\n{copy.read_text()}'.replace("int main(", "int program_main("))

    def program(self):
        """main.cpp, if it changes."""
        return next((path for path in self.touched() if Path(path).name == "main.cpp"), "")

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


def name_sites(sites, seed):
    """Each gets a name that is drawn from the seed and from what is changed, and not from what stands around it: an edit
    elsewhere leaves the names, and with them the order, of all other mutants."""
    texts, seen = {}, {}
    for site in sites:
        text = texts.setdefault(site["file"], Path(site["file"]).read_text())
        start = text.rfind("\n", 0, site["start"]) + 1
        line = text[start:text.find("\n", site["end"])]
        words = (seed, os.path.relpath(site["file"], project.ROOT), site["kind"], site["new"], site["start"] - start, line)
        seen[words] = seen.get(words, 0) + 1
        site["name"] = hashlib.sha256(repr((*words, seen[words])).encode()).hexdigest()[:10]


def sites_in(files):
    here = Path(__file__).parent
    if not (here / "node_modules").is_dir():
        subprocess.run(["npm", "ci", "--silent"], cwd=here, check=True)
    return json.loads(subprocess.run(["node", here / "sites.js", *files], stdout=subprocess.PIPE, check=True).stdout)


def drawn(count, seed, ladders):
    """The mutants of a seed: of each kind as many as of the others, as far as there are."""
    sites = sites_in([str(path) for ladder in ladders for path in sources(ladder)])
    name_sites(sites, seed)
    by_kind = {}
    for site in sorted(sites, key=lambda site: site["name"], reverse=True):
        by_kind.setdefault(site["kind"], []).append(site)
    mutants = []
    while len(mutants) < count and any(by_kind.values()):
        for kind in sorted(by_kind):
            if by_kind[kind] and len(mutants) < count:
                mutants.append(Mutant(by_kind[kind].pop(), seed))
    return mutants


def of_record(count, only):
    """Mutants with these names; or some that the record says are caught, each day others. As far as their lines are as
    they were."""
    known = read(RECORD)
    rows = [known[name] for name in only if name in known]
    if not only:
        rows = [row for row in known.values() if row["verdict"] == "caught" or row["judgement"].startswith("hole: ")]
        rows = random.Random(datetime.date.today().toordinal()).sample(rows, min(count, len(rows)))
    mutants = {}
    for seed in {row["seed"] for row in rows}:
        files = {str(project.ROOT / row["file"]) for row in rows if row["seed"] == seed}
        sites = sites_in(sorted(file for file in files if Path(file).exists()))
        name_sites(sites, int(seed))
        mutants |= {site["name"]: Mutant(site, int(seed)) for site in sites}
    return [mutants[row["name"]] for row in rows if row["name"] in mutants]


def build(some):
    """Their tests, as far as they compile."""
    lines = []
    for mutant in some:
        folder = FOLDER / mutant.id
        mutant.apply(folder)
        ladder = os.path.relpath(mutant.folder, project.ROOT).replace("/", "_")
        files = mutant.touched()
        if not mutant.program():  # else the tests hold the program as it is
            files.append(BUILD / os.path.relpath(mutant.folder, project.ROOT) / "program_main.o")
        lines += [f'tutorial_changed_program({mutant.target()} {ladder} "{mutant.chapter}" "{folder}" {" ".join(map(str, files))})',
                  f'add_dependencies({mutant.target()} {ladder}_tests)']
    (FOLDER / "list.cmake").write_text("\n".join(lines) + "\n")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.STDOUT, "cwd": project.ROOT}
    subprocess.run(["cmake", BUILD], check=True, **quiet)
    subprocess.run(["cmake", "--build", BUILD, "-j", str(os.cpu_count()), "--target", *[mutant.target() for mutant in some],
                    "--", "-k", "0"], **quiet)


def run_tests(mutant, **more):
    """The exit status, and what the tests wrote. They are a process group: when their time is over it is ended with the
    programs that they have begun."""
    environment = {**os.environ, "TUTORIAL_MUTANT": "1", **more}
    with subprocess.Popen([mutant.tests(), "--reporter", "compact", "--abort"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace", env=environment, start_new_session=True) as tests:
        GROUPS.add(tests.pid)
        try:
            out, err = tests.communicate(timeout=SECONDS)
            return tests.returncode, out, err
        except subprocess.TimeoutExpired:
            os.killpg(tests.pid, signal.SIGKILL)
            return "late", *tests.communicate()
        finally:
            GROUPS.discard(tests.pid)


def judge(mutant):
    """The line for the record."""
    row = dict.fromkeys(COLUMNS, "")
    row |= {"seed": mutant.seed, "name": mutant.id, "file": os.path.relpath(mutant.site["file"], project.ROOT),
            "line": mutant.line, "kind": mutant.site["kind"], "old": mutant.old, "new": mutant.site["new"]}
    if not mutant.tests().exists():
        return row | {"verdict": "does not compile"}
    if mutant.step():
        status, out, err = run_tests(mutant, TUTORIAL_STEP=mutant.step())
        if status == 0:
            status, out, err = run_tests(mutant, TUTORIAL_SAMPLE="6")
    else:
        status, out, err = run_tests(mutant)
    mutant.tests().unlink()
    if status in (0, "late"):
        return row | {"verdict": "late" if status else "survived"}
    kinds = [kind for kind in mistake_reports.KINDS if mistake_reports.reports(kind, out, err)]
    lines = {int(line) for line in re.findall(rf"(?<![\w.]){re.escape(mutant.field['file'])}:(\d+)", f"{err}\n{out}")}
    near = any(abs(line - mutant.line) <= NEAR for line in lines)
    said = next((line for line in f"{err}\n{out}".splitlines() if line.strip() and not line.startswith(("device:", "RNG seed:"))), "")
    return row | {"verdict": "caught", "check": " ".join(kinds) or "test",
                  "named": "near" if near else "elsewhere" if lines else "no", "said": said.strip().replace(f"{project.ROOT}/", "")[:160]}


def keep(rows):
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    new = not KEPT.exists()
    with KEPT.open("a", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if new:
            table.writeheader()
        table.writerows(rows)


def read(path):
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


def judge_all(mutants):
    """Yields the line of each, as its tests end. The next ones are built while the last of these still run."""
    running = set()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            for first in range(0, len(mutants), AT_ONCE):
                some = mutants[first:first + AT_ONCE]
                build(some)
                running |= {pool.submit(judge, mutant) for mutant in some}
                is_last = first + AT_ONCE >= len(mutants)
                while len(running) > (0 if is_last else 1):
                    ended, running = wait(running, return_when=FIRST_COMPLETED)
                    for row in (one.result() for one in ended):
                        print(f"{row['name']} {row['verdict']:16} {row['check']:8} {row['named']:9} {row['file']}:{row['line']} {row['kind']}", flush=True)
                        yield row
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            for group in list(GROUPS):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(group, signal.SIGKILL)
            raise
    (FOLDER / "list.cmake").unlink(missing_ok=True)


def summary(rows):
    caught = [row for row in rows if row["verdict"] == "caught"]
    alive = [row for row in rows if row["verdict"] in ("survived", "late")]
    meant = [row for row in alive if not row["judgement"].startswith(("equal: ", "slower: "))]
    near = sum(row["named"] == "near" for row in caught)
    yield f"{len(rows)} mutants: {len(rows) - len(caught) - len(alive)} do not compile, {len(caught)} caught, {len(alive)} survived"
    if caught:
        yield f"caught {100 * len(caught) / len(caught + meant):.1f} %, of these {100 * near / len(caught):.1f} % with a line within {NEAR}"
    if len(meant) < len(alive):
        yield f"not counted: {len(alive) - len(meant)} that are equal in effect or only slower"
    for row in meant:
        yield f"  {row['file']}:{row['line']}  {row['kind']}: {' '.join(row['old'].split())}  ->  {' '.join(row['new'].split())}"


def main():
    project.program = "learn"
    parser = project.arguments(__doc__)
    parser.add_argument("--mutate", dest="count", type=int, required=True, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--only", default=[], type=lambda names: names.split(","), metavar="NAME,NAME")
    parser.add_argument("where", nargs="?", default="")
    chosen = parser.parse_args()
    if chosen.count < 1:
        project.die(f"--mutate takes how many mutants, one or more, and {chosen.count} is none")
    if chosen.only and not chosen.again:
        project.die("--only takes mutants of the record: give --again, too")
    if chosen.again and chosen.where:
        project.die("--again takes mutants from all chapters: leave out " + chosen.where)
    if not shutil.which("node") or not shutil.which("npm"):
        project.die("mutants are found by a parser for Node.js: install nodejs and npm")
    if chosen.again:
        mutants = of_record(chosen.count, chosen.only)
        if lost := set(chosen.only) - {mutant.id for mutant in mutants}:
            project.die("the record has no mutant with this name, or its line has changed: " + ", ".join(sorted(lost)))
        rows = list(judge_all(mutants))
        print("\n".join(summary(rows)))
        sys.exit(any(row["verdict"] == "survived" for row in rows))
    ladders = [project.find_ladder(chosen.where)] if chosen.where else project.ladders()
    mutants = drawn(chosen.count, chosen.seed, ladders)
    waiting = [mutant for mutant in mutants if mutant.id not in read(KEPT)]
    print(f"{len(mutants)} mutants, {len(mutants) - len(waiting)} judged before", flush=True)
    for row in judge_all(waiting):
        keep([row])
    known = read(KEPT)
    print("\n".join(summary([known[mutant.id] for mutant in mutants])))


if __name__ == "__main__":
    main()
