// The compile chain as a page has it, from what build/kernels.js and common/browser/ have made; and a host for its modules
// that is no simulator.
import fs from 'node:fs'
import path from 'node:path'
import * as clang from '@yowasp/clang'
import { compileKernel } from '../compile/compile.js'
import { Files } from '../files.js'
import { ROOT } from '../../project.js'

const BUILT = path.join(ROOT, 'build/browser/site')
function built(name) {
  const file = path.join(BUILT, name)
  if (!fs.existsSync(file)) throw new Error(`There is no ${file}: common/browser/CMakeLists.txt and docs/site/build/kernels.js make it.`)
  return fs.readFileSync(file)
}
const json = (name) => JSON.parse(built(name))

const translator = await WebAssembly.compile(built('translate.wasm'))
const commands = json('commands.json'), common = json('common.json'), program = built('program.pch'), head = built('head.pch')

export const sourceOf = (file) => fs.readFileSync(path.join(ROOT, file), 'utf8')

/** Compiles a file of the project, with another text if one is given. */
export function compile(file, source = sourceOf(file), more = {}) {
  const chapter = file.startsWith('docs/') ? file.split('/')[1] : file.split('/')[0]
  const { include, files } = json(`${chapter}.json`)
  return compileKernel({ clang, translator, commands, program, head: file.startsWith('docs/') ? undefined : head, files: new Files({ ...common, ...files }), include, path: file, source, ...more })
}

const MODULE_AT = 1 << 16, STACK_END = 1 << 20, HEAP_AT = 1 << 20

/**
 * Loads a kernel module beside nothing: each function that it imports is of `functions`, or does nothing and returns 0.
 * `where()` is the place that the module says it is at, and `heap` is where memory is free.
 */
export async function load(bytes, functions = {}) {
  const module = await WebAssembly.compile(bytes)
  const memory = new WebAssembly.Memory({ initial: 64 })
  const table = new WebAssembly.Table({ element: 'anyfunc', initial: 1024 })
  const global = (value, mutable) => new WebAssembly.Global({ value: 'i32', mutable }, value)
  const site = global(0, true)
  const env = { memory, __indirect_function_table: table, simulator_site: site, __stack_pointer: global(STACK_END, true),
    __memory_base: global(MODULE_AT, false), __table_base: global(1, false) }
  const imports = { env, 'GOT.mem': {}, 'GOT.func': {} }
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
    if (from !== 'env') imports[from][name] = global(HEAP_AT, true)
    else if (kind === 'tag') env[name] = new WebAssembly.Tag({ parameters: ['i32'] })
    else env[name] ??= functions[name] ?? (() => 0)
  }
  const { exports } = await WebAssembly.instantiate(module, imports)
  exports.__wasm_apply_data_relocs?.()
  exports.__wasm_call_ctors?.()

  const view = new DataView(memory.buffer)
  const word = (at) => view.getUint32(at, true)
  const text = (at) => {
    const bytes = new Uint8Array(memory.buffer)
    return new TextDecoder().decode(bytes.subarray(at, bytes.indexOf(0, at)))
  }
  const address = (name) => MODULE_AT + exports[name].value
  const rows = (name, width) => {
    const all = []
    for (let at = address(name); word(at); at += 4 * width) all.push([...Array(width).keys()].map((i) => word(at + 4 * i)))
    return all
  }
  return {
    exports, table, heap: HEAP_AT + 1024,
    where: () => {
      const at = address('simulator_sites') + 8 * site.value
      return `${text(word(at))}:${word(at + 4)}`
    },
    count: word(address('simulator_site_count')),
    variables: rows('simulator_variables', 3).map(([at, bytes, name]) => ({ at, bytes, name: text(name) })),
    functions: rows('simulator_functions', 2).map(([, name]) => text(name)),
  }
}
