// Translates, compiles and runs one kernel file; client.js says in which messages.
import { compileKernel } from './compile/compile.js'
import { Files } from './files.js'
import { runProgram } from './run/simulator.js'

// Of which test program a ladder's steps are, and which headers they find.
const LADDERS = { '01': { tests: 'tests_01.wasm', headers: '01_naive_matmul.json' } }
const SAMPLE = '12' // tests of a kernel's sizes, as ./learn test has after an edit

const BASE = new URL(import.meta.env.BASE_URL, self.location)
const say = (type, more) => self.postMessage({ type, ...more })

// ---- Files, by their names in browser/files.json

let list
const files = () => (list ??= native(new URL('browser/files.json', BASE)).then((answer) => answer.json()))
const sizes = new Map() // of those that are asked for: name to [loaded, total]

async function open(name) {
  const file = (await files())[name]
  if (!file) throw new Error(`The site has no ${name}: it was built without what kernels need to run.`)
  sizes.set(name, [0, file.bytes])
  const answer = await native(new URL(file.path, BASE))
  if (!answer.ok) throw new Error(`${file.path}: ${answer.status} ${answer.statusText}`)
  const counted = answer.body.pipeThrough(new TransformStream({
    transform(bytes, controller) {
      sizes.get(name)[0] += bytes.length
      tell(name)
      controller.enqueue(bytes)
    },
  }))
  return new Response(counted, { headers: { 'content-type': answer.headers.get('content-type') ?? 'application/octet-stream' } })
}
function tell(what) {
  const all = [...sizes.values()]
  say('progress', { loaded: all.reduce((sum, [loaded]) => sum + loaded, 0), total: all.reduce((sum, [, total]) => sum + total, 0), what })
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
  return (loaded ??= Promise.all([compiler(), wasm('translate.wasm'), json('commands.json'), json('common.json'), bytes('head.pch'),
    wasm('simulator.wasm')]).then(([clang, translator, commands, common, head, simulator]) =>
    ({ clang, translator, commands, common, head, simulator })))
}
async function compiler() {
  const { path } = (await files())['bundle.js']
  return import(/* @vite-ignore */ new URL(path, BASE).href)
}
const ladders = new Map()
function ladder(name) {
  if (!ladders.has(name)) {
    const { tests, headers } = LADDERS[name]
    ladders.set(name, Promise.all([wasm(tests), json(headers)]).then(([tests, headers]) => ({ tests, headers })))
  }
  return ladders.get(name)
}

async function run({ id, ladder: name, step, path, source }) {
  const begun = performance.now()
  const done = (status) => say('done', { id, status, seconds: (performance.now() - begun) / 1000 })
  const [{ clang, translator, commands, common, head, simulator }, { tests, headers }] = await Promise.all([load(), ladder(name)])
  const tree = new Files({ ...common, ...headers.files })
  const { bytes: kernel, diagnostics } = await compileKernel({
    clang, translator, commands, head, files: tree, include: headers.include, path, source,
    stage: (stage) => say('stage', { id, name: stage }),
  })
  if (diagnostics.length > 0) say('diagnostics', { id, list: diagnostics })
  if (!kernel) return done(2)
  say('stage', { id, name: 'run' })
  tree.write(path, source) // a report shows its lines
  const status = await runProgram({
    simulator, words: [`${name}_tests`], files: tree, environment: { TUTORIAL_STEP: step, TUTORIAL_SAMPLE: SAMPLE },
    modules: [{ module: await WebAssembly.compile(kernel), first: 0 }, { module: tests }],
    write: (stream, text) => say('output', { id, text }),
  })
  return done(status)
}

self.addEventListener('message', ({ data }) => {
  const failed = (error) => setTimeout(() => { throw error }) // the page's `error` event
  if (data.type === 'load') load().catch(failed)
  else run(data).catch(failed)
})
