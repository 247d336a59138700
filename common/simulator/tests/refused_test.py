"""Each file in refused/ is refused, in one sentence, with the words that its first line expects.

usage: refused_test.py TRANSLATOR COMPILER OPTION…
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

translator, compiler, *options = sys.argv[1:]
failed = 0
for path in sorted((Path(__file__).parent / "refused").rglob("*.c*")):
    expected = re.match(r"// refused: (.*)\n", path.read_text())
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/{path.name}.cpp"
        run = subprocess.run([translator, path, out], capture_output=True, text=True)
        if run.returncode == 0:
            run = subprocess.run([compiler, *options, "-c", out, "-o", f"{folder}/out.o"], capture_output=True, text=True)
    told = [line for line in run.stderr.splitlines() if re.search(r"error: |:\d+: [A-Z]", line)]
    if run.returncode == 0 or len(told) != 1 or not re.search(expected[1], told[0], re.MULTILINE):
        failed += 1
        print(f"{path.name}: expected one sentence with\n  {expected[1]}\nbut exit status {run.returncode} and\n{run.stderr}")
print(f"{failed} failed")
sys.exit(failed > 0)
