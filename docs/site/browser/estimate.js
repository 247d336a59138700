// A GPU's time from what the simulator counts: the formulas of common/tools/measure/estimate_model.py, which says what they
// mean, and of estimates.py and estimate.py beside it. All numbers and tables are theirs: `known`, which page_estimates.py
// there writes. common/tests/measure/page_estimates_test.py holds the results equal.

const sum = (values) => values.reduce((all, one) => all + one, 0)
const product = (values) => values.reduce((all, one) => all * one, 1)
const plainName = (kernel) => kernel.replace('(anonymous namespace)', '').replace(/<.*/, '')

/** How many blocks find a place on a multiprocessor (registers.py). */
function mostBlocks([ofThreads, ofBlocks, ofShared, besides], registers, shared, threads) {
  const warps = Math.ceil(threads / 32)
  const ofWarp = Math.ceil((32 * registers) / 256) * 256
  return Math.min(Math.floor(Math.floor(16384 / ofWarp) * 4 / warps), Math.floor(ofThreads / (32 * warps)), ofBlocks,
    Math.floor(ofShared / Math.max(shared + besides, 1)))
}

/** A line of a sample, with numbers. */
export function launchOf(row, known, device) {
  const launch = { device, kernel: row.kernel }
  for (const [name, value] of Object.entries(row)) if (!known.texts.includes(name)) launch[name] = Number(value || 0)
  launch.touched = row.touched.split(' ').filter(Boolean).map((one) => one.split(':').map(Number))
  const registers = known.registers[device.architecture]
  const ofThread = registers[launch.kernel] || registers[plainName(launch.kernel)] || 64
  launch.warps = Math.ceil(launch.threads / 32)
  launch.resident = Math.max(1, mostBlocks(known.limits[device.architecture], ofThread, launch.shared_bytes, launch.threads))
  return launch
}

function l1Misses(launch) {
  const share = Math.max(0, launch.device.l1 - launch.resident * (launch.shared_bytes + 1024)) / (launch.resident * launch.warps)
  const all = [[2048, launch.missed_l1_2k], [8192, launch.missed_l1_8k], [32768, launch.missed_l1_32k]]
  for (let i = 0; i + 1 < all.length; ++i) {
    const [[small, more], [large, fewer]] = [all[i], all[i + 1]]
    if (share > large) continue
    const part = share > 0 ? Math.max(0, Math.log(share / small) / Math.log(large / small)) : 0
    return more + (fewer - more) * part
  }
  return all.at(-1)[1]
}

function inBox([allocated, loaded, , ...shared], box) {
  box.forEach((extent, i) => (loaded *= 1 + (extent - 1) * (1 - shared[i])))
  return allocated ? Math.min(loaded, allocated / 32) : loaded
}

function dramBytes(launch, { L2_PART }) {
  const grid = [launch.grid_x, launch.grid_y, launch.grid_z]
  grid[grid[0] % launch.cluster === 0 ? 0 : 1] /= launch.cluster
  const blocks = launch.blocks / launch.cluster, atOnce = (launch.device.multiprocessors * launch.resident) / launch.cluster
  const wave = []
  for (const extent of grid) wave.push(Math.min(extent, Math.max(1, atOnce / product(wave))))
  const waves = Math.max(1, blocks / product(wave))
  const once = sum(launch.touched.map((one) => inBox(one, grid)))
  const eachWave = waves * sum(launch.touched.map((one) => inBox(one, wave)))
  const stored = sum(launch.touched.map(([allocated, , own]) => (allocated ? Math.min(own * blocks, allocated / 32) : own * blocks)))
  const lost = once ? Math.max(0, 1 - (L2_PART * launch.device.l2) / (32 * once)) : 0
  return 32 * (once + Math.max(0, eachWave - once) * lost + stored)
}

/** Microseconds that each unit is busy. */
export function termsOf(launch, { numbers: n, fitted }) {
  const { blocks, device } = launch
  const most = Math.ceil(blocks / device.multiprocessors) / blocks
  const us = (cycles) => (cycles * most) / device.ghz / 1e3

  const usesTensor = launch.by_warps > 0
  const sharedLoads = usesTensor ? Math.max(launch.merged_loads, launch.shared_load_requests / 2) : launch.merged_loads
  const sharedPasses = usesTensor ? Math.max(launch.merged_passes, launch.shared_load_passes) : launch.merged_passes
  const warpOperations = usesTensor ? 0 : launch.warp_operations
  const requests = launch.load_requests + launch.store_requests
  const copies = launch.async_copies / 32
  const instructions = launch.products + n.DIVISION * launch.divisions + n.FUNCTION * launch.functions + sharedLoads +
    launch.shared_store_requests + (requests + launch.atomic_requests + copies) * (1 + fitted.address) +
    2 * warpOperations + launch.by_warps / 2048
  const alone = Math.max(1, Math.min(2, (2 * launch.lines) / Math.max(1, launch.load_sectors + launch.store_sectors)))
  const loaded = l1Misses(launch) * alone + launch.past_l1

  const warps = launch.warps * blocks
  const loads = launch.load_requests / warps, phases = launch.barriers / blocks / 2
  const chain = Math.max(loads / fitted.loads_ahead, Math.min(loads, phases)) * n.GLOBAL +
    ((sharedLoads / warps) * n.SHARED_LOAD) / fitted.shared_ahead +
    (launch.barriers / blocks) * (n.BARRIER + n.BARRIER_OF_WARP * launch.warps) +
    ((launch.products / warps) * n.FMA) / 4 + (warpOperations / warps) * n.SHUFFLE +
    n.GLOBAL * (launch.store_requests > 0 ? 2 : 1)
  const ofL2 = device.multiprocessors * device.ghz * 1e3
  return {
    DRAM: (dramBytes(launch, n) / device.dram) * 1e6,
    L2: (32 * (loaded / n.L2_LOADS + (launch.store_sectors + launch.atomic_sectors) / n.L2_STORES)) / ofL2,
    L1: us(sharedPasses + launch.shared_store_passes + launch.shared_atomic_passes +
      Math.max(launch.lines, n.GLOBAL_PASSES * requests)),
    issue: us(Math.max(instructions / n.SCHEDULERS / fitted.issue, launch.products / (device.fma / 32))),
    special: us(((launch.divisions + launch.functions) * n.SPECIAL) / n.SCHEDULERS),
    tensor: us((launch.by_warps / device.mma + launch.by_warpgroups) / device.tensor / device.tensor_clock),
    latency: (chain * Math.max(1, blocks / (device.multiprocessors * launch.resident))) / device.ghz / 1e3,
  }
}

/** {us, terms} of a step: its launches follow one another. */
export function estimate(launches, known) {
  const { numbers, fitted: { power } } = known
  const each = launches.map((launch) => termsOf(launch, known))
  const terms = Object.fromEntries(Object.keys(known.units).map((unit) => [unit, sum(each.map((own) => own[unit]))]))
  const us = numbers.LAUNCH_US + numbers.NEXT_LAUNCH_US * (launches.length - 1) +
    sum(each.map((own) => sum(Object.values(own).map((term) => term ** power)) ** (1 / power)))
  return { us, terms }
}

// ---- The sample's lines

/** The lines of a file of --sample-csv, by the names of their columns; a kernel's name stands in quotes. */
export function readSample(text) {
  const [heads, ...lines] = text.trim().split('\n').map((line) =>
    [...line.matchAll(/(?:^|,)(?:"([^"]*)"|([^,]*))/g)].map(([, quoted, plain]) => quoted ?? plain))
  return lines.map((cells) => Object.fromEntries(heads.map((head, i) => [head, cells[i]])))
}

/** What two runs at known.depths would count at this depth, if each count grows linearly. */
export function continued(depth, [lows, highs], { depths: [first, second], texts }) {
  const linear = (low, high) => Number(low) + ((Number(high) - Number(low)) * (depth - first)) / (second - first)
  const touched = (low, high) => {
    const [before, after] = [low, high].map((text) => text.split(' ').filter(Boolean).map((one) => one.split(':')))
    return after.map((one, i) => [...one.slice(0, 3).map((value, j) => linear(before[i][j], value)), ...one.slice(3)].join(':')).join(' ')
  }
  const names = (rows) => rows.map(({ step, kernel }) => `${step} ${kernel}`).join('\n')
  if (names(lows) !== names(highs)) throw new Error('At the two depths different kernels are launched.')
  return highs.map((high, i) => Object.fromEntries(Object.entries(high).map(([name, value]) =>
    [name, name === 'touched' ? touched(lows[i].touched, value) : texts.includes(name) ? value : linear(lows[i][name], value)])))
}

// ---- In words

/** In ms, in two digits. */
export function time(us) {
  const text = (us / 1e3).toPrecision(2)
  return text.includes('e') ? (us / 1e3).toFixed(0) : text
}

/** "3.3 ms (2.2–4.9), bound by instructions; next: shared memory and L1, 67 % of it" */
export function inWords({ us, terms }, { units, off_by: factor }, showsTimes) {
  const [[first, longest], [second, next]] = Object.entries(terms).sort(([, a], [, b]) => b - a)
  const range = showsTimes ? `${time(us)} ms (${time(us / factor)}–${time(us * factor)}), ` : ''
  return `${range}bound by ${units[first]}; next: ${units[second]}, ${((100 * next) / longest).toFixed(0)} % of it`
}

/** What a page says of a step: `rows` of its sample now, and of the one as it was, where it was edited. */
export function answer({ step, options, shows_times: showsTimes, left_out: leftOut }, known, rows, rowsBefore) {
  const device = known.devices.h200
  const of = (lines) => estimate(lines.map((row) => launchOf(row, known, device)), known)
  const now = of(rows), lines = [`${step} ${options.join(' ')}`, `on ${device.name}, estimated: ${inWords(now, known, showsTimes)}`]
  if (rowsBefore) {
    const before = of(rowsBefore)
    lines.push(`as it was, estimated: ${inWords(before, known, showsTimes)}`)
    if (showsTimes && Math.max(now.us / before.us, before.us / now.us) < known.in_range) lines.push('about as fast as the step as it was')
  }
  return [...lines, leftOut].filter(Boolean).join('\n') + '\n'
}
