"""Figures of docs/00_first_kernel.md."""
from style import BLUE, FAINT, GREEN, GREY, HALF, ORANGE, PALE, PURPLE, RED, Figure, figure


@figure("00_gpu")
def gpu():
    f = Figure(760, 340, "A CPU has a few large cores, a GPU 132 small multiprocessors. A multiprocessor has four "
                         "schedulers, each of which chooses among 16 warps, registers and shared memory")
    f.heading(10, 20, "CPU: a few large cores")
    for i in range(4):
        x, y = 10 + i % 2 * 92, 34 + i // 2 * 62
        f.rect(x, y, 86, 56, GREY, FAINT, 1, 3)
        f.rect(x + 6, y + 6, 24, 44, ORANGE, HALF, 0, 2)
        f.rect(x + 34, y + 6, 46, 44, GREY, PALE, 0, 2)
    f.rect(10, 164, 12, 12, ORANGE, HALF, 0)
    f.text(28, 174, "arithmetic", 12)
    f.rect(104, 164, 12, 12, GREY, PALE, 0)
    f.text(122, 174, "caches, guesses", 12)

    f.heading(250, 20, "GPU: 132 multiprocessors (SMs)")
    chosen = (5, 11)
    f.grid(250, 34, 6, 22, 23, ORANGE, 23, lambda row, col: (ORANGE, HALF) if (row, col) != chosen else (ORANGE, 0.9), 3)
    # the close view
    x, y = 250 + 11 * 23, 34 + 5 * 23 + 20
    f.path(f"M250 196L{x} {y}M750 196L{x + 20} {y}", GREY, 1, "3 3")
    f.rect(250, 196, 500, 136, GREY, FAINT, 1, 4)
    f.text(262, 215, "one multiprocessor", 12.5, bold=True)
    for s in range(4):
        left = 262 + s * 120
        f.rect(left, 224, 112, 66, ORANGE, FAINT, 1, 3)
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
    f.text(28, 256, "the warp that goes on in this cycle", 12)
    f.rect(10, 268, 12, 12, BLUE, PALE, 0)
    f.text(28, 278, "warps that wait, at no cost", 12)
    return f


@figure("00_memories")
def memories():
    f = Figure(760, 262, "The host with its memory on the left, the device with its global memory on the right. "
                         "1 cudaMalloc, 2 copy to the device, 3 launch, 4 copy back, 5 cudaFree")
    f.heading(10, 20, "host")
    f.heading(480, 20, "device")
    f.rect(10, 34, 250, 88, GREY, FAINT, 1, 4)
    f.text(22, 54, "CPU", 12.5, bold=True)
    f.text(22, 76, "main()", 12, code=True)
    f.text(22, 98, "asks for everything", 12)
    f.rect(480, 34, 270, 88, GREY, FAINT, 1, 4)
    f.text(492, 54, "GPU", 12.5, bold=True)
    f.text(492, 76, "saxpy", 12, code=True)
    f.text(536, 76, "in 1024 threads", 12)
    f.grid(492, 90, 1, 22, 11, ORANGE, 20, lambda row, col: (ORANGE, HALF), 2)

    f.rect(10, 162, 250, 92, GREY, FAINT, 1, 4)
    f.text(22, 182, "host memory", 12.5, bold=True)
    f.text(22, 210, "x", 12, code=True, middle=True)
    f.rect(40, 200, 200, 18, BLUE, HALF, 0, 2)
    f.text(22, 236, "y", 12, code=True, middle=True)
    f.rect(40, 226, 200, 18, GREEN, HALF, 0, 2)
    f.rect(480, 162, 270, 92, GREY, FAINT, 1, 4)
    f.text(492, 182, "global memory", 12.5, bold=True)
    f.text(492, 210, "device_x", 12, code=True, middle=True)
    f.rect(560, 200, 180, 18, BLUE, HALF, 0, 2)
    f.text(492, 236, "device_y", 12, code=True, middle=True)
    f.rect(560, 226, 180, 18, GREEN, HALF, 0, 2)

    def step(y, number, words, left_to_right=True, color=GREY, x1=268, x2=472):
        f.arrow(*((x1, y, x2, y) if left_to_right else (x2, y, x1, y)), color, 1.8)
        f.text((x1 + x2) / 2, y - 6, f"{number}  {words}", 12, anchor="middle")
    step(56, 1, "cudaMalloc")
    step(84, 3, "launch, <<<4, 256>>>", color=ORANGE)
    step(112, 5, "cudaFree")
    step(209, 2, "copy x and y", color=BLUE)
    step(242, 4, "copy y back", False, GREEN)
    f.path("M600 122V158", ORANGE, 1.8, "", True)
    f.path("M640 160V126", ORANGE, 1.8, "", True)
    f.text(652, 146, "reads and writes", 12)
    return f


@figure("00_threads")
def threads():
    f = Figure(760, 318, "A grid of 4 blocks of 256 threads for 1000 elements. Thread 10 of block 2 has element 522. "
                         "In block 3 the last 24 threads have no element: 7 warps are full, in the last one 8 of 32 "
                         "lanes work")
    f.text(10, 20, "1000 elements, 4 blocks of 256 threads", 13, bold=True)
    left, width, per = 10, 184, 184 / 256
    for b in range(4):
        x = left + b * (width + 1)
        f.rect(x, 54, width - 3, 30, BLUE, PALE if b % 2 else HALF, 0, 2)
        f.text(x + (width - 3) / 2, 69, f"block {b}", 12, anchor="middle", middle=True)
        f.text(x, 48, str(b * 256), 11)
    end = left + 3 * (width + 1) + 232 * per
    f.rect(end, 54, 24 * per - 3, 30, RED, HALF, 0)
    f.text(750, 48, "24 without an element", 11.5, RED, "end")
    x522 = left + 2 * (width + 1) + 10 * per
    f.path(f"M{x522:.1f} 104V88", GREEN, 1.8, "", True)
    f.text(x522 - 10, 106, "thread 10 of block 2:  i = 2 · 256 + 10 = 522", 12.5, GREEN, "end")

    f.path(f"M{left + 3 * (width + 1)} 86L10 158M748 86L748 158", GREY, 1, "3 3")
    f.text(300, 146, "block 3: 8 warps of 32 threads", 12.5, bold=True)
    cell = 738 / 8
    for w in range(8):
        x = 10 + w * cell
        f.rect(x, 158, (cell - 4) / (4 if w == 7 else 1), 40, BLUE, HALF if w == 7 else PALE, 0, 2)
        if w == 7:
            f.rect(x + (cell - 4) / 4, 158, (cell - 4) * 3 / 4, 40, RED, PALE, 0)
        f.text(x + (cell - 4) / 2, 174, f"warp {w}", 12, anchor="middle")
        f.text(x + (cell - 4) / 2, 190, f"i from {768 + w * 32}", 11, anchor="middle")
    f.path(f"M{10 + 7 * cell} 199L10 246M748 199L748 246", GREY, 1, "3 3")
    f.text(400, 236, "warp 7: 32 lanes", 12.5, bold=True)
    lane = 738 / 32
    f.grid(10, 246, 1, 32, lane, BLUE, 24, lambda row, col: (BLUE, HALF) if col < 8 else (RED, PALE), 2)
    for i in range(32):
        f.text(10 + i * lane + (lane - 2) / 2, 257, i, 11, anchor="middle", middle=True)
    f.brace(10, 274, 10 + 8 * lane - 2, 274, "elements 992 to 999", BLUE)
    f.brace(10 + 8 * lane, 274, 748, 274, "i ≥ n: the guard keeps these 24 away from memory", RED)
    return f


@figure("00_time")
def time():
    f = Figure(760, 176, "The host launches and goes on at once. The device runs the kernel later. "
                         "cudaDeviceSynchronize holds the host until the kernel has ended; the copy back follows")
    for y, name in ((56, "host"), (126, "device")):
        f.text(10, y, name, 13, bold=True, middle=True)
        f.line(70, y + 24, 744, y + 24, width=1)

    def span(y, x1, x2, words, color, fill=PALE):
        f.rect(x1, y - 17, x2 - x1, 34, color, fill, 1, 3)
        f.text((x1 + x2) / 2, y, words, 12, anchor="middle", middle=True)
    span(56, 76, 150, "copies in", BLUE)
    span(126, 76, 150, "copies in", BLUE)
    span(56, 156, 214, "launch", ORANGE, HALF)
    span(56, 220, 330, "goes on …", GREY)
    span(56, 336, 546, "cudaDeviceSynchronize: waits", GREY, FAINT)
    span(126, 240, 540, "saxpy: 4 blocks of 256 threads", ORANGE)
    span(56, 556, 640, "copies back", GREEN)
    span(126, 556, 640, "copies back", GREEN)
    span(56, 646, 738, "looks at y", GREY)
    f.arrow(190, 75, 238, 108, ORANGE)
    f.arrow(541, 108, 549, 76, ORANGE)
    f.text(744, 168, "time →", 12, anchor="end")
    return f
