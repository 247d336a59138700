#!/usr/bin/env python3
"""What passed its tests here: which of them `./learn test 02` runs again, and on how many shapes.

usage: passed.py changed BACKEND CHAPTER [PART]...  those of the parts that were built anew since they passed
       passed.py edited BACKEND [FOLDER]...         the steps of these, chapters' roads and parts, that were built anew
                                                    since their tests passed, as a,b,c; `all` where more than steps was,
                                                    or one never passed. Without a FOLDER: of all that passed once
       passed.py note BACKEND STATUS LABELS         after ctest: of the folders whose label matches LABELS, those of
                                                    which no test failed have passed
       passed.py lines BACKEND LABELS               the lines of these folders' sources that are other ones since then

For each there is a file build/BACKEND/passed/CHAPTER/PART, or …/road, as old as the run in which it passed: the sources,
as they were then, as JSON."""
import difflib
import json
import re
import sys

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import project


def programs(backend, folder):
    """What a folder's tests run: their own program, the folder's, and that with steps of the tests' own."""
    return [path for path in (project.ROOT / "build" / backend / folder).glob(f"{folder.replace('/', '_')}*")
            if path.is_file()]


def stamp(backend, folder):
    chapter, _, part = folder.partition("/")
    return project.ROOT / "build" / backend / "passed" / chapter / (part or "road")


def time_of(path):
    return path.stat().st_mtime_ns


def changed(backend, chapter, parts):
    for part in parts:
        passed = time_of(stamp(backend, f"{chapter}/{part}"))
        if any(time_of(path) > passed for path in programs(backend, f"{chapter}/{part}")):
            print(part)


def objects(backend, folder):
    """What the folder's programs were linked of, but for other folders' steps."""
    build = project.ROOT / "build" / backend
    made_apart = re.compile("_(mistake|exercise)_")
    for target in (build / folder / "CMakeFiles").glob("*.dir"):
        if not made_apart.search(target.name):
            yield from target.rglob("*.o")
    yield from (build / "common").rglob("*.o")


def edited(backend, folders):
    steps = set()
    for folder in folders or [name for name in all_folders() if stamp(backend, name).exists()]:
        passed = time_of(stamp(backend, folder)) if stamp(backend, folder).exists() else 0
        for path in objects(backend, folder):
            if time_of(path) <= passed:
                continue
            step = re.match(r"step\d+_(\w+)\.cu", path.name)
            if step and passed:
                steps.add(step[1])
            elif folders:
                return print("all")
    print(",".join(sorted(steps)))


def all_folders():
    return [project.label(folder) for folder in project.rooms()]


def note(backend, status, labels):
    failed = set()
    if status != "0":
        log = project.ROOT / "build" / backend / "Testing/Temporary/LastTestsFailed.log"
        if not log.exists():
            return  # it did not come to the tests
        failed = {line.partition(":")[2].partition(":")[0].rpartition(" ")[2] for line in log.read_text().splitlines()}
    for folder in all_folders():
        if re.search(labels, folder) and folder not in failed and programs(backend, folder):
            stamp(backend, folder).parent.mkdir(parents=True, exist_ok=True)
            stamp(backend, folder).write_text(json.dumps(sources(folder)))


def sources(folder):
    return {path.name: path.read_text() for path in sorted((project.ROOT / folder).iterdir())
            if path.suffix in (".cu", ".cuh", ".hpp", ".cpp")}


def changed_lines(before, now):
    """"66, 70-72": the lines of `now` that are not those of `before`; of lines that are gone the next one."""
    for kind, _, _, first, end in difflib.SequenceMatcher(None, before.splitlines(), now.splitlines(), False).get_opcodes():
        if kind != "equal":
            yield f"{first + 1}-{end}" if end > first + 1 else str(first + 1)


def lines(backend, labels):
    for folder in all_folders():
        kept = stamp(backend, folder)
        if not re.search(labels, folder) or not kept.exists() or not kept.stat().st_size:
            continue
        before = json.loads(kept.read_text())
        for name, text in sources(folder).items():
            if said := ", ".join(changed_lines(before.get(name, ""), text)):
                print(f"Changed since the tests of {folder} passed here: {name}:{said}")


def main():
    parser = project.arguments(__doc__)
    commands = parser.add_subparsers(prog=parser.prog, required=True, metavar="COMMAND")
    for run, *words in ((changed, "backend", "chapter"), (edited, "backend"), (note, "backend", "status", "labels"), (lines, "backend", "labels")):
        command = commands.add_parser(run.__name__)
        command.set_defaults(run=run)
        for word in words:
            command.add_argument(word)
    commands.choices["changed"].add_argument("parts", nargs="*")
    commands.choices["edited"].add_argument("folders", nargs="*")
    words = vars(parser.parse_args())
    words.pop("run")(**words)


if __name__ == "__main__":
    main()
