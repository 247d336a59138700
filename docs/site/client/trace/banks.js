// Shared memory's 32 banks: a bank gives one word of 4 bytes in each pass.
export const BANKS = 32
const WORD = 4
const PASS_BYTES = BANKS * WORD

/** For a request of one warp: the distinct words that each bank is asked for, the passes that this takes, and the
 * passes that it would take without conflicts. Lanes with 8 or 16 bytes each are served 16 or 8 at a time. */
export function banks({ lanes, elements, width, touched }) {
  const bytes = width * touched.element_bytes
  const together = Math.min(lanes.length, Math.max(1, Math.floor(PASS_BYTES / Math.max(bytes, WORD))))
  const words = Array.from({ length: BANKS }, () => new Set())
  let passes = 0
  let least = 0
  for (let group = 0; group * together < BANKS; ++group) {
    const served = Array.from({ length: BANKS }, () => new Set())
    for (const [i, lane] of lanes.entries()) {
      if (Math.floor(lane / together) !== group) continue
      const start = touched.offset_bytes + elements[i] * touched.element_bytes
      for (let word = Math.floor(start / WORD); word * WORD < start + bytes; ++word) {
        served[word % BANKS].add(word)
        words[word % BANKS].add(word)
      }
    }
    const most = Math.max(...served.map((set) => set.size))
    passes += most
    least += most > 0
  }
  return { words: words.map((set) => set.size), passes, least }
}
