#!/usr/bin/env python3
"""./learn watch 02: an answer to every save in a chapter, or in one of its exercises.

usage: watch.py BACKEND JOBS 02_tiled_matmul[/hopper] | BACKEND JOBS exercise 02/transpose

Where a step's file was saved, that step alone is built and tried first, shape after shape, up to the first that fails:
its report stands on top, and how long the answer took. If it is right, everything follows. A save ends what still runs."""
import os
import shlex
import signal
import subprocess
import sys
import time

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import project

ROOT = project.ROOT
EVERY = 0.2  # seconds between two looks at the files


class Saved(Exception):
    """Files were saved while something ran."""


class Files:
    """The files below some folders, and which of them were saved since the last look."""

    def __init__(self, folders):
        self.folders = folders
        self.seen = self.times()

    def times(self):
        times = {}
        for folder in self.folders:
            for path in folder.rglob("*"):
                try:
                    if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith("."):
                        times[path] = path.stat().st_mtime_ns
                except FileNotFoundError:
                    pass  # an editor writes a new file and renames it
        return times

    def saved(self):
        now = self.times()
        changed = [path for path in now if self.seen.get(path) != now[path]]
        changed += [path for path in self.seen if path not in now]
        self.seen = now
        return changed


def run(command, files, env=None, shown=False):
    """Runs it to its end, or until a file is saved. Gives its status and what it said; `shown`: said on the screen."""
    process = subprocess.Popen(command, cwd=ROOT, env=os.environ | (env or {}), text=True, errors="replace",
                               start_new_session=True, stdin=subprocess.DEVNULL,
                               **({} if shown else {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}))
    said = ""
    try:
        while True:
            try:
                said = process.communicate(timeout=EVERY)[0] or ""
                return process.returncode, said
            except subprocess.TimeoutExpired:
                if changed := files.saved():
                    raise Saved(changed) from None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()


def edited_steps(folder, saved):
    """The steps that were saved; none if anything else was saved, too."""
    of_file = {step.path: step.name for step in project.steps(folder)}
    return [of_file[path] for path in saved] if all(path in of_file for path in saved) else []


class Watch:
    def __init__(self, backend, jobs, name, folder, files):
        self.backend, self.jobs, self.name, self.folder, self.files = backend, jobs, name, folder, files

    def commands(self, saved):
        """What answers first: commands with their environment, one after another."""
        program = f"{self.name.replace('/', '_')}_tests"
        build = ["common/tools/learn/progress.py", "cmake", "--build", "--preset", self.backend, "-j", self.jobs,
                 "--target", program]
        tests = [f"build/{self.backend}/{self.name}/{program}", "[shapes]", "--abort"]
        steps = edited_steps(self.folder, saved)
        return [(build, {})] + [(tests, {"TUTORIAL_STEP": step}) for step in steps or [""]]

    def answer(self, saved):
        """Tries what was saved first, and says what came of it. Is it right?"""
        if not any(self.folder.glob("tests*")):
            return True  # a program without such tests
        start = time.monotonic()
        skipped = False
        for command, env in self.commands(saved):
            status, said = run(command, self.files, env)
            skipped = status == 4  # as tests say that none of them can run here
            if status not in (0, 4):
                clear_screen()
                print(said.rstrip())
                words = [f"{key}={value}" for key, value in env.items() if value] + [shlex.join(command)]
                print(f"\n✗ {names_of(saved)}: answer after {seconds(start)}. Again: {' '.join(words)}")
                return False
        clear_screen()
        what = "cannot be tried here" if skipped else "right at every shape"
        print(f"✓ {names_of(saved)}: {what}, answer after {seconds(start)}. All the tests follow.")
        return True

    def all(self):
        run([ROOT / "learn", f"--{self.backend}", "test", self.name], self.files, shown=True)


class WatchExercise:
    def __init__(self, backend, name, files):
        self.backend, self.name, self.files = backend, name, files

    def answer(self, saved):
        start = time.monotonic()
        clear_screen()
        run([ROOT / "learn", f"--{self.backend}", "exercise", self.name], self.files, shown=True)
        print(f"answer after {seconds(start)}")
        return False  # there is no more to run

    def all(self):
        self.answer([])


def names_of(saved):
    names = sorted({path.name for path in saved})
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def seconds(start):
    return f"{time.monotonic() - start:.1f} s"


def clear_screen():
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        print("\033[2J\033[H", end="")
    sys.stdout.flush()


def watch(what, files, names):
    saved = None  # nothing yet: all the tests first
    while True:
        try:
            if saved is None or what.answer(saved):
                sys.stdout.flush()
                what.all()
            project.say(f"Waiting for a change in {names}; Ctrl-C ends this.")
            while not (saved := files.saved()):
                time.sleep(EVERY)
        except Saved as ended:
            saved = ended.args[0]


def main():
    project.program = "learn"
    parser = project.arguments(__doc__)
    for word in ("backend", "jobs", "place"):
        parser.add_argument(word)
    parser.add_argument("name", nargs="?", default="")
    words = parser.parse_args()
    if words.place == "exercise":
        from exercises import choose, read_state
        exercise = choose(words.name, read_state())
        folders = [exercise.folder]
        what = WatchExercise(words.backend, exercise.name, files := Files(folders))
    else:
        folder = ROOT / words.place if (ROOT / words.place).exists() else ROOT / "docs" / words.place
        folders = [folder, ROOT / "common"]
        what = Watch(words.backend, words.jobs, words.place, folder, files := Files(folders))
    try:
        watch(what, files, " or ".join(f"{os.path.relpath(folder, ROOT)}/" for folder in folders))
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
