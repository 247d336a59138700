// What a run in the page loads: the steps' sources, the WebAssembly files, and the service worker that keeps them.
//
// browser/files.json says where a file is, and its bytes, also as it travels: {"simulator.wasm": {"path":
// "browser/simulator.0123456789ab.wasm", "bytes": 900000, "packed": 300000}}. A name with a hash of its content can be kept
// for ever. Beside each stands PATH.packed, of gzip, for service_worker.js: many hosts send such files as they are.
import crypto from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { pages, ROOT, text } from '../project.js'
import { runnable } from './runnable.js'
import { steps } from './steps.js'

const SITE = path.join(ROOT, 'docs/site')
const FOLDERS = [path.join(ROOT, 'build/browser/site'), path.join(SITE, 'node_modules/@yowasp/clang/gen')]
const LOADED = /\.(wasm|tar|pch|json|js|bin|txt)$/

const hash = (bytes) => crypto.createHash('sha256').update(bytes).digest('hex').slice(0, 12)

/** The sources in the pages' own panels, and those that a page shows as a whole: "from docs/first_kernel/first_kernel.cu". */
function sources() {
  const shown = pages().flatMap((page) => [...text(page).matchAll(/<!-- from (\S+) -->/g)].map(([, file]) => file))
  return [...new Set([...Object.values(steps()).flat().map((step) => step.path), ...shown])].filter(runnable)
}

export function writeBrowserFiles(outDir) {
  for (const file of sources()) {
    const to = path.join(outDir, 'steps', `${file}.txt`)
    fs.mkdirSync(path.dirname(to), { recursive: true })
    fs.copyFileSync(path.join(ROOT, file), to)
  }
  const files = {}
  fs.mkdirSync(path.join(outDir, 'browser'), { recursive: true })
  for (const folder of FOLDERS.filter((each) => fs.existsSync(each))) {
    for (const name of fs.readdirSync(folder).filter((each) => LOADED.test(each)).sort()) {
      const bytes = fs.readFileSync(path.join(folder, name))
      const { name: stem, ext } = path.parse(name)
      const packed = gzipSync(bytes)
      files[name] = { path: `browser/${stem}.${hash(bytes)}${ext}`, bytes: bytes.length, packed: packed.length }
      fs.writeFileSync(path.join(outDir, files[name].path), bytes)
      fs.writeFileSync(path.join(outDir, `${files[name].path}.packed`), packed)
    }
  }
  const list = JSON.stringify(files)
  fs.writeFileSync(path.join(outDir, 'browser/files.json'), list)

  const built = ['404.html', 'hashmap.json'].map((name) => fs.readFileSync(path.join(outDir, name), 'utf8')) // name all of it
  const worker = fs.readFileSync(path.join(SITE, 'browser/service_worker.js'), 'utf8')
  const kept = JSON.stringify(Object.values(files).map((file) => file.path))
  const made = worker.replace("'VERSION'", () => `'${hash(built.join() + list)}'`).replace("['FILES']", () => kept)
  fs.writeFileSync(path.join(outDir, 'service_worker.js'), made)
}
