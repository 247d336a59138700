// An exercise's page, its task.md, has its editor below the text; hints are shown one after the other. Where another page
// names an exercise in its list, the name leads there.
import { exercises, mine } from '../build/exercises.js'
import { runs } from '../build/runnable.js'
import { pageOf } from './links.js'

export function exercisePages(markdown) {
  markdown.core.ruler.push('exercises', (state) => {
    if (!state.env.path) return
    const page = pageOf(state.env)
    const own = exercises().find(({ folder }) => page === `${folder}/task.md`)
    if (own) state.tokens = withHints(state, own)
    else linkNames(state, page)
  })
}

/** Each "## Hint 1" becomes a slot of the component. */
function withHints({ tokens, Token }, exercise) {
  const html = (content) => Object.assign(new Token('html_block', '', 0), { content })
  const isHint = (token, i) => token.type === 'heading_open' && /^Hint \d$/.test(tokens[i + 1].content)
  const starts = tokens.flatMap((token, i) => (isHint(token, i) ? [i] : []))
  const slots = starts.flatMap((start, i) => [
    html(`<template #hint${i + 1}>\n`),
    ...tokens.slice(start + 3, starts[i + 1]), // without the heading
    html('</template>\n'),
  ])
  const head = `<Exercise name="${exercise.name}" :hints="${starts.length}"${runs(mine(exercise))}>\n`
  return [...tokens.slice(0, starts[0]), html(head), ...slots, html('</Exercise>\n')]
}

/** **transpose**, `transpose` and `./learn exercise 02/transpose` in the section "Exercises"; in "Build it" the last one
 *  alone, as its other words are not names. */
function linkNames({ tokens, Token }, page) {
  const chapter = page.match(/^docs\/(\d\d)_/)?.[1]
  const of = (word) => chapter && exercises().find(({ name }) => name === word || name === `${chapter}/${word}`)
  let inside = ''
  for (const [i, token] of tokens.entries()) {
    if (token.type === 'heading_open') inside = tokens[i + 1].content
    if (!['Exercises', 'Build it'].includes(inside) || !token.children) continue
    const tag = (content) => Object.assign(new Token('html_inline', '', 0), { content })
    token.children = token.children.flatMap((child) => {
      const command = './learn exercise ', isNamed = inside === 'Exercises' || child.content.startsWith(command)
      const found = isNamed && ['text', 'code_inline'].includes(child.type) && of(child.content.replace(command, ''))
      return found ? [tag(`<ExerciseLink name="${found.name}">`), child, tag('</ExerciseLink>')] : [child]
    })
  }
}
