#!/usr/bin/env python3
"""common/tools/learn/watch.py, in a small project whose build and tests are scripts: what it answers to a save."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# The chapter's tests: they say the step, and fail as long as its file says "wrong"; "slow" takes its time.
TESTS = """#!/bin/sh
echo "tests of $TUTORIAL_STEP $*"
cat 02_two/step1_first.cu 02_two/step2_second.cu | grep -q slow && sleep 60
! grep -q wrong 02_two/step2_second.cu || { echo "FAILED  the report"; exit 1; }
"""


class Watch(unittest.TestCase):
    def setUp(self):
        self.root = Path(tempfile.mkdtemp()).resolve()
        self.addCleanup(shutil.rmtree, self.root)
        shutil.copytree(ROOT / "common/tools", self.root / "common/tools")
        self.script("common/tools/learn/progress.py", "#!/bin/sh\necho built\n")
        self.script("learn", '#!/bin/sh\necho "all: $*"\n')
        self.script("build/cpu/02_two/02_two_tests", TESTS)
        for name in ("step1_first.cu", "step2_second.cu", "tests.cpp"):
            self.save(name, "")
        self.said = open(self.root / "said", "w+")
        self.addCleanup(self.said.close)

    def script(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def save(self, name, text):
        path = self.root / "02_two" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def start(self, *which):
        process = subprocess.Popen([sys.executable, self.root / "common/tools/learn/watch.py", "cpu", "2", *which],
                                   stdout=self.said, stderr=subprocess.STDOUT, env=os.environ | {"PYTHONUNBUFFERED": "1"})
        self.addCleanup(process.wait)
        self.addCleanup(process.send_signal, signal.SIGINT)
        return process

    def wait_for(self, words, times=1):
        for _ in range(200):
            text = (self.root / "said").read_text()
            if text.count(words) >= times:
                return text
            time.sleep(0.1)
        self.fail(f"{words!r} did not come; this did:\n{text}")

    def test_the_saved_step_comes_first(self):
        self.start("02_two")
        self.wait_for("Waiting for a change in 02_two/ or common/")
        self.save("step2_second.cu", "wrong")
        text = self.wait_for("✗ step2_second.cu: answer after")
        self.assertIn("tests of second [shapes] --abort\nFAILED  the report", text)
        self.assertEqual(text.count("all: --cpu test 02_two"), 1)  # at the beginning
        self.wait_for("Waiting", 2)
        self.save("step2_second.cu", "right")
        self.wait_for("✓ step2_second.cu: right at every shape, answer after")
        self.wait_for("all: --cpu test 02_two", 2)

    def test_another_file_tries_every_step(self):
        self.start("02_two")
        self.wait_for("Waiting")
        self.save("step2_second.cu", "wrong")
        self.wait_for("tests of second")
        self.wait_for("Waiting", 2)
        self.save("tests.cpp", "// new")
        self.assertIn("tests of  [shapes]", self.wait_for("✗ tests.cpp"))

    def test_a_save_ends_what_runs(self):
        self.start("02_two")
        self.wait_for("Waiting")
        self.save("step1_first.cu", "slow")
        time.sleep(1)
        began = time.monotonic()
        self.save("step1_first.cu", "quick")
        self.wait_for("✓ step1_first.cu")
        self.assertLess(time.monotonic() - began, 30)

    def test_an_exercise(self):
        folder = self.root / "02_two/exercises/1_easy"
        folder.mkdir(parents=True)
        (folder / "task.md").write_text("# Title\n\nDo.\n\n## Hint 1\n\na\n\n## Hint 2\n\nb\n\n## Hint 3\n\nc\n")
        self.start("exercise", "02/easy")
        self.wait_for("all: --cpu exercise 02/easy\nanswer after")
        self.wait_for("Waiting")
        (folder / "mine.cu").write_text("")
        self.wait_for("all: --cpu exercise 02/easy", 2)


if __name__ == "__main__":
    unittest.main()
