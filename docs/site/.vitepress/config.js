// The site: VitePress over the repository's own Markdown, which a code host goes on showing as it is. Pages are plain
// HTML (`mpa`); the little that runs in the browser is in client/.
import path from 'node:path'
import { defineConfig } from 'vitepress'
import { slug } from '../markdown/anchors.js'
import { comments } from '../markdown/comments.js'
import { fillSource, highlight } from '../markdown/highlight.js'
import { links } from '../markdown/links.js'
import { math } from '../markdown/math.js'
import { stepSections } from '../markdown/step_sections.js'
import { buildClient } from '../build/client.js'
import { searchable, writeIndex } from '../build/search.js'
import { writeSteps } from '../build/steps.js'
import { copyTraces } from '../build/traces.js'
import { pageName, ROOT } from '../project.js'
import { sidebar } from '../sidebar.js'

const base = process.env.SITE_BASE || '/'

export default defineConfig({
  title: 'CUDA kernels, step by step',
  description: 'From matrix product to flash attention, in CUDA C++',
  lang: 'en',
  base,
  mpa: true,
  srcDir: ROOT,
  srcExclude: ['build/**', 'broken/**', '.*/**'],
  outDir: process.env.SITE_OUT || path.join(ROOT, 'build/site'),
  cacheDir: path.join(ROOT, 'build/site_cache'),
  rewrites: pageName,
  head: [
    ['link', { rel: 'icon', href: 'data:,' }],
    ['script', { type: 'module', src: `${base}client/main.js` }],
  ],
  markdown: {
    highlight,
    anchor: { slugify: slug },
    headers: { level: [2, 3], slugify: slug },
    attrs: { disable: true },
    config(markdown) {
      math(markdown)
      links(markdown)
      stepSections(markdown)
      comments(markdown)
    },
  },
  vite: {
    // Every picture stays a file: what is written into a page is loaded with it.
    build: { assetsInlineLimit: 0 },
    publicDir: false,
    // The pages lie outside of this folder, where Node would not look for Vue.
    resolve: { alias: [{ find: /^vue(?=$|\/)/, replacement: path.join(ROOT, 'docs/site/node_modules/vue') }] },
  },
  themeConfig: { sidebar: sidebar() },
  transformHtml: (html, _, { page, title, content }) => {
    searchable(page, title, content)
    // VitePress leaves the page for a wrong address to a script; and its own icons are not used.
    return fillSource(html)
      .replace('<div id="app"></div>', () => `<div id="app">${content}</div>`)
      .replace(/ *<link rel="preload stylesheet" href="[^"]*vp-icons.css" as="style">\n/, '')
  },
  async buildEnd({ outDir }) {
    await writeIndex(outDir)
    writeSteps(outDir)
    copyTraces(outDir)
    await buildClient(outDir)
  },
})
