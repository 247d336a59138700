// Steps compiled and run in the page by the real simulator, over a host that serves files and nothing else.
import { text } from '../project.js'
import { serve } from './static.js'

const PATIENCE = 120_000 // ms, for the first run: it loads the compiler

/** Opens a step's editor, puts other text there if one is given, runs it, and gives what the page shows. */
export async function runInTab(tab, file, source) {
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
  await tab.$eval(`${root} .controls button:first-child`, (button) => button.click())
  await tab.waitForFunction((root) => /All is right|Something is wrong|It did not run/.test(document.querySelector(`${root} .state`)?.textContent ?? ''),
    { timeout: PATIENCE, polling: 100 }, root)
  return {
    seconds: (performance.now() - began) / 1000,
    said: await tab.$eval(`${root} .state`, (element) => element.textContent),
    report: await tab.$eval(`${root} .report`, (element) => element.textContent).catch(() => ''),
  }
}

const RACE = ['if (row >= M || col >= N) return;', '']

export async function runInPage(browser, fail) {
  const base = process.env.SITE_BASE ?? '/'
  const host = await serve(process.env.SITE_DIR, { base })
  const tab = await browser.newPage()
  const expect = (what, { said, report, seconds }, words) => {
    if (!said.includes(words[0]) || !words.slice(1).every((each) => report.includes(each)))
      fail(what, `says "${said}" after ${seconds.toFixed(1)} s, and\n${report}`)
    else console.log(`  ${what}: ${seconds.toFixed(1)} s`)
  }
  try {
    await tab.goto(`${host.origin}${base}docs/01_naive_matmul.html`)
    for (const file of ['01_naive_matmul/step1_uncoalesced.cu', '01_naive_matmul/step2_coalesced.cu'])
      expect(file, await runInTab(tab, file), ['All is right', 'All tests passed'])
    const file = '01_naive_matmul/step2_coalesced.cu', source = text(file)
    if (!source.includes(RACE[0])) fail(file, `has no line "${RACE[0]}"`)
    expect('a guard left out', await runInTab(tab, file, source.replace(...RACE)), ['Something is wrong', 'bounds in coalesced_kernel', 'step2_coalesced.cu:'])
    expect('a syntax error', await runInTab(tab, file, source.replace('float sum', 'flaot sum')), ['It did not run'])
    await tab.goto(`${host.origin}${base}docs/00_first_kernel.html`)
    const program = 'docs/first_kernel/first_kernel.cu'
    expect(program, await runInTab(tab, program), ['All is right', 'y[999] = 1999; 0 are wrong', '1 launch; the checks found nothing.'])
  } finally {
    await tab.close()
    await host.close()
  }
  return 'kernels that run in the page'
}
