#!/usr/bin/env python3
"""A program with a change that a page shows, so that what the page says of it is what it does.

usage: common/tools/pages/page_changes.py PAGE NAME SOURCE COPY    writes into COPY what the change makes of SOURCE

The page has, directly before a ```diff block whose lines begin with -, + or a space:
  <!-- change NAME -->
Lines of … stand between two places of the source.
"""
import re
import sys
from pathlib import Path

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import project


def changed(page, name, source):
    block = re.search(rf"^<!-- change {name} -->\n```diff\n(.*?)^```$", page, re.M | re.S)
    if not block:
        sys.exit(f"the page has no change {name}")
    for part in re.split("^ *…\n", block[1], flags=re.M):
        lines = part.splitlines(True)
        old = "".join(line[1:] for line in lines if line[0] != "+")
        new = "".join(line[1:] for line in lines if line[0] != "-")
        if source.count(old) != 1:
            sys.exit(f"change {name}: the program has these lines {source.count(old)} times:\n{old}")
        source = source.replace(old, new)
    return source


def main():
    parser = project.arguments(__doc__)
    for name, kind in (("page", Path), ("name", str), ("source", Path), ("copy", Path)):
        parser.add_argument(name, type=kind)
    words = parser.parse_args()
    text = changed(words.page.read_text(), words.name, words.source.read_text())
    words.copy.parent.mkdir(parents=True, exist_ok=True)
    words.copy.write_text(text)


if __name__ == "__main__":
    main()
