"""How long a page is and how long it takes: its words, the hours, and how many words it may have. Used by pages.py.

Words are what stands between blanks, code blocks and tables included, HTML comments not. The hours are an estimate by
one formula, which docs/README.md gives: reading, the steps' code, the exercises.
"""
import re

import project

DOCS = project.ROOT / "docs"
WORDS_A_MINUTE, LINES_A_MINUTE, MINUTES_AN_EXERCISE = 100, 20, 20
# The most words.
MOST_OF_A_ROAD_PAGE, MOST_OF_THE_ROAD = 4500, 26000
MOST_OF_A_PART, MOST_OF_A_LONG_PART = 6000, 8000
LONG_PARTS = ("tensor_cores", "hopper")
MOST_TO_REMEMBER = 10  # lines or items in a page's "In ten lines"


def words(page):
    return len(re.sub(r"<!--.*?-->", "", page.read_text(), flags=re.S).split())


def lines_of_code(path):
    lines = [line.strip() for line in path.read_text().splitlines()]
    return sum(1 for line in lines if line and not line.startswith("//"))


def folder_of(page):
    """The chapter's or the part's; None of a page that has none, as 00_first_kernel.md."""
    return next((folder for folder in project.ladders()
                 if page.stem in (folder.name, project.short_name(folder).replace("/", "_"))), None)


def hours(pages):
    """Of some pages together, with the steps and exercises of their folders: a multiple of a half."""
    minutes = 0
    for page in pages:
        folder = folder_of(page)
        steps, exercises = ([*folder.glob("step*.cu")], [*folder.glob("exercises/*/task.md")]) if folder else ([], [])
        minutes += (words(page) / WORDS_A_MINUTE + sum(map(lines_of_code, steps)) / LINES_A_MINUTE
                    + len(exercises) * MINUTES_AN_EXERCISE)
    return max(1, round(minutes / 30)) / 2


def road():
    """The pages on the way to chapter 06."""
    return [*sorted(DOCS.glob("00_*.md")), *(DOCS / f"{folder.name}.md" for folder in project.chapters())]


def parts():
    """The pages beside it."""
    return [DOCS / f"{project.short_name(folder).replace('/', '_')}.md"
            for folder in project.ladders() if folder not in project.chapters()]


def most_words(page):
    """That it may have; None of a page that is neither on the road nor a part's."""
    if page in road():
        return MOST_OF_A_ROAD_PAGE
    if page in parts():
        return MOST_OF_A_LONG_PART if page.stem.endswith(LONG_PARTS) else MOST_OF_A_PART
    return None
