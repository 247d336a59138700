// A pass over the assembler text of a kernel file. Code has no addresses in WebAssembly, so a call cannot say where it
// comes from: before each call that leaves the file, and before what may trap, the pass sets the global
// `simulator_site` to a number, another for each, as return addresses are. It says, too, where a function is entered and
// left: a profile tells by that which lanes are behind. Tables at the end tell the simulator what the numbers mean
// (common/simulator/world/wasm/program.cpp):
//
//   simulator_sites       {file, line} of each number, from the first on
//   simulator_site_count  how many these are
//   simulator_variables   {address, bytes, name} of __shared__ arrays and the gaps behind them; zeros end it
//   simulator_functions   {address, name} of functions whose address is taken; zeros end it
//   simulator_arithmetic  {number, multiply, add, compare, divide, function} of each basic block that computes: its first
//                         place, and how many such instructions it has, as common/simulator/count/float_operations.hpp
//                         names them; zeros end it

/** Is this file's code the doing of who calls it? The rule of common/simulator/world/symbols.cpp. */
export const isLibrary = path => path.startsWith('/usr/') || path.includes('/simulator/include/') ||
  /\/common\/kernel\/(vector4|async_copy|mma|barrier|bulk|cluster|fp8|tma|warpgroup|wgmma)\.cuh$/.test(path)

/** Of ".loc 1 2 10 # a.h:2:10 @[ k.cu:6:3 ]" the place that a report names: [file, line], or null. */
export function placeOf(comment) {
  let first = null
  for (const frame of comment.split(' @[ ')) {
    const [, file, line] = /^\s*(.+?):(\d+)(?::\d+)?[\s\]]*$/.exec(frame) ?? []
    if (!(line > 0)) continue
    const place = [file, Number(line)]
    if (!isLibrary(file)) return place
    if (!first || first[0].includes('/simulator/include/')) first = place
  }
  return first
}

const mayTrap = /^\t(unreachable|call_indirect|(i32|i64)\.(div|rem)_[su]|memory\.(copy|fill))\b/
const begins = '__sanitizer_cov_trace_pc'  // what a basic block calls first
// Those that float_operations.cpp knows, in a GPU's kinds.
const arithmetic = [/^\tf32\.mul\b|^\tcall\tfmaf$/, /^\tf32\.(add|sub)\b/, /^\tf32\.(min|max)\b|^\tcall\tf(min|max)f$/,
  /^\tf32\.(div|sqrt)\b|^\tcall\tsqrtf$/, /^\tcall\t(exp|exp2|exp10|log|log2|tanh|pow)f$/]

const gapName = 'simulator_gap_after_'

/** Of "_ZZ1kvE22simulator_gap_after_As" the array's symbol, "_ZZ1kvE2As". */
function arrayBefore(gap) {
  const [, scope, length, array] = new RegExp(`^(.*?)(\\d+)${gapName}(.*)$`).exec(gap)
  return scope + (length - gapName.length) + array
}

/** The lines, with a check in each loop that calls nothing (`while (true) {}`): the compiler puts none there. */
function withChecks(lines) {
  const open = [], silent = new Set()  // where they begin
  lines.forEach((line, i) => {
    if (/^\tloop\b/.test(line)) open.push({ begin: i, calls: false })
    else if (/^\t(return_)?call/.test(line)) open.forEach(loop => { loop.calls = true })
    else if (/^\tend_loop\b/.test(line)) {
      const { begin, calls } = open.pop()
      if (!calls) silent.add(begin)
    }
  })
  return lines.flatMap((line, i) => silent.has(i) ? [line, `\tcall\t${begins}`] : [line])
}

/** `first`: the first number, for a program of several modules. */
export function addSites(text, first = 0) {
  const lines = withChecks(text.split('\n'))
  const defined = new Set(), functions = new Set(), exported = new Set(), weak = new Set()
  for (const line of lines) {
    let m
    if ((m = /^([^\s:#]+):/.exec(line))) defined.add(m[1])
    else if ((m = /^\t\.type\t([^,]+),@function/.exec(line))) functions.add(m[1])
    else if ((m = /^\t\.globl\t(\S+)/.exec(line))) exported.add(m[1])
    else if ((m = /^\t\.weak\t(\S+)/.exec(line))) weak.add(m[1])
  }

  const sites = [['', 0]], sizes = new Map(), taken = new Set(), out = []
  const blocks = []  // [number, how many of each kind of arithmetic]
  const calls = new Map()  // of functions elsewhere, each with its first place
  let place = sites[0]
  const setSite = () => {
    out.push(`\ti32.const\t${first + sites.length}`, '\tglobal.set\tsimulator_site')
    sites.push(place)
  }
  for (const line of lines) {
    let m
    if (line.startsWith('\t.loc\t')) {
      place = placeOf(line.slice(line.indexOf('#') + 1)) ?? place
    } else if ((m = /^\tcall\t(\S+)/.exec(line))) {
      if (!defined.has(m[1])) {
        setSite()
        if (m[1] === begins) blocks.push([sites.length - 1, ...arithmetic.map(() => 0)])
        if (!calls.has(m[1])) calls.set(m[1], place)
      }
    } else if (mayTrap.test(line)) {
      setSite()
    } else if ((m = /^\t\.size\t(\S+), (\d+)/.exec(line))) {
      sizes.set(m[1], Number(m[2]))
    }
    const kind = blocks.length > 0 ? arithmetic.findIndex(each => each.test(line)) : -1
    if (kind >= 0) ++blocks[blocks.length - 1][1 + kind]
    if (/^\t(return|end_function)\b/.test(line)) out.push('\tcall\t__tsan_func_exit')
    if ((m = /(\S+?)@(?:GOT@)?TBREL/.exec(line) ?? /^\t\.int32\t([^\s@+]+)/.exec(line)) && functions.has(m[1])) taken.add(m[1])
    out.push(line)
    if (line.startsWith('# %bb.0:')) out.push('\ti32.const\t0', '\tcall\t__tsan_func_entry')
  }

  const variables = []
  for (const name of sizes.keys())
    if (name.includes(gapName) && sizes.has(arrayBefore(name))) variables.push(arrayBefore(name), name)

  const names = new Map()  // of all texts to their labels
  const label = name => {
    if (!names.has(name)) names.set(name, `.Lsimulator_text${names.size}`)
    return names.get(name)
  }
  const table = (name, values) => out.push(`\t.section\t.data.${name},"",@`, `\t.globl\t${name}`, `\t.type\t${name},@object`,
    '\t.p2align\t2', `${name}:`, ...values.map(value => `\t.int32\t${value}`), `\t.size\t${name}, ${4 * values.length}`)
  table('simulator_sites', sites.flatMap(([file, line]) => [label(file), line]))
  table('simulator_site_count', [sites.length])
  table('simulator_variables', [...variables.flatMap(name => [name, sizes.get(name), label(name)]), 0, 0, 0])
  table('simulator_functions', [...[...taken].flatMap(name => [name, label(name)]), 0, 0])
  table('simulator_arithmetic', [...blocks.filter(([, ...counts]) => counts.some(Boolean)).flat(), 0, 0, 0, 0, 0, 0])
  for (const [name, at] of names)
    out.push(`\t.section\t.rodata.${at},"",@`, `\t.type\t${at},@object`, `${at}:`, `\t.asciz\t${JSON.stringify(name)}`,
      `\t.size\t${at}, ${new TextEncoder().encode(name).length + 1}`)

  const globals = ['simulator_site', '__stack_pointer'].filter(name => !text.includes(`\t.globaltype\t${name},`))
  out.unshift('\t.functype\t__tsan_func_entry (i32) -> ()', '\t.functype\t__tsan_func_exit () -> ()', ...globals.map(name => `\t.globaltype\t${name}, i32`))
  return { text: out.join('\n') + '\n', count: sites.length, calls,
          exports: [...exported].filter(name => defined.has(name) && !weak.has(name)) }
}
