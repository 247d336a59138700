// What must hold on every page: nothing fails, links lead somewhere, text fits a phone, formulas are typeset, and it is
// light enough. Of the sources' pages a few are opened, others each day, and of the rest the links are read. PAGES=all
// opens all.
import fs from 'node:fs'
import path from 'node:path'
import { pageName, pages, text } from '../project.js'
import { openTab, PHONE, WIDE } from './browser.js'

const MOST_BYTES = 600_000 // more than half of it is VitePress's and ours for all pages, loaded once
const TABS = 3
const EVERY = process.env.PAGES === 'all' ? 1 : 12 // how many pages of sources there are for one that is opened
const folder = process.env.SITE_DIR

export function addresses() {
  const found = fs.readdirSync(folder, { recursive: true }).filter((file) => file.endsWith('.html') && !/^(steps\/|404)/.test(file))
  return found.map((file) => `/${file.replace(/(^|\/)index\.html$/, '$1')}`).sort()
}

/** In the browser: what a page holds, and text that is cut off or makes the page wider than the screen. */
function inspect() {
  const scrolls = (element) => {
    for (let up = element; up && up !== document.body; up = up.parentElement) {
      if (['auto', 'scroll'].includes(getComputedStyle(up).overflowX)) return true
    }
    return false
  }
  const named = (element) => `<${element.tagName.toLowerCase()}> “${element.textContent.trim().slice(0, 40)}”`
  const wide = []
  for (const element of document.querySelectorAll('body *')) {
    if (!element.textContent.trim() || element.closest('.VPSkipLink, .katex-mathml')) continue
    const { right, width } = element.getBoundingClientRect()
    if (width && right > innerWidth + 1 && !scrolls(element)) wide.push(named(element))
  }
  const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT)
  const raw = []
  while (walker.nextNode()) {
    const { data, parentElement } = walker.currentNode
    if (parentElement.closest('code, pre, .katex')) continue
    if (/\$[^$]+\$|```|<!--|-->|\{\{/.test(data)) raw.push(data.trim().slice(0, 60))
  }
  return {
    wide,
    raw,
    scrollWidth: document.documentElement.scrollWidth,
    ids: [...document.querySelectorAll('[id]')].map(({ id }) => id),
    links: [...document.querySelectorAll('a[href]')].map(({ href }) => href),
    images: [...document.images].map(({ src, alt }) => ({ src, alt })),
    formulas: document.querySelectorAll('.math .katex-display').length,
    title: document.title,
    headings: document.querySelectorAll('h1').length,
    policy: document.querySelector('meta[http-equiv="Content-Security-Policy"]')?.content ?? '',
  }
}

/** How many blocks of mathematics the Markdown behind an address has. */
function wanted() {
  const counts = new Map()
  for (const page of pages()) {
    const address = `/${pageName(page).replace(/\.md$/, '.html').replace(/(^|\/)index\.html$/, '$1')}`
    counts.set(address, (text(page).match(/^ *```math$/gm) ?? []).length)
  }
  return counts
}

/** Of a page that is not opened: its links, and what they may lead to. */
function readMarkup(address) {
  const markup = fs.readFileSync(path.join(folder, address.replace(/\/$/, '/index.html')), 'utf8').replaceAll('&amp;', '&')
  const all = (pattern) => [...markup.matchAll(pattern)].map(([, value]) => value)
  const links = all(/<a [^>]*?href="([^"]*)"/g).map((link) => new URL(link, process.env.SITE_URL + address).href)
  return { ids: all(/ id="([^"]*)"/g), links, images: [] }
}

export async function everyPage(browser, fail) {
  const formulas = wanted()
  const all = addresses()
  for (const address of formulas.keys()) if (!all.includes(address)) fail(address, 'is not on the site')
  const day = Math.floor(Date.now() / 86_400_000)
  const sources = all.filter((address) => address.startsWith('/source/'))
  const passedOver = new Set(sources.filter((_, i) => (i + day) % EVERY))
  const seen = new Map([...passedOver].map((address) => [address, readMarkup(address)]))
  const queue = all.filter((address) => !passedOver.has(address))
  const opened = queue.length
  const weights = []

  async function work() {
    const { tab, problems, visit, weigh } = await openTab(browser, PHONE)
    for (let address = queue.shift(); address; address = queue.shift()) {
      await tab.setViewport(PHONE)
      // A page of a source has nothing that comes later.
      await visit(address, address.startsWith('/source/') ? 'load' : 'networkidle0')
      const found = await tab.evaluate(inspect)
      seen.set(address, found)
      for (const each of found.wide.slice(0, 3)) fail(address, `is wider than a phone at ${each}`)
      if (found.scrollWidth > PHONE.width) fail(address, `scrolls sideways on a phone: ${found.scrollWidth} pixels`)
      for (const each of found.raw) fail(address, `shows what should have been rendered: ${each}`)
      // What a page loads against it stands in the console, which is among the problems.
      if (!found.policy.startsWith("default-src 'self'")) fail(address, 'has no Content-Security-Policy')
      if (found.headings !== 1) fail(address, `has ${found.headings} headings of the first level`)
      if (formulas.has(address) && found.formulas !== formulas.get(address)) {
        fail(address, `has ${found.formulas} typeset blocks of mathematics, and its Markdown ${formulas.get(address)}`)
      }
      if (formulas.has(address)) {
        await tab.setViewport(WIDE) // with what a wide screen loads besides
        await tab.waitForNetworkIdle()
        weights.push({ address, ...weigh() })
      }
      for (const each of problems) fail(address, each)
    }
    await tab.close()
  }
  await Promise.all(Array.from({ length: TABS }, work))

  for (const [address, { links, images }] of seen) {
    for (const { src, alt } of images) {
      if (!fs.existsSync(path.join(folder, decodeURI(new URL(src).pathname)))) fail(address, `has no picture ${src}`)
      if (!alt) fail(address, `has a picture without a text: ${src}`)
    }
    for (const link of new Set(links)) {
      const { origin, pathname, hash } = new URL(link)
      if (origin !== process.env.SITE_URL) continue
      const target = seen.get(decodeURI(pathname))
      if (!target) fail(address, `has a dead link: ${link}`)
      else if (hash && !target.ids.includes(decodeURIComponent(hash.slice(1)))) fail(address, `links to an anchor that is not there: ${link}`)
    }
  }
  for (const { address, plain } of weights) if (plain > MOST_BYTES) fail(address, `weighs ${plain} bytes without its pictures; ${MOST_BYTES} at most`)
  weights.sort((a, b) => b.plain - a.plain)
  const [heaviest] = weights
  return `${opened} of ${all.length} pages; the heaviest, ${heaviest.address}, has ${heaviest.plain} bytes before pictures (${heaviest.gzip} compressed)`
}
