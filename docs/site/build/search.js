// The index that the search reads: a document for each section of each page, sources left out.
import fs from 'node:fs'
import path from 'node:path'
import MiniSearch from 'minisearch'
import { SEARCH } from '../client/search_options.js'

const sections = new Map()
const ENTITIES = { '&lt;': '<', '&gt;': '>', '&amp;': '&', '&quot;': '"', '&#39;': "'" }

const plain = (html) =>
  html
    .replace(/<annotation[\s\S]*?<\/annotation>|<a class="header-anchor[\s\S]*?<\/a>/g, ' ')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&(lt|gt|amp|quot|#39);/g, (entity) => ENTITIES[entity])
    .replace(/\s+/g, ' ')
    .trim()

/** Takes the text of a page that VitePress has rendered. */
export function searchable(page, title, content) {
  if (page.startsWith('source/') || page === '404.md') return
  const text = content.match(/<main[^>]*>([\s\S]*)<\/main>/)[1].replace(/<nav[\s\S]*?<\/nav>/g, '')
  const address = page.replace(/\.md$/, '.html').replace(/(^|\/)index\.html$/, '$1')
  const found = []
  const parts = text.split(/<(h[1-6]) id="([^"]*)"[^>]*>([\s\S]*?)<\/\1>/)
  for (let i = 1; i < parts.length; i += 4) {
    const [level, anchor, heading, body] = parts.slice(i, i + 4)
    found.push({
      id: level === 'h1' ? address : `${address}#${anchor}`,
      title: plain(heading),
      page: level === 'h1' ? '' : title.replace(/ \| [^|]*$/, ''),
      text: plain(body),
    })
  }
  sections.set(page, found)
}

export async function writeIndex(outDir) {
  const index = new MiniSearch(SEARCH)
  index.addAll([...sections.values()].flat())
  fs.writeFileSync(path.join(outDir, 'search.json'), JSON.stringify(index))
}
