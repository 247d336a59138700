// A chapter's "## Step N: …" becomes a section with the step's code in it: below the heading, and on a wide screen
// beside the prose.
import { machineCode } from '../build/machine_code.js'
import { runs } from '../build/runnable.js'
import { stepOf } from '../build/steps.js'
import { pageOf } from './links.js'

const panel = (step) =>
  `<StepCode file="${step.path}"${step.before ? ' changes' : ''}${machineCode()[step.path] ? ' sass' : ''}${runs(step.path)} />\n`

export function stepSections(markdown) {
  markdown.core.ruler.push('step_sections', (state) => {
    if (!state.env.path) return
    const page = pageOf(state.env)
    const html = (content) => Object.assign(new state.Token('html_block', '', 0), { content })
    const tokens = []
    let open = false
    for (const [i, token] of state.tokens.entries()) {
      const starts = token.type === 'heading_open' && token.tag === 'h2'
      if (starts && open) {
        tokens.push(html('</div></section>\n'))
        open = false
      }
      const number = starts && state.tokens[i + 1].content.match(/^Step (\d+):/)?.[1]
      const step = number && stepOf(page, Number(number))
      if (step) {
        tokens.push(html('<section class="step">\n'))
        open = step
      }
      tokens.push(token)
      if (open?.path && token.type === 'heading_close' && token.tag === 'h2') {
        tokens.push(html(panel(open)), html('<div class="prose">\n'))
        open = true
      }
    }
    if (open) tokens.push(html('</div></section>\n'))
    state.tokens = tokens
  })
}
