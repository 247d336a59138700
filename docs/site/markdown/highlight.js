// Colours code with a few classes instead of a style for each token: half the bytes, and one palette for light and dark.
import { createCssVariablesTheme, createHighlighter } from 'shiki'
import { text } from '../project.js'

const LANGUAGES = {
  c: 'cpp', cc: 'cpp', cmake: 'cmake', cpp: 'cpp', csv: 'csv', cu: 'cpp', cuda: 'cpp', cuh: 'cpp', diff: 'diff', h: 'cpp',
  hpp: 'cpp', json: 'json', py: 'python', python: 'python', sh: 'bash', bash: 'bash', learn: 'bash', js: 'javascript',
}
const CLASSES = {
  keyword: 'k', string: 's', 'string-expression': 's', comment: 'c', constant: 'n', function: 'f', inserted: 'ins', deleted: 'del',
}
// What CUDA adds to C++; the grammar is that of C++.
const CUDA = /^(__global__|__device__|__host__|__shared__|__constant__|__restrict__|__launch_bounds__|__forceinline__|__align__)$/

const theme = createCssVariablesTheme({ name: 'classes', variablePrefix: '--', fontStyle: false })
const shiki = await createHighlighter({ themes: [theme], langs: [...new Set(Object.values(LANGUAGES))] })

const languageOf = (file) => {
  const name = file.split('/').pop()
  return name === 'CMakeLists.txt' ? 'cmake' : name.split('.').pop()
}

export const escape = (text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
export const span = (text, name) => (name ? `<span class="${name}">${escape(text)}</span>` : escape(text))

/** Code as lines of [text, class]. */
export function lines(code, language) {
  const known = LANGUAGES[language]
  if (!known) return code.split('\n').map((line) => [[line, '']])
  const { tokens } = shiki.codeToTokens(code, { lang: known, theme: 'classes' })
  return tokens.map((line) => {
    const joined = []
    for (const { content, color } of line) {
      let name = CLASSES[color?.match(/--token-([\w-]+)\)/)?.[1]] ?? ''
      if (CUDA.test(content.trim())) name = 'k'
      const last = joined.at(-1)
      // Blanks take the class of what stands before them.
      if (last && (last[1] === name || content.trim() === '')) last[0] += content
      else joined.push([content, name])
    }
    return joined
  })
}

export const html = (line) => line.map(([text, name]) => span(text, name)).join('')

/** For Markdown's fences. */
export function highlight(code, language) {
  const body = lines(code.replace(/\n$/, ''), language).map(html).join('\n')
  return `<pre v-pre tabindex="0"><code>${body}</code></pre>`
}

const files = new Map()
/** A file of the repository as such lines. */
export function fileLines(file) {
  if (!files.has(file)) files.set(file, lines(text(file).replace(/\n$/, ''), languageOf(file)))
  return files.get(file)
}

const EMPTY = /<pre data-source="([^"]*)"><\/pre>/

/** The place of a whole file on a page. It is filled when all else is done: Vue need not read the sources. */
export const sourcePlace = (file) => `<pre data-source="${file}"></pre>`

/** Fills it, with a number and an anchor for each line. */
export const fillSource = (page) => page.replace(EMPTY, (_, file) => {
  const rows = fileLines(file).map((line, n) => `<span class="row" id="L${n + 1}" data-n="${n + 1}">${html(line)}\n</span>`)
  return `<pre class="numbered" tabindex="0"><code>${rows.join('')}</code></pre>`
})
