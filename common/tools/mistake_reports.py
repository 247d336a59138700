"""What the tests of a planted mistake say, and whether it is what its entry foretells. Used by mistakes.py."""
import os
import re
import subprocess

FROM_SIMULATOR = ("barrier", "bounds", "race", "init")
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


def judge(field, program, folders):
    """Runs the tests that show a mistake, whose entry's fields are given: what is wrong, if something is, and what was
    expected."""
    check = field["check"]
    if "line" in field:
        file, text = field["line"].split(": ", 1)
        expected = f'a {check} report that names "{text}" in {file}'
    else:
        text = field["says"]
        expected = f'a comparison\'s report ({check}) that says "{text}"'
    found = problem_with(field, program, folders, text)
    return (found.replace("EXPECTED", f"expected {expected}") if found else None), expected


def problem_with(field, program, folders, text):
    if not os.access(program, os.X_OK):
        return "EXPECTED, but there is no test program: it was not built; see the build's messages"
    seconds = os.environ.get("CHECK_MISTAKE_SECONDS", "120")
    try:  # the compact reporter does not wrap lines; the two streams apart, so that no line is torn
        ran = subprocess.run([program.resolve(), "--reporter", "compact", field["tests"]], stdin=subprocess.DEVNULL,
                             capture_output=True, encoding="utf-8", errors="replace", timeout=float(seconds))
    except subprocess.TimeoutExpired:
        return f"EXPECTED, but the tests took longer than {seconds} seconds"
    out, err = ran.stdout, ran.stderr
    if re.search("^No test cases matched", out + "\n" + err, re.M):
        return f"tests: {field['tests']} names no test"
    if ran.returncode < 0:
        return f"EXPECTED, but the test program crashed (signal {-ran.returncode})"
    if ran.returncode == 0:
        return "EXPECTED, but all tests passed"
    said = "\n".join(reports(field["check"], out, err))
    if not said:
        kinds = [kind for kind in KINDS if reports(kind, out, err)]
        return f"EXPECTED, but {'only ' + ' '.join(kinds) if kinds else 'no check'} spoke"
    if "line" in field:
        lines = named_lines(field["line"].split(":")[0], said, folders)
        if not any(text in line for line in lines):
            return f"EXPECTED, but the reports name other lines: {'; '.join(lines) or 'none'}"
    elif text not in said:
        causes = dict.fromkeys(line.strip() for line in said.splitlines() if "likely:" in line)
        return f"EXPECTED, but it says: {'; '.join(causes)}"
    return None
