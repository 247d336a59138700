#!/usr/bin/env python3
"""docs/site/browser/estimate.js has the formulas of estimate_model.py once more: what comes out is the same."""
import collections
import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "tools")]
from scratch import PROJECT

sys.path[:0] = map(str, (PROJECT / "common/tools").glob("**/"))
import estimate  # noqa: E402
import estimate_model as model  # noqa: E402
import estimates  # noqa: E402
import page_estimates  # noqa: E402
import project  # noqa: E402

# Of each step on each device: its time, its terms by name, and the words; and what two runs are continued to.
SCRIPT = """
import fs from 'node:fs'
import { continued, estimate, inWords, launchOf } from 'MODULE'
const { known, devices, steps, runs } = JSON.parse(fs.readFileSync(0))
const of = (rows, name) => estimate(rows.map((row) => launchOf(row, known, known.devices[name])), known)
const found = steps.map((rows) => devices.map((name) => {
  const { us, terms } = of(rows, name)
  return { us, terms, words: inWords({ us, terms }, known, true) }
}))
console.log(JSON.stringify({ found, continued: continued(4096, runs, known) }))
"""


@unittest.skipUnless(shutil.which("node"), "there is no node")
class PageEstimates(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        steps = collections.defaultdict(list)
        for row in project.read_csv(estimates.SAMPLES):
            steps[row["chapter"], row["options"], row["step"]].append(row)
        cls.steps = list(steps.values())
        cls.runs = [[row | {name: f"{float(row[name]) * more}" for name in ("lines", "products", "load_sectors")} |
                     {"touched": f"{1024 * more}:{more}:{2 * more}:1:0.5:0 "} for row in cls.steps[0]] for more in (2, 5)]
        known = page_estimates.known(model.DEVICES)
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder, "script.mjs")
            script.write_text(SCRIPT.replace("MODULE", (PROJECT / "docs/site/browser/estimate.js").as_uri()))
            asked = json.dumps({"known": known, "devices": list(model.DEVICES), "steps": cls.steps, "runs": cls.runs})
            done = subprocess.run(["node", "--no-warnings", script], input=asked, stdout=subprocess.PIPE, text=True, check=True)
        cls.said = json.loads(done.stdout)

    def assert_equal(self, here, there):
        self.assertLessEqual(abs(here - there), 1e-9 * abs(there))

    def test_of_every_step_in_the_record_on_every_device(self):
        self.assertGreater(len(self.steps), 240)
        for rows, of_devices in zip(self.steps, self.said["found"], strict=True):
            for device, here in zip(model.DEVICES.values(), of_devices, strict=True):
                with self.subTest(chapter=rows[0]["chapter"], options=rows[0]["options"], step=rows[0]["step"], on=device.name):
                    there = model.estimate([model.Launch(row, device) for row in rows])
                    self.assert_equal(here["us"], there.us)
                    self.assertEqual(list(here["terms"]), list(there.terms))
                    for name, value in there.terms.items():
                        self.assert_equal(here["terms"][name], value)
                    (_, time, bound, next_one, _), = estimate.rows([("", there)], estimates.OFF_BY, True)
                    self.assertEqual(here["words"], f"{time}, bound by {bound}; next: {next_one}")

    def test_counts_are_continued_alike(self):
        for here, there in zip(self.said["continued"], estimates.continued(4096, self.runs), strict=True):
            for name, value in there.items():
                if name == "touched":
                    self.assertEqual(here[name].split(), value.split())
                elif name in estimates.TEXTS:
                    self.assertEqual(here[name], value)
                else:
                    self.assertAlmostEqual(here[name], float(value), delta=1e-7 * abs(float(value)))  # it has 8 digits

    def test_what_a_page_says_is_asked_of_the_ladders_that_have_an_estimate(self):
        ladders = page_estimates.ladders()
        self.assertFalse(set(ladders) & set(estimate.NOT_YET))
        for ladder, _, step in (name.partition(" ") for name in page_estimates.SMALLER):
            of_all = ladders[ladder]["options"]
            self.assertNotEqual(ladders[ladder]["steps"][step]["options"] if step else of_all,
                                of_all if step else estimate.usual_options(ladder))
        self.assertEqual([one[-1] for one in ladders["02"]["runs"]], ["256", "512"])
        self.assertEqual(ladders["06"]["runs"], [estimate.usual_options("06")])


if __name__ == "__main__":
    unittest.main()
