// What a reader does without a mouse, where it is ours: what the search finds, the code beside the prose.
import fs from 'node:fs'
import { text } from '../project.js'
import { openTab, PHONE, WIDE } from './browser.js'

const PAGE = '/docs/02_tiled_matmul.html'

async function search(browser, fail) {
  const { tab, problems, visit } = await openTab(browser, WIDE)
  await visit('/')
  await tab.keyboard.press('/')
  await tab.waitForSelector('.VPLocalSearchBox')
  await tab.keyboard.type('bank conflict')
  await tab.waitForSelector('.VPLocalSearchBox .result.selected')
  const found = await tab.$$eval('.VPLocalSearchBox .result', (each) => each.map(({ href }) => new URL(href).pathname + new URL(href).hash))
  const entry = '/docs/glossary.html#bank-conflict'
  if (!found.includes(entry)) fail('/', `the search for "bank conflict" finds ${found.join(', ')}, and not the glossary's entry`)
  for (let i = 0; i < found.indexOf(entry); ++i) await tab.keyboard.press('ArrowDown')
  await tab.keyboard.press('Enter')
  await tab.waitForSelector('#bank-conflict')
  if (!tab.url().endsWith(entry)) fail('/', `Enter in the search leads to ${tab.url()}`)
  for (const each of problems) fail('/', each)
  await tab.close()
}

/** The lines of the step's panel that can be seen, with their marks. */
const rows = (panel) =>
  panel.$$eval('.row', (found) => found.filter((row) => row.getClientRects().length).map((row) => [row.classList[1], row.textContent.replace(/\n$/, '')]))

/** The panel below the code, if the step is as it was recorded: closed and not loaded before anybody asks, and then the record. */
async function machineCode(tab, panel, step, fail) {
  const inside = await panel.$('.machine-code')
  const isRecorded = fs.existsSync(`${process.env.SITE_DIR}/steps/${step}.sass.html`)
  if (!inside === isRecorded) fail(PAGE, isRecorded ? `has no machine code of ${step}` : `has machine code of another ${step}`)
  if (!inside) return
  if (await inside.evaluate((each) => each.open || each.querySelector('pre'))) fail(PAGE, 'the machine code is there before anybody asks')
  await (await inside.$('summary')).focus()
  await tab.keyboard.press('Enter')
  const shown = await (await tab.waitForSelector(`.step-code[data-step="${step}"] .machine-code pre`)).evaluate(({ textContent }) => textContent)
  const record = text(`docs/results/sass/${step.replace(/\.cu$/, '.txt')}`)
  if (!/ LDS\.128 /.test(shown) || !record.includes(shown)) fail(PAGE, `does not show the machine code of ${step} that is recorded`)
}

async function code(browser, fail) {
  const { tab, problems, visit } = await openTab(browser, WIDE)
  await visit(PAGE)
  const step = '02_tiled_matmul/step2_register_tile.cu'
  const panel = await tab.$(`.step-code[data-step="${step}"]`)
  if (!(await panel.evaluate((each) => each.open))) fail(PAGE, 'the code is not open beside the prose of a wide screen')
  await panel.scrollIntoView()
  await tab.waitForSelector(`.step-code[data-step="${step}"] .row`)
  const beside = await panel.evaluate((each) => each.getBoundingClientRect().left >= each.parentElement.querySelector('.prose').getBoundingClientRect().right)
  if (!beside) fail(PAGE, 'the code does not stand beside the prose of a wide screen')
  const file = (await rows(panel)).map(([, line]) => line).join('\n')
  if (file !== text(step).replace(/\n$/, '')) fail(PAGE, `the panel does not show ${step} as it is`)

  await (await panel.$('input')).focus()
  await tab.keyboard.press('ArrowRight')
  const changed = await rows(panel)
  const old = changed.filter(([kind]) => kind === 'old').map(([, line]) => line)
  const before = text('02_tiled_matmul/step1_shared_tile.cu').split('\n')
  if (!old.length || !old.every((line) => before.includes(line))) fail(PAGE, 'what the changes show as removed is not in the step before')
  const kept = changed.filter(([kind]) => kind !== 'old').map(([, line]) => line)
  if (!changed.some(([kind]) => kind === 'new') || !kept.every((line) => text(step).split('\n').includes(line))) fail(PAGE, 'the changes do not show what is new in the step')
  if (changed.length >= file.split('\n').length + old.length) fail(PAGE, 'the changes leave nothing out')

  await machineCode(tab, panel, step, fail)
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
  await tab.waitForSelector('.step-code .row')
  if ((await tab.evaluate(() => document.documentElement.scrollWidth)) > PHONE.width) fail(PAGE, 'scrolls sideways on a phone when the code is open')
  for (const each of problems) fail(PAGE, each)
  await tab.close()
}

export async function keyboard(browser, fail) {
  await search(browser, fail)
  await code(browser, fail)
  return 'search, code and machine code beside the prose'
}
