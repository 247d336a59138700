// The code of each step for the panel beside its prose: all lines of the file, and of the difference to the step before.
// The difference is common/tools/learn/diff_steps.py's.
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { escape, fileLines, span } from '../markdown/highlight.js'
import { ROOT } from '../project.js'

let known
/** { "02_tiled_matmul": [{number, path, before, code, comments, rows}, …], … } */
export function steps() {
  const python = () => execFileSync('python3', ['common/tools/learn/diff_steps.py', '--json'], { cwd: ROOT, maxBuffer: 1 << 28 })
  return (known ??= JSON.parse(python()))
}

/** The step that "Step 3" on a page means; a page of a part has the part's name: 05_strips. */
export function stepOf(page, number) {
  const [, chapter, part] = page.match(/^docs\/(\d\d)_(\w+)\.md$/) ?? []
  if (!chapter) return null
  const folders = Object.keys(steps()).filter((folder) => folder.startsWith(chapter))
  const folder = folders.find((each) => each.endsWith(`/${part}`)) ?? folders.find((each) => each === `${chapter}_${part}`)
  return steps()[folder]?.find((step) => step.number === number)
}

/** Has a page sections of steps? */
export const hasSteps = (page) => Boolean(stepOf(page, 1))

/** A line's pieces [text, class] with [text, has it changed?] laid over them. */
function marked(tokens, pieces) {
  const cuts = []
  let html = ''
  let at = 0
  for (const [piece, changed] of pieces) cuts.push([at, (at += piece.length), changed])
  at = 0
  for (const [token, name] of tokens) {
    const end = at + token.length
    for (const [from, to, changed] of cuts) {
      const part = token.slice(Math.max(from - at, 0), Math.max(to - at, 0))
      if (part && to > at && from < end) html += changed ? `<mark>${span(part, name)}</mark>` : span(part, name)
    }
    at = end
  }
  return html
}

function row(colours, { mark, old, new: number, pieces, near }) {
  const tokens = mark === '-' ? colours.old[old - 1] : colours.new[number - 1]
  const kind = { '-': 'old', '+': 'new', ' ': 'same' }[mark]
  return `<span class="row ${kind}${near ? '' : ' far'}" data-n="${mark === '-' ? '' : number}">${marked(tokens, pieces)}\n</span>`
}

function fragment(step) {
  const colours = { old: step.before ? fileLines(step.before) : [], new: fileLines(step.path) }
  let html = ''
  let gap = !step.rows[0]?.near
  for (const each of step.rows) {
    if (each.near && gap) html += '<span class="gap">…\n</span>'
    gap = !each.near
    html += row(colours, each)
  }
  const said = step.before
    ? `${step.code} lines of code changed since ${escape(path.basename(step.before))} (removed and added), and ${step.comments} that are comments or blank.`
    : ''
  const name = `${escape(step.path)}, scrolls`
  return `<p class="count">${said}</p><pre tabindex="0" role="region" aria-label="${name}"><code>${html}</code></pre>\n`
}

export function writeSteps(outDir) {
  for (const step of Object.values(steps()).flat()) {
    const file = path.join(outDir, 'steps', `${step.path}.html`)
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, fragment(step))
  }
}
