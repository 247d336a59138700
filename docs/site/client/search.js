// The search: type, choose with the arrow keys, Enter goes there, Escape closes.
import MiniSearch from 'minisearch'
import { SEARCH } from './search_options.js'
import { load, site } from './site.js'

const MOST = 12
const dialog = document.createElement('dialog')
dialog.className = 'search'
dialog.setAttribute('aria-label', 'Search')
dialog.innerHTML =
  '<input type="search" role="combobox" aria-expanded="true" aria-controls="found" aria-label="Search all pages" placeholder="Search all pages" autocomplete="off" spellcheck="false">' +
  '<ul id="found" role="listbox" aria-label="Found"></ul><p role="status"></p>'
document.body.append(dialog)
const [input, list, status] = dialog.children
let index
let chosen = 0

function choose(number) {
  const options = [...list.children]
  if (!options.length) return input.removeAttribute('aria-activedescendant')
  chosen = (number + options.length) % options.length
  options.forEach((option, i) => option.setAttribute('aria-selected', String(i === chosen)))
  options[chosen].scrollIntoView({ block: 'nearest' })
  input.setAttribute('aria-activedescendant', options[chosen].id)
}

function option({ id, title, page }, number) {
  const item = Object.assign(document.createElement('li'), { id: `found-${number}`, role: 'option' })
  const link = Object.assign(document.createElement('a'), { href: site(id), textContent: title, tabIndex: -1 })
  if (page) link.append(Object.assign(document.createElement('small'), { textContent: page }))
  link.addEventListener('click', () => dialog.close())
  item.append(link)
  return item
}

function find() {
  const words = input.value.trim()
  if (!index || !words) {
    list.replaceChildren()
    status.textContent = ''
    return
  }
  const found = index.search(words)
  list.replaceChildren(...found.slice(0, MOST).map(option))
  status.textContent = found.length ? `${found.length} found${found.length > MOST ? `, the best ${MOST} shown` : ''}` : `Nothing about “${words}”.`
  choose(0)
}

input.addEventListener('input', find)
input.addEventListener('keydown', (event) => {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  if (by) choose(chosen + by)
  else if (event.key === 'Escape') dialog.close() // a search field would only be emptied
  else if (event.key === 'Enter') list.children[chosen]?.querySelector('a').click()
  else return
  event.preventDefault()
})
dialog.addEventListener('click', (event) => event.target === dialog && dialog.close())

export async function open() {
  if (dialog.open) return
  dialog.showModal()
  input.select()
  if (index) return
  try {
    index = await MiniSearch.loadJSONAsync(await (await load(site('search.json'))).text(), SEARCH)
    find()
  } catch (error) {
    status.textContent = error.message
  }
}
