#!/usr/bin/env python3
"""Which parts passed their tests here: what `./learn test 02` runs beside the road, and what it names as not run.

usage: passed.py changed BACKEND CHAPTER [PART]...   those of the parts that were built anew since they passed
       passed.py note BACKEND STATUS LABELS          after ctest: of the parts whose label matches LABELS, those of
                                                     which no test failed have passed

For each there is an empty file build/BACKEND/passed/CHAPTER/PART, as old as the run in which it passed."""
import re
import sys

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import project


def programs(backend, chapter, part):
    """What a part's tests run: their own program, the part's, and that with steps of the tests' own."""
    folder = project.ROOT / "build" / backend / chapter / part
    return [path for path in folder.glob(f"{chapter}_{part}*") if path.is_file()]


def changed(backend, chapter, parts):
    for part in parts:
        passed = (stamps(backend) / chapter / part).stat().st_mtime_ns
        if any(path.stat().st_mtime_ns > passed for path in programs(backend, chapter, part)):
            print(part)


def note(backend, status, labels):
    failed = set()
    if status != "0":
        log = project.ROOT / "build" / backend / "Testing/Temporary/LastTestsFailed.log"
        if not log.exists():
            return  # it did not come to the tests
        failed = {line.partition(":")[2].partition(":")[0].rpartition(" ")[2] for line in log.read_text().splitlines()}
    for chapter in project.chapters():
        for part in project.parts(chapter):
            label = f"{chapter.name}/{part}"
            if re.search(labels, label) and label not in failed and programs(backend, chapter.name, part):
                stamp = stamps(backend) / chapter.name / part
                stamp.parent.mkdir(parents=True, exist_ok=True)
                stamp.touch()


def stamps(backend):
    return project.ROOT / "build" / backend / "passed"


def main():
    parser = project.arguments(__doc__)
    commands = parser.add_subparsers(prog=parser.prog, required=True, metavar="COMMAND")
    for run, *words in ((changed, "backend", "chapter"), (note, "backend", "status", "labels")):
        command = commands.add_parser(run.__name__)
        command.set_defaults(run=run)
        for word in words:
            command.add_argument(word)
    commands.choices["changed"].add_argument("parts", nargs="*")
    words = vars(parser.parse_args())
    words.pop("run")(**words)


if __name__ == "__main__":
    main()
