"""Figures of docs/00_first_kernel.md and docs/00_time_and_bytes.md."""
import results
from style import BLUE, FAINT, GREEN, GREY, HALF, ORANGE, PALE, PURPLE, RED, SOLID, Figure, figure


@figure("00_gpu")
def gpu():
    f = Figure(760, 340, "A CPU has a few large cores, a GPU 132 small multiprocessors. A multiprocessor has four "
                         "schedulers, each of which chooses among 16 warps, registers and shared memory")
    f.heading(10, 20, "CPU: a few large cores")
    for i in range(4):
        x, y = 10 + i % 2 * 92, 34 + i // 2 * 62
        f.rect(x, y, 86, 56, GREY, 0, 1, 3)
        f.rect(x + 6, y + 6, 24, 44, ORANGE, HALF, 0, 2)
        f.rect(x + 34, y + 6, 46, 44, GREY, PALE, 0, 2)
    f.rect(10, 164, 12, 12, ORANGE, HALF, 0)
    f.text(28, 174, "arithmetic", 12)
    f.rect(10, 186, 12, 12, GREY, PALE, 0)
    f.text(28, 196, "caches, branch prediction", 12)

    f.heading(250, 20, "GPU: 132 multiprocessors (SMs), a square each")
    chosen = (5, 11)
    f.grid(250, 34, 6, 22, 23, ORANGE, 23, lambda row, col: (ORANGE, HALF) if (row, col) != chosen else (ORANGE, 0.9), 3)
    # the close view
    x, y = 250 + 11 * 23, 34 + 5 * 23 + 20
    f.path(f"M250 196L{x} {y}M750 196L{x + 20} {y}", GREY, 1, "3 3")
    f.rect(250, 196, 500, 136, GREY, 0, 1, 4)
    f.text(262, 215, "one multiprocessor", 12.5, bold=True)
    for s in range(4):
        left = 262 + s * 120
        f.rect(left, 224, 112, 66, ORANGE, 0, 1, 3)
        f.text(left + 56, 239, f"scheduler {s + 1}", 11.5, anchor="middle")
        ready = {0: 5, 1: 9, 2: 2, 3: 12}[s]
        f.grid(left + 8, 246, 2, 8, 12.2, BLUE, 12, lambda row, col, ready=ready: (
            BLUE, 0.9 if row * 8 + col == ready else PALE), 2)
        f.text(left + 56, 284, "16 warps", 11.5, anchor="middle")
    f.rect(262, 297, 232, 26, GREEN, PALE, 0, 3)
    f.text(378, 310, "65536 registers", 12, anchor="middle", middle=True)
    f.rect(502, 297, 232, 26, PURPLE, PALE, 0, 3)
    f.text(618, 310, "shared memory and L1 cache", 12, anchor="middle", middle=True)
    f.rect(10, 246, 12, 12, BLUE, 0.9, 0)
    f.text(28, 256, "the warp that goes on", 12)
    f.text(28, 272, "in this cycle", 12)
    f.rect(10, 286, 12, 12, BLUE, PALE, 0)
    f.text(28, 296, "warps that wait, at no cost", 12)
    return f


@figure("00_memories")
def memories():
    f = Figure(760, 262, "The host with its memory on the left, the device with its global memory on the right. "
                         "1 reserve memory, 2 copy the inputs, 3 start the kernel, 4 copy the result back, 5 free the "
                         "memory")
    f.heading(10, 20, "host")
    f.heading(480, 20, "device")
    f.rect(10, 34, 250, 88, GREY, FAINT, 1, 4)
    f.text(22, 54, "CPU", 12.5, bold=True)
    f.text(22, 76, "main()", 12, code=True)
    f.text(22, 98, "asks for everything", 12)
    f.rect(480, 34, 270, 88, GREY, FAINT, 1, 4)
    f.text(492, 54, "GPU", 12.5, bold=True)
    f.text(492, 76, "the kernel, in many threads", 12)
    f.grid(492, 90, 1, 22, 11, ORANGE, 20, lambda row, col: (ORANGE, HALF), 2)

    f.rect(10, 162, 250, 92, GREY, FAINT, 1, 4)
    f.text(22, 182, "host memory", 12.5, bold=True)
    f.rect(480, 162, 270, 92, GREY, FAINT, 1, 4)
    f.text(492, 182, "global memory", 12.5, bold=True)
    for x, width in ((22, 160), (492, 180)):
        for y, name, color in ((209, "inputs", BLUE), (235, "result", GREEN)):
            f.text(x, y, name, 12, middle=True)
            f.rect(x + 50, y - 9, width, 18, color, HALF, 0, 2)

    def step(y, number, words, left_to_right=True, color=GREY, x1=268, x2=472):
        f.arrow(*((x1, y, x2, y) if left_to_right else (x2, y, x1, y)), color, 1.8)
        f.text((x1 + x2) / 2, y - 6, f"{number}  {words}", 12, anchor="middle")
    step(56, 1, "reserve memory")
    step(84, 3, "start the kernel", color=ORANGE)
    step(112, 5, "free the memory")
    step(209, 2, "copy the inputs", color=BLUE)
    step(242, 4, "copy the result back", False, GREEN)
    f.text(650, 146, "threads read and write", 12, anchor="end")
    f.path("M668 160V126", ORANGE, 1.8, "", True)
    f.path("M700 122V158", ORANGE, 1.8, "", True)
    return f


@figure("00_threads")
def threads():
    f = Figure(760, 320, "A grid of 4 blocks of 256 threads for 1000 elements. Thread 10 of block 2 has element 522. "
                         "In block 3 the last 24 threads have no element: 7 warps are full, in the last one 8 of 32 "
                         "lanes work")
    f.text(10, 20, "1000 elements, 4 blocks of 256 threads", 13, bold=True)
    left, width, per = 10, 185, 184 / 256
    for b in range(4):
        x = left + b * width
        f.rect(x, 66, width - 3 if b < 3 else 232 * per, 30, BLUE, PALE, 0, 2)
        f.text(x + 78, 81, f"block {b}: i = {b * 256} … {b * 256 + 255}", 11.5, anchor="middle", middle=True)
    end = left + 3 * width + 232 * per
    f.rect(end, 66, left + 4 * width - 3 - end, 30, RED, PALE, 0)
    f.text(left + 4 * width - 3, 60, "24 without an element", 11.5, RED, "end")
    x522 = left + 2 * width + 10 * per
    f.path(f"M{x522:.1f} 48V64", GREEN, 1.8, "", True)
    f.text(x522 + 10, 44, "thread 10 of block 2:  i = 2 · 256 + 10 = 522", 12.5, GREEN, "end")

    right = left + 4 * width - 3
    f.path(f"M{left + 3 * width} 99L10 146M{right} 99V146", GREY, 1, "3 3")
    f.text(400, 134, "block 3: 8 warps of 32 threads", 12.5, bold=True)
    cell = (right - 10 + 4) / 8
    for w in range(8):
        x = 10 + w * cell
        f.text(x, 162, f"warp {w}", 11.5)
        f.text(x, 176, f"from i = {768 + w * 32}", 11.5)
        if w < 7:
            f.rect(x, 182, cell - 4, 20, BLUE, PALE, 0, 2)
        else:
            f.rect(x, 182, (cell - 4) / 4, 20, BLUE, PALE, 0)
            f.rect(x + (cell - 4) / 4, 182, (cell - 4) * 3 / 4, 20, RED, PALE, 0)
    f.path(f"M{10 + 7 * cell} 205L10 246M{right} 205V246", GREY, 1, "3 3")
    f.text(480, 238, "warp 7: 32 lanes", 12.5, bold=True)
    lane = (right - 10 + 2) / 32
    f.grid(10, 248, 1, 32, lane, BLUE, 24, lambda row, col: (BLUE, PALE) if col < 8 else (RED, PALE), 2)
    for i in range(32):
        f.text(10 + i * lane + (lane - 2) / 2, 259, i, 11, anchor="middle", middle=True)
    f.brace(10, 276, 10 + 8 * lane - 2, 276, "elements 992 to 999", BLUE)
    f.brace(10 + 8 * lane, 276, right, 276, "i ≥ n: the guard keeps these 24 away from memory", RED)
    return f


@figure("00_blocks")
def blocks():
    f = Figure(760, 284, "A 20×70 table and 3×3 blocks of 8×32 threads. They reach over the edges of the table. Thread (5, 3) of "
                         "block (2, 1) has row 11 and column 69")
    x, y, s = 60, 52, 7
    f.text(10, 18, "The table has 20 rows and 70 columns; a block has 32 × 8 threads; the grid has 3 × 3 blocks", 13, bold=True)
    f.rect(x, y, 70 * s, 20 * s, GREEN, PALE, 0)
    f.rect(x + 70 * s, y, 26 * s, 20 * s, RED, PALE, 0)
    f.rect(x, y + 20 * s, 96 * s, 4 * s, RED, PALE, 0)
    for by in range(3):
        for bx in range(3):
            f.rect(x + bx * 32 * s, y + by * 8 * s, 32 * s, 8 * s, GREY, 0, 1)
            f.text(x + (bx + 1) * 32 * s - 8, y + by * 8 * s + 18, f"block ({bx},{by})", 12, anchor="end")
    f.rect(x + 69 * s, y + 11 * s, s, s, GREEN, SOLID, 0)
    f.arrow(x + 76 * s, 236, x + 70.3 * s, y + 12.4 * s, GREEN)
    f.text(x + 96 * s, 252, "thread (5,3) of block (2,1):", 12, GREEN, "end")
    f.text(x + 96 * s, 272, "row 1·8 + 3 = 11, col 2·32 + 5 = 69", 12, GREEN, "end")
    f.text(x, 252, "red: threads past the edge of the table,", 12, RED)
    f.text(x, 272, "which the guard sends home", 12, RED)
    f.arrow(x, 40, x + 120, 40)
    f.text(x + 128, 44, "x counts columns", 12)
    f.arrow(44, y, 44, y + 100)
    f.text(34, y + 54, "y counts rows", 12, anchor="middle", turn=-90)
    return f


@figure("00_time")
def time():
    f = Figure(760, 152, "The host launches and goes on at once. The device runs the kernel later. "
                         "cudaDeviceSynchronize holds the host until the kernel has ended; the copy back follows")
    for y, name in ((28, "host"), (98, "device")):
        f.text(10, y, name, 13, bold=True, middle=True)
        f.line(70, y + 24, 744, y + 24, width=1)

    def span(y, x1, x2, words, color, fill=PALE):
        f.rect(x1, y - 17, x2 - x1, 34, color, fill, 1, 3)
        f.text((x1 + x2) / 2, y, words, 12, anchor="middle", middle=True)
    span(28, 76, 150, "copies in", BLUE)
    span(98, 76, 150, "copies in", BLUE)
    span(28, 156, 214, "launch", ORANGE, HALF)
    span(28, 220, 330, "goes on …", GREY)
    span(28, 336, 546, "cudaDeviceSynchronize: waits", GREY, FAINT)
    span(98, 240, 540, "saxpy: 4 blocks of 256 threads", ORANGE)
    span(28, 556, 640, "copies back", GREEN)
    span(98, 556, 640, "copies back", GREEN)
    span(28, 646, 738, "looks at y", GREY)
    f.arrow(190, 47, 238, 80, ORANGE)
    f.arrow(541, 80, 549, 48, ORANGE)
    f.text(744, 142, "time →", 12, anchor="end")
    return f


@figure("00_way_of_a_byte")
def way_of_a_byte():
    rows = {row["memory"]: row for row in results.table("latencies")}
    cycles = {name: float(row["cycles"]) for name, row in rows.items()}
    copy = next(row["value"] for row in results.table("device") if row["key"] == "copy")

    def size(name, unit, letter):
        return f"{int(rows[name]['capacity']) / unit:.0f} {letter}"
    f = Figure(760, 398, "A load of a thread goes from global memory to the L2 cache, from there to the L1 cache of a "
                         f"multiprocessor and to a register. A value takes {cycles['global']:.0f} cycles from global memory, "
                         f"{cycles['L2']:.0f} from the L2, {cycles['L1']:.0f} from the L1, {cycles['shared']:.0f} from "
                         "shared memory")
    f.heading(10, 20, "The way of a byte, from the far memory to the arithmetic")

    def box(x, y, width, height, color, name, words):
        f.rect(x, y, width, height, color, PALE, 1, 4)
        f.text(x + width / 2, y + 22, name, 12.5, anchor="middle", bold=True)
        for i, line in enumerate(words):
            f.text(x + width / 2, y + 42 + 17 * i, line, 12, anchor="middle")
    for i in (2, 1):  # the other multiprocessors, behind the first
        f.path(f"M{414 + 5 * i} {51 - 5 * i}v-5H{740 + 5 * i}V{194 - 5 * i}h-5", GREY, 1)
    f.rect(414, 46, 326, 148, GREY, FAINT, 1, 4)
    f.text(426, 64, "multiprocessor, one of 132", 12, bold=True)
    box(10, 74, 136, 110, RED, "global memory", ["141 GB", "beside the chip", f"{copy} TB/s, a copy"])
    box(226, 74, 106, 110, ORANGE, "L2 cache", [size("L2", 2**20, "MB"), "for all", "multiprocessors"])
    box(426, 74, 132, 54, PURPLE, "L1 cache", ["fills by itself"])
    box(426, 130, 132, 54, PURPLE, "shared memory", ["the program fills it"])
    box(634, 74, 96, 110, GREEN, "registers", [size("register", 2**10, "KB"), "of the threads,", "for arithmetic"])
    for x1, x2, color in ((148, 223, RED), (334, 423, ORANGE), (560, 631, GREEN)):
        f.arrow(x1, 101, x2, 101, color, 2)
    for x, top, color, words in ((186, 106, RED, "moved"), (376, 106, ORANGE, "from the L2"), (492, 187, PURPLE, "touched"),
                                 (597, 106, GREEN, "asked for")):
        f.line(x, top, x, 202, color, 1, "2 3")
        f.text(x, 216, words, 12.5, color, "middle", True)
    f.text(10, 216, "bytes counted here:", 12)
    f.text(10, 254, "How long a thread waits for a value that lies there, to scale", 12.5, bold=True)
    left = 10
    for i, (name, words, color) in enumerate((("global", "global memory", RED), ("L2", "L2", ORANGE), ("L1", "L1", PURPLE),
                                              ("shared", "shared memory", PURPLE), ("register", "register", GREEN))):
        y, width = 266 + 26 * i, cycles[name] * 570 / cycles["global"]
        f.rect(left, y, width, 17, color, HALF, 0, 2)
        f.text(left + width + 8, y + 9, f"{words}: {cycles[name]:.0f} cycles", 12, middle=True)
    return f
