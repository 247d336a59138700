// What nvcc makes of each step's inner loop, for the panel below its code: common/tools/learn/sass.py's record, of the
// steps that have not changed since.
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { escape } from '../markdown/highlight.js'
import { ROOT } from '../project.js'

let known
/** { "02_tiled_matmul/step1_shared_tile.cu": [["9.0a", how it was made, the text], …], … } */
export function machineCode() {
  const python = () => execFileSync('python3', ['common/tools/learn/sass.py', '--json'], { cwd: ROOT, maxBuffer: 1 << 28 })
  return (known ??= JSON.parse(python()))
}

function fragment(file, [architecture, how, listing]) {
  const said = `SASS for ${escape(architecture)}, made by ${escape(how)}.`
  const name = `Machine code of ${escape(file)}, scrolls`
  return `<p class="count">${said}</p><pre tabindex="0" role="region" aria-label="${name}"><code>${escape(listing)}</code></pre>\n`
}

export function writeMachineCode(outDir) {
  for (const [file, records] of Object.entries(machineCode())) {
    const to = path.join(outDir, 'steps', `${file}.sass.html`)
    fs.mkdirSync(path.dirname(to), { recursive: true })
    fs.writeFileSync(to, records.map((record) => fragment(file, record)).join(''))
  }
}
