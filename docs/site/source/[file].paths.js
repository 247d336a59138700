// A page for each source file that the site shows, and for each folder of them.
import path from 'node:path'
import { sourcePlace } from '../markdown/highlight.js'
import { sources } from '../project.js'

function trail(file) {
  const { folders } = sources()
  const parts = file.split('/')
  return parts.map((part, i) => {
    const folder = parts.slice(0, i + 1).join('/')
    return i < parts.length - 1 && folders.includes(folder) ? `[${part}](/source/${folder}/)` : part
  }).join(' / ')
}

const front = (title) => `---\ntitle: ${JSON.stringify(title)}\nsearch: false\noutline: false\npageClass: source\n---\n\n`

const filePage = (file) => ({ params: { file }, content: `${front(file)}# ${trail(file)}\n\n${sourcePlace(file)}\n` })

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
