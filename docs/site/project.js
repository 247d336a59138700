// The repository's files as the site sees them: which are pages, which are shown as sources, and where each stands.
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

// Where the site is published. The README's first screen shows it, and while it is empty the command instead.
export const ADDRESS = ''
export const BASE = process.env.SITE_BASE || '/' // where on its host the site begins
export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..')
// Folders that hold nothing to read, and those of a reader's own work.
const SKIPPED = /^(\..*|build|broken|node_modules|__pycache__|figures|site)$/
const TEXT = /\.(cu|cuh|cpp|hpp|h|py|sh|txt|csv|cmake|json)$|^(LICENSE|learn)$/
const LONGEST = 130_000 // bytes; a longer file is data, and a page of it would be slow

/** A page's or a source's address below the site's base, as `a/b.html`; a folder's ends in `/`. */
export function address(file) {
  const folder = fs.statSync(path.join(ROOT, file)).isDirectory()
  const shown = file.replace(/(^|\/)\./g, '$1') // servers hide names that begin with a dot
  if (folder) return `source/${shown}/`
  return file.endsWith('.md') ? pageName(file).replace(/\.md$/, '.html').replace(/index\.html$/, '') : `source/${shown}.html`
}

/** The Markdown file that VitePress is to see in a page's place: a README is its folder's index. */
export const pageName = (file) => file.replace(/(^|\/)README\.md$/, '$1index.md')

function walk(folder, wanted) {
  return fs.readdirSync(path.join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const file = path.posix.join(folder, entry.name)
    if (entry.isDirectory()) return SKIPPED.test(entry.name) ? [] : walk(file, wanted)
    return wanted(entry.name, file) ? [file] : []
  }).sort()
}

export const pages = () => walk('.', (name) => name.endsWith('.md'))
export const text = (file) => fs.readFileSync(path.join(ROOT, file), 'utf8')
/** What a figure steps through; ./learn docs has recorded it, or could not. */
export const recording = (name) => `build/traces/${name}.json`
export const exists = (file) => fs.existsSync(path.join(ROOT, file))

/** A page's first heading, without marks. */
export const title = (page) => (text(page).match(/^# +(.*)$/m)?.[1] ?? page).replace(/[`*]/g, '')

/** What a page links to, as (path in the repository, anchor); no web addresses. */
export function target(page, href) {
  if (/^([a-z]+:|\/\/)/i.test(href)) return null
  const [file, anchor = ''] = decodeURI(href).split('#')
  return { file: file ? path.posix.normalize(path.posix.join(path.posix.dirname(page), file)).replace(/\/$/, '') : page, anchor }
}

let known
/** The source files and folders that have a page: the chapters, and all that a page links to. */
export function sources() {
  if (known) return known
  const isText = (name, file) => TEXT.test(name) && fs.statSync(path.join(ROOT, file)).size < LONGEST
  const files = new Set(chapters().flatMap((folder) => walk(folder, isText)))
  const folders = new Set(chapters())
  for (const page of pages()) {
    for (const [, href] of text(page).matchAll(/\]\(([^)\s]+)\)/g)) {
      const { file } = target(page, href) ?? {}
      if (!file || !exists(file) || /\.(md|svg)$/.test(file)) continue
      if (!fs.statSync(path.join(ROOT, file)).isDirectory()) files.add(file)
      else {
        folders.add(file)
        for (const each of walk(file, isText)) files.add(each)
      }
    }
  }
  for (const file of files) {
    for (let up = path.posix.dirname(file); [...folders].some((top) => up.startsWith(top)); up = path.posix.dirname(up)) folders.add(up)
  }
  known = { files: [...files].sort(), folders: [...folders].sort() }
  return known
}

export const chapters = () => fs.readdirSync(ROOT).filter((name) => /^\d\d_/.test(name)).sort()
