// What the page needs to compile kernels, into build/browser/site/:
//
//   commands.json    how the compiler is started (its driver is asked once, here)
//   program.pch      cuda_runtime.h, which all files have, read once by the page's own compiler
//   head.pch         on top of it, headers that most steps include; what these define, a program of its own may define
//   common.json      {path: text} of the headers that all chapters share
//   <chapter>.json   {include, files}: the chapter's own, and in which folders its kernels look for headers
//   weights.*        of the model that writes
//
//   node docs/site/build/kernels.js
import fs from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import * as clang from '@yowasp/clang'
import { commandOf, run } from '../browser/compile/clang.js'
import { Files } from '../browser/files.js'
import { firstPlace, LADDERS, MODEL, moduleOf } from '../browser/ladders.js'
import { compileKernel } from '../browser/compile/compile.js'
import { flags } from '../browser/compile/flags.js'
import { ROOT } from '../project.js'

const OUT = path.join(ROOT, 'build/browser/site')
// What most kernels include: the C++ library's heavy headers, and what stands at the top of every step.
const HEAD = ['algorithm', 'cmath', 'cstdint', 'cstdio', 'cstdlib', 'limits', 'span', 'string', 'vector',
  'common/compare/compare.hpp', 'common/kernel/check.hpp', 'common/kernel/error.hpp', 'common/kernel/grid.hpp', 'common/kernel/step.hpp']
const KERNEL = '/kernel.cpp'

const exists = (file) => fs.statSync(path.join(ROOT, file), { throwIfNoEntry: false })?.isFile() ?? false
const read = (file) => fs.readFileSync(path.join(ROOT, file), 'utf8')
const under = (folder, wanted) => fs.readdirSync(path.join(ROOT, folder), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile()).map((entry) => path.posix.join(path.relative(ROOT, entry.parentPath ?? entry.path), entry.name))
  .filter(wanted).sort()

const programs = Object.values(LADDERS).filter(({ tests }) => !tests).map(({ folder }) => folder)
const chapters = () => [...fs.readdirSync(ROOT).filter((name) => /^\d\d_/.test(name)).sort(), ...programs]

/** The chapter's folder, and those of chapters whose libraries it links. */
function includeFolders(chapter) {
  const lists = under(chapter, (file) => file.endsWith('CMakeLists.txt')).map(read).join('\n')
  const names = [...lists.matchAll(/\b(\d\d_\w+)_steps\b/g)].map((m) => m[1])
  return [chapter, ...chapters().filter((other) => other !== chapter && names.some((name) => name.startsWith(other)))]
}

/** The headers that the chapter's kernels include with quotes, one through the other. */
function headersOf(chapter, include) {
  const found = new Set()
  const look = (file) => {
    for (const [, name] of read(file).matchAll(/^\s*#\s*include\s+"([^"]+)"/gm)) {
      const header = [path.posix.dirname(file), '.', ...include].map((folder) => path.posix.join(folder, name)).find(exists)
      if (!header || found.has(header)) continue
      found.add(header)
      look(header)
    }
  }
  const isOfTests = (file) => /\/tests\/|\/take\.cu$/.test(file)
  for (const file of under(chapter, (file) => /\.(cu|cuh|hpp)$/.test(file) && !isOfTests(file))) {
    if (!file.endsWith('.cu')) found.add(file)
    look(file)
  }
  return [...found].sort()
}

// A chapter's table of its steps is a variable of its tests' module. Made in the kernel's, too, it would name launchers
// that are in neither, and takes half of the compiler's time. Each line stays where it is.
const withoutTable = (text) => text.replace(/^inline const std::vector<Step<Launcher>> steps = \{.*?^\};$/gms,
  (table) => 'extern const std::vector<Step<Launcher>> steps;' + table.replace(/[^\n]/g, ''))

const texts = (files) => Object.fromEntries(files.map((file) => [file, withoutTable(read(file))]))

/** {common, chapters: {name: {include, files}}} */
function bundles() {
  const common = new Set([...under('common/simulator/include', () => true), ...under('common/kernel', () => true)])
  const of = {}
  for (const chapter of chapters()) {
    const include = includeFolders(chapter)
    const headers = headersOf(chapter, include)
    headers.filter((file) => file.startsWith('common/')).forEach((file) => common.add(file))
    const beside = Object.values(LADDERS).filter(({ folder }) => folder === chapter).flatMap(({ folder, beside }) => beside.map((name) => `${folder}/${name}`))
    const own = [...headers.filter((file) => !file.startsWith('common/')), ...beside] // of what is called, a report shows lines
    of[chapter] = { include: include.map((folder) => `/${folder}`), files: texts(own) }
  }
  // The compiler wants to see them beside head.pch and program.pch. Of what each chapter makes from templates the costly part is in it, too.
  const program = read('common/browser/one_for_all.hpp') + '#include <cuda_runtime.h>\n'
  const head = HEAD.map((name) => `#include <${name}>\n`).join('') +
    'inline std::vector<tutorial::Asked> simulator_uses() {\n  return {{}};\n}\n'
  return { common: { ...texts([...common].sort()), 'program.hpp': program, 'head.hpp': head }, chapters: of }
}

/** {commands, program, head}: the compiler's commands, and the precompiled headers as bytes. */
async function prepare(common) {
  const files = new Files(common)
  files.write(KERNEL, '')
  files.write('/kernel.s', '')
  const command = (words) => commandOf(clang, words, files.tree())
  const after = (name) => ['-Xclang', '-include-pch', '-Xclang', `/${name}.pch`]
  const withHead = flags.filter((word, i) => word !== '-include' && flags[i - 1] !== '-include')
  const commands = {
    compile: await command(['clang++', ...withHead, ...after('program'), '-S', KERNEL, '-o', '-']),
    compileWithHead: await command(['clang++', ...withHead, ...after('head'), '-S', KERNEL, '-o', '-']),
    assemble: await command(['clang', '-mexception-handling', '-c', 'kernel.s', '-o', '-']),
  }
  const precompiled = async (name, before = []) => {
    const words = ['clang++', ...withHead, ...before, '-fpch-instantiate-templates', '-x', 'c++-header', `/${name}.hpp`, '-o', '-']
    const { ok, output, messages } = await run(clang, await command(words), files.tree())
    if (!ok) throw new Error(messages)
    files.write(`/${name}.pch`, output)
    return output
  }
  return { commands, program: await precompiled('program'), head: await precompiled('head', after('program')) }
}

/** The files that other steps' modules call, compiled as the page compiles. */
async function compileBeside(common, of, made) {
  const translator = await WebAssembly.compile(fs.readFileSync(path.join(OUT, 'translate.wasm')))
  for (const ladder of [...Object.values(LADDERS), MODEL]) {
    for (const name of ladder.beside) {
      const file = ladder === MODEL ? name : `${ladder.folder}/${name}`
      const { include, files } = of[file.split('/')[0]]
      const { bytes, diagnostics } = await compileKernel({ clang, translator, ...made, include, path: file, source: read(file),
        files: new Files({ ...common, ...files }), first: firstPlace(ladder, name) })
      if (!bytes) throw new Error(diagnostics.map(({ line, message }) => `${file}:${line}: ${message}`).join('\n'))
      fs.writeFileSync(path.join(OUT, moduleOf(ladder, name)), bytes)
    }
  }
}

async function main() {
  fs.mkdirSync(OUT, { recursive: true })
  const write = (name, data) => fs.writeFileSync(path.join(OUT, name), data instanceof Uint8Array ? data : JSON.stringify(data))
  const { common, chapters: of } = bundles()
  write('common.json', common)
  for (const [chapter, bundle] of Object.entries(of)) write(`${path.posix.basename(chapter)}.json`, bundle)
  const made = await prepare(common)
  write('commands.json', made.commands)
  write('program.pch', made.program)
  write('head.pch', made.head)
  await compileBeside(common, of, made)
  for (const name of MODEL.weights) fs.copyFileSync(path.join(ROOT, MODEL.folder, 'weights', name), path.join(OUT, name))
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) await main()
