"""The figures of chapter 06's part hopper. Q is blue, K and V orange, S and the softmax purple, O green."""
from style import BLUE, FAINT, GREEN, GREY, HALF, ORANGE, PALE, PURPLE, TEXT, Figure, figure


def lane(f, y, name, color=TEXT, left=20):
    """A row of a time line."""
    f.text(left, y + 13, name, 12.5, color, middle=True)
    f.line(150, y + 30, 740, y + 30, GREY, 0.6)


def bar(f, x, y, width, text, color, fill=PALE):
    f.rect(x, y, width - 2, 26, color, fill, 0.8, 2)
    f.text(x + width / 2 - 1, y + 13, text, 11.5, TEXT, "middle", middle=True)


@figure("06_hopper_ring")
def ring():
    f = Figure(760, 330, "The life of two stages of K. The producer's thread has the TMA unit load a tile into stage 0 and the next into "
                         "stage 1. A stage's full barrier completes when its bytes have come; both consumers wait for it and multiply. "
                         "Each arrives at the stage's empty barrier; when both have, the producer loads the next tile into the stage.")
    f.heading(20, 20, "two stages of K")
    top = 44
    for n, name in enumerate(("producer", "stage 0", "stage 1", "consumer 0", "consumer 1")):
        lane(f, top + n * 46, name)
    y = [top + n * 46 for n in range(5)]
    for n, (x, stage) in enumerate(((150, 1), (200, 2), (392, 1), (512, 2))):
        bar(f, x, y[0], 50, f"load {n}", GREY, FAINT)
        bar(f, x + 26, y[stage], 100, f"tile {n} comes" if n > 1 else "", ORANGE, FAINT)
        f.arrow(x + 24, y[0] + 26, x + 34, y[stage], GREY, 1)
    for n, x, stage in ((0, 176, 1), (1, 226, 2)):  # an arrow goes through the middle
        f.text(x + 26, y[stage] + 13, f"tile {n}", 11, TEXT, "middle", middle=True)
        f.text(x + 76, y[stage] + 13, "comes", 11, TEXT, "middle", middle=True)
    bar(f, 276, y[1], 142 - 28, "full", ORANGE, HALF)
    bar(f, 326, y[2], 212, "full", ORANGE, HALF)
    bar(f, 518, y[1], 140, "full", ORANGE, HALF)
    for x, wait, tile in ((276, 3, 0), (396, 3, 1), (518, 3, 2)):
        bar(f, x, y[3], 76, f"Q·K{tile}ᵀ", PURPLE, HALF)
    for x, tile in ((296, 0), (430, 1), (540, 2)):
        bar(f, x, y[4], 86, f"Q·K{tile}ᵀ", PURPLE, HALF)
    f.arrow(276, y[1] + 26, 280, y[3], ORANGE, 1.2)
    f.arrow(352, y[3], 390, y[0] + 28, GREEN, 1.2, "4 3")
    f.arrow(380, y[4], 393, y[0] + 28, GREEN, 1.2, "4 3")
    f.lines(20, 290, ["Orange arrow: the full barrier lets the consumers go on: 32,768 bytes have come.",
                      "Dashed green: both consumers have arrived at the empty barrier, and the producer goes on: load 2."], 12.5, step=18)
    return f


@figure("06_hopper_registers")
def registers():
    f = Figure(760, 210, "The registers of a block of 384 threads. At the launch each of its three warpgroups has 168 a thread. Then the "
                         "producer's keeps 24 and each consumer's has 240: 64 for S, 32 for P, 64 for O, and 80 for all else.")
    left, scale = 130, 1.2  # of the first register; of one
    colors = (ORANGE, BLUE, BLUE)
    for y, name, counts in ((40, "at the launch", (168, 168, 168)), (100, "from then on", (24, 240, 240))):
        f.text(20, y + 17, name, 12.5, TEXT, middle=True)
        x = left
        for group, (count, color) in enumerate(zip(counts, colors)):
            words = f"consumer {group - 1}: {count}" if group else f"producer: {count}" if count > 24 else count
            f.rect(x, y, count * scale - 2, 34, color, HALF, 0.8, 2)
            f.text(x + count * scale / 2 - 1, y + 17, words, 11.5, TEXT, "middle", middle=True)
            x += count * scale
    for consumer in range(2):
        x = left + (24 + 240 * consumer) * scale
        for name, count, color in (("S", 64, PURPLE), ("P", 32, PURPLE), ("O", 64, GREEN), ("all else", 80, GREY)):
            f.brace(x + 2, 140, x + count * scale - 4, 140, name, color, size=11.5)
            x += count * scale
    f.lines(20, 196, ["For each of a warpgroup's 128 threads. 168 + 168 + 168 = 24 + 240 + 240 = 504 of the 512 that there are."], 12.5)
    return f


def two_consumers(f, top, title, rows, softmax):
    """Of each consumer products (x, width, text), and where a softmax begins and how long it is drawn."""
    f.text(20, top - 10, title, 12.5, TEXT, bold=True)
    for n, (products, powers) in enumerate(rows):
        y = top + n * 44
        f.text(20, y + 16, f"consumer {n}", 12.5, TEXT, middle=True)
        for x, width, text in products:
            f.rect(x, y, width - 2, 15, GREEN if "PV" in text else PURPLE, HALF, 0.8, 2)
            f.text(x + width / 2 - 1, y + 7.5, text, 11, TEXT, "middle", middle=True)
        for x, width in powers:
            f.rect(x, y + 17, width - 2, 15, GREY, FAINT, 0.8, 2)
            f.text(x + width / 2 - 1, y + 24.5, softmax if width > 50 else "…", 11, TEXT, "middle", middle=True)
    f.line(130, top + 84, 740, top + 84, GREY, 0.6)


@figure("06_hopper_turns")
def turns():
    f = Figure(760, 300, "What two consumers do in time, not to scale. Steps 1 and 2: each multiplies for S, has its softmax, multiplies for O; "
                         "nothing keeps them from doing so at the same time. Step 3 as it is meant: one multiplies, P times V of a tile and S "
                         "of the next, while the other has its softmax.")
    two_consumers(f, 40, "steps 1 and 2, if both begin together: each at half the speed; then nobody multiplies",
                  [([(150, 100, "S"), (390, 200, "PV, S")], [(250, 140), (590, 140)])] * 2, "softmax")
    two_consumers(f, 166, "step 3, as it is meant: turns",
                  [([(150, 50, "S"), (300, 100, "PV, S"), (500, 100, "PV, S")], [(200, 100), (400, 100), (600, 100)]),
                   ([(200, 50, "S"), (400, 100, "PV, S"), (600, 100, "PV, S")], [(250, 100), (500, 100)])], "softmax")
    f.lines(20, 272, ["Not to scale. Upper halves: products, from their start to their end; lower halves: the threads. Below, a softmax is",
                      "drawn as long as the other consumer's products."], 12.5, step=18)
    return f


@figure("06_hopper_overlap")
def overlap():
    f = Figure(760, 300, "What two consumers do in steps 3 and 4, to scale, if a softmax takes the 1981 clocks that step 3 leaves for it. In step 3 "
                         "a consumer's products and its softmax follow each other, and gaps are left in which nobody multiplies. In step 4 "
                         "the softmax begins when S has ended, during P times V, so a round is shorter by P times V and the gaps are smaller.")
    two_consumers(f, 40, "step 3: the softmax follows the products",
                  [([(140, 80, "PV, S"), (375, 80, "PV, S"), (610, 80, "PV, S")], [(220, 155), (455, 155), (690, 50)]),
                   ([(257, 80, "PV, S"), (492, 80, "PV, S")], [(140, 117), (337, 155), (572, 155)])], "softmax")
    two_consumers(f, 166, "step 4: S first, and the softmax during one's own PV",
                  [([(140, 40, "S"), (180, 40, "PV"), (335, 40, "S"), (375, 40, "PV"), (530, 40, "S"), (570, 40, "PV")],
                    [(180, 155), (375, 155), (570, 155)]),
                   ([(237, 40, "S"), (277, 40, "PV"), (432, 40, "S"), (472, 40, "PV"), (627, 40, "S"), (667, 40, "PV")],
                    [(140, 97), (277, 155), (472, 155), (667, 73)])], "softmax")
    f.lines(20, 272, ["To scale at D = 128: S and PV take 512 clocks each, and the softmax is drawn as long as all that step 3 leaves for it,",
                      "1981 clocks. Upper halves: products; lower halves: the threads."], 12.5, step=18)
    return f


@figure("06_hopper_tickets")
def tickets():
    f = Figure(760, 300, "Six tiles of queries of six heads under a causal mask, in two sections of three heads. Tickets go by rows of a "
                         "section, from the longest tile to the shortest, and then to the next section.")
    cell, left, top = 34, 110, 60
    for section in range(2):
        x0 = left + section * 250
        f.heading(x0, 24, f"section {section}: heads {3 * section} to {3 * section + 2}")
        for tile in range(5, -1, -1):
            row = 5 - tile
            for head in range(3):
                number = section * 18 + row * 3 + head
                color, fill = (ORANGE, HALF) if number == 20 else (BLUE, PALE)
                f.rect(x0 + head * 68, top + row * cell, 60 * (tile + 1) / 6, cell - 6, color, fill, 0.8, 2)
                f.text(x0 + head * 68 + 60 * (tile + 1) / 6 - 4 if tile > 1 else x0 + head * 68 + 60 * (tile + 1) / 6 + 4,
                       top + row * cell + 14, number, 11, TEXT, "end" if tile > 1 else "start", middle=True)
    for tile in range(6):
        f.text(left - 12, top + (5 - tile) * cell + 14, f"tile {tile}", 12, GREY, "end", middle=True)
    f.lines(20, 276, ["The length of a bar is that of the work: how many keys the tile's queries see. Numbers are tickets;",
                      "orange: ticket 20 is tile 5 of head 5."], 12.5, step=17)
    return f


@figure("06_hopper_boxes")
def boxes():
    f = Figure(760, 250, "A tile of 128 rows and 128 columns. In the matrix its two boxes of 64 columns stand beside each other. In shared "
                         "memory box 1 begins where box 0 ends, 128 rows of 128 bytes further. Consumer 0's queries are the first 64 rows "
                         "of both boxes, consumer 1's the last 64.")
    f.heading(20, 24, "in the matrix: beside each other")
    f.heading(400, 24, "in shared memory: one after the other")
    looks = ((BLUE, "0"), (GREEN, "1"))

    def box(x, y, width, height, name):
        for consumer, (color, _) in enumerate(looks):
            f.rect(x, y + consumer * height / 2, width - 3, height / 2 - 2, color, PALE, 0.8, 2)
            f.text(x + width / 2 - 1, y + (consumer + 0.5) * height / 2 - 1, f"{name}, rows {64 * consumer} to {64 * consumer + 63}",
                   11.5, TEXT, "middle", middle=True)

    for column in range(2):
        box(98 + 140 * column, 64, 140, 84, f"box {column}")
        f.text(168 + 140 * column, 56, f"columns {64 * column} to {64 * column + 63}", 11.5, GREY, "middle")
        box(400, 44 + 84 * column, 180, 84, f"box {column}")
    for consumer, (color, name) in enumerate(looks):
        f.text(20, 85 + 42 * consumer, f"consumer {name}", 11.5, color, middle=True)
    f.brace(584, 44, 584, 126, "128 · 64 numbers", GREY)
    f.text(595, 103, "= Br * COLUMNS,", 12, GREY)
    f.text(595, 119, "16,384 bytes", 12, GREY)
    f.lines(20, 236, ["Shown for Q at D = 128: Br = 128 rows of queries. K and V have as many rows as a tile has keys."], 12.5)
    return f


@figure("06_fp8_places")
def places():
    f = Figure(760, 232, "Of 16 keys, who has which. As sums of S lane t of a quad has keys 2t, 2t + 1, 8 + 2t and 9 + 2t. As A of P·V a "
                         "register stands for places 4t to 4t + 3. So place 0 to 3 get keys 0, 1, 8, 9, the next keys 2, 3, 10, 11.")
    left, cell, colors = 150, 36, (BLUE, ORANGE, GREEN, PURPLE)
    f.heading(20, 24, "16 keys of a row, and the four lanes 4g + t that have their weights")
    rows = ((58, "as sums of S", "key", lambda n: n, lambda n: n % 8 // 2),
            (138, "as A of P·V", "key", lambda n: n // 2 % 2 * 8 + n // 4 * 2 + n % 2, lambda n: n // 4))
    for y, name, what, key, lane in rows:
        f.text(left - 14, y + 15, name, 12.5, anchor="end", middle=True)
        for n in range(16):
            f.rect(left + n * cell, y, cell - 3, 30, colors[lane(n)], HALF, 0.8)
            f.text(left + n * cell + (cell - 3) / 2, y + 15, key(n), 12, anchor="middle", middle=True)
    for n in range(16):
        f.text(left + n * cell + (cell - 3) / 2, 186, n, 11, GREY, "middle")
    f.text(left - 14, 182, "place of 16", 12, GREY, "end", middle=True)
    for t in range(4):
        f.text(left + t * 150, 218, f"lane {t} of four", 12.5, (BLUE, ORANGE, GREEN, PURPLE)[t])
    f.arrow(left + 4 * cell - 2, 94, left + 4 * cell - 2, 132, GREY)
    f.text(left + 4 * cell + 10, 114, "no weight leaves its lane; V's keys take this order", 12.5, middle=True)
    return f
