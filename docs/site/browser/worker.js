// Translates, compiles and runs one kernel file; client.js says in which messages.
import { compileKernel } from './compile/compile.js'
import { answer, continued, readSample } from './estimate.js'
import { Files } from './files.js'
import { firstPlace, headersOf, LADDERS, ladderOf, MODEL, moduleOf, programOf } from './ladders.js'

const BASE = new URL('..', self.location) // this script lies in assets/
const say = (type, more) => self.postMessage({ type, ...more })

// ---- Files, by their names in browser/files.json

let list
const files = () => (list ??= native(new URL('browser/files.json', BASE)).then((answer) => answer.json()))
const sizes = new Map() // of those that are asked for: name to [loaded, total], in bytes as they travel

async function open(name) {
  const file = (await files())[name]
  if (!file) throw new Error(`The site has no ${name}: it was built without what kernels need to run.`)
  sizes.set(name, [0, file.packed])
  const answer = await native(new URL(file.path, BASE))
  if (!answer.ok) throw new Error(`${file.path}: ${answer.status} ${answer.statusText}`)
  const counted = answer.body.pipeThrough(
    new TransformStream({
      transform(bytes, controller) {
        sizes.get(name)[0] += (bytes.length * file.packed) / file.bytes
        tell(name)
        controller.enqueue(bytes)
      },
    }),
  )
  return new Response(counted, { headers: { 'content-type': answer.headers.get('content-type') ?? 'application/octet-stream' } })
}
function tell(what) {
  const sum = (which) => Math.round([...sizes.values()].reduce((all, size) => all + size[which], 0))
  say('progress', { loaded: sum(0), total: sum(1), what })
}
const wasm = async (name) => {
  const answer = await open(name)
  return WebAssembly.compileStreaming(new Response(answer.body, { headers: { 'content-type': 'application/wasm' } }))
}
const json = async (name) => (await open(name)).json()
const bytes = async (name) => new Uint8Array(await (await open(name)).arrayBuffer())

// The compiler asks for its own files, by their names beside it.
const native = self.fetch.bind(self)
self.fetch = async (address, options) => {
  const name = new URL(address, self.location).pathname.split('/').pop()
  return (await list)?.[name] ? open(name) : native(address, options)
}

// ---- What a run needs

let loaded
function load() {
  return (loaded ??= Promise.all([
    compiler(),
    wasm('translate.wasm'),
    json('commands.json'),
    json('common.json'),
    bytes('program.pch'),
    wasm('simulator.wasm'),
  ]).then(([clang, translator, commands, common, program, simulator]) => ({ clang, translator, commands, common, program, simulator })))
}
async function compiler() {
  const { path } = (await files())['bundle.js']
  return import(/* @vite-ignore */ new URL(path, BASE).href)
}
const ladders = new Map()
function ladder(name, path) {
  if (!ladders.has(name)) {
    const its = ladderOf(name, path)
    const beside = its.beside.map(async (file) => ({
      file,
      first: firstPlace(its, file),
      module: await wasm(moduleOf(its, file)),
    }))
    const ready = Promise.all([json(headersOf(its)), its.tests && wasm(its.tests), its.tests && bytes('head.pch'), its.host && wasm(its.host), ...beside])
    ladders.set(name, ready.then(([headers, tests, head, host, ...beside]) => ({ headers, tests, head, host, beside })))
  }
  return ladders.get(name)
}

const programs = new Map()
function program(name) {
  if (!programs.has(name)) programs.set(name, Promise.all(['program.wasm', programOf(name)].map(wasm)))
  return programs.get(name)
}

let model
/** {modules, texts} of the model that writes. */
function writes() {
  return (model ??= Promise.all([
    Promise.all(MODEL.modules.map(async (name) => ({ module: await wasm(name), lacks: true }))), // the steps of other parts
    Promise.all(MODEL.beside.map(async (file) => ({ module: await wasm(moduleOf(MODEL, file)), first: firstPlace(MODEL, file) }))),
    Promise.all(MODEL.weights.map(async (name) => [`${MODEL.folder}/weights/${name}`, await bytes(name)])),
  ]).then(([host, kernels, weights]) => ({ modules: [...host, ...kernels], texts: Object.fromEntries(weights) })))
}

/** What is run: the ladder's tests of a step, its program that profiles or samples the step, the model that writes with it,
 *  or the file itself. */
async function runnable({ ladder: name, step, path, profile, write, estimate, options = ['~[files]~[slow]'] }) { // a page has no files to write, and a minute is long
  if (write)
    return {
      words: [MODEL.folder, '--no-checks', '--attention', step],
      environment: { TUTORIAL_CPU_REASON: 'in this page' },
      ...await writes(),
    }
  if (profile || estimate)
    return {
      words: [LADDERS[name].folder, ...(profile ? ['--profile'] : ['--sample-csv', SAMPLE]), '--kernel', step],
      environment: { TUTORIAL_CPU_REASON: `which counts for the ${profile ? 'profile' : 'estimate'}` }, // as ./learn profile says it
      modules: (await program(name)).map((module) => ({ module, lacks: true })), // rows that a profile has not
    }
  const { tests } = await ladder(name, path)
  const called = path.split('/').pop().replace(/\.\w+$/, '')
  return { words: tests ? [called, ...options] : [called], environment: { TUTORIAL_STEP: step }, modules: [] }
}

/** Gives a program's exit status, and the text of the file that it `keeps`. */
function runApart(program, { onOutput = () => {}, onPassed = () => {} }) {
  const runner = new Worker(new URL('./runner.js', import.meta.url), { type: 'module' })
  return new Promise((resolve, reject) => {
    runner.addEventListener('message', ({ data }) => {
      if (data.type === 'output') onOutput(data.text)
      else if (data.type === 'passed') onPassed(data.tests)
      else if (data.type === 'ended') resolve(data)
      else reject(new Error(data.message))
    })
    runner.addEventListener('error', ({ message }) => reject(new Error(message ?? 'runner.js cannot be loaded: is the site still being served?')))
    runner.postMessage(program)
  }).finally(() => runner.terminate())
}

/** Compiles a file for a run. Gives what runApart takes; without `modules` where it cannot be run: the page is told why. */
async function compiled(asked) {
  const { id, ladder: name, path, source } = asked
  const [{ clang, translator, commands, common, program, simulator }, { headers, tests, head, host, beside }, { words, environment, modules, texts: own }] =
    await Promise.all([load(), ladder(name, path), runnable(asked)])
  const others = [...beside.filter(({ file }) => !path.endsWith(`/${file}`)), ...[tests, host].filter(Boolean).map((module) => ({ module })), ...modules]
  const texts = { ...common, ...headers.files }
  const known = new Set(
    [simulator, ...others.map(({ module }) => module)].flatMap((module) =>
      WebAssembly.Module.exports(module).map(({ name }) => name),
    ),
  )
  const { bytes: kernel, diagnostics } = await compileKernel({
    clang,
    translator,
    commands,
    program,
    head,
    files: new Files(texts),
    include: headers.include,
    path,
    source,
    knows: (symbol) => known.has(symbol),
    stage: (stage) => say('stage', { id, name: stage }),
  })
  const refused = (list) => {
    if (list.length > 0) say('diagnostics', { id, list })
    return {}
  }
  if (!kernel) return refused(diagnostics)
  const module = await WebAssembly.compile(kernel)
  if (!tests && !WebAssembly.Module.exports(module).some(({ name }) => /^(main|__main_\w+)$/.test(name)))
    return refused([...diagnostics, { path, line: 1, column: 1, severity: 'error', message: "undefined reference to `main'" }])
  refused(diagnostics) // warnings
  return {
    simulator,
    words,
    texts: { ...texts, ...own, [path]: source }, // a report shows its lines
    environment,
    modules: [{ module, first: 0 }, ...others],
  }
}

async function run(asked) {
  const { id, ladder: name, path } = asked
  const begun = performance.now()
  const done = (status, ran) => say('done', { id, status, ran, seconds: (performance.now() - begun) / 1000 })
  if (asked.estimate) return done(...await estimateStep(asked))
  const program = await compiled(asked)
  if (!program.modules) return done(2, false)
  say('stage', { id, name: 'run' })
  const { status } = await runApart(program, {
    onOutput: (text) => say('output', { id, text }),
    onPassed: (tests) => say('stage', { id, name: 'run', passed: tests }),
  })
  return done((await ladder(name, path)).tests ? Number(status !== 0) : status, true) // Catch2's is 42
}

// ---- What a GPU would say

const SAMPLE = 'sample.csv'
let estimates
const samples = new Map() // of files as they were shipped: path to rows

/** {rows} of a sample of the step with this source, or {status, ran} of what failed, of which the page is told. */
async function sampled(asked, { runs, depth }, known) {
  const program = await compiled(asked)
  if (!program.modules) return { status: 2, ran: false }
  say('stage', { id: asked.id, name: 'run' })
  const found = []
  for (const options of runs) {
    let said = ''
    const { status, kept } = await runApart({ ...program, words: [...program.words, ...options], keeps: SAMPLE }, { onOutput: (text) => (said += text) })
    const rows = readSample(kept ?? '').filter((row) => row.step === asked.step) // there are rows of what the step is made of, too
    if (status !== 0 || rows.length === 0) {
      say('output', { id: asked.id, text: status === 0 ? `${asked.step} launches no kernel.\n` : said })
      return { status: status || 2, ran: true }
    }
    found.push(rows)
  }
  return { rows: found.length > 1 ? continued(depth, found, known) : found[0] }
}

/** Tells the page; gives status, and whether it ran. */
async function estimateStep(asked) {
  const { id, ladder: name, step, path, source, shipped } = asked
  const known = await (estimates ??= json('estimates.json'))
  const ladder = known.ladders[name], its = { ...ladder, ...ladder.steps[step] }
  const now = await sampled(asked, its, known)
  if (!now.rows) return [now.status, now.ran]
  if (source === shipped) samples.set(path, now.rows)
  else if (!samples.has(path)) samples.set(path, (await sampled({ ...asked, source: shipped }, its, known)).rows)
  say('output', { id, text: answer({ step, ...its }, known, now.rows, source !== shipped && samples.get(path)) })
  return [0, true]
}

self.addEventListener('message', async ({ data }) => {
  if (data.type === 'load') return Promise.all([load(), ladder(data.ladder)]).catch(() => {}) // the next run says why
  try {
    await run(data)
  } catch (error) {
    loaded = undefined // a network that was away may be there again
    ladders.clear()
    programs.clear()
    model = estimates = undefined
    say('output', { id: data.id, text: `${error.message}\n` })
    say('done', { id: data.id, status: 2, ran: false, seconds: 0 })
  }
})
