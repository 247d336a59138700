// A whole program on a page, behind "from docs/first_kernel/first_kernel.cu", can be edited and run below it; and a stage of
// chapter 05's pipeline, which is in no step's file.
import { runnable, runs } from '../build/runnable.js'

// A program of the reader's own may come with a link.
const element = (file) => (runnable(file).ladder === 'try' ? 'TryProgram' : 'EditAndRun')
const FROM = /<!-- from (\S+) -->/
const IS_OFFERED = /^docs\/|\/stage\d_/

export function programs(markdown) {
  markdown.core.ruler.push('programs', (state) => {
    const seen = new Set()
    let file = null
    state.tokens = state.tokens.flatMap((token) => {
      file = token.content.match(FROM)?.[1] ?? file
      if (token.type !== 'fence' || !IS_OFFERED.test(file) || seen.has(file) || !runs(file)) return [token]
      seen.add(file)
      return [token, Object.assign(new state.Token('html_block', '', 0), { content: `<${element(file)} file="${file}"${runs(file)} />\n` })]
    })
  })
}
