// Colours code with a few classes instead of a style for each token: half the bytes, and one palette for light and dark.
import { createCssVariablesTheme, createHighlighter } from 'shiki'
import { text } from '../project.js'

// C++ is read by the grammar of C, which takes a quarter of the time; what it does not know is in WORDS.
const LANGUAGES = {
  c: 'c', cc: 'c', cmake: 'cmake', cpp: 'c', csv: 'csv', cu: 'c', cuda: 'c', cuh: 'c', diff: 'diff', h: 'c', hpp: 'c',
  json: 'json', py: 'python', python: 'python', sh: 'bash', bash: 'bash', learn: 'bash', js: 'javascript',
}
const CLASSES = {
  keyword: 'k', string: 's', 'string-expression': 's', comment: 'c', constant: 'n', function: 'f', inserted: 'ins', deleted: 'del',
}
const WORDS = new RegExp(
  '\\b(__global__|__device__|__host__|__shared__|__constant__|__restrict__|__launch_bounds__|__forceinline__|__align__' +
    '|alignas|alignof|auto|bool|catch|class|concept|const_cast|consteval|constexpr|decltype|delete|explicit|false|friend' +
    '|mutable|namespace|new|noexcept|nullptr|operator|override|private|protected|public|reinterpret_cast|requires' +
    '|static_assert|static_cast|template|this|throw|true|try|typename|using|virtual)\\b')

const theme = createCssVariablesTheme({ name: 'classes', variablePrefix: '--', fontStyle: false })
const shiki = await createHighlighter({ themes: [theme], langs: [...new Set(Object.values(LANGUAGES))] })

const languageOf = (file) => {
  const name = file.split('/').pop()
  return name === 'CMakeLists.txt' ? 'cmake' : name.split('.').pop()
}

export const escape = (text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
export const span = (text, name) => (name ? `<span class="${name}">${escape(text)}</span>` : escape(text))

/** What the grammar of C leaves plain, or takes for a name: C++'s and CUDA's words are keywords. */
function withWords([text, name]) {
  if (name !== '' && name !== 'f') return [[text, name]]
  return text.split(WORDS).map((part, i) => [part, i % 2 ? 'k' : name]).filter(([part]) => part)
}

/** Neighbours of one class as one piece. Blanks take the class of what stands before them. */
function joined(pieces) {
  const found = []
  for (const [text, name] of pieces) {
    const last = found.at(-1)
    if (last && (last[1] === name || text.trim() === '')) last[0] += text
    else found.push([text, name])
  }
  return found
}

/** Code as lines of [text, class]. */
export function lines(code, language) {
  const known = LANGUAGES[language]
  if (!known) return code.split('\n').map((line) => [[line, '']])
  const { tokens } = shiki.codeToTokens(code, { lang: known, theme: 'classes' })
  return tokens.map((line) => {
    const pieces = line.map(({ content, color }) => [content, CLASSES[color?.match(/--token-([\w-]+)\)/)?.[1]] ?? ''])
    return joined(known === 'c' ? pieces.flatMap(withWords) : pieces)
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
