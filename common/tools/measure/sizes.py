"""The sizes at which anything is measured: one list for ./learn bench, for the counters and for the figures.

SETS     by name, what ./learn bench times: a set is a chapter's or a part's, or several ladders side by side
COUNTED  what the simulator's counts and a GPU's are compared at: one size that the tiles divide, others that they do not
LARGE    where Nsight Compute says what limits each kernel
A line is a chapter or a part, and the options of its program: "02/hopper --m 4096 --n 4096 --k 4096".
"""
from pathlib import Path
from typing import NamedTuple


class Size(NamedTuple):
    line: str
    last: int = 0  # of the steps only so many, the last ones: where the others would take too long

    @property
    def ladder(self):
        return self.line.split()[0]

    @property
    def problem(self):
        """Its options, but for which steps run."""
        return self.line.partition(" ")[2].partition(" --kernel")[0]


def sizes(ladders, *options, last=0):
    return [Size(f"{ladder} {each}", last) for ladder in ladders.split() for each in options]


# ---- problems

def product(m, n, k):
    return f"--m {m} --n {n} --k {k}"


def softmax(rows, cols):
    return f"--rows {rows} --cols {cols}"


PRODUCT = product(4096, 4096, 4096)
PRODUCTS = [product(2048, 2048, 2048), PRODUCT, product(8192, 8192, 8192), product(4095, 4097, 4093),
            product(4096, 4096, 4095), product(1000, 3000, 777)]
BATCH = "--batch 128 --m 1024 --n 1024 --k 64"
CAUSAL = BATCH + " --mask causal"
MASKS = [CAUSAL, *[f"{BATCH} --mask {mask}" for mask in ("window:128", "window:256", "none")],
         "--batch 32 --m 2048 --n 2048 --k 128 --mask causal"]
ROWS = softmax(16384, 4096)
ALL_ROWS = [softmax(524288, 128), softmax(131072, 512), softmax(65536, 1024), ROWS, softmax(4096, 16384),
            softmax(2048, 32768), softmax(1335, 50257), softmax(1024, 65536), softmax(512, 131072)]  # 268 MB in, as much out
ODD_ROWS = [softmax(*size) for size in (  # they start anywhere; some are very short or very long
    (4000000, 17), (870000, 77), (520000, 129), (100000, 333), (67108, 1000), (66900, 1003), (16371, 4099),
    (2730, 24577), (268, 250002))]
UNFUSED = "--batch 8 --seq 1024 --channels 768 --heads 12"
ATTENTION = "--batch 8 --heads 12 --seq 1024 --head-dim 64"
LONG_ATTENTION = [f"--batch 4 --heads 16 --seq 4096 --head-dim 128{full}" for full in ("", " --full")]
BF16_ATTENTION = LONG_ATTENTION[1]
TILES = [f"--batch 4 --heads 16 --seq 4096 --head-dim {size}" for size in (32, 64, 128)]
TOKENS = 8192  # of all sequences together
LENGTHS = [f"--batch {TOKENS // seq} --heads 12 --seq {seq} --head-dim 64" for seq in (128, 256, 512, 1024, 2048, 4096, 8192)]
HEAD_SIZES = [f"--batch 2 --heads 32 --seq 2048 --head-dim {size}" for size in (40, 64, 80, 96, 112, 128)]
FEW_BLOCKS = [f"--batch 1 --heads {heads} --seq {seq} --head-dim 64" for heads, seq in ((8, 333), (8, 128), (12, 1024))]
DECODING = [f"--batch 8 --heads 32 --kv-heads 8 --seq {queries} --seq-kv 4096 --head-dim 128" for queries in (1, 2, 4, 8, 16)]
# Rows of a group of four heads are 4, 16 or 64; K and V 134, 268 and 537 MB.
FEW_QUERIES = [f"--batch {batch} --heads 32 --kv-heads 8 --seq {queries} --seq-kv {keys} --head-dim 128"
               for batch, keys in ((8, 4096), (2, 32768), (1, 131072)) for queries in (1, 4, 16)]
LONG_DECODING = [
    *[f"--batch 8 --heads 32 --kv-heads 8 --seq {queries} --seq-kv 16384 --head-dim 128" for queries in (1, 4, 16)],
    *[f"--batch 1 --heads 32 --kv-heads 8 --seq 1 --seq-kv {keys} --head-dim 128" for keys in (4096, 16384, 131072)],
    *[f"--batch 1 --heads 32 --kv-heads 8 --seq {queries} --seq-kv 131072 --head-dim 128" for queries in (4, 16)],
]
# Of 06/any_shape the steps that the sizes are meant for; step 5 of 06/faster stands beside them.
MANY_KEYS = " --kernel split_keys --kernel by_shape"
SIZED = " --kernel head_sizes --kernel split_keys --kernel by_shape"
LARGE_HEADS = " --kernel large_heads --kernel split_keys --kernel by_shape"


def sized(options):
    return [*sizes("06/faster", *options, last=1), *sizes("06/any_shape", *[each + SIZED for each in options])]


def bf16_products(ladder, last=2):
    return [*sizes(ladder, *[product(m, m, m) for m in (1024, 2048, 4096, 8192)]),
            *sizes(ladder, *[product(*size) for size in (
                (1000, 3000, 776), (4095, 4097, 4093), (257, 4099, 3001), (8192, 1024, 4096), (3000, 5000, 2048),
                (16384, 512, 8192))], last=last)]


def layouts(ladder):
    """A·B and A·Bᵀ, large products and several small ones, by step layouts; A·B by the step before, too."""
    problems = [*[product(m, m, m) for m in (4096, 8192)], product(1024, 1024, 1024) + " --batch 8"]
    return [*sizes(ladder, *[each + " --kernel by_shape --kernel layouts" for each in problems[:2]],
                   problems[2] + " --kernel layouts", *[each + " --layout nt --kernel layouts" for each in problems])]


def few_rows(*rows):
    return [product(m, n, k) + " --bf16-out" for m in rows for n, k in (
        (4096, 4096), (11008, 4096), (6144, 4096), (4096, 14336), (8192, 28672), (50304, 768))]


def bf16_attention(ladder, kernel):
    """At some sizes one step, which has head sizes of its own."""
    return [*sizes(ladder, *[f"--batch 4 --heads {heads} --seq 4096 --head-dim {size}{full}"
                             for heads, size in ((16, 128), (32, 64)) for full in (" --full", "")], ATTENTION),
            *sizes(ladder, *[f"--batch 4 --heads 16 --seq 4096 --head-dim {size}{full} --kernel {kernel}"
                             for size in (96, 192, 256) for full in (" --full", "")],
                   *[f"--batch 4 --heads 32 --kv-heads 8 {lengths} --head-dim 128{full} --kernel {kernel}"
                     for lengths in ("--seq 1000", "--seq 1000 --seq-kv 4096") for full in (" --full", "")])]


# ---- the lists

SETS = {  # a name begins with the chapter's number
    "01": sizes("01", PRODUCT),
    "02": sizes("02", *PRODUCTS),
    "02_faster": sizes("02/faster", *PRODUCTS),
    "02_any_shape": sizes("02/any_shape", *PRODUCTS),
    "02_shapes": sizes("02/any_shape", *[product(*size) for size in (
        (1, 4096, 4096), (1, 8192, 8192), (1, 4097, 4099), (8, 8192, 8192), (32, 4096, 4096), (64, 4096, 11008),
        (100, 100, 100000), (128, 128, 65536), (257, 4099, 3001), (300, 5000, 2500), (4097, 500, 999),
        (8191, 511, 1025), (16384, 96, 8192), (20000, 64, 20000))], last=4),
    "02_small": sizes("02/any_shape", *[product(*size) for size in (
        (4096, 1, 4096), (8192, 2, 1024), (200, 1, 600), (1181, 103, 59), (367, 217, 62))], last=3),
    "02_rows": sizes("02/any_shape", *[product(2**i, 4096, 4096) for i in range(11)], last=1),
    "02_tensor_cores": bf16_products("02/tensor_cores", last=7),
    "02_fp16": sizes("02/fp16", *[product(m, m, m) for m in (1024, 2048, 4096, 8192)], product(1000, 3000, 776),
                     product(4095, 4097, 4093)),
    "02_hopper": bf16_products("02/hopper", last=5),
    "02_tensor_cores_layouts": layouts("02/tensor_cores"),
    "02_hopper_layouts": layouts("02/hopper"),
    "02_hopper_epilogue": sizes("02/hopper", *[product(m, m, k) + f" --layout nt --epilogue bias_gelu{out} --kernel epilogue"
                                        for m, k in ((4096, 4096), (8192, 8192), (8192, 1024)) for out in ("", " --bf16-out")]),
    "02_few_rows": [*sizes("02/few_rows", *few_rows(1, 8, 64)), *sizes("02/few_rows", *few_rows(16, 32, 256), last=1),
                    *sizes("02/few_rows", *[product(m, 4096, k) + " --bf16-out" for m in (192, 384)
                                            for k in (4096, 14336)], last=3)],
    "02_fp8": sizes("02/fp8", *[product(*size) for size in (
        (1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192), (4096, 7168, 2048),
        (4095, 4097, 4093))]),
    "02_tf32": sizes("02/tf32", *[product(*size) for size in (
        (2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192), (1000, 3000, 777))]),
    "03": sizes("03", *MASKS),
    "03_block_lists": sizes("03/block_lists", *MASKS),
    "03_nearest": sizes("03/nearest", *[f"--m 16384 --n {n} --d {d}{how}" for n, d, how in (
        (16384, 64, " --product"), (16384, 64, ""), (16384, 64, " --neighbours 10"), (16384, 100, " --neighbours 10"),
        (100000, 64, " --neighbours 10"), (16384, 64, " --neighbours 100"))]),
    "04": sizes("04", *ALL_ROWS),
    "04_long_rows": sizes("04/long_rows", *ALL_ROWS),
    "04_odd": [*sizes("04", *ODD_ROWS, last=2), *sizes("04/long_rows", *ODD_ROWS)],
    "05": sizes("05", UNFUSED, UNFUSED + " --tf32"),
    "05_strips": sizes("05/strips", UNFUSED),
    "06": sizes("06", ATTENTION),
    "06_faster": [*sizes("06/faster", ATTENTION), *sizes("06/faster", *LONG_ATTENTION, last=1)],
    "06_any_shape": [*sizes("06/any_shape", ATTENTION),
                     *sizes("06/any_shape", *[each + SIZED for each in LONG_ATTENTION])],
    "06_tiles": [*sizes("06", *TILES, last=1),
                 *sizes("06/faster", *[each + " --kernel larger_tiles --kernel outer_products" for each in TILES])],
    "06_lengths": sized(LENGTHS),
    "06_head_sizes": [*sized([*HEAD_SIZES, *FEW_BLOCKS]), *sizes("06/any_shape", *[
        f"--batch 2 --heads 32 --seq 2048 --head-dim {size}{LARGE_HEADS}" for size in (192, 256)])],
    "06_decoding": [*sizes("06/faster", *DECODING, last=1),
                    *sizes("06/any_shape", *[each + " --kernel own_keys --kernel group_rows" + MANY_KEYS for each in DECODING],
                           *[each + MANY_KEYS for each in LONG_DECODING])],
    "06_joint": sizes("06/joint", "--m 4096 --n 4096 --k 64", "--m 1024 --n 3072 --k 768",  # an MLP: GPT-2's,
                      "--m 128 --n 16384 --k 4096"),  # and the article's
    "06_backward_tensor_cores": sizes(
        "06/backward_tensor_cores", *[f"--batch 4 --heads {heads} --seq 4096 --head-dim {size}{full}"
                                      for heads, size in ((16, 128), (32, 64)) for full in (" --full", "")], ATTENTION),
    "06_backward": [*sizes("06/backward", ATTENTION, ATTENTION + " --full"),
                    *sizes("06/backward", "--batch 2 --heads 12 --seq 4096 --head-dim 64",
                           "--batch 4 --heads 16 --seq 2048 --head-dim 128", last=3)],
    "06_tensor_cores": bf16_attention("06/tensor_cores", "any_address"),
    "06_fp16": sizes("06/fp16", *[f"--batch 4 --heads {heads} --seq 4096 --head-dim {size}{full}"
                                  for heads, size in ((16, 128), (32, 64)) for full in (" --full", "")], ATTENTION),
    "06_hopper": bf16_attention("06/hopper", "head_sizes"),
    "06_fp8": sizes(
        "06/fp8", *[f"--batch 4 --heads {heads} --seq 4096 --head-dim {size}{full}" for heads, size in ((16, 128), (32, 64))
                    for full in (" --full", "")], "--batch 4 --heads 16 --seq 16384 --head-dim 128 --full"),
    "06_few_queries": [*sizes("06/few_queries", *FEW_QUERIES), *sizes("06/few_queries", *[
        f"--batch 8 --heads {heads} --kv-heads 8 --seq {queries} --seq-kv {keys} --head-dim {size}"
        for heads, queries, keys, size in ((8, 1, 4096, 128), (64, 1, 4096, 128), (32, 1, 4096, 64),
                                           (32, 1, 1024, 128))], last=2)],
}
# At which estimates are compared with times, a device at a time: not part of "everything".
ESTIMATED = {"estimates": [Size(line) for line in Path(__file__).with_name("estimate_sizes.txt").read_text().splitlines()]}
COUNTED = [
    *sizes("01", product(256, 128, 64), product(257, 130, 45), product(33, 65, 100), product(100, 96, 33)),
    *sizes("02 02/faster 02/any_shape", *[product(*size) for size in (
        (256, 256, 64), (257, 131, 45), (129, 130, 70), (100, 60, 130), (66, 68, 300), (3, 70, 1100))]),
    *sizes("02/tensor_cores", product(256, 256, 64), product(257, 136, 72), product(130, 131, 45)),
    *sizes("02/tf32 02/fp16", product(256, 256, 64), product(130, 131, 45)),
    *sizes("03 03/block_lists", "--batch 1 --m 256 --n 256 --k 64", "--batch 2 --m 300 --n 259 --k 45",
           "--batch 1 --m 129 --n 131 --k 100", "--batch 3 --m 64 --n 200 --k 7"),
    *sizes("03/nearest", "--m 256 --n 512 --d 64 --product", "--m 130 --n 259 --d 45",
           "--m 100 --n 300 --d 33 --neighbours 10"),
    *sizes("04 04/long_rows", softmax(64, 4096), softmax(37, 1001), softmax(5, 12345), softmax(130, 77)),
    *sizes("05", "--batch 1 --seq 128 --channels 128 --heads 2", "--batch 2 --seq 51 --channels 36 --heads 3",
           "--batch 1 --seq 100 --channels 300 --heads 3", "--batch 1 --seq 257 --channels 64 --heads 2"),
    *sizes("05/strips", "--batch 2 --seq 128 --channels 128 --heads 4 --strip 64",
           "--batch 2 --seq 51 --channels 36 --heads 3 --strip 25", "--batch 1 --seq 100 --channels 300 --heads 3 --strip 33",
           "--batch 1 --seq 257 --channels 64 --heads 2 --strip 128"),
    *sizes("06 06/faster 06/any_shape", *[f"--batch 1 --heads {heads} --seq {seq} --head-dim {size}" for heads, seq, size in (
        (1, 256, 64), (1, 150, 40), (2, 77, 100), (1, 130, 128))]),
    *sizes("06 06/any_shape", "--batch 1 --heads 4 --kv-heads 1 --seq 3 --seq-kv 300 --head-dim 136"),
    *sizes("06/tensor_cores", "--batch 1 --heads 1 --seq 256 --head-dim 64",
           "--batch 1 --heads 2 --kv-heads 1 --seq 150 --head-dim 128",
           "--batch 1 --heads 1 --seq 77 --seq-kv 130 --head-dim 40", "--batch 1 --heads 1 --seq 70 --head-dim 136 --full"),
    *sizes("06/fp16", "--batch 1 --heads 1 --seq 256 --head-dim 64", "--batch 1 --heads 2 --kv-heads 1 --seq 150 --head-dim 128"),
    *sizes("06/joint", *[product(*size) for size in ((128, 128, 64), (100, 90, 40), (70, 130, 33), (64, 200, 100))]),
    *sizes("06/backward", "--batch 1 --heads 1 --seq 256 --head-dim 64",
           "--batch 1 --heads 2 --kv-heads 1 --seq 77 --head-dim 40", "--batch 1 --heads 1 --seq 70 --head-dim 100"),
    *sizes("06/backward_tensor_cores", *[each + " --kernel seven_products --kernel one_launch --kernel any_shape --kernel five_products" for each in (
        "--batch 1 --heads 1 --seq 256 --head-dim 64", "--batch 1 --heads 2 --kv-heads 1 --seq 77 --head-dim 40",
        "--batch 1 --heads 1 --seq 70 --head-dim 104 --full")],
           "--batch 1 --heads 2 --kv-heads 1 --seq 70 --seq-kv 100 --head-dim 150 --kernel any_shape"),
]
LARGE = [  # with `last` each of the steps by itself
    *sizes("01 02 02/faster 02/any_shape", PRODUCT),
    *sizes("02/any_shape", product(4095, 4097, 4093), last=5),
    *sizes("03 03/block_lists", BATCH),
    *sizes("04 04/long_rows", ROWS),
    *sizes("04/long_rows", softmax(1024, 65536), last=1),
    *sizes("05 05/strips", UNFUSED),
    *sizes("06 06/faster 06/any_shape", ATTENTION),
    *sizes("02/tensor_cores 02/fp16 02/tf32 02/hopper 02/fp8", PRODUCT),
    *sizes("06/joint", "--m 4096 --n 4096 --k 64"),
    *sizes("06/tensor_cores 06/fp16 06/hopper 06/fp8 06/backward_tensor_cores", BF16_ATTENTION),
    *sizes("06/backward", ATTENTION),
]
