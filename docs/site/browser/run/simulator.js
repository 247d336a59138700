// A program of the simulator, kernel modules and tests, run once: a new memory each time.
import { Fibers } from './fibers.js'
import { Loader } from './load.js'
import { Exit, wasiOf } from '../wasi.js'

const encoder = new TextEncoder()

/**
 * Runs `main` of the modules with these words and this environment.
 *   simulator  s.wasm, a WebAssembly.Module
 *   modules    in any order: {module, first, lacks}; `first` is the number of a kernel module's first place; may it
 *              lack functions, which it does not call?
 *   files      what a report reads lines from (Files)
 *   write      (stream, text), stream 1 or 2
 *   passed     (tests), how many have by now
 * Returns its exit status.
 */
export async function runProgram({ simulator, modules, words, environment = {}, files, write, passed = () => {} }) {
  const wasi = wasiOf(simulator, { words, environment, files, write })
  const fibers = new Fibers()
  const { exports } = await WebAssembly.instantiate(simulator, { wasi_snapshot_preview1: wasi.imports, fibers: fibers.imports(), page: { passed } })
  wasi.use(exports.memory)
  const failed = new Promise((_, reject) => fibers.use(exports, reject))
  exports._initialize()
  const loader = new Loader(exports)
  loader.rename('malloc', '__wrap_malloc')
  loader.rename('free', '__wrap_free')
  loader.rename('exit', '__wrap_exit')
  const ordered = inOrder(modules)
  const { loaded, missing } = await loader.load(ordered)
  if (missing.length > 0) throw new Error(`in no module: ${missing.join(' ')}`)
  ordered.forEach(({ first }, i) => {
    if (first !== undefined) addPlaces(exports, loaded[i], first)
  })
  const isMatrixWord = ({ name }) => /ldmatrix|stmatrix|mma/.test(name)
  exports.simulator_has_matrix_operations(
    modules.some(({ module, first }) => first !== undefined && WebAssembly.Module.imports(module).some(isMatrixWord)),
  )
  // argv, as C has it.
  const list = exports.malloc(4 * (words.length + 1))
  words.forEach((word, i) => {
    const bytes = encoder.encode(word + '\0'),
      at = exports.malloc(bytes.length)
    new Uint8Array(exports.memory.buffer).set(bytes, at)
    new DataView(exports.memory.buffer).setUint32(list + 4 * i, at, true)
  })
  new DataView(exports.memory.buffer).setUint32(list + 4 * words.length, 0, true)
  const mainOf = (each) => each.main ?? each.__main_argc_argv ?? each.__main_void // as the compiler calls it
  const program = loaded.findIndex((each) => mainOf(each.exports))
  const main = mainOf(loaded[program]?.exports ?? exports)
  const status = await Promise.race([WebAssembly.promising(main)(words.length, list), failed]).catch((end) => {
    if (end instanceof Exit) return end.status
    throw end
  }).finally(() => fibers.leave())
  const isLearners = ordered[program]?.first !== undefined
  return isLearners ? exports.simulator_end_program(status) : status
}

/** Those whose functions another one calls come before it. */
function inOrder(modules) {
  const named = modules.map((each) => ({
    each,
    has: new Set(WebAssembly.Module.exports(each.module).map(({ name }) => name)),
    calls: WebAssembly.Module.imports(each.module)
      .filter(({ module, kind }) => module === 'env' && kind === 'function')
      .map(({ name }) => name),
  }))
  const ordered = []
  while (named.length > 0) {
    const free = named.findIndex(
      (one) => !named.some((other) => other !== one && one.calls.some((name) => other.has.has(name) && !one.has.has(name))),
    )
    if (free < 0) throw new Error('modules that call each other')
    ordered.push(...named.splice(free, 1))
  }
  return ordered.map(({ each }) => each)
}

function addPlaces(simulator, { exports, begin, bytes }, first) {
  const at = (name) => begin + exports[name].value
  const count = new DataView(simulator.memory.buffer).getUint32(at('simulator_site_count'), true)
  simulator.simulator_add_module(
    begin,
    bytes,
    at('simulator_variables'),
    at('simulator_functions'),
    at('simulator_sites'),
    count,
    first,
  )
  simulator.simulator_add_arithmetic(at('simulator_arithmetic'), first)
}
