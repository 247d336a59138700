// Comments are for the project's own tools: the site leaves them out.
const COMMENT = /<!--[\s\S]*?-->/g

export function comments(markdown) {
  markdown.core.ruler.push('no_comments', ({ tokens }) => {
    for (const token of tokens.flatMap((each) => [each, ...(each.children ?? [])])) {
      if (token.type.startsWith('html_')) token.content = token.content.replace(COMMENT, '')
    }
  })
}
