"""How long a GPU takes for a launch, from what the simulator counts: a roofline with more roofs, and with latency.

Each term is the time that one unit of the GPU is busy with the launch, if nothing else holds it up. They overlap, though not
wholly: the time is (sum of term^power)^(1/power), and the largest term is the bound. Terms of a multiprocessor count the one
that has most blocks to do. What is known of devices stands first; the five numbers that are fitted, in FITTED.
"""
import collections
import functools
import math
import re

import project
import registers

# ---- The devices. Of a multiprocessor: the bytes of L1 with shared memory, and in a cycle the fp32 multiply-adds and those of
# tensor cores in bf16. What it has room for, registers.py knows by the architecture.
Device = collections.namedtuple("Device", "name architecture multiprocessors ghz dram l2 l1 fma tensor tensor_clock mma")
OF_PEAK = 4.25 / 4.8  # of the data sheet's bytes a second a copy reaches on an H200: docs/results/NVIDIA_H200/device.csv
TENSOR_CLOCK = 1455 / 1980  # of the clock, where tensor cores draw all the power there is: device.csv
MMA = 0.657  # of what wgmma does in a cycle, by mma: rates.csv, as all that is said to be measured below
# The H200 is the one that times were measured of. Of the others multiprocessors, boost clock, bandwidth, L2 and tensor cores
# are those of NVIDIA's data sheets, the rest of the CUDA Programming Guide's table of compute capabilities. With an
# H100's times what comes out was compared, as docs/estimates.md says; with the others' nobody has compared it.
DEVICES = {
    "h200": Device("an H200", "90a", 132, 1.98, 4.8e12 * OF_PEAK, 50e6, 256 * 1024, 128, 2048, TENSOR_CLOCK, MMA),
    "h100": Device("an H100", "90a", 132, 1.98, 3.35e12 * OF_PEAK, 50e6, 256 * 1024, 128, 2048, TENSOR_CLOCK, MMA),
    "a100": Device("an A100", "80", 108, 1.41, 2.04e12 * OF_PEAK, 40e6, 192 * 1024, 64, 1024, 1, 1),
    "4090": Device("an RTX 4090", "89", 128, 2.52, 1.01e12 * OF_PEAK, 72e6, 128 * 1024, 128, 256, 1, 1),
    "t4": Device("a T4", "75", 40, 1.59, 0.32e12 * OF_PEAK, 4e6, 96 * 1024, 64, 512, 1, 1),
}
H200 = DEVICES["h200"]
SCHEDULERS = 4  # of a multiprocessor, on all of them
# Measured of an H200 (docs/results/NVIDIA_H200/rates.csv and latencies.csv; a test holds these numbers near them):
L2_LOADS, L2_STORES = 33.2, 14.34  # bytes of L2 in a cycle of a multiprocessor; stores that touch a sector each
L2_PART = 0.84     # of L2's 50 MB, what stays in it when all multiprocessors read all of it again and again
GLOBAL, SHARED_LOAD, SHUFFLE, FMA = 667, 23, 26, 4.13  # cycles of latency
BARRIER, BARRIER_OF_WARP = 12.7, 2  # cycles: at least, and more for each warp that comes to it
SPECIAL = 8        # cycles of a scheduler for 32 exponential functions: 4 lanes at a time
GLOBAL_PASSES = 1.745  # of L1 for a request of 32 addresses, if it touches no more lines
LAUNCH_US, NEXT_LAUNCH_US = 2.62, 1.3  # of an empty launch between two events; of one that follows another
# From the instructions that ncu counts of chapter 04's steps:
DIVISION, FUNCTION = 12, 10  # instructions of one, without fast mathematics

Constants = collections.namedtuple("Constants", "issue address power loads_ahead shared_ahead")
FITTED = Constants(
    issue=0.75,       # instructions that a scheduler issues a cycle, without those that no count sees (loops, indices)
    address=4,        # such instructions for each request of global memory
    power=4,
    loads_ahead=4,    # loads of global memory that a warp has under way at a time
    shared_ahead=4)   # … and of shared memory
TRIED = Constants(issue=[.6, .65, .7, .75, .8, .85, .9], address=[2, 4, 6, 8, 10], power=[2, 3, 4, 6],
                  loads_ahead=[2, 3, 4, 6, 8], shared_ahead=[4, 8, 16, 32])


@functools.lru_cache
def recorded_registers(architecture):
    """By kernel, and by its name without template arguments, which a launch may deduce."""
    found = {}
    for row in project.read_csv(registers.RECORD):
        if cell := row[f"sm_{architecture}"]:
            count = int(cell.split("/")[0])
            found.setdefault(row["kernel"], count)
            found.setdefault(re.sub("<.*", "", row["kernel"].replace("(anonymous namespace)", "")), count)
    return found


class Launch:
    """A line of samples.csv, with numbers."""

    def __init__(self, row, device=H200):
        self.device = device
        self.kernel = row["kernel"]
        for name, value in row.items():
            if name not in ("chapter", "options", "step", "kernel", "touched", "code"):
                setattr(self, name, float(value or 0))
        self.touched = [tuple(map(float, one.split(":"))) for one in row["touched"].split()]
        known = recorded_registers(device.architecture)
        plain = re.sub("<.*", "", self.kernel.replace("(anonymous namespace)", ""))
        self.registers = known.get(self.kernel) or known.get(plain) or 64
        self.warps = math.ceil(self.threads / 32)
        blocks, _ = registers.most_blocks(device.architecture, self.registers, int(self.shared_bytes), int(self.threads))
        self.resident = max(1, blocks)


def l1_misses(launch):
    """Sectors that loads fetch from L2. Each warp has its share of what shared memory leaves of L1."""
    share = max(0, launch.device.l1 - launch.resident * (launch.shared_bytes + 1024)) / (launch.resident * launch.warps)
    known = [(2048, launch.missed_l1_2k), (8192, launch.missed_l1_8k), (32768, launch.missed_l1_32k)]
    for (small, more), (large, fewer) in zip(known, known[1:]):
        if share <= large:
            part = max(0, math.log(share / small) / math.log(large / small)) if share > 0 else 0
            return more + (fewer - more) * part
    return known[-1][1]


def in_box(touched, box):
    """Different sectors that the blocks of a box of the grid load from one allocation."""
    allocated, loaded, _, *shared = touched
    for extent, same in zip(box, shared):
        loaded *= 1 + (extent - 1) * (1 - same)
    return min(loaded, allocated / 32) if allocated else loaded


def dram_bytes(launch):
    """All that is touched, once; and what L2 has no room for, once more with each wave of blocks."""
    grid = [launch.grid_x, launch.grid_y, launch.grid_z]
    grid[0 if grid[0] % launch.cluster == 0 else 1] /= launch.cluster
    blocks, at_once = launch.blocks / launch.cluster, launch.device.multiprocessors * launch.resident / launch.cluster
    wave = []
    for extent in grid:
        wave.append(min(extent, max(1, at_once / math.prod(wave))))
    waves = max(1, blocks / math.prod(wave))
    once = sum(in_box(one, grid) for one in launch.touched)
    each_wave = waves * sum(in_box(one, wave) for one in launch.touched)
    stored = sum(min(one[2] * blocks, one[0] / 32) if one[0] else one[2] * blocks for one in launch.touched)
    lost = max(0, 1 - L2_PART * launch.device.l2 / (32 * once)) if once else 0
    return 32 * (once + max(0, each_wave - once) * lost + stored)


def terms(launch, constants):
    """Microseconds that each unit is busy."""
    blocks, device = launch.blocks, launch.device
    most = math.ceil(blocks / device.multiprocessors) / blocks  # of all work, by the busiest multiprocessor

    def us(cycles):  # of what all blocks need, of one unit of each multiprocessor
        return cycles * most / device.ghz / 1e3

    uses_tensor = launch.by_warps > 0
    shared_loads, shared_passes = launch.merged_loads, launch.merged_passes
    if uses_tensor:  # ldmatrix is not among those; one of four matrices counts as up to four requests
        shared_loads = max(shared_loads, launch.shared_load_requests / 2)
        shared_passes = max(shared_passes, launch.shared_load_passes)
    warp_operations = 0 if uses_tensor else launch.warp_operations  # mma is among them
    requests = launch.load_requests + launch.store_requests
    copies = launch.async_copies / 32
    instructions = (launch.products + DIVISION * launch.divisions + FUNCTION * launch.functions + shared_loads +
                    launch.shared_store_requests + (requests + launch.atomic_requests + copies) * (1 + constants.address) +
                    2 * warp_operations + launch.by_warps / 2048)
    # A sector that comes alone from its line costs L2 as much as two.
    alone = max(1, min(2, 2 * launch.lines / max(1, launch.load_sectors + launch.store_sectors)))
    loaded = l1_misses(launch) * alone + launch.past_l1

    warps = launch.warps * blocks
    loads, phases = launch.load_requests / warps, launch.barriers / blocks / 2  # load, barrier, use, barrier
    chain = (max(loads / constants.loads_ahead, min(loads, phases)) * GLOBAL +
             shared_loads / warps * SHARED_LOAD / constants.shared_ahead + launch.barriers / blocks * (BARRIER + BARRIER_OF_WARP * launch.warps) +
             launch.products / warps * FMA / 4 + warp_operations / warps * SHUFFLE +
             GLOBAL * (1 + (launch.store_requests > 0)))
    of_l2 = device.multiprocessors * device.ghz * 1e3  # cycles a microsecond
    return {
        "DRAM": dram_bytes(launch) / device.dram * 1e6,
        "L2": 32 * (loaded / L2_LOADS + (launch.store_sectors + launch.atomic_sectors) / L2_STORES) / of_l2,
        "L1": us(shared_passes + launch.shared_store_passes + launch.shared_atomic_passes +
                 max(launch.lines, GLOBAL_PASSES * requests)),
        "issue": us(max(instructions / SCHEDULERS / constants.issue, launch.products / (device.fma / 32))),
        "special": us((launch.divisions + launch.functions) * SPECIAL / SCHEDULERS),
        "tensor": us((launch.by_warps / device.mma + launch.by_warpgroups) / device.tensor / device.tensor_clock),
        "latency": chain * max(1, blocks / (device.multiprocessors * launch.resident)) / device.ghz / 1e3,
    }


Estimate = collections.namedtuple("Estimate", "us bound terms")


def estimate(launches, constants=FITTED):
    """Of a step: its launches follow one another."""
    all_terms = collections.Counter()
    us = LAUNCH_US + NEXT_LAUNCH_US * (len(launches) - 1)
    for launch in launches:
        own = terms(launch, constants)
        all_terms.update(own)
        us += sum(term ** constants.power for term in own.values()) ** (1 / constants.power)
    return Estimate(us, max(all_terms, key=all_terms.get), all_terms)
