"""What the tests of a planted mistake say, and whether it is what its entry foretells. Used by mistakes.py."""
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

import page_outputs

FROM_SIMULATOR = ("barrier", "bounds", "race", "init", "endless")
KINDS = ("launch", *FROM_SIMULATOR, "poison", "nan", "value")
# common/compare/: a report is one of these by the elements that it shows.
ELEMENT = {"value": r"got -?([0-9.]|inf)", "nan": r"got -?nan,", "poison": r"got -?nan \(never written\)"}
COMPARISON = re.compile(r"^.*elements.* are out of bound;.*\n?(?:^ (?!.*are out of bound;).*\n?)*", re.M)
# CUDA refused. The errors left out are how a report from the simulator ends a launch.
REFUSED = re.compile(r".*\(cudaError(?!LaunchFailure\)|IllegalAddress\)|MisalignedAddress\)|Assert\))[A-Za-z]+\).*")


def reports(kind, out, err):
    """The reports of one kind, whole, in what the tests wrote to stdout and stderr."""
    if kind in FROM_SIMULATOR:  # it begins each at the start of a line
        return [block for block in re.split(r"^(?=[^ \n])", err, flags=re.M) if block.startswith(f"{kind} in ")]
    if kind == "launch":
        return REFUSED.findall(out)
    return [block for block in COMPARISON.findall(out) if re.search(ELEMENT[kind], block)]


def named_lines(file, said, folders):
    """The lines of a file that reports name, as "12   the line itself"; the file is in one of the folders."""
    source = next((folder / file for folder in folders if (folder / file).exists()), None)
    lines = source.read_text().splitlines() if source else []
    numbers = {int(number) for number in re.findall(rf"(?<![\w.]){re.escape(file)}:(\d+)", said)}
    return [f"{number}   {lines[number - 1].strip()}" if 0 < number <= len(lines) else str(number)
            for number in sorted(numbers)]


def came_instead(field, folders, out, err):
    """What the tests said instead of what the entry foretells; nothing if they said that."""
    said = "\n".join(reports(field["check"], out, err))
    if not said:
        kinds = [kind for kind in KINDS if reports(kind, out, err)]
        return f"{'only ' + ' '.join(kinds) if kinds else 'no check'} spoke"
    if "line" in field:
        file, text = field["line"].split(": ", 1)
        lines = named_lines(file, said, folders)
        found = any(text in line for line in lines)
        return "" if found else f"the reports name other lines: {'; '.join(lines) or 'none'}"
    causes = dict.fromkeys(line.strip() for line in said.splitlines() if "likely:" in line)
    return "" if field["says"] in said else f"it says: {'; '.join(causes)}"


def run(field, folders, program, scratch, step, shown):
    """Runs the tests, of one step or, if it is "", of all: what is wrong with how they end, if something is. `shown`
    are the reports that pages show of it: (page, text)."""
    seconds = os.environ.get("CHECK_MISTAKE_SECONDS", "120")
    end = time.monotonic() + float(seconds)
    environment = {**os.environ, **({"TUTORIAL_STEP": step} if step else {})}
    # The compact reporter does not wrap lines. The two streams apart, so that no line is torn.
    with open(scratch / "out", "wb") as out, open(scratch / "err", "wb") as err:
        process = subprocess.Popen([program.resolve(), "--reporter", "compact", field["tests"]],
                                   stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment)
    try:
        while True:
            status = process.poll()
            out, err = ((scratch / name).read_text(errors="replace") for name in ("out", "err"))
            if status is None:  # the last line may not be written to its end yet
                out, err = out.rpartition("\n")[0], err.rpartition("\n")[0]
            instead = came_instead(field, folders, out, err)
            missing = [page for page, text in shown if not page_outputs.shows(text, f"{err}\n{out}")]
            if not instead and ": failed: " in out and not missing:
                return ""  # it was caught, and what the other tests and shapes say is not waited for
            if status is not None:
                break
            if time.monotonic() > end:
                return f"but the tests took longer than {seconds} seconds"
            time.sleep(0.1)
    finally:
        process.kill()
        process.wait()
    if re.search("^No test cases matched", f"{out}\n{err}", re.M):
        return f"but tests: {field['tests']} names no test"
    if missing and not instead:
        said = "".join(reports(field["check"], out, err)[:2])
        return f"but {missing[0].name} shows a report that did not come; these came:\n{said}"
    if status < 0:
        return f"but the test program crashed (signal {-status})"
    return "but all tests passed" if status == 0 else f"but {instead}" if instead else ""


def judge(field, program, folders, shown=()):
    """Runs the tests that show a mistake, whose entry's fields are given, in a program whose sources are in one of the
    folders: what is wrong, if something is, and what was expected. `shown`: as in run."""
    if "line" in field:
        file, text = field["line"].split(": ", 1)
        expected = f'a {field["check"]} report that names "{text}" in {file}'
    else:
        expected = f'a comparison\'s report ({field["check"]}) that says "{field["says"]}"'
    if not os.access(program, os.X_OK):
        problem = "but there is no test program: it was not built; see the build's messages"
    else:
        # A mistake in a step's file mostly shows in that step's tests, which take a part of the time.
        step = re.fullmatch(r"step\d+_(.*)\.(?:cu|cpp)", field["file"])
        with tempfile.TemporaryDirectory() as scratch:
            problem = step and run(field, folders, program, Path(scratch), step[1], shown)
            if problem or not step:
                problem = run(field, folders, program, Path(scratch), "", shown)
    return problem and f"expected {expected}, {problem}", expected
