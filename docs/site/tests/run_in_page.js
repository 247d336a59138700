// Steps compiled and run in the page by the real simulator, over a host that serves files and nothing else: the last step
// of two roads, and a planted mistake of two others, others each day. KERNELS=all and MISTAKES=all take every one,
// KERNELS=02 and MISTAKES=02 every one of 02.
import { execFileSync, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { LADDERS } from '../browser/ladders.js'
import { mistakes } from '../build/mistakes.js'
import { steps } from '../build/steps.js'
import { ROOT, text } from '../project.js'
import { serve } from './static.js'

const ROADS = Object.entries(LADDERS).filter(([, { tests }]) => tests)
const DAY = Math.floor(Date.now() / 86_400_000)
const isToday = (i) => (i + DAY) % 3 === 0
const PATIENCE = 120_000 // ms, for the first run: it loads the compiler

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
  await tab.waitForFunction((root) => /^(All is right|The report is|Something is wrong|It did not run|It ended|Solved|Not yet)/.test(document.querySelector(`${root} .state`)?.textContent ?? ''),
    { timeout: PATIENCE, polling: 100 }, root)
  return {
    seconds: (performance.now() - began) / 1000,
    said: await tab.$eval(`${root} .state`, (element) => element.textContent),
    report: await tab.$eval(`${root} .report`, (element) => element.textContent).catch(() => ''),
  }
}

// Pointers in memory have 4 bytes in a page (05), and GCC makes two stores of one that Clang leaves whole (03).
const PROFILED_OTHERWISE = ['03', '05']

/** A step's profile, which is to be its program's, word for word, where ./learn test has built that. */
async function profileInTab(tab, ladder, { path: file, name }, expect, fail) {
  const profile = await runInTab(tab, file, undefined, 'Profile')
  expect(`profile of ${file}`, profile, ['The report is the profile'])
  const { folder } = LADDERS[ladder]
  const program = path.join(ROOT, 'build/cpu', folder, folder)
  if (!fs.existsSync(program) || PROFILED_OTHERWISE.includes(ladder)) return
  const env = { ...process.env, TUTORIAL_CPU_REASON: 'which counts for the profile' }
  const native = spawnSync(program, ['--profile', '--kernel', name], { cwd: ROOT, encoding: 'utf8', env }).stdout
  if (profile.report !== native) fail(`profile of ${file}`, `says\n${profile.report}\nand natively\n${native}`)
  const beside = await tab.$$eval(`[data-run="${file}"] .figures span`, (all) => all.length)
  if (beside === 0 && native.includes(' sectors ')) fail(file, 'has no figures beside its lines')
}

const roadSteps = (ladder) => Object.entries(steps()).find(([folder]) => /^\d\d_\w+$/.test(folder) && folder.startsWith(ladder))[1]
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
    const { KERNELS } = process.env
    for (const [i, [ladder, { page }]] of ROADS.entries()) {
      if (KERNELS ? ![ladder, 'all'].includes(KERNELS) : !isToday(i)) continue
      await tab.goto(`${host.origin}${base}${page}`)
      for (const step of KERNELS ? roadSteps(ladder) : roadSteps(ladder).slice(-1)) {
        expect(step.path, await runInTab(tab, step.path), ['All is right', 'All tests passed'])
        await profileInTab(tab, ladder, step, expect, fail)
      }
    }
    await tab.goto(`${host.origin}${base}${LADDERS['04'].page}`)
    const file = roadSteps('04').at(-1).path
    expect('a syntax error', await runInTab(tab, file, text(file).replace('const', 'cnost')), ['It did not run'])
    await tab.goto(`${host.origin}${base}docs/01_naive_matmul.html`)
    const kernel = '01_naive_matmul/step2_coalesced.cu', sum = 'sum += A[row * K + k]'
    if (!text(kernel).includes(sum)) fail(kernel, `has no "${sum}"`)
    for (const [what, address, words] of [['a null pointer', '0ul', 'a null pointer'], ['a wild pointer', '0xfffffff0ul', 'is not global memory']])
      expect(what, await runInTab(tab, kernel, text(kernel).replace(sum, `sum += *reinterpret_cast<const float*>(${address})`)),
        ['Something is wrong', 'bounds in', 'step2_coalesced.cu:25', words])
    await tab.goto(`${host.origin}${base}docs/00_first_kernel.html`)
    const program = 'docs/first_kernel/first_kernel.cu'
    expect(program, await runInTab(tab, program), ['It ended with 0', 'y[999] = 1999; 0 are wrong', '1 launch; the checks found nothing.'])
    const before = 'if (i < n)'
    if (!text(program).includes(before)) fail(program, `has no "${before}"`)
    if (KERNELS === 'all') // a thread is given up after 20 s
      for (const [code, words] of [['while (true) {}', 'without an access'], ['while (atomicExch(y, 1.0f) != 0) {}', 'at the same few addresses']])
        expect(code, await runInTab(tab, program, text(program).replace(before, `if (threadIdx.x == 7) ${code} ${before}`)),
          ['It ended with', 'endless in saxpy, block (0,0) thread (7,0)  first_kernel.cu:18', 'this thread ran for 2', words])
    await tab.goto(`${host.origin}${base}${LADDERS.try.page}`)
    const [, own, printed] = text('docs/try.md').match(/<!-- from (\S+) -->[^]*?^```text\n([^]*?)^```/m)
    const asPrinted = await runInTab(tab, own)
    expect(own, asPrinted, ['It ended with 1', printed])
    const chatty = text(own).replace('std::printf', 'for (int i = 0; i < 30000; ++i) std::printf')
    expect('a program that prints much', await runInTab(tab, own, chatty), ['It ended with 1', 'prints more than the 200000 characters', 'The checks found'])
    expect('a program without main', await runInTab(tab, own, 'void f() {}'), ['It did not run', "my.cu:1:1: error: undefined reference to `main'"])
    expect('a program that crashes', await runInTab(tab, own, '#include <cstdlib>\nint main() { std::abort(); }'), ['It ended with 139', 'The program crashed, outside of a kernel'])
    expect('with headers that are not there', await runInTab(tab, own, `#include <thrust/sort.h>\n${text(own)}`), ['It did not run', 'my.cu:1:1: error: Thrust is not on the CPU backend'])
  } finally {
    await tab.close()
    await host.close()
  }
  return 'kernels that run in the page'
}

// ---- Planted mistakes

const heard = (words, input) => execFileSync('python3', ['common/tools/mistakes/mistakes.py', 'heard', ...words], { cwd: ROOT, input })

export async function mistakesInPage(browser, fail) {
  const base = process.env.SITE_BASE ?? '/'
  const host = await serve(process.env.SITE_DIR, { base })
  const tab = await browser.newPage()
  let count = 0
  try {
    const { MISTAKES } = process.env
    for (const [i, [ladder, { page }]] of ROADS.entries()) {
      if (MISTAKES ? ![ladder, 'all'].includes(MISTAKES) : !isToday(i + 1)) continue
      const all = mistakes()[ladder]
      const chosen = MISTAKES ? all : [all[DAY % all.length]]
      await tab.goto(`${host.origin}${base}${page}`)
      for (const mistake of chosen) {
        const { said, report, seconds } = await runInTab(tab, mistake.file, mistake.source)
        const wrong = said.includes('Something is wrong') ? heard([ladder, mistake.id], report).toString().trim() : `the page says "${said}"`
        if (wrong) fail(`${ladder}/${mistake.id}`, `${wrong}\n${report}`)
        console.log(`  ${wrong ? 'WRONG' : 'ok   '} ${seconds.toFixed(1)} s  ${ladder}/${mistake.id}`)
        count += 1
      }
    }
  } finally {
    await tab.close()
    await host.close()
  }
  return `${count} mistakes in the page`
}
