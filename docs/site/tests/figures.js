// Each figure, stepped by keyboard: what it shows is what stands in its recording.
import fs from 'node:fs'
import path from 'node:path'
import { pages, pageName, recording, ROOT, text } from '../project.js'
import { openTab, PHONE, WIDE } from './browser.js'

const MOST_STEPS = 60
const BANKS = 32

/** [{ name, address }] of the marks on the pages. */
const places = () =>
  pages().flatMap((page) => [...text(page).matchAll(/^<!-- trace (\w+) -->$/gm)].map(([, name]) => ({ name, address: `/${pageName(page).replace(/\.md$/, '.html')}` })))

function read(name) {
  const file = JSON.parse(fs.readFileSync(path.join(ROOT, recording(name)), 'utf8'))
  const list = (value) => (typeof value === 'number' ? file.lists[value] : value) ?? []
  const events = file.events.map((event) => ({ width: 1, ...event, lanes: list(event.lanes), elements: list(event.elements), values: list(event.values) }))
  return { ...file, events }
}

const touched = ({ elements, width }) => [...new Set(elements.flatMap((first) => Array.from({ length: width }, (_, k) => first + k)))].sort((a, b) => a - b)

/** Passes of a request of 4-byte lanes: the most words that one bank gives. */
function passes({ elements }, { offset_bytes: offset }) {
  const words = new Set(elements.map((element) => offset / 4 + element))
  return Math.max(...Array.from({ length: BANKS }, (_, bank) => [...words].filter((word) => word % BANKS === bank).length))
}

const shown = (tab) =>
  tab.$eval('.stepper', (figure) => ({
    at: Number(figure.dataset.at),
    sentence: figure.querySelector('.sentence').textContent,
    line: figure.querySelector('.lines .now a')?.textContent,
    arrays: Object.fromEntries([...figure.querySelectorAll('.matrix')].map((each) => [each.dataset.array, [...each.querySelectorAll('.now')].map((cell) => Number(cell.dataset.element)).sort((a, b) => a - b)])),
    passes: Number(figure.querySelector('.banks')?.dataset.passes ?? NaN),
    stored: Object.fromEntries([...figure.querySelectorAll('.stored tr')].map((row) => [row.dataset.array, [...row.querySelectorAll('td')].map((cell) => cell.textContent)])),
  }))

function compare(trace, at, found) {
  const event = trace.events[at]
  const wrong = []
  if (found.at !== at) wrong.push(`it stands at ${found.at}`)
  if (found.line !== String(event.line).split(':').pop()) wrong.push(`it marks line ${found.line}, and line ${event.line} runs`)
  for (const [name, cells] of Object.entries(found.arrays)) {
    const array = trace.arrays[event.array]
    const wanted = array?.name === name ? touched(event) : []
    if (cells.join() !== wanted.join()) wrong.push(`it marks ${name} at ${cells.join()}, and the trace says ${wanted.join()}`)
  }
  const array = trace.arrays[event.array]
  if (array?.space === 'shared' && array.element_bytes === 4 && event.width === 1 && found.passes !== passes(event, array)) {
    wrong.push(`it counts ${found.passes} passes, and there are ${passes(event, array)}`)
  }
  return wrong
}

/** What the last stores left in row 0 of an array. */
function finalRow(trace, name) {
  const number = trace.arrays.findIndex((array) => array.name === name)
  const { shape } = trace.arrays[number]
  const vector = shape.length === 1 || shape.at(-1) === 1 || shape.slice(0, -1).every((size) => size === 1)
  const values = Array(vector ? 1 : shape.at(-1)).fill(null)
  for (const event of trace.events) {
    if (event.array !== number) continue
    event.values.forEach((value, i) => {
      const element = event.elements[Math.floor(i / event.width)] + (i % event.width)
      if (element < values.length) values[element] = value
    })
  }
  return values
}

async function figure(browser, fail, { name, address }) {
  const say = (reason) => fail(`${address}, figure ${name}`, reason)
  if (!fs.existsSync(path.join(ROOT, recording(name)))) return say(`there is no ${recording(name)}`)
  const trace = read(name)
  const last = trace.events.length - 1
  const { tab, problems, visit } = await openTab(browser, WIDE)
  await visit(address)
  await tab.focus(`.trace[data-trace="${name}"] button`)
  await tab.keyboard.press('Enter')
  await tab.waitForSelector('.stepper')
  const check = async (at) => {
    const found = await shown(tab)
    for (const each of compare(trace, at, found)) say(`at request ${at + 1} ${each}`)
    return found
  }
  const first = await check(0)
  const most = Math.min(MOST_STEPS, last)
  for (let at = 1; at <= most; ++at) {
    await tab.keyboard.press('ArrowRight')
    await check(at)
  }
  for (let at = most - 1; at >= most - 3; --at) {
    await tab.keyboard.press('ArrowLeft')
    await check(at)
  }
  await tab.keyboard.press('End')
  const end = await check(last)
  for (const [array, cells] of Object.entries(end.stored)) {
    for (const [i, value] of finalRow(trace, array).slice(0, cells.length).entries()) {
      const close = value === null ? cells[i] === '·' : cells[i].startsWith('…') || Math.abs(Number(cells[i]) - value) <= 1e-3 * Math.abs(value) || cells[i] === String(value)
      if (!close) say(`at the end it shows ${cells[i]} in ${array}, and the trace stores ${value}`)
    }
  }
  await tab.keyboard.press('Home')
  const again = await check(0)
  if (JSON.stringify(again) !== JSON.stringify(first)) say('back at the first request it shows something else')
  await tab.keyboard.down('Shift')
  await tab.keyboard.press('ArrowRight')
  await tab.keyboard.up('Shift')
  const [from, to] = [trace.events[0], trace.events[(await shown(tab)).at]]
  if (from.line === to.line && from.warp === to.warp && from.block === to.block) say('Shift and an arrow key do not go to the next line or warp')
  // A reader's own recording: one that is none gets a sentence, and the figure stays.
  const choose = await tab.$('.stepper input[type=file]')
  await choose.uploadFile(path.join(ROOT, 'docs/site/package.json'))
  await tab.waitForSelector('.stepper .problem')
  await choose.uploadFile(path.join(ROOT, recording(name)))
  await tab.waitForFunction(() => !document.querySelector('.stepper .problem') && document.querySelector('.stepper').dataset.at === '0')
  await tab.setViewport(PHONE)
  const width = await tab.evaluate(() => document.documentElement.scrollWidth)
  if (width > PHONE.width) say(`it makes a phone scroll sideways: ${width} pixels`)
  for (const each of problems) say(each)
  await tab.close()
}

export async function figures(browser, fail) {
  const all = places()
  for (const each of all) await figure(browser, fail, each)
  return `${all.length} figures stepped`
}
