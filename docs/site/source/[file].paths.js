// A page for each source file that the site shows, and for each folder of them.
import path from 'node:path'
import { sources, text } from '../project.js'

// More backticks than the file has in a row.
const fence = (code) => '`'.repeat(Math.max(3, ...[...code.matchAll(/`+/g)].map(([run]) => run.length + 1)))

function trail(file) {
  const { folders } = sources()
  const parts = file.split('/')
  return parts.map((part, i) => {
    const folder = parts.slice(0, i + 1).join('/')
    return i < parts.length - 1 && folders.includes(folder) ? `[${part}](/source/${folder}/)` : part
  }).join(' / ')
}

const front = (title) => `---\ntitle: ${JSON.stringify(title)}\nsearch: false\noutline: false\npageClass: source\n---\n\n`

function filePage(file) {
  const code = text(file)
  const mark = fence(code)
  return { params: { file }, content: `${front(file)}# ${trail(file)}\n\n${mark}source ${file}\n${code}${code.endsWith('\n') ? '' : '\n'}${mark}\n` }
}

function folderPage(folder) {
  const { files, folders } = sources()
  const inside = (each) => path.posix.dirname(each) === folder
  const list = [...folders.filter(inside).map((each) => `- [${path.posix.basename(each)}/](/source/${each}/)`),
    ...files.filter(inside).map((each) => `- [${path.posix.basename(each)}](/source/${each}.html)`)]
  return { params: { file: `${folder}/index` }, content: `${front(`${folder}/`)}# ${trail(folder)}\n\n${list.join('\n')}\n` }
}

export default {
  paths: () => [...sources().files.map(filePage), ...sources().folders.map(folderPage)],
}
