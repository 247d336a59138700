// The button Estimate on a step: the text is that of ./learn estimate, and an edit changes it as it should.
import { execFileSync } from 'node:child_process'
import { LADDERS } from '../browser/ladders.js'
import { ROOT, text } from '../project.js'
import { expectInTab, withTab } from './in_tab.js'
import { roadSteps } from './run_in_page.js'

const SAID = 'The report is an estimate'
// Edits that make the step slower, and what the estimate grows by at least.
const SLOWER = [
  ['with bank conflicts', '&Bs[k][j * (BN / TN) + tx * 4]', '&Bs[k][tx * TN + j]', 1.08],
  ['with all products twice', 'for (int k = 0; k < BK; ++k)', 'for (int twice = 0; twice < 2; ++twice) for (int k = 0; k < BK; ++k)', 1.7],
]
const LIKE_BEFORE = 'about as fast as the step as it was'

/** What ./learn estimate says of a step, in a page's words. */
function estimatedByCommand(ladder, step) {
  const table = execFileSync('python3', ['common/tools/measure/estimate.py', ladder], { cwd: ROOT }).toString()
  const [, time, bound, next] = table.split('\n').find((line) => line.startsWith(`${step} `)).split(/ {2,}/)
  return `on an H200, estimated: ${time}, bound by ${bound}; next: ${next}\n`
}

export async function estimateInPage(browser, fail) {
  const { path: file, name } = roadSteps('02').find((step) => step.name === 'conflict_free')
  const source = text(file), wanted = estimatedByCommand('02', name)
  await withTab(browser, async (tab, visit) => {
    const estimated = (what, words, edited) => expectInTab(tab, fail, file, [SAID, ...words], { what: `estimate of ${what}`, button: 'Estimate', source: edited })
    await visit(LADDERS['02'].page)
    await estimated(file, ['conflict_free --m 4096 --n 4096 --k 4096\n', wanted])
    const before = wanted.replace(/^on an H200/, 'as it was')
    for (const [what, fast, slow, factor] of SLOWER) {
      if (!source.includes(fast)) fail(file, `has no "${fast}"`)
      const report = await estimated(`the step ${what}`, [before], source.replace(fast, slow))
      const [now, then] = [...report.matchAll(/estimated: ([\d.]+) ms/g)].map(([, ms]) => Number(ms))
      if (!(now > factor * then) || report.includes(LIKE_BEFORE)) fail(file, `${what} has this estimate:\n${report}`)
    }
    await estimated('a step that does the same', [wanted, before, LIKE_BEFORE], `// The same.\n${source}`)
    await expectInTab(tab, fail, file, ['It did not run', 'error: '], { what: 'estimate of a syntax error', button: 'Estimate', source: source.replace('const', 'cnost') })
    await visit(LADDERS.first_kernel.page)
    await tab.$eval(`[data-run="docs/first_kernel/first_kernel.cu"] button`, (button) => button.click())
    await tab.waitForSelector('.controls')
    if ((await tab.$eval('.controls', (controls) => controls.textContent)).includes('Estimate')) fail('first_kernel.cu', 'has a button Estimate')
  })
  return 'estimates in the page'
}
