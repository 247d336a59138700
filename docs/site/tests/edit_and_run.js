// A step edited and run in the page, with fake_worker.js in the worker's place, over a host that serves files and nothing
// else. SITE_BASE is the path that the site was built for.
import fs from 'node:fs'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { mistakes } from '../build/mistakes.js'
import { text } from '../project.js'
import { openTab, PHONE, WIDE } from './browser.js'
import { serve } from './static.js'

const PAGE = 'docs/01_naive_matmul.html'
const STEP = '01_naive_matmul/step2_coalesced.cu'
const PROGRAMS = { page: 'docs/00_first_kernel.html', file: 'docs/first_kernel/first_kernel.cu' }
const TRY = { page: 'docs/try.html', file: 'docs/try/my.cu' }
const LATER = /Workbench|worker|\/browser\/|\.cu\.txt$/ // what nobody has asked for yet
const FAKE = [
  { pattern: /^assets\/worker\.[\w-]+\.js$/, body: fs.readFileSync(new URL('fake_worker.js', import.meta.url)) },
  { pattern: /^browser\/fake\.0123456789ab\.wasm\.packed$/, body: gzipSync(Buffer.alloc(100_000)) },
]

/** One step's editor, as a reader uses it. */
class Bench {
  constructor(tab, file) {
    Object.assign(this, { tab, file, root: `[data-run="${file}"]` })
  }
  async open() {
    const { tab, file, root } = this
    const isClosed = await tab.evaluate((name) => document.querySelector(`details[data-step="${name}"]`)?.open === false, file)
    if (isClosed) await tab.click(`details[data-step="${file}"] summary`)
    await tab.waitForSelector(`${root} button`, { visible: true })
    await tab.focus(`${root} button`)
    await tab.keyboard.press('Enter')
  }
  async opened() {
    await this.open()
    await this.tab.waitForSelector(`${this.root} .cm-content`)
  }
  $(selector, act) { return this.tab.$eval(`${this.root} ${selector}`, act) }
  all(selector, act, ...more) { return this.tab.$$eval(`${this.root} ${selector}`, act, ...more) }
  source() { return this.$('.cm-content', (element) => element.cmTile?.view?.state.doc.toString() ?? element.cmView.view.state.doc.toString()) }
  said() { return this.$('.state', ({ textContent }) => textContent) }
  report() { return this.$('.report', ({ textContent }) => textContent) }
  isSeen(selector) {
    return this.$(selector, (element) => {
      const { top, bottom } = element.getBoundingClientRect()
      const outer = element.closest('.cm-scroller').getBoundingClientRect()
      return top >= outer.top && bottom <= outer.bottom
    })
  }
  /** Writes at the beginning of the file. */
  async write(line) {
    await this.tab.focus(`${this.root} .cm-content`)
    await this.press('Control', 'Home')
    await this.tab.keyboard.type(line)
  }
  async press(modifier, key) {
    await this.tab.keyboard.down(modifier)
    await this.tab.keyboard.press(key)
    await this.tab.keyboard.up(modifier)
  }
  button(name) { return this.all('.controls button', (each, name) => each.find(({ textContent }) => textContent === name).click(), name) }
  async run(expected) {
    await this.button('Run')
    await this.until(expected)
  }
  async until(words) {
    const find = (root, wanted) => document.querySelector(`${root} .state`)?.textContent.includes(wanted)
    await this.tab.waitForFunction(find, { timeout: 10_000 }, this.root, words).catch(async () => {
      throw new Error(`${this.file} does not say "${words}", but "${await this.said()}"`)
    })
  }
}

async function nothingBefore(host, tab, fail) {
  const early = host.asked.filter((address) => LATER.test(address))
  if (early.length) fail(`loads ${early.join(', ')} before anybody asks`)
  if (await tab.evaluate(async () => (await navigator.serviceWorker.getRegistrations()).length)) fail('registers a service worker before anybody asks')
}

async function loading(bench, fail) {
  await bench.tab.waitForSelector(`${bench.root} .loading`)
  const bar = await bench.$('progress', ({ value, max }) => [value, max])
  if (!(bar[0] > 0 && bar[0] < bar[1] && bar[1] === 27_900_000)) fail(`shows ${bar.join(' of ')} bytes while it loads`)
  if ((await bench.source()) !== text(bench.file)) fail(`does not show ${bench.file} as it is`)
}

async function wrong(bench, fail) {
  await bench.write('// row * M\n')
  await bench.press('Control', 'Enter')
  await bench.until('Something is wrong')
  if (!(await bench.isSeen('.named'))) fail('does not show the line that its report names')
  const links = await bench.all('.report a', (each) => each.map(({ textContent }) => textContent))
  const wanted = ['step2_coalesced.cu:24', 'step2_coalesced.cu:25', '01_naive_matmul/step2_coalesced.cu:38']
  if (links.join() !== wanted.join()) fail(`links to ${links.join()} from its report`)
  await bench.tab.focus(`${bench.root} .report a:nth-of-type(2)`)
  await bench.tab.keyboard.press('Enter')
  const line = await bench.$('.cm-activeLine', ({ textContent, className }) => ({ textContent, className }))
  const source = `// row * M\n${text(bench.file)}`.split('\n')
  if (line.textContent !== source[24]) fail(`goes from line 25 of the report to "${line.textContent}"`)
  if (!line.className.includes('named')) fail('does not mark the line that its report names')
  if (!(await bench.tab.evaluate(() => document.activeElement.classList.contains('cm-content')))) fail('does not move to the editor from a line of the report')
}

async function errors(bench, fail) {
  await bench.write('  syntax error\n')
  await bench.run('It did not run')
  if (!(await bench.report()).startsWith(`${STEP}:1:3: error: use of undeclared identifier 'syntax'\n`)) fail(`reports "${await bench.report()}" for a syntax error`)
  const marked = await bench.all('.cm-lintRange-error', (each) => each.map(({ textContent }) => textContent).join(''))
  if (marked !== 'syntax') fail(`underlines "${marked}" and not the word that the compiler means`)
}

async function endless(bench, fail) {
  await bench.write('// endless\n')
  await bench.button('Reset')
  await bench.write('// endless\n')
  await bench.run('Running')
  await bench.button('Stop')
  await bench.until('Stopped after')
  await bench.button('Reset')
  if ((await bench.source()) !== text(bench.file)) fail('Reset does not bring the file back')
  await bench.run('All is right')
  await bench.write('// trap\n')
  await bench.run("The simulator's worker failed")
  await bench.button('Reset')
  await bench.run('All is right')
}

async function keys(bench, fail) {
  const inside = () => bench.tab.evaluate(() => document.activeElement.classList.contains('cm-content'))
  await bench.write('')
  await bench.tab.keyboard.press('Tab')
  if (!(await inside()) || (await bench.source()) === text(bench.file)) fail('Tab does not indent')
  await bench.press('Shift', 'Tab')
  if ((await bench.source()) !== text(bench.file)) fail('Shift and Tab do not take back what Tab does')
  await bench.tab.keyboard.press('Escape')
  await bench.tab.keyboard.press('Tab')
  if (await inside()) fail('Escape and Tab do not leave the editor')
}

async function looks(bench, fail) {
  const colour = () => bench.$('.cm-editor', (element) => getComputedStyle(element).backgroundColor)
  const light = await colour()
  await bench.tab.click('.VPNavBarAppearance button')
  if ((await colour()) === light) fail('the editor does not turn dark with the page')
  await bench.tab.click('.VPNavBarAppearance button')
  await bench.tab.setViewport(PHONE)
  const width = await bench.tab.evaluate(() => document.documentElement.scrollWidth)
  if (width > PHONE.width) fail(`scrolls sideways on a phone while a step is edited: ${width} pixels`)
  await bench.tab.setViewport(WIDE)
}

/** The edit is still there, and what was loaded once is not loaded again. */
async function again(host, bench, visit, fail) {
  await bench.write('// row * M\n')
  await visit(PAGE)
  await bench.opened()
  if (!(await bench.source()).startsWith('// row * M\n')) fail('an edit does not outlive its page')
  await bench.run('Something is wrong')
  const loads = host.asked.filter((address) => address.includes('fake.0123456789ab.wasm')).length
  if (loads !== 1) fail(`loads a large file ${loads} times`)
}

/** The host is gone. */
async function offline(host, bench, visit, fail) {
  await host.close()
  await visit(PAGE, 'load')
  await bench.opened()
  await bench.button('Reset')
  await bench.run('All is right')
}

async function elsewhere(browser, site, fail) {
  const { tab, problems, visit } = await openTab(browser, PHONE, site)
  await visit(PROGRAMS.page)
  const bench = new Bench(tab, PROGRAMS.file)
  await bench.opened()
  if ((await bench.source()) !== text(bench.file)) fail(`does not show ${bench.file} as it is`)
  await bench.run('It ended with 0')
  await bench.button('Close')
  if (!(await tab.evaluate(() => document.activeElement.textContent === 'Edit and run'))) fail('Close does not go back to the button')
  for (const each of problems) fail(each)
  await tab.close()
}

/** A program of one's own, copied as a link, and what a reader of the link sees. */
async function links(browser, host, site, fail) {
  const { tab, problems, visit } = await openTab(browser, PHONE, site)
  await tab.evaluateOnNewDocument(() => {
    navigator.clipboard.writeText = async (text) => { window.copied = text }
  })
  const said = (selector) => tab.waitForSelector(`.try-program ${selector}`).then((found) => found.evaluate(({ textContent }) => textContent))
  const bench = new Bench(tab, TRY.file)
  const copied = async () => {
    await bench.button('Copy link')
    await bench.until('A link that holds the program is copied')
    return tab.evaluate(() => window.copied)
  }
  await visit(TRY.page)
  await bench.opened()
  await bench.write('// mine, ü and 𝄞\n')
  const link = await copied()
  const mine = await bench.source()
  if (!link.startsWith(site + TRY.page)) fail(`copies the link ${link}`)

  // Someone else's browser shows what it holds, and runs nothing.
  await tab.evaluate(() => localStorage.clear())
  let asked // once the service worker has fetched what it keeps
  do {
    asked = host.asked.length
    await new Promise((resolve) => setTimeout(resolve, 500))
  } while (asked < host.asked.length)
  await visit(link.slice(site.length))
  if (!/came with the link.*runs when you click Run, and not before/.test(await said('p'))) fail(`says of a link "${await said('p')}"`)
  if (host.asked.slice(asked).some((address) => /Workbench|assets\/worker|\/browser\//.test(address))) fail('loads what runs a program before anybody asks')
  await bench.opened()
  if ((await bench.source()) !== mine) fail('a link does not bring the program that was copied')
  if ((await bench.said()) !== 'It came with a link, and has not run.') fail(`says "${await bench.said()}" of a program that came with a link`)
  await bench.run('It ended with 0')
  await bench.write('// row * M\n')
  await visit(link.slice(site.length))
  await bench.opened()
  if ((await bench.source()) !== `// row * M\n${mine}`) fail("an edit of a link's program does not outlive its page")
  await tab.click('.try-program > button')
  await bench.opened()
  if ((await bench.source()) !== text(TRY.file)) fail("a link's program is kept as if it were one's own")

  const broken = { 'The link is broken': [link.slice(0, -9), `${link.slice(0, -9)}AAAAAAAAA`, `${site + TRY.page}#program=`, `${link}%`], 'The link is too long': [link + 'A'.repeat(40_000)] }
  for (const [sentence, addresses] of Object.entries(broken)) {
    for (const address of addresses) {
      await visit(address.slice(site.length))
      if (!(await said('[role=alert]')).startsWith(sentence)) fail(`says "${await said('[role=alert]')}" of the link ${address.slice(0, 200)}`)
    }
  }
  await bench.opened()
  await tab.$eval(`${bench.root} .cm-content`, (element) => {
    const view = element.cmTile?.view ?? element.cmView.view
    view.dispatch({ changes: { from: 0, insert: `//${Array.from({ length: 50_000 }, (_, i) => Math.sin(i).toString(36).slice(-1)).join('')}\n` } })
  })
  await bench.button('Copy link')
  await bench.until('The program is too long for a link')
  for (const each of problems) fail(each)
  await tab.close()
}

/** A planted mistake: looked for, told, and found; the file's own edit stays. */
async function hidden(browser, site, fail) {
  const { tab, problems, visit } = await openTab(browser, PHONE, site)
  await tab.evaluateOnNewDocument(() => (Math.random = () => 0.5))
  await visit('docs/mistakes.html')
  const all = mistakes()['01']
  const { file, source, revelation, name } = all[Math.floor(all.length / 2)]
  await tab.evaluate((key) => {
    localStorage.clear()
    localStorage.setItem(key, 'mine')
  }, `edit:${file}`)
  const button = (name) => tab.$$eval('.find-a-mistake button', (each, name) => each.find(({ textContent }) => textContent === name).click(), name)
  const bench = new Bench(tab, file)
  bench.root = '.find-a-mistake'
  const tell = () => tab.$eval(bench.root, ({ textContent }) => textContent)
  await button('01')
  await tab.waitForSelector('.find-a-mistake .cm-content')
  if ((await bench.source()) !== source) fail(`does not show ${file} with a mistake in it`)
  if (source === text(file)) fail(`${file} has no mistake in it`)
  if ((await tab.content()).includes(name)) fail('tells what the mistake is before anybody asks')
  await bench.write('// row * M\n')
  await bench.run('Something is wrong')
  if (/The tests pass/.test(await tell())) fail('takes a mistake for found that is there')
  await bench.button('Reset')
  await bench.write('// mended\n')
  await bench.run('All is right')
  if (!/The tests pass\. It counts as found/.test(await tell())) fail('does not say that the tests pass')
  await button('Reveal')
  if (!(await tell()).includes(revelation)) fail(`does not tell what it was: ${await tell()}`)
  const kept = await tab.evaluate(() => Object.fromEntries(Object.entries(localStorage).filter(([key]) => key.startsWith('edit:'))))
  if (JSON.stringify(kept) !== JSON.stringify({ [`edit:${file}`]: 'mine' })) fail(`keeps the edits ${Object.keys(kept).join()} after a mistake was found`)
  await button('Another one')
  await tab.waitForFunction((before) => !document.querySelector('.find-a-mistake').textContent.includes(before), {}, 'It counts as found')
  if ((await tell()).includes('with this mistake:')) fail('tells what the next mistake is')
  for (const each of problems) fail(each)
  await tab.close()
}

async function oldBrowser(browser, host, site, fail) {
  const { tab, problems, visit } = await openTab(browser, PHONE, site)
  await tab.evaluateOnNewDocument(() => delete WebAssembly.Suspending)
  await visit(PAGE)
  const asked = host.asked.length
  await new Bench(tab, STEP).open()
  const said = await tab.waitForSelector(`[data-run="${STEP}"] p`).then((found) => found.evaluate(({ textContent }) => textContent))
  if (!/JSPI.*Firefox 153.*\.\/learn test 01 coalesced/.test(said)) fail(`says "${said}" in a browser that cannot run it`)
  const later = host.asked.slice(asked).filter((address) => LATER.test(address))
  if (later.length) fail(`loads ${later.join(', ')} in a browser that cannot run it`)
  for (const each of problems) fail(each)
  await tab.close()
}

/** What the page's policy is there to stop. */
async function policy(browser, site, fail) {
  const { tab, visit } = await openTab(browser, PHONE, site)
  await visit(PAGE)
  const done = await tab.evaluate(async () => {
    const script = document.createElement('script')
    script.textContent = 'window.written = true'
    document.head.append(script)
    const tries = {
      'a script written into it': Boolean(window.written),
      'another host': await fetch('http://127.0.0.1:9/', { mode: 'no-cors' }).then(() => true, () => false),
      'a worker made of text': await new Promise((end) => {
        try {
          const worker = new Worker(URL.createObjectURL(new Blob(['postMessage(1)'])))
          worker.onmessage = () => end(true)
          worker.onerror = () => end(false)
        } catch {
          end(false)
        }
      }),
    }
    return Object.keys(tries).filter((name) => tries[name])
  })
  for (const each of done) fail(`its policy allows ${each}`)
  await tab.close()
}

export async function editAndRun(browser, fail) {
  const base = process.env.SITE_BASE || '/'
  const say = (reason) => fail(`${base}${PAGE}`, reason)
  const host = await serve(path.resolve(process.env.SITE_DIR), { base, instead: FAKE })
  const site = host.origin + base
  const { tab, problems, visit } = await openTab(browser, WIDE, site)
  await visit(PAGE)
  await nothingBefore(host, tab, say)
  const bench = new Bench(tab, STEP)
  await bench.opened()
  const flush = (expected) => problems.splice(0).filter((each) => !expected?.test(each)).forEach(say)
  for (const part of [loading, wrong, errors, endless, keys, looks]) {
    await part(bench, say)
    flush(part === endless ? /unreachable/ : undefined) // its trap
  }
  await elsewhere(browser, site, say)
  await links(browser, host, site, say)
  await hidden(browser, site, say)
  await oldBrowser(browser, host, site, say)
  await policy(browser, site, say)
  await again(host, bench, visit, say)
  flush()
  await offline(host, bench, visit, say)
  flush(/ERR_CONNECTION_REFUSED/) // the page is asked for anew each time
  await tab.close()
  return 'steps edited and run, offline, too'
}
