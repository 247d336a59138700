#!/usr/bin/env python3
"""Runs all cells of docs/colab.ipynb on the CPU backend, as on a machine without a GPU: each command must end as it
should. BUILD is the build folder. Ends with 4 where ./learn would build elsewhere.

The notebook's folder is in the build folder and looks like the project's, so that what cells write lands there.
"""
import os
import shutil
import sys
from pathlib import Path

import notebook
from notebook import PROJECT

# What ends with another status than 0, or must say something.
EXPECTED = {
    "./learn doctor": (0, "backend                 cpu (no NVIDIA GPU"),
    "./learn run 00": (0, "0 are wrong"),
    "./learn run 02": (0, "pipelined"),
    "diff docs/first_kernel/first_kernel.cu my_kernel.cu": (1, "> "),
    "./learn try --cpu my_kernel.cu": (1, "bounds in saxpy"),
    "./learn test 01": (0, "100% tests passed"),
    "./learn profile 02 register_tile": (0, "step2_register_tile.cu"),
    "./learn bench 02": (2, "bench needs a GPU"),
}
# The tests run within a test: this log must not take the place of that one's.
CTEST = """#!/bin/sh
[ "$1 $2" = "--preset cpu" ] || { echo "this stand-in for ctest knows only --preset cpu" >&2; exit 2; }
shift 2
exec "%(ctest)s" --test-dir "%(folder)s/tests" --output-on-failure -LE '^mistakes$' "$@"
"""
NO_GPU = "#!/bin/sh\necho 'No devices were found'\nexit 6\n"


def prepare(folder, build):
    """The notebook's folder, and the stand-ins on the PATH."""
    for path in folder.glob("*"):
        if path.is_symlink() or path.is_file():
            path.unlink()
    for name in ("bin", "tests"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for path in PROJECT.iterdir():
        if path.name not in ("build", "broken", ".git"):
            (folder / path.name).symlink_to(path)
    (folder / "tests/CTestTestfile.cmake").write_text(f'subdirs("{build}")\n')
    for name, text in {"nvidia-smi": NO_GPU,
                       "ctest": CTEST % {"ctest": shutil.which("ctest"), "folder": folder}}.items():
        (folder / "bin" / name).write_text(text)
        (folder / "bin" / name).chmod(0o755)
    os.environ["PATH"] = f"{folder / 'bin'}:{os.environ['PATH']}"


def main():
    build = Path(os.environ.get("BUILD", PROJECT / "build/cpu"))
    if build.resolve() != (PROJECT / "build/cpu").resolve():
        print(f"skipped: the notebook's ./learn builds in {PROJECT}/build/cpu, and this build is in {build}")
        return 4
    prepare(build / "notebook", build)
    os.chdir(build / "notebook")
    session = notebook.Session(EXPECTED)
    for name, code in notebook.code_cells().items():
        print(f"== cell {name}", flush=True)
        try:
            session.run(name, code)
        except (notebook.Failed, SystemExit) as failure:
            print(f"{notebook.NOTEBOOK.name}, cell {name}: {failure}")
            return 1
    if missing := EXPECTED.keys() - set(session.commands):
        print(f"{notebook.NOTEBOOK.name} runs no {', '.join(sorted(missing))}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
