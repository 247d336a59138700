"""How long a page is and how long it takes: its words, the hours, and how many words it may have. Used by pages.py.

Words are what stands between blanks, code blocks and tables included, HTML comments not. The hours are an estimate by
one formula, which docs/README.md gives: reading and the steps' code, then the exercises.
"""
import re

import project

DOCS = project.ROOT / "docs"
WORDS_A_MINUTE, LINES_A_MINUTE, MINUTES_AN_EXERCISE, MINUTES_TO_BUILD = 100, 20, 15, 60
# The most words.
MOST_OF_A_ROAD_PAGE, MOST_OF_THE_ROAD = 4500, 26000
MOST_OF_A_PART, MOST_OF_A_LONG_PART = 6000, 8000
LONG_PARTS = ("tensor_cores", "hopper")
MOST_OF_THE_ANSWERS = 3000
MOST_TO_REMEMBER = 10  # lines or items in a page's "In short"


def words(page):
    return len(re.sub(r"<!--.*?-->", "", page.read_text(), flags=re.S).split())


def lines_of_code(path):
    lines = [line.strip() for line in path.read_text().splitlines()]
    return sum(1 for line in lines if line and not line.startswith("//"))


def folder_of(page):
    """The chapter's or the part's; None of a page that has none, as 00_first_kernel.md."""
    return next((folder for folder in project.rooms()
                 if page.stem in (folder.name, project.short_name(folder).replace("/", "_"))), None)


def minutes_to_read(page):
    """Its words, and the code of its folder's steps."""
    folder = folder_of(page)
    steps = folder.glob("step*.cu") if folder else []
    return words(page) / WORDS_A_MINUTE + sum(map(lines_of_code, steps)) / LINES_A_MINUTE


def numbered_exercises(text):
    """A page's section of exercises, or "", and how many of them have a number."""
    section = re.search(r"^## Exercises$(.*?)(?=^## |\Z)", text, re.M | re.S)
    return (section[1], numbered(section[1])) if section else ("", 0)


def numbered(section):
    return len(re.findall(r"^\d+\. ", section, re.M))


def minutes_to_do(page):
    """The exercises of ./learn exercise, those that the page numbers, and the one thing to build."""
    folder, text = folder_of(page), page.read_text()
    exercises = len([*folder.glob("exercises/*/task.md")]) if folder else 0
    exercises += numbered_exercises(text)[1]
    return exercises * MINUTES_AN_EXERCISE + len(re.findall("^## Build it", text, re.M)) * MINUTES_TO_BUILD


def half_hours(minutes):
    """As hours: a multiple of a half, and no less than that."""
    return max(1, round(minutes / 30)) / 2


def road():
    """The pages on the way to chapter 06."""
    return [*sorted(DOCS.glob("00_*.md")), *(DOCS / f"{folder.name}.md" for folder in project.chapters())]


def parts():
    """The pages beside it."""
    return [DOCS / f"{project.short_name(folder).replace('/', '_')}.md"
            for folder in project.rooms() if folder not in project.chapters()]


def most_words(page):
    """That it may have; None of a page that is neither on the road nor a part's."""
    if page in road():
        return MOST_OF_A_ROAD_PAGE
    if page in parts():
        return MOST_OF_A_LONG_PART if page.stem.endswith(LONG_PARTS) else MOST_OF_A_PART
    return None
