#!/usr/bin/env python3
"""Holds the pages to what they are about: docs/**/*.md and README.md.

usage: common/tools/pages/pages.py [--update]            tables, numbers, words, rules, and the times in the kernels' headers
       common/tools/pages/pages.py outputs [--update]    what commands print; needs the build for the CPU

--update writes what can be written. What a page can hold: page_snippets.py (code), page_tables.py (tables of results),
page_values.py (numbers in a sentence), page_outputs.py (what a command prints), page_words.py (links to the
glossary); page_rules.py has the rest. page_headers.py has the headers.
"""
import sys

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import project
import page_headers
import page_outputs
import page_rules
import page_snippets
import page_tables
import page_values
import page_words


def has_words(page):
    """Does it link the words of the glossary?"""
    return page_words.GLOSSARY.exists() and page.parent == page_words.GLOSSARY.parent and page != page_words.GLOSSARY


def settle(update):
    """Tables, numbers and words. Are all as they should be?"""
    good = True
    for page in project.pages():
        try:
            text = project.fill(page, lambda marker: page_tables.table(page, marker))
            text, problems = page_values.fill(page, text)
            for problem in problems:
                project.say(f"{page}: {problem}")
            good = project.settle(page, text, update) and not problems and good
            if has_words(page):
                good = project.settle(page, page_words.link_words(page), update) and good
        except (OSError, ValueError, KeyError) as error:
            project.say(f"{page}: {type(error).__name__}: {error}")
            good = False
    return good


def main():
    parser = project.arguments(__doc__)
    parser.add_argument("what", nargs="?", choices=["outputs"])
    parser.add_argument("--update", action="store_true")
    words = parser.parse_args()
    if words.what == "outputs":
        problems = page_outputs.check(project.pages(), words.update)
    else:
        good = settle(words.update)
        good = page_headers.settle(words.update) and good
        problems = [*page_snippets.missing_pages(), *page_rules.problems(project.pages()), *page_words.not_met()]
        problems += [f"{page.relative_to(project.ROOT)}: {problem}" for page in project.pages()
                     for problem in page_snippets.problems(page)]
        if not good:
            problems.append("some pages or headers are old")
    for problem in problems:
        project.say(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
