// Steps compiled and run in the page by the real simulator: the last step of two roads, and a planted mistake of two
// others, others each day. KERNELS=all and MISTAKES=all take every one, KERNELS=02 and MISTAKES=02 every one of 02, MISTAKES="02 name …" these.
import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { isLibrary } from '../browser/compile/sites.js'
import { LADDERS, MODEL } from '../browser/ladders.js'
import { mistakes } from '../build/mistakes.js'
import { steps } from '../build/steps.js'
import { ROOT, text } from '../project.js'
import { expectInTab, runInTab, useOptions, withTab } from './in_tab.js'
import { comparable, difference, mistakeNatively, saidNatively } from './native.js'

const ROADS = Object.entries(LADDERS).filter(([, { tests }]) => tests)
const DAY = Math.floor(Date.now() / 86_400_000)
const isToday = (i) => (i + DAY) % 3 === 0
export const PROGRAM = { page: LADDERS.first_kernel.page, file: 'docs/first_kernel/first_kernel.cu', says: ['It ended with 0', 'y[999] = 1999; 0 are wrong', '1 launch; the checks found nothing.'] }
export const RIGHT = ['All is right', 'All tests passed']

// Pointers in memory have 4 bytes in a page (05), and GCC makes two stores of one that Clang leaves whole (03).
const PROFILED_OTHERWISE = ['03', '05']

/** A step's profile, which is to be its program's, word for word, where ./learn test has built that. */
async function profileInTab(tab, ladder, { path: file, name }, fail) {
  const report = await expectInTab(tab, fail, file, ['The report is the profile'], { what: `profile of ${file}`, button: 'Profile' })
  const { folder } = LADDERS[ladder]
  const native = await saidNatively(path.join(ROOT, 'build/cpu', folder, folder), ['--profile', '--kernel', name], { TUTORIAL_CPU_REASON: 'which counts for the profile' })
  if (native === null || PROFILED_OTHERWISE.includes(ladder)) return
  if (report !== native) fail(`profile of ${file}`, `says ${difference(report, native)}`)
  const beside = await tab.$$eval(`[data-run="${file}"] .figures span`, (all) => all.length)
  if (beside === 0 && native.includes(' sectors ')) fail(file, 'has no figures beside its lines')
}

export const roadSteps = (ladder) => Object.entries(steps()).find(([folder]) => /^\d\d_\w+$/.test(folder) && folder.startsWith(ladder))[1]

export async function runInPage(browser, fail) {
  await withTab(browser, async (tab, visit) => {
    const expect = (file, words, more) => expectInTab(tab, fail, file, words, more)
    const { KERNELS } = process.env
    for (const [i, [ladder, { page }]] of ROADS.entries()) {
      if (KERNELS ? ![ladder, 'all'].includes(KERNELS) : !isToday(i)) continue
      await visit(page)
      for (const step of KERNELS ? roadSteps(ladder) : roadSteps(ladder).slice(-1)) {
        await expect(step.path, RIGHT)
        await profileInTab(tab, ladder, step, fail)
      }
    }
    await visit(LADDERS['04'].page)
    const file = roadSteps('04').at(-1).path
    await expect(file, ['It did not run'], { what: 'a syntax error', source: text(file).replace('const', 'cnost') })
    await visit(LADDERS['01'].page)
    const kernel = '01_naive_matmul/step2_coalesced.cu', sum = 'sum += A[row * K + k]'
    if (!text(kernel).includes(sum)) fail(kernel, `has no "${sum}"`)
    for (const [what, address, words] of [['a null pointer', '0ul', 'a null pointer'], ['a wild pointer', '0xfffffff0ul', 'is not global memory']])
      await expect(kernel, ['Something is wrong', 'bounds in', 'step2_coalesced.cu:25', words],
        { what, source: text(kernel).replace(sum, `sum += *reinterpret_cast<const float*>(${address})`) })
    await visit(PROGRAM.page)
    const program = PROGRAM.file
    await expect(program, PROGRAM.says)
    const before = 'if (i < n)'
    if (!text(program).includes(before)) fail(program, `has no "${before}"`)
    if (KERNELS === 'all') // a thread is given up after 20 s
      for (const [code, words] of [['while (true) {}', 'without an access'], ['while (atomicExch(y, 1.0f) != 0) {}', 'at the same few addresses']])
        await expect(program, ['It ended with', 'endless in saxpy, block (0,0) thread (7,0)  first_kernel.cu:18', 'this thread ran for 2', words],
          { what: code, source: text(program).replace(before, `if (threadIdx.x == 7) ${code} ${before}`) })
    await visit(LADDERS.try.page)
    const [, own, printed] = text('docs/try.md').match(/<!-- from (\S+) -->[^]*?^```text\n([^]*?)^```/m)
    await expect(own, ['It ended with 1', printed])
    for (const [what, source, ...words] of [
      ['a program that prints much', text(own).replace('std::printf', 'for (int i = 0; i < 30000; ++i) std::printf'), 'It ended with 1', 'prints more than the 200000 characters', 'The checks found'],
      ['a program without main', 'void f() {}', 'It did not run', "my.cu:1:1: error: undefined reference to `main'"],
      ['a program that crashes', '#include <cstdlib>\nint main() { std::abort(); }', 'It ended with 139', 'The program crashed, outside of a kernel'],
      ['with headers that are not there', `#include <thrust/sort.h>\n${text(own)}`, 'It did not run', 'my.cu:1:1: error: Thrust: not on the CPU backend'],
    ]) await expect(own, words, { what, source })
  })
  return 'kernels that run in the page'
}

/** The model writes with a step what PyTorch wrote, at least a byte a second, and something else with a wrong step. */
export async function modelInPage(browser, fail) {
  const { path: file } = roadSteps(MODEL.ladder)[1]
  const wanted = text(`${MODEL.folder}/weights/written.txt`).split('\n')[0].slice(0, 40) // no \ in it
  const scale = 's *= scale;', source = text(file)
  if (!source.includes(scale)) fail(file, `has no "${scale}"`)
  await withTab(browser, async (tab, visit) => {
    await visit(LADDERS[MODEL.ladder].page)
    const report = await expectInTab(tab, fail, file, ['The report is what the model writes', wanted, 'ok: the farthest logit is'],
      { what: `the model on ${file}`, button: 'Write' })
    const [, speed] = report.match(/^\d+ tokens, ([\d.]+) a second/m) ?? []
    if (!(Number(speed) >= 1)) fail(file, `writes ${speed} tokens a second`)
    await expectInTab(tab, fail, file, ['The model writes something else', 'WRONG: the farthest logit is'],
      { what: 'the model on a wrong step', button: 'Write', source: source.replace(scale, '') })
  })
  return 'the model that writes in the page'
}

// ---- Planted mistakes

const heard = (words, input) => execFileSync('python3', ['common/tools/mistakes/mistakes.py', 'heard', ...words], { cwd: ROOT, input }).toString().trim()

/** What a report says in place of what the entry foretells. Clang has some functions of our headers in their callers, so
 *  that a page names the caller's line. */
function instead(ladder, { id, file, line }, report) {
  const wrong = heard([ladder, id], report), name = path.basename(file)
  const isOfCaller = line && isLibrary(`/common/kernel/${line.split(':')[0]}`) && wrong.startsWith('the reports name other lines') && report.includes(`${name}:`)
  return isOfCaller ? '' : wrong
}

/** Runs the entry's own tests, as the native check of mistakes does; then all, where there is a native report to compare
 *  the whole one with. Gives whether it is that: 'same' or 'different', '' where there is none. */
export async function tryMistake(tab, ladder, mistake, fail) {
  await useOptions(tab, ['--reporter', 'compact', '--colour-mode', 'none', mistake.tests])
  const { said, report, seconds } = await runInTab(tab, mistake.file, mistake.source)
  await useOptions(tab, null)
  const wrong = said.includes('Something is wrong') ? instead(ladder, mistake, report) : `the page says "${said}"`
  if (wrong) fail(`${ladder}/${mistake.id}`, `${wrong}\n${report}`)
  const there = await mistakeNatively(ladder, mistake)
  const [page, native] = there === null ? ['', ''] : [(await runInTab(tab, mistake.file)).report, there].map(comparable)
  console.log(`  ${wrong ? 'WRONG' : 'ok   '} ${seconds.toFixed(1)} s  ${ladder}/${mistake.id}${page === native ? '' : `, ${difference(page, native)}`}`)
  return there === null ? '' : page === native ? 'same' : 'different'
}

export async function mistakesInPage(browser, fail) {
  const found = []
  const { MISTAKES } = process.env
  for (const [i, [ladder, { page }]] of ROADS.entries()) {
    const [wanted, ...ids] = MISTAKES?.split(/[ /]/) ?? []
    if (MISTAKES ? ![ladder, 'all'].includes(wanted) : !isToday(i + 1)) continue
    const all = mistakes()[ladder]
    const chosen = !MISTAKES ? [all[DAY % all.length]] : ids.length ? all.filter(({ id }) => ids.includes(id)) : all
    await withTab(browser, async (tab, visit) => {
      await visit(page)
      for (const mistake of chosen) found.push(await tryMistake(tab, ladder, mistake, fail))
    })
  }
  const [compared, same] = [found.filter(Boolean), found.filter((each) => each === 'same')]
  return `${found.length} mistakes in the page${compared.length ? `; ${same.length} of ${compared.length} reports are the native ones` : ''}`
}
