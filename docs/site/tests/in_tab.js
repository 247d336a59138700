// A step's editor in a tab, over a host that serves files and nothing else.
import { serve } from './static.js'

const PATIENCE = 120_000 // ms, for the first run: it loads the compiler

/** `work` has a tab, and a function that opens an address of the site in it. */
export async function withTab(browser, work) {
  const base = process.env.SITE_BASE ?? '/'
  const host = await serve(process.env.SITE_DIR, { base })
  const tab = await browser.newPage()
  try {
    return await work(tab, (address, options) => tab.goto(`${host.origin}${base}${address}`, options))
  } finally {
    await tab.close()
    await host.close()
  }
}

/** From now on the tab's runs have these options of Catch2's, such as which tests; null: those that a reader's runs have. */
export async function useOptions(tab, options) {
  await tab.evaluate((options) => {
    const post = Worker.prototype.unchanged ??= Worker.prototype.postMessage
    Worker.prototype.postMessage = function (message, ...more) {
      return post.call(this, options && message.type === 'run' ? { ...message, options } : message, ...more)
    }
  }, options)
}

/** Opens a step's editor, puts other text there if one is given, runs it, and gives what the page shows. */
export async function runInTab(tab, file, source, button = 'Run') {
  const root = `[data-run="${file}"]`
  const find = (selector) => tab.waitForSelector(`${root} ${selector}`)
  if (!(await tab.$(`${root} .cm-content`))) {
    await (await find('button')).evaluate((button) => button.click())
    await find('.cm-content')
  }
  if (source !== undefined)
    await tab.$eval(`${root} .cm-content`, (element, text) => {
      const view = element.cmTile?.view ?? element.cmView.view
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } })
    }, source)
  const began = performance.now()
  await tab.$$eval(`${root} .controls button`, (buttons, name) => buttons.find(({ textContent }) => textContent === name).click(), button)
  await tab.waitForFunction((root) => /^(All is right|The report is|The model writes|There is no estimate|Something is wrong|It did not run|It ended|Solved|Not yet)/.test(document.querySelector(`${root} .state`)?.textContent ?? ''),
    { timeout: PATIENCE, polling: 100 }, root).catch(async () => {
    throw new Error(`${file} says "${await tab.$eval(`${root} .state`, (element) => element.textContent)}" after ${PATIENCE / 1000} s`)
  })
  return {
    seconds: (performance.now() - began) / 1000,
    said: await tab.$eval(`${root} .state`, (element) => element.textContent),
    report: await tab.$eval(`${root} .report`, (element) => element.textContent).catch(() => ''),
  }
}

/** Runs it and notes what it does not say: its ending and, in the report, the other words. Gives the report. */
export async function expectInTab(tab, fail, file, words, { source, what = file, button } = {}) {
  const { said, report, seconds } = await runInTab(tab, file, source, button)
  if (!said.includes(words[0]) || !words.slice(1).every((each) => report.includes(each)))
    fail(what, `says "${said}" after ${seconds.toFixed(1)} s, and\n${report}`)
  else console.log(`  ${what}: ${seconds.toFixed(1)} s`)
  return report
}
