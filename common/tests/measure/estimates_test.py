#!/usr/bin/env python3
"""estimates.py and its model: counts are continued right, each term is that of its unit, and the errors stay what they are."""
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "tools")]
from scratch import PROJECT

sys.path[:0] = map(str, (PROJECT / "common/tools").glob("**/"))
import estimate  # noqa: E402
import estimate_model as model  # noqa: E402
import estimates  # noqa: E402
import project  # noqa: E402


def launch(device=model.H200, **counts):
    """Blocks of 256 threads that do nothing but this."""
    names = ("blocks grid_x grid_y grid_z threads cluster shared_bytes sampled steps products divisions functions by_warps "
             "by_warpgroups merged_loads merged_passes lines longest past_l1 missed_l1_2k missed_l1_8k missed_l1_32k "
             "load_requests load_sectors load_bytes store_requests store_sectors atomic_requests atomic_sectors "
             "shared_load_requests shared_load_passes shared_load_bytes shared_store_requests shared_store_passes "
             "shared_atomic_passes async_copies barriers warp_operations").split()
    usual = {"blocks": 1320, "grid_x": 1320, "grid_y": 1, "grid_z": 1, "threads": 256, "cluster": 1, "sampled": 4}
    row = dict.fromkeys(names, 0) | usual | {"kernel": "of a learner", "touched": ""} | counts
    return model.Launch({name: str(value) for name, value in row.items()}, device)


class Model(unittest.TestCase):
    def terms(self, **counts):
        return model.terms(launch(**counts), model.FITTED)

    def test_each_unit_has_its_own_term(self):
        for term, counts in {"DRAM": {"touched": "4.25e9:100000:0:0:0:0"}, "L1": {"merged_passes": 1e10},
                             "issue": {"products": 1e10}, "special": {"functions": 1e9},
                             "tensor": {"by_warpgroups": 1e13}, "L2": {"past_l1": 1e10},
                             "latency": {"barriers": 1e8}}.items():
            with self.subTest(term):
                found = self.terms(**counts)
                if term == "special":
                    del found["issue"]  # each function is some instructions, too
                self.assertEqual(max(found, key=found.get), term)

    def test_bytes_of_dram_take_what_a_copy_takes(self):
        found = self.terms(touched=f"{4.25e9}:{4.25e9 / 32 / 1320}:0:0:0:0")["DRAM"]
        self.assertAlmostEqual(found, 1000, delta=1)  # 4.25 GB at 4.25 TB/s

    def test_what_neighbours_share_is_loaded_once(self):
        self.assertEqual(model.in_box((0, 10, 0, 1, 0, 0), (8, 4, 1)), 40)  # a row of A, by y alone
        self.assertEqual(model.in_box((0, 10, 0, 0, 0, 0), (8, 4, 1)), 320)
        self.assertEqual(model.in_box((320, 10, 0, 0, 0, 0), (8, 4, 1)), 10)  # the allocation has no more

    def test_the_busiest_multiprocessor_counts(self):
        even, one_more = self.terms(products=1e9)["issue"], self.terms(products=1e9, blocks=133)["issue"]
        self.assertAlmostEqual(one_more / even, 2 * 132 / 133)

    def test_a_sector_alone_costs_as_much_as_two(self):
        scattered = self.terms(load_sectors=1e9, lines=1e9, missed_l1_2k=1e9, missed_l1_8k=1e9, missed_l1_32k=1e9)
        together = self.terms(load_sectors=1e9, lines=2.5e8, missed_l1_2k=1e9, missed_l1_8k=1e9, missed_l1_32k=1e9)
        self.assertAlmostEqual(scattered["L2"] / together["L2"], 2)

    def test_launches_follow_one_another(self):
        one = model.estimate([launch(products=1e9)]).us
        two = model.estimate(2 * [launch(products=1e9)])
        self.assertAlmostEqual(two.us, 2 * one - model.LAUNCH_US + model.NEXT_LAUNCH_US)
        self.assertEqual(two.bound, "issue")


class Measured(unittest.TestCase):
    def test_the_constants_are_those_that_were_measured(self):
        rates = {row["what"]: float(row["value"]) for row in estimates.results.table("rates")}
        waits = {row["memory"]: float(row["cycles"]) for row in estimates.results.table("latencies")}
        bytes_of_l2 = {int(what.split()[-2]): value for what, value in rates.items() if what.startswith("loads of 16 bytes")}
        largest = max(mb for mb, value in bytes_of_l2.items() if value > 0.95 * bytes_of_l2[16])
        for constant, measured in {
                model.L2_LOADS: max(bytes_of_l2.values()), model.L2_STORES: rates["stores of 4 bytes to sectors in 8 MiB"],
                model.L2_PART: largest * 2**20 / model.H200.l2, model.GLOBAL: waits["global"],
                model.SHARED_LOAD: waits["shared"], model.SHUFFLE: waits["shuffle"], model.FMA: waits["register"],
                model.BARRIER + 4 * model.BARRIER_OF_WARP: rates["a barrier of 128 threads"],
                model.BARRIER + 32 * model.BARRIER_OF_WARP: rates["a barrier of 1024 threads"],
                32 * model.SCHEDULERS / model.SPECIAL: rates["powers of 2"],
                1 / model.GLOBAL_PASSES: rates["loads from L1 of 1 lines"],
                model.MMA: rates["multiply-adds by mma in bf16"] / rates["multiply-adds by wgmma in bf16"],
                model.H200.tensor: rates["multiply-adds by wgmma in bf16"],
                model.LAUNCH_US: rates["an empty launch between two events"],
                model.NEXT_LAUNCH_US: rates["an empty launch after another"]}.items():
            self.assertAlmostEqual(constant / measured, 1, delta=0.02)


class Recorded(unittest.TestCase):
    def test_counts_are_continued_linearly(self):
        rows = [{"step": "a", "kernel": "k", "lines": f"{lines}", "touched": f"{64 * lines}:{lines}:5:1:0:0 "}
                for lines in (10 + 256, 10 + 512)]
        found, = estimates.continued(4096, [[rows[0]], [rows[1]]])
        self.assertEqual(float(found["lines"]), 10 + 4096)
        self.assertEqual(found["touched"], f"{64 * 4106}:4106:5:1:0:0")

    def test_order_and_tau(self):
        self.assertEqual(estimates.tau([(1, 10), (2, 20), (3, 15)]), 1 / 3)

    def test_the_errors_are_those_that_were_found(self):
        """Of all recorded steps, with the constants of the model; study tells more."""
        found = [(step, model.estimate(step.launches).us) for step in estimates.steps()]
        errors = sorted(abs(us / step.us - 1) for step, us in found)
        self.assertGreater(len(found), 240)
        self.assertLess(errors[len(errors) // 2], 0.15)
        self.assertLess(errors[int(0.9 * len(errors))], 0.45)
        self.assertGreater(estimates.tau([(step.us, us) for step, us in found]), 0.88)
        chapters = {step.ladder[:2] for step, _ in found}  # what docs/estimates.md says of a model that does not know the chapter
        without = {chapter: estimates.fitted([step for step, _ in found if step.ladder[:2] != chapter]) for chapter in chapters}
        held_out = [(step, model.estimate(step.launches, without[step.ladder[:2]]).us) for step, _ in found]
        self.assertEqual(f"{100 * estimates.median(estimates.errors(held_out)):.0f}", "16")
        ordered, right, count = estimates.order(found, estimates.IN_RANGE)
        self.assertGreater(right / ordered, 0.9)
        self.assertGreater(ordered / count, 0.5)

    def test_another_device_by_its_constants_alone(self):
        """An H100, of whose times the fit knows nothing."""
        found = estimates.figures("h100")
        self.assertGreater(int(found["steps"]), 240)
        self.assertLess(float(found["median"].rstrip(" %")), 15)
        self.assertLess(float(found["tenth"].rstrip(" %")), 45)
        self.assertGreater(float(found["tau"]), 0.88)
        self.assertNotEqual(found["steps"], estimates.figures()["steps"])

    def test_the_bound_is_the_unit_that_is_busiest_by_nsight_compute(self):
        named = [bound in true for bound, true in estimates.busiest_units()]
        self.assertGreater(len(named), 90)
        self.assertGreater(sum(named) / len(named), 0.8)


class Command(unittest.TestCase):
    def said(self, *words):
        run = subprocess.run([sys.executable, PROJECT / "common/tools/measure/estimate.py", *words], capture_output=True, text=True)
        return run.returncode, run.stderr.strip()

    def test_what_cannot_be_done_is_refused_in_a_sentence(self):
        for words, sentence in {("02", "--on", "p100"): "--on takes one of h200, h100, a100, 4090, t4, and there is no p100",
                                ("02", "--on"): "--on takes one of h200, h100, a100, 4090, t4",
                                ("--on", "t4"): "estimate which chapter? for example: ./learn estimate 02 register_tile --on t4",
                                ("02/any_shape",): "no size of 02/any_shape has been tried: give one; "
                                              "./learn run 02/any_shape --help lists the options",
                                ("06/joint", "--m", "64"): "there is no estimate of 06/joint yet: a few of its blocks do "
                                                           "not stand for all"}.items():
            with self.subTest(words):
                self.assertEqual(self.said(*words), (2, f"learn: {sentence}"))

    def test_the_words(self):
        asked, words = estimate.words_of(["02", "mine", "--on", "T4", "--m", "64"])
        self.assertEqual((asked.on, asked.at, words), ("t4", None, ["02", "--kernel", "mine", "--m", "64"]))
        asked, words = estimate.words_of(["02", "--m", "64", "--at", "9"])
        self.assertEqual((asked.on, asked.at, words), ("h200", "9", ["02", "--m", "64"]))

    def test_the_sizes(self):
        words = "--seed 3 --seq=77 --csv a.csv --full --profile --kernel two_buffers".split()
        self.assertEqual(estimate.sizes_in(words), "--seq 77 --full --kernel two_buffers".split())
        self.assertEqual(estimate.options_of("06", ["--seq", "77"], None), ["--seq", "77"])
        self.assertEqual(estimate.options_of("06", ["--kernel", "q_outer"], None),
                         "--batch 8 --heads 12 --seq 1024 --head-dim 64 --kernel q_outer".split())
        self.assertEqual(estimate.options_of("06", [], "33"), "--batch 8 --heads 12 --seq 33 --head-dim 64".split())
        self.assertIsNone(estimate.options_of("06/joint", [], None))

    def test_behind_a_run_that_has_nothing_to_estimate_it_says_nothing(self):
        """Such a run has been right: no exit status of the estimate's may take that back."""
        for words in (("02/any_shape",), ("06/joint", "--m", "64")):
            with self.subTest(words):
                self.assertEqual(self.said("--behind", *words), (0, ""))
        for answer in ({"return_value": []}, {"side_effect": ValueError("the program of 02 says: there is no kernel here")}):
            for words, said in ((["--behind"], []), ([], [mock.ANY])):
                with self.subTest(answer | {"words": words}), mock.patch.object(estimates, "sample", **answer), \
                        mock.patch.object(sys, "argv", ["", "02", "--m", "0", *words]), mock.patch.dict("os.environ"), \
                        mock.patch.object(project, "die") as died:
                    estimate.main()
                    self.assertEqual([call.args[0] for call in died.call_args_list], said)

    def test_the_record_stands_for_the_code_as_it_is(self):
        """Where this fails a step has changed since: common/tools/measure/estimates.py record 01, and so on."""
        for ladder in ("01", "02", "03", "04", "06"):
            self.assertTrue(estimates.kept(ladder, estimate.usual_options(ladder)), ladder)

    def test_a_changed_and_a_new_step_are_not_looked_up(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            shutil.copytree(PROJECT / "01_naive_matmul", root / "01_naive_matmul")
            shutil.copytree(PROJECT / "common", root / "common", ignore=shutil.ignore_patterns("tools", "tests", "node_modules"))
            step, mine = root / "01_naive_matmul/step2_coalesced.cu", root / "01_naive_matmul/step3_mine.cu"

            def is_kept():
                with mock.patch.multiple(estimates, code_of=estimates.code_of.__wrapped__), mock.patch.object(project, "ROOT", root):
                    return bool(estimates.kept("01", estimate.usual_options("01")))
            self.assertTrue(is_kept())
            step.write_text("// a comment\n" + step.read_text())
            self.assertTrue(is_kept())
            mine.write_text(step.read_text())
            self.assertFalse(is_kept())
            mine.unlink()
            step.write_text(step.read_text() + "int more;\n")
            self.assertFalse(is_kept())

    def test_every_ladder_with_samples_has_a_size(self):
        for row in estimates.steps():
            self.assertIsNotNone(estimate.usual_options(row.ladder))

    def test_a_row_has_a_range_and_says_what_is_as_fast(self):
        def of(us, **terms):
            return model.Estimate(us, "", {"DRAM": 0, "latency": 0} | terms)
        first, second, third = estimate.rows([("a", of(1000, L1=990, issue=495)), ("b", of(950, issue=950)), ("c", of(600, L2=9))],
                                             1.5, shows_times=True)
        self.assertEqual(first, ["a", "1.0 ms (0.67–1.5)", "shared memory and L1", "instructions, 50 % of it", ""])
        self.assertEqual(second[4], "a")
        self.assertEqual(third[4], "")
        self.assertEqual([row[1] for row in estimate.rows([("a", of(1000, L1=990))], 1.5, shows_times=False)], ["–"])

    def test_devices(self):
        """What has no multiprocessors, or no clock, less takes longer: by so much."""
        t4, h200 = (model.terms(launch(device, products=1e10), model.FITTED)["issue"]
                    for device in (model.DEVICES["t4"], model.H200))
        self.assertAlmostEqual(t4 / h200, 132 * 1.98 / (40 * 1.59) * 0.75 * 4 / 2, delta=0.01)  # 64 multiply-adds a clock
        for device in model.DEVICES.values():
            self.assertGreaterEqual(launch(device).resident, 1)


if __name__ == "__main__":
    unittest.main()
