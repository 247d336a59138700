"""What the maintainers' scripts share: where the chapters and their steps are, and tables on pages."""
import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
program = Path(sys.argv[0]).stem  # what messages begin with


def die(sentence):
    """Ends the script with status 2: the command line or the machine needs a change."""
    print(f"{program}: {sentence}", file=sys.stderr)
    sys.exit(2)


def chapters(root=ROOT):
    return sorted(folder for folder in root.glob("[0-9][0-9]_*") if folder.is_dir())


def chapter(word, root=ROOT):
    """The folder of chapter 2, 02 or 02_tiled_matmul."""
    for folder in chapters(root):
        if word.rstrip("/") in (folder.name, folder.name[:2], folder.name[:2].lstrip("0")):
            return folder
    die(f"there is no chapter '{word}'; choose from {', '.join(folder.name for folder in chapters(root))}")


class Step(NamedTuple):
    number: int
    name: str
    path: Path


def steps(folder):
    """The steps in a chapter's folder, or a part's, in their order: stepN_name.cu or .cpp."""
    found = []
    for path in folder.iterdir():
        if match := re.fullmatch(r"step(\d+)[a-z]?_(\w+)\.(?:cu|cpp)", path.name):
            found.append(Step(int(match[1]), match[2], path))
    return sorted(found, key=lambda step: (step.number, step.path.name))


def parts(folder):
    """The names of the parts of a chapter: its folders that hold steps."""
    return sorted(part.name for part in folder.iterdir() if part.is_dir() and steps(part))
