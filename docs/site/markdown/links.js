// Links and pictures of the repository, as the site has them: pages, sources with highlighting, pictures with their size.
import path from 'node:path'
import { address, BASE, exists, ROOT, sources, target, text } from '../project.js'

/** Where a page's text stands in the repository; VitePress renames a README to index. */
export const pageOf = (env) => path.relative(ROOT, env.path).replace(/(^|\/)index\.md$/, '$1README.md')

function follow(page, href) {
  const found = target(page, href)
  if (!found || !found.file || href.startsWith('#')) return href
  const { files, folders } = sources()
  const { file, anchor } = found
  if (!exists(file)) throw new Error(`${page} links to ${href}, and there is no such file`)
  if (!file.endsWith('.md') && !files.includes(file) && !folders.includes(file)) {
    throw new Error(`${page} links to ${href}, which the site cannot show: add its kind to TEXT in docs/site/project.js`)
  }
  return `/${address(file)}${anchor && `#${anchor}`}`
}

/** A drawing's size, so that the page keeps the place for it. */
function size(page, href) {
  const found = target(page, href)
  if (!found?.file.endsWith('.svg') || !exists(found.file)) return []
  const [, width, height] = text(found.file).match(/<svg[^>]* width="([\d.]+)" height="([\d.]+)"/) ?? []
  return width ? [['width', width], ['height', height]] : []
}

export function links(markdown) {
  markdown.core.ruler.push('repository_links', ({ tokens, env }) => {
    if (!env.path) return
    const page = pageOf(env)
    for (const token of tokens.flatMap((each) => each.children ?? [])) {
      const href = token.attrGet('href')
      if (token.type === 'link_open') {
        const to = follow(page, href)
        token.attrSet('href', to)
        if (to.startsWith('/source/')) { // no page of VitePress's: the browser itself has to go there
          token.attrSet('href', BASE + to.slice(1))
          token.attrSet('target', '_self')
        }
      }
      if (token.type === 'image') {
        token.attrs.push(...size(page, token.attrGet('src')), ['loading', 'lazy'], ['decoding', 'async'])
      }
    }
  })
}
