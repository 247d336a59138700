// What a reader does without a mouse: dark mode, the search, the list of pages, the code beside the prose.
import { text } from '../project.js'
import { openTab, PHONE, WIDE } from './browser.js'

const PAGE = '/docs/02_tiled_matmul.html'

export async function tabTo(tab, selector, most = 60) {
  for (let i = 0; i < most; ++i) {
    await tab.keyboard.press('Tab')
    if (await tab.evaluate((wanted) => document.activeElement.matches(wanted), selector)) return true
  }
  return false
}

const paper = (tab) => tab.evaluate(() => getComputedStyle(document.body).backgroundColor)
const isDark = (tab) => tab.evaluate(() => document.documentElement.classList.contains('dark'))

async function dark(browser, fail) {
  const { tab, problems, visit } = await openTab(browser, WIDE)
  await visit(PAGE)
  const light = await paper(tab)
  if (!(await tabTo(tab, '.dark-switch'))) return fail(PAGE, 'the Tab key does not reach the switch for dark mode')
  await tab.keyboard.press('Space')
  const after = await paper(tab)
  if (!(await isDark(tab)) || after === light) fail(PAGE, 'the space bar does not switch to dark')
  await visit('/docs/glossary.html')
  if (!(await isDark(tab)) || (await paper(tab)) !== after) fail('/docs/glossary.html', 'does not stay dark')
  if ((await tab.$eval('.dark-switch', (each) => each.getAttribute('aria-checked'))) !== 'true') fail(PAGE, 'the switch does not say that it is on')
  await tab.click('.dark-switch')
  if (await isDark(tab)) fail('/docs/glossary.html', 'a click does not switch back to light')
  for (const each of problems) fail(PAGE, each)
  await tab.close()
}

async function search(browser, fail) {
  const { tab, problems, visit } = await openTab(browser, WIDE)
  await visit('/')
  await tab.keyboard.press('/')
  await tab.waitForSelector('dialog.search[open]')
  await tab.keyboard.type('bank conflict')
  await tab.waitForSelector('.search [role=option][aria-selected=true]')
  const titles = await tab.$$eval('.search [role=option] a', (found) => found.map((each) => each.firstChild.textContent))
  if (!titles.includes('bank conflict')) fail('/', `the search for "bank conflict" finds ${titles.join(', ')}, and not the glossary's entry`)
  for (let i = 0; i < titles.indexOf('bank conflict'); ++i) await tab.keyboard.press('ArrowDown')
  await Promise.all([tab.waitForNavigation(), tab.keyboard.press('Enter')])
  if (!tab.url().endsWith('/docs/glossary.html#bank-conflict')) fail('/', `Enter in the search leads to ${tab.url()}`)
  await tab.keyboard.down('Control')
  await tab.keyboard.press('k')
  await tab.keyboard.up('Control')
  await tab.waitForSelector('dialog.search[open]')
  await tab.keyboard.type('zzqqxx')
  await tab.waitForFunction(() => document.querySelector('.search [role=status]').textContent.includes('zzqqxx'))
  await tab.keyboard.press('Escape')
  if (await tab.$('dialog.search[open]')) fail('/', 'Escape does not close the search')
  for (const each of problems) fail('/', each)
  await tab.close()
}

async function menu(browser, fail) {
  const { tab, problems, visit } = await openTab(browser, PHONE)
  await visit(PAGE)
  const shown = () => tab.$eval('#menu', (each) => each.getClientRects().length > 0)
  if (await shown()) fail(PAGE, 'the list of pages covers a phone')
  await tab.focus('.menu-button')
  await tab.keyboard.press('Enter')
  if (!(await shown())) fail(PAGE, 'Enter on "Pages" does not show them')
  await tab.keyboard.press('Escape')
  if (await shown()) fail(PAGE, 'Escape does not hide the list of pages')
  for (const each of problems) fail(PAGE, each)
  await tab.close()
}

/** The lines of the step's panel that can be seen, with their marks. */
const rows = (panel) =>
  panel.$$eval('.row', (found) => found.filter((row) => row.getClientRects().length).map((row) => [row.classList[1], row.textContent.replace(/\n$/, '')]))

async function code(browser, fail) {
  const { tab, problems, visit } = await openTab(browser, WIDE)
  await visit(PAGE)
  const step = '02_tiled_matmul/step2_register_tile.cu'
  const panel = await tab.$(`.step-code[data-step="${step}"]`)
  if (!(await panel.evaluate((each) => each.open))) fail(PAGE, 'the code is not open beside the prose of a wide screen')
  await panel.scrollIntoView()
  await tab.waitForSelector(`.step-code[data-step="${step}"] [role=tab]`)
  const beside = await panel.evaluate((each) => each.getBoundingClientRect().left >= each.parentElement.querySelector('.prose').getBoundingClientRect().right)
  if (!beside) fail(PAGE, 'the code does not stand beside the prose of a wide screen')
  const file = (await rows(panel)).map(([, line]) => line).join('\n')
  if (file !== text(step).replace(/\n$/, '')) fail(PAGE, `the panel does not show ${step} as it is`)

  await (await panel.$('[role=tab]')).focus()
  await tab.keyboard.press('ArrowRight')
  const changed = await rows(panel)
  const old = changed.filter(([kind]) => kind === 'old').map(([, line]) => line)
  const before = text('02_tiled_matmul/step1_shared_tile.cu').split('\n')
  if (!old.length || !old.every((line) => before.includes(line))) fail(PAGE, 'what the changes show as removed is not in the step before')
  const kept = changed.filter(([kind]) => kind !== 'old').map(([, line]) => line)
  if (!changed.some(([kind]) => kind === 'new') || !kept.every((line) => text(step).split('\n').includes(line))) fail(PAGE, 'the changes do not show what is new in the step')
  if (changed.length >= file.split('\n').length + old.length) fail(PAGE, 'the changes leave nothing out')

  await (await panel.$('summary')).focus()
  await tab.keyboard.press('Enter')
  if (await panel.evaluate((each) => each.open)) fail(PAGE, 'Enter does not close the code')
  await tab.setViewport(PHONE)
  await tab.evaluate(() => localStorage.clear())
  await visit(PAGE)
  const first = await tab.$('.step-code')
  if (await first.evaluate((each) => each.open)) fail(PAGE, 'the code is open on a phone before anybody asks')
  await (await first.$('summary')).focus()
  await tab.keyboard.press('Enter')
  await tab.waitForSelector('.step-code [role=tabpanel] .row')
  if ((await tab.evaluate(() => document.documentElement.scrollWidth)) > PHONE.width) fail(PAGE, 'scrolls sideways on a phone when the code is open')
  for (const each of problems) fail(PAGE, each)
  await tab.close()
}

export async function keyboard(browser, fail) {
  await dark(browser, fail)
  await search(browser, fail)
  await menu(browser, fail)
  await code(browser, fail)
  return 'dark mode, search, list of pages, code beside the prose'
}
