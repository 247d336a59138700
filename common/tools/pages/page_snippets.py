"""Code and links on the pages. Used by pages.py.

A snippet names its file in the line before it, <!-- from 01_naive_matmul/step2_coalesced.cu -->. Its lines must stand
in that file, one after the other, at any indentation. A line … leaves code out: what follows it stands somewhere
further down the file.
"""
import re

import project

CODE = ("cpp", "c++", "cuda", "cu")
FENCE = re.compile(r"\s*(```+)\s*([^`\s]*).*")
MARKER = re.compile(r"\s*<!-- from (\S+) -->")


def split(text):
    return [line.rstrip() for line in text.splitlines()]


def indentation(line):
    return len(line) - len(line.lstrip(" "))


def stand_at(part, file, at):
    """Do these lines stand in the file from line `at` on, all indented more or less by the same?"""
    there = file[at:at + len(part)]
    shifts = {indentation(a) - indentation(b) for a, b in zip(part, there) if a}
    return [line.lstrip() for line in part] == [line.lstrip() for line in there] and len(shifts) < 2


def missing_part(snippet, file):
    """The first line of the first part of a snippet that does not stand in the file below the part before it."""
    at, part = 0, []
    for line in [*snippet, "…"]:
        if line.strip() != "…":
            part.append(line)
            continue
        while part and at < len(file) and not stand_at(part, file, at):
            at += 1
        if part and at + len(part) > len(file):
            return part[0].strip()
        at, part = at + len(part), []
    return None


def read(text):
    """The snippets of a page, (language, file or "", number of the line, lines), its prose, and what is wrong."""
    snippets, prose, problems, name, fence = [], [], [], "", ""

    def expect_no_marker():
        if name:
            problems.append(f"line {number}: no snippet follows \"from {name}\"")

    number = 0
    for number, line in enumerate(split(text), 1):
        if fence:
            if line.strip() == fence:
                fence = ""
            else:
                snippets[-1][3].append(line)
        elif match := FENCE.fullmatch(line):
            fence = match[1]
            snippets.append((match[2], name, number, []))
            name = ""
        elif match := MARKER.fullmatch(line):
            expect_no_marker()
            name = match[1]
        elif line:
            expect_no_marker()
            name = ""
            prose.append(line)
    expect_no_marker()
    if fence:
        problems.append("the last ``` is not closed")
    return snippets, prose, problems


def links(prose):
    """What the lines link to in this project: [text](target), ![text](target), src="target", href="…"."""
    for line in prose:
        line = re.sub(r"`[^`]*`", "", line)
        for match in re.finditer(r"""\]\(([^)\s]+)[^)]*\)|(?:src|href)="([^"]+)\"""", line):
            target = match[1] or match[2]
            if not re.match(r"#|[A-Za-z][A-Za-z0-9+.-]*:", target):
                yield target.partition("#")[0]


def problems(path):
    """All that is wrong with a page, one sentence each."""
    snippets, prose, found = read(path.read_text())
    for language, name, number, lines in snippets:
        source = project.ROOT / name
        if not name:
            if language in CODE and re.match("[0-9][0-9]_", path.name):
                found.append(f"line {number}: the snippet does not name its file in a line <!-- from FILE -->")
        elif not source.is_file():
            found.append(f"line {number}: there is no file {name}")
        elif not lines:
            found.append(f"line {number}: the snippet is empty")
        elif missing := missing_part(lines, split(source.read_text())):
            found.append(f"line {number}: not in {name}, or not in this order: the lines from \"{missing}\" on")
    for link in links(prose):
        target = path.parent / link
        if not target.exists() or project.ROOT not in [target.resolve(), *target.resolve().parents]:
            found.append(f"the link to {link} leads nowhere")
    for figure in re.findall(r"(?<!!)\[[^]!]*\]\(([^)\s]+\.svg)\)", "\n".join(prose)):
        found.append(f"the link to {figure} is no picture, and the site has no page for it: link the page that shows it")
    return found


def missing_pages():
    """Each chapter has a page, and docs/README.md lists all pages."""
    docs = project.ROOT / "docs"
    index = (docs / "README.md").read_text() if (docs / "README.md").exists() else ""
    for chapter in project.chapters():
        if not (docs / f"{chapter.name}.md").exists():
            yield f"{chapter.name} has no page"
    for page in sorted(docs.glob("*.md")):
        if page.name != "README.md" and f"]({page.name})" not in index:
            yield f"docs/README.md does not list {page.name}"
