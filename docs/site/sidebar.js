// The list of pages at the left: the chapters, then what docs/README.md lists after them, in its order.
import { address, pages, text, title } from './project.js'

const link = (page) => ({ text: title(page), link: `/${address(page)}` })

export function sidebar() {
  const listed = [...text('docs/README.md').matchAll(/^\| \[[^\]]+\]\(([^)]+\.md)\) \|/gm)].map(([, file]) => `docs/${file}`)
  const isChapter = (page) => /\/0\d_/.test(page)
  const rest = pages().filter((page) => !listed.includes(page))
  const notes = rest.filter((page) => page.startsWith('docs/notes/'))
  const exercises = rest.filter((page) => page.includes('/exercises/'))
  const others = rest.filter((page) => ![...notes, ...exercises, 'README.md', 'docs/README.md'].includes(page))
  return [
    { text: 'Chapters', items: listed.filter(isChapter).map(link) },
    { text: 'Beside them', items: ['docs/README.md', ...listed.filter((page) => !isChapter(page))].map(link) },
    { text: 'Exercises', collapsed: true, items: exercises.map(link) },
    { text: 'For the curious', collapsed: true, items: [...notes, ...others].map(link) },
  ]
}
