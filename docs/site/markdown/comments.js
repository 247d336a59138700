// Comments are for the project's own tools: the site leaves them out. One of them, <!-- trace 02 --> behind a drawing,
// is the place of a figure that steps through a recorded kernel, if there is such a recording. Another, <!-- find a mistake -->, is the place of the button for that, where kernels run in the page.
import { mistakes } from '../build/mistakes.js'
import { exists, recording } from '../project.js'

const COMMENT = /<!--[\s\S]*?-->/g
const TRACE = /<!-- trace (\w+) -->/g

const figure = (_, name) =>
  exists(recording(name))
    ? `<Trace name="${name}" />\n`
    : ''

const MISTAKE = '<!-- find a mistake -->'
const game = () => {
  const counts = Object.fromEntries(Object.entries(mistakes()).map(([ladder, all]) => [ladder, all.length]))
  return Object.keys(counts).length ? `<FindMistake :counts='${JSON.stringify(counts)}' />\n` : ''
}

export function comments(markdown) {
  markdown.core.ruler.push('no_comments', ({ tokens }) => {
    for (const token of tokens.flatMap((each) => [each, ...(each.children ?? [])])) {
      if (token.type.startsWith('html_')) token.content = token.content.replace(TRACE, figure).replace(MISTAKE, game).replace(COMMENT, '')
    }
  })
}
