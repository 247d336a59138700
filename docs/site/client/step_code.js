// The code of a step beside its prose: opened where there is room, loaded when it comes near, with a tab for the
// difference to the step before.
import { load, site } from './site.js'

const KEY = 'step-code' // 'closed' once the reader has closed it on a wide screen
const panels = [...document.querySelectorAll('.step-code')]
const wide = matchMedia('(min-width: 80rem)')

let running = {} // the file and line of which a figure says that it runs in its recording

function markRunning(panel) {
  panel.querySelector('.runs')?.classList.remove('runs')
  const row = panel.dataset.step === running.file && panel.querySelector(`.row[data-n="${running.line}"]`)
  if (!row) return
  row.classList.add('runs')
  const pre = row.closest('pre')
  pre.scrollTop += row.getBoundingClientRect().top - pre.getBoundingClientRect().top - pre.clientHeight / 2
}

document.addEventListener('line-runs', ({ detail }) => {
  running = detail
  panels.forEach(markRunning)
})

function tabs(panel, body, fragment) {
  const { step } = panel.dataset
  const views = 'before' in panel.dataset ? { file: 'File', difference: 'Changes' } : { file: 'File' }
  const id = step.replace(/\W/g, '-')
  const list = Object.entries(views).map(
    ([view, text]) => `<button role="tab" id="${id}-${view}" data-view="${view}" aria-controls="${id}">${text}</button>`)
  const link = body.querySelector('a')
  link.textContent = 'As a page'
  body.innerHTML = `<div role="tablist" aria-label="Code of this step">${list.join('')}</div>` +
    `<div role="tabpanel" id="${id}">${fragment}</div>`
  body.firstChild.append(link)
  const [bar, view] = body.children
  const buttons = [...bar.querySelectorAll('button')]
  const pre = Object.assign(view.querySelector('pre'), { tabIndex: 0 })
  pre.setAttribute('aria-label', `${step}, scrolls`)
  pre.setAttribute('role', 'region')

  function choose(button) {
    view.dataset.view = button.dataset.view
    view.setAttribute('aria-labelledby', button.id)
    pre.scrollTop = 0
    for (const each of buttons) {
      each.setAttribute('aria-selected', String(each === button))
      each.tabIndex = each === button ? 0 : -1
    }
  }
  for (const button of buttons) button.addEventListener('click', () => choose(button))
  bar.addEventListener('keydown', (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    const at = buttons.indexOf(document.activeElement)
    if (!by || at < 0) return
    const next = buttons[(at + by + buttons.length) % buttons.length]
    choose(next)
    next.focus()
  })
  choose(buttons[0])
}

async function fill(panel) {
  if (!panel.open || panel.dataset.near === undefined || panel.dataset.filled !== undefined) return
  panel.dataset.filled = ''
  const body = panel.querySelector('.step-code-body')
  try {
    tabs(panel, body, await (await load(site(`steps/${panel.dataset.step}.html`))).text())
    markRunning(panel)
  } catch (error) {
    delete panel.dataset.filled // opening it again tries again
    body.prepend(Object.assign(document.createElement('p'), { textContent: error.message }))
  }
}

const near = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue
    target.dataset.near = ''
    near.unobserve(target)
    fill(target)
  }
}, { rootMargin: '600px' })

const openAll = (open) => panels.forEach((panel) => (panel.open = open))

for (const panel of panels) {
  near.observe(panel)
  panel.addEventListener('toggle', () => fill(panel))
  panel.querySelector('summary').addEventListener('click', () => {
    if (!wide.matches) return
    // On a wide screen one reader's choice is for all steps: `open` changes after this event.
    const open = !panel.open
    localStorage.setItem(KEY, open ? 'open' : 'closed')
    for (const other of panels) if (other !== panel) other.open = open
  })
}
const settle = () => openAll(wide.matches && localStorage.getItem(KEY) !== 'closed')
wide.addEventListener('change', settle)
settle()
