// A page for each source file that the site shows, and for each folder of them: no more than its lines, numbered, in the
// colours that the reader has chosen.
import fs from 'node:fs'
import path from 'node:path'
import { fileLines, html } from '../markdown/highlight.js'
import { address, BASE, sources } from '../project.js'

const link = (file, text) => `<a href="${BASE}${address(file)}">${text}</a>`

function trail(file) {
  const { folders } = sources()
  const parts = file.split('/')
  return parts.map((part, i) => {
    const folder = parts.slice(0, i + 1).join('/')
    return i < parts.length - 1 && folders.includes(folder) ? link(folder, part) : part
  }).join(' / ')
}

function rows(file) {
  const lines = fileLines(file).map((line, n) => `<span class="row" id="L${n + 1}" data-n="${n + 1}">${html(line)}\n</span>`)
  return `<pre tabindex="0"><code>${lines.join('')}</code></pre>`
}

function list(folder) {
  const { files, folders } = sources()
  const inside = [...folders, ...files].filter((each) => path.posix.dirname(each) === folder)
  return `<ul>${inside.map((each) => `<li>${link(each, path.posix.basename(each))}</li>`).join('')}</ul>`
}

export function writeSources(outDir) {
  // VitePress's page for a wrong address has the head that all have; its scripts would show that page.
  const [head] = fs.readFileSync(path.join(outDir, '404.html'), 'utf8').split('<body>')
  const frame = head.replace(/<script type="module".*?<\/script>|<link rel="modulepreload".*?>/g, '')
  const write = (file, content) => {
    const to = path.join(outDir, address(file).replace(/\/$/, '/index.html'))
    const page = frame.replace(/<title>.*?<\/title>/, `<title>${file}</title>`)
    const home = `<p><a href="${BASE}">CUDA kernels, step by step</a></p>`
    fs.mkdirSync(path.dirname(to), { recursive: true })
    fs.writeFileSync(to, `${page}<body><main class="vp-doc source">${home}<h1>${trail(file)}</h1>${content}</main></body></html>\n`)
  }
  const { files, folders } = sources()
  for (const file of files) write(file, rows(file))
  for (const folder of folders) write(folder, list(folder))
}
