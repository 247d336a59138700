// Exercises in the page by the real simulator: as shipped each fails, solved each passes, in the words of its program
// where ./learn test has built that. One of them, another each day, or with EXERCISES=all every one. Of the first its hints,
// our lines and marks, too; and a budget that is not kept.
import path from 'node:path'
import { exercises, mine } from '../build/exercises.js'
import { ROOT, text } from '../project.js'
import { runInTab, withTab } from './in_tab.js'
import { comparable, difference, saidNatively } from './native.js'

const EACH_DAY = 1

/** What an exercise's program says, skeleton or solution; null where it is not built. */
const native = ({ folder }, name) => saidNatively(path.join(ROOT, 'build/cpu', folder, name))

export async function tryExercise(tab, exercise, fail) {
  const run = async (name, source, ending) => {
    const { said, report, seconds } = await runInTab(tab, mine(exercise), source)
    const there = await native(exercise, name)
    const page = comparable(report), wanted = there && comparable(there).replaceAll(`${name}.cu`, 'mine.cu')
    if (!said.startsWith(ending)) fail(exercise.name, `its ${name} says "${said}" and\n${report}`)
    else if (wanted !== null && page !== wanted) fail(exercise.name, `its ${name} says ${difference(page, wanted)}`)
    console.log(`  ${exercise.name}, ${name}: ${seconds.toFixed(1)} s${wanted === null ? ', not built to compare with' : ''}`)
  }
  await run('skeleton', undefined, 'Not yet')
  await run('solution', text(`${exercise.folder}/solution.cu`), 'Solved')
}

/** A tile whose columns lie in one bank each. */
async function overBudget(tab, fail) {
  const file = '02_tiled_matmul/exercises/2_transpose'
  const { said, report } = await runInTab(tab, `${file}/mine.cu`, text(`${file}/solution.cu`).replace('[TILE + 1]', '[TILE]'))
  if (!said.startsWith('Not yet') || !/over the budget: \d+ bank conflicts, and at most 0 are enough/.test(report))
    fail(file, `says "${said}" to a tile without padding, and\n${report}`)
}

/** Hints one after the other; our lines at a second click, or once it is solved; marks that outlive the page. */
async function helps(tab, exercise, visit, fail) {
  const hints = text(`${exercise.folder}/task.md`).match(/^## Hint/gm).length
  const shown = () => tab.$$eval('.exercise h2', (each) => each.map(({ textContent }) => textContent))
  const click = (name) => tab.$$eval('.exercise > .controls button', (each, name) => each.find(({ textContent }) => textContent.startsWith(name)).click(), name)
  const expect = async (what, wanted) => {
    const found = (await shown()).join(', ')
    if (found !== wanted) fail(exercise.name, `shows "${found}" ${what}`)
  }
  await expect('before anything is asked for', '')
  const titles = []
  for (let number = 1; number <= hints; ++number) {
    await click('Hint')
    titles.push(`Hint ${number} of ${hints}`)
    await expect(`after ${number} clicks on Hint`, titles.join(', '))
  }
  await click('Our lines')
  await expect('at a first click on Our lines', titles.join(', '))
  await click('Show our lines')
  await tab.waitForSelector('.exercise h2 + div pre')
  if (!exercise.solution.startsWith(await tab.$eval('.exercise h2 + div pre', ({ textContent }) => textContent.trimEnd().slice(0, 200))))
    fail(exercise.name, 'shows other lines than ./learn solution')
  await visit(`${exercise.folder}/task.html`)
  await expect('when the page is opened again', titles.join(', '))
}

/** A mark where the exercise is named, which outlives the page and does not outlive Reset. */
async function marks(tab, exercise, visit, fail) {
  const mark = () => tab.waitForSelector(`.vp-doc a[href$="${exercise.folder}/task.html"] + .mark`, { timeout: 5000 })
    .then((found) => found.evaluate(({ ariaLabel }) => ariaLabel), () => 'nothing')
  const [folder, part] = exercise.folder.split('/')
  const page = `docs/${part === 'exercises' ? folder : `${folder.slice(0, 2)}_${part}`}.html`
  for (const address of [page, `${exercise.folder}/task.html`]) {
    await visit(address)
    if ((await mark()) !== 'solved') fail(address, `does not say that ${exercise.name} is solved`)
  }
  await tab.waitForSelector('.exercise .solved')
  await tab.click('.edit-and-run button')
  await (await tab.waitForSelector('.workbench .controls button:nth-child(3)')).click()
  await tab.waitForSelector('.exercise .solved', { hidden: true })
  if (await tab.$(`.exercise a[href$="${exercise.folder}/task.html"] + .mark`)) fail(exercise.name, 'is not as it was shipped after Reset')
}

export async function exercisesInPage(browser, fail) {
  const day = Math.floor(Date.now() / 86_400_000)
  const all = exercises()
  const every = Math.ceil(all.length / EACH_DAY)
  const chosen = process.env.EXERCISES === 'all' ? all : all.filter((_, i) => (i + day) % every === 0)
  await withTab(browser, async (tab, open) => {
    const visit = (address) => open(address, { waitUntil: 'networkidle0' })
    for (const [i, exercise] of chosen.entries()) {
      await visit(`${exercise.folder}/task.html`)
      if (i === 0) await helps(tab, exercise, visit, fail)
      await tryExercise(tab, exercise, fail)
    }
    await marks(tab, chosen[0], visit, fail)
    await visit('02_tiled_matmul/exercises/2_transpose/task.html')
    await overBudget(tab, fail)
  })
  return `${chosen.length} exercises in the page`
}
