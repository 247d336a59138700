// Makes a module of a learner's .cu file: translated, compiled to assembler text, given the numbers of its source places
// (sites.js), assembled, and linked as a side module of the simulator's. Runs in a browser's worker and in Node.
import { run } from './clang.js'
import { diagnosticsOf, ofTranslator } from './diagnostics.js'
import { linkFlags } from './flags.js'
import { addSites } from './sites.js'
import { runProgram } from '../wasi.js'

const translated = '/kernel.cpp'
const tables = ['simulator_sites', 'simulator_site_count', 'simulator_variables', 'simulator_functions', 'simulator_arithmetic']

/**
 * What a page has loaded:
 *   clang       the module @yowasp/clang
 *   translator  translate.wasm, a WebAssembly.Module
 *   commands    commands.json of build/kernels.js: how to compile and to assemble
 *   program     program.pch of the same script, bytes
 *   head        head.pch, for a step of a chapter
 *   files       the headers, a Files (../files.js)
 *   include     folders to find headers in, beside the file's own
 *
 * Of the learner: path, source; and of the page: first, the number of the first place; stage(name), which is told what
 * begins; knows(symbol), whether another module has it.
 *
 * Returns {bytes, diagnostics, milliseconds, sites}; without bytes where an error is among the diagnostics.
 */
export async function compileKernel({ clang, translator, commands, program, head, files, include = [], path, source, first = 0,
                                     stage = () => {}, knows }) {
  const milliseconds = {}
  const timed = async (name, work) => {
    const begin = performance.now()
    const result = await work()
    milliseconds[name] = performance.now() - begin
    return result
  }

  stage('translate')
  const all = files.copy()
  all.write(path, source)
  const translation = await timed('translate', () => runProgram(translator, ['translate', '/' + path, translated], all))
  if (translation.status !== 0) return { diagnostics: ofTranslator(translation.text, path), milliseconds }

  stage('compile')
  const cpp = new TextDecoder().decode(all.read(translated))
  all.write('/program.pch', program)
  if (head) all.write('/head.pch', head)
  const compile = [...(head ? commands.compileWithHead : commands.compile), ...[`/${path.split('/').slice(0, -1).join('/')}`, ...include].flatMap(folder => ['-I', folder])]
  const compiled = await timed('compile', () => run(clang, compile, all.tree()))
  const diagnostics = diagnosticsOf(compiled.messages, { path, source, cpp })
  if (!compiled.ok) return { diagnostics, milliseconds }

  const marked = await timed('sites', () => addSites(new TextDecoder().decode(compiled.output), first))
  if (knows) {
    const missing = [...marked.calls].filter(([symbol]) => !knows(symbol))
    if (missing.length > 0) return { diagnostics: [...diagnostics, ...await undefinedFunctions(clang, missing)], milliseconds }
  }
  const assembled = await timed('assemble', () => run(clang, commands.assemble, { 'kernel.s': marked.text }))
  if (!assembled.ok) throw new Error(assembled.messages)
  const exports = [...tables, ...marked.exports].map(name => `--export=${name}`)
  const linked = await timed('link', () => run(clang,
    ['wasm-ld', ...linkFlags, ...exports, '--export-if-defined=__wasm_call_ctors', 'kernel.o', '-o', '-'], { 'kernel.o': assembled.output }))
  if (!linked.ok) throw new Error(linked.messages)
  return { bytes: linked.output, diagnostics, milliseconds, sites: marked.count }
}

/** As a linker says it. */
async function undefinedFunctions(clang, missing) {
  const { output } = await run(clang, ['c++filt', ...missing.map(([symbol]) => symbol)], {})
  const names = new TextDecoder().decode(output).split('\n')
  return missing.map(([, [file, line]], i) =>
    ({path: file.replace(/^\//, ''), line, column: 1, severity: 'error', message: `undefined reference to ${names[i]}`}))
}
