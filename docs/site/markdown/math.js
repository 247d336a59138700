// Formulas, as a code host shows them: ```math, $`…`$ and $…$. They are typeset here, once, and not in the browser.
import katex from 'katex'

const typeset = (formula, displayMode) => {
  const html = katex.renderToString(formula.trim(), { displayMode, throwOnError: true, strict: 'error' })
  return displayMode ? `<div class="math" v-pre tabindex="0">${html}</div>` : `<span v-pre>${html}</span>`
}

function inline(state, silent) {
  const rest = state.src.slice(state.pos)
  // As on a code host: no blank inside next to the dollar signs, no digit or letter behind the last one.
  const found = rest.match(/^\$`([^`\n]+)`\$/) ?? rest.match(/^\$(?!\s)([^$`]*[^$`\s\\])\$(?![\w$])/)
  if (!found) return false
  if (!silent) state.push('math', 'span', 0).content = found[1]
  state.pos += found[0].length
  return true
}

export function math(markdown) {
  markdown.inline.ruler.before('escape', 'math', inline)
  markdown.renderer.rules.math = (tokens, i) => typeset(tokens[i].content, false)
  const fence = markdown.renderer.rules.fence
  markdown.renderer.rules.fence = (tokens, i, ...rest) =>
    tokens[i].info.trim() === 'math' ? typeset(tokens[i].content, true) : fence(tokens, i, ...rest)
}
