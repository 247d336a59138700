#!/usr/bin/env python3
"""For `./learn try`: leaves a CMakeLists.txt for a program of one's own in build/BACKEND/try, and prints its target.

usage: common/tools/learn/try_program.py BACKEND FILE…

The folder is named after the program's files, so that what was built is found again the next time.
"""
import hashlib
import re
import sys
from pathlib import Path

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
from project import ROOT, arguments, die

ENDINGS = (".cu", ".cpp", ".cc", ".cxx")


def source(word):
    path = Path(word)
    if path.suffix not in ENDINGS:
        die(f"{word} is no source file: its name must end in {', '.join(ENDINGS)}")
    if not path.is_file():
        die(f"there is no file {word}")
    if re.search(r"[;\"\\$]", str(path.resolve())):
        die(f'{path.resolve()}: a path with one of ; " \\ $ in it cannot be built; move the file')
    return path.resolve()


def target_of(paths):
    stem = re.sub(r"\W", "_", paths[0].stem)
    return f"try_{stem}_{hashlib.sha256(repr(paths).encode()).hexdigest()[:8]}"


def cmake_file(target, paths):
    listed = "\n  ".join(f'"{path}"' for path in paths)
    return f"""\
# Made by ./learn try.
set(sources
  {listed})
foreach(source IN LISTS sources)
  if(NOT EXISTS "${{source}}")
    return()  # it was removed
  endif()
endforeach()
tutorial_program({target} ${{sources}})
set_target_properties({target} PROPERTIES OUTPUT_NAME program)
"""


def main():
    parser = arguments(__doc__)
    parser.add_argument("backend")
    parser.add_argument("files", nargs="+")
    words = parser.parse_args()
    paths = [source(word) for word in words.files]
    target = target_of(paths)
    file = ROOT / "build" / words.backend / "try" / target / "CMakeLists.txt"
    text = cmake_file(target, paths)
    if not file.exists() or file.read_text() != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    print(target)


if __name__ == "__main__":
    main()
