"""What a learner gets: the first picture of README.md."""
from pathlib import Path

import page_outputs
from ladders import tiled_bars
from plots import bars
from style import GREEN, GREY, RED, TEXT, Figure, figure

WIDTH, SIZE, STEP = 940, 11.5, 18
MISTAKES = Path(__file__).resolve().parents[2] / "mistakes.md"
LONGEST = 128  # letters of a line that fit


def terminal(whole, y, title, lines):
    """A box with lines of (text, color). Returns where it ends."""
    height = STEP * len(lines) + 18
    whole.text(8, y, title, 14, bold=True)
    whole.rect(1, y + 10, WIDTH - 2, height, GREY, 0.06, 1, 6)
    for i, (words, color) in enumerate(lines):
        words = words if len(words) <= LONGEST else words[:LONGEST - 2] + " …"
        whole.text(14, y + 30 + i * STEP, words, SIZE, color, code=True)
    return y + 10 + height


@figure("learn")
def learn():
    """The report is the one that docs/mistakes.md shows, which a test compares with what is printed."""
    report = next(match["text"] for match in page_outputs.BLOCK.finditer(MISTAKES.read_text())
                  if match["what"] == "02/no_barrier_before_next_load").splitlines()
    whole = Figure(WIDTH, 560, "A forgotten barrier and the report that names both lines of the race, the line that "
                               "mends it, and the steps of chapter 02 and its parts on their way past cuBLAS")
    y = terminal(whole, 20, "You forget a barrier. The tests say where:",
                 [("$ ./learn test 02", TEXT)] + [(line, RED if line.startswith("race") else
                                                   GREEN if "likely" in line else TEXT) for line in report])
    y = terminal(whole, y + 30, "You put it in:", [
        ("+    __syncthreads();  // nobody writes the next tiles before all have read these", GREEN),
        ("$ ./learn test 02", TEXT), ("100% tests passed", TEXT)])
    whole.text(8, y + 30, "And step by step it gets as fast as the vendor's library (an H200, 4096×4096×4096, fp32):",
               14, bold=True)
    y += 44 + bars(whole, 10, y + 44, WIDTH - 20, tiled_bars())
    whole.height = y + 6
    return whole
