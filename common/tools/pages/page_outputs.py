"""Outputs of commands on the pages. Used by pages.py and, for reports, by mistakes.py.

  <!-- output of ./learn run 01 --m 4 --n 4 --k 4 -->      the block below is what the command prints on the CPU; of
                                                           ./learn trace, what it writes
  <!-- report of 02/no_second_barrier -->                  the block below is what the tests of this mistake say
A line … in a block leaves out what the page does not show.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import project

BLOCK = re.compile(r"^(?P<marker><!-- (?P<kind>output|report) of (?P<what>[^\n]+) -->)\n```(?P<language>\w*)\n"
                   r"(?P<text>.*?)^```$", re.M | re.S)
MARKER = re.compile(r"^<!-- (?:output|report) of .*-->$", re.M)


def command(words):
    """What ./learn runs in the end, with these words, once all is built for the CPU."""
    build = os.environ.get("BUILD", project.ROOT / "build/cpu")
    if words[:3] == ["./learn", "run", "00"]:
        change = words[4:] if words[3:4] == ["with"] else []  # one that the page makes: page_changes.py
        return ["/".join([f"{build}/first_kernel", *change, "first_kernel"])]
    what, rest = words[:2], words[3:]
    if what == ["./learn", "run"]:
        return [project.built_program(words[2], "cpu"), *rest]
    if what == ["./learn", "profile"]:
        if rest and not rest[0].startswith("-"):
            rest.insert(0, "--kernel")
        return [project.built_program(words[2], "cpu"), "--profile", *rest]
    if what == ["./learn", "trace"]:
        return [project.built_program(words[2], "cpu"), "--kernel", words[3], "--trace", *words[4:]]
    if what == ["./learn", "estimate"]:
        return [sys.executable, project.ROOT / "common/tools/measure/estimate.py", *words[2:]]
    if what == ["./learn", "diff"]:
        return [sys.executable, project.ROOT / "common/tools/learn/diff_steps.py", *words[2:]]
    raise ValueError(f"a page shows the output of a command that no test runs: {' '.join(words)}")


# As ./learn says it; and one kind of CPU for the BLAS, whose last digits differ from one to the next.
ENVIRONMENT = {"TUTORIAL_CPU_REASON": "no NVIDIA driver", "OPENBLAS_CORETYPE": "Prescott", "OPENBLAS_NUM_THREADS": "1"}


# What a program says only where it takes long: on a busy machine.
OF_A_SLOW_RUN = re.compile(r"simulating \w+ takes about |\w+: ok after ")


def output_of(what):
    words = shlex.split(what)
    if words[1:2] == ["trace"]:
        with tempfile.TemporaryDirectory() as folder:
            words[4] = Path(folder) / words[4]
            said = printed(words)
            return words[4].read_text() if words[4].exists() else said
    return printed(words)


def printed(words):
    ran = subprocess.run(list(map(str, command(words))), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         stdin=subprocess.DEVNULL, cwd=project.ROOT, text=True, errors="replace",
                         env={**os.environ, **ENVIRONMENT})
    return "".join(line.rstrip() + "\n" for line in ran.stdout.splitlines() if not OF_A_SLOW_RUN.match(line))


def shows(block, said):
    """Do the lines of a block stand in what was said, one after the other, but for lines … between them? A line may be
    a part of the one that was said."""
    lines, at = said.splitlines(), 0
    for part in re.split(r"^ *…\n", block, flags=re.M):
        wanted = part.splitlines()
        while at + len(wanted) <= len(lines) and not all(
                line.strip() in there for line, there in zip(wanted, lines[at:])):
            at += 1
        if at + len(wanted) > len(lines):
            return False
        at += len(wanted)
    return True


def check(pages, update):
    """What is wrong with the outputs on these pages, a sentence each. With `update`, they are written anew, but those
    that leave lines out."""
    problems, texts, blocks = [], {page: page.read_text() for page in pages}, []
    for page, text in texts.items():
        found = [match for match in BLOCK.finditer(text)]
        if len(found) != len(MARKER.findall(text)):
            problems.append(f"{page.name}: an output's marker has no ``` in the line below it")
        blocks += [(page, match) for match in found if match["kind"] == "output"]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        outputs = list(pool.map(lambda block: output_of(block[1]["what"]), blocks))
    for (page, match), said in zip(blocks, outputs):
        parts = re.search(r"^ *…$", match["text"], re.M)
        if shows(match["text"], said) if parts else match["text"] == said:
            continue
        if update and not parts:
            texts[page] = texts[page].replace(match[0], f"{match['marker']}\n```{match['language']}\n{said}```")
        else:
            problems.append(f"{page.name}: {match['what']} prints something else:\n{said}")
    for page, text in texts.items():
        if update and text != page.read_text():
            page.write_text(text)
    return problems


def reports(chapter_number, mistake):
    """The blocks that pages show of a mistake's reports: (page, text)."""
    found = []
    for page in project.pages():
        for match in BLOCK.finditer(page.read_text()):
            if match["kind"] == "report" and match["what"] == f"{chapter_number}/{mistake}":
                found.append((page, match["text"]))
    return found
