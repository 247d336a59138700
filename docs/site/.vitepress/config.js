// The site: VitePress, with its own theme, over the repository's own Markdown, which a code host goes on showing as it is.
import path from 'node:path'
import { defineConfig } from 'vitepress'
import { slug } from '../markdown/anchors.js'
import { comments } from '../markdown/comments.js'
import { exercisePages } from '../markdown/exercises.js'
import { highlight } from '../markdown/highlight.js'
import { links } from '../markdown/links.js'
import { math } from '../markdown/math.js'
import { programs } from '../markdown/programs.js'
import { stepSections } from '../markdown/step_sections.js'
import { writeBrowserFiles } from '../build/browser_files.js'
import { writeExercises } from '../build/exercises.js'
import { writeMachineCode } from '../build/machine_code.js'
import { writeMistakes } from '../build/mistakes.js'
import { withPolicy } from '../build/policy.js'
import { writeSources } from '../build/sources.js'
import { hasSteps, writeSteps } from '../build/steps.js'
import { copyTraces } from '../build/traces.js'
import { BASE, pageName, ROOT } from '../project.js'
import { sidebar } from '../sidebar.js'

export default defineConfig({
  title: 'CUDA kernels, step by step',
  description: 'From matrix product to flash attention, in CUDA C++',
  lang: 'en',
  base: BASE,
  srcDir: ROOT,
  srcExclude: ['build/**', 'broken/**', '.*/**'],
  outDir: process.env.SITE_OUT || path.join(ROOT, 'build/site'),
  cacheDir: path.join(ROOT, 'build/site_cache'),
  rewrites: pageName,
  metaChunk: true, // else every page holds the names of all
  router: { prefetchLinks: false }, // a page links to most others
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  markdown: {
    highlight,
    anchor: { slugify: slug },
    attrs: { disable: true },
    config(markdown) {
      math(markdown)
      links(markdown)
      stepSections(markdown)
      programs(markdown)
      exercisePages(markdown)
      comments(markdown)
    },
  },
  vite: {
    // Every picture stays a file: what is written into a page is loaded with it.
    build: { assetsInlineLimit: 0 },
    publicDir: false,
    worker: { format: 'es', rollupOptions: { output: { entryFileNames: 'assets/[name].[hash].js' } } },
    // The pages lie outside of this folder, where Node would not look for Vue.
    resolve: { alias: [{ find: /^vue(?=$|\/)/, replacement: path.join(ROOT, 'docs/site/node_modules/vue') }] },
  },
  themeConfig: {
    sidebar: sidebar(),
    outline: [2, 3],
    search: { provider: 'local', options: { miniSearch: { searchOptions: { combineWith: 'AND' } } } },
  },
  transformPageData: ({ relativePath }) => (hasSteps(relativePath) ? { frontmatter: { aside: false, pageClass: 'with-code' } } : {}),
  transformHtml: withPolicy,
  buildEnd({ outDir }) {
    writeSources(outDir)
    writeSteps(outDir)
    writeMachineCode(outDir)
    writeExercises(outDir)
    copyTraces(outDir)
    writeMistakes(outDir)
    writeBrowserFiles(outDir)
  },
})
