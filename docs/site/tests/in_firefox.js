// In Firefox without a window what run_in_page.js and exercises_in_page.js try in Chromium: first_kernel, a step of 01 and of
// 02, a planted mistake, an exercise as shipped and solved. FIREFOX names it; `./learn docs --check` finds one.
import { LADDERS } from '../browser/ladders.js'
import { exercises } from '../build/exercises.js'
import { mistakes } from '../build/mistakes.js'
import { launchFirefox } from './browser.js'
import { tryExercise } from './exercises_in_page.js'
import { expectInTab, withTab } from './in_tab.js'
import { PROGRAM, RIGHT, roadSteps, tryMistake } from './run_in_page.js'

export async function inFirefox(_, fail) {
  if (!process.env.FIREFOX) return 'nothing in Firefox, as there is none here: FIREFOX=PATH names it'
  const firefox = await launchFirefox()
  try {
    await withTab(firefox, async (tab, visit) => {
      await visit(PROGRAM.page)
      await expectInTab(tab, fail, PROGRAM.file, PROGRAM.says)
      for (const ladder of ['01', '02']) {
        await visit(LADDERS[ladder].page)
        await expectInTab(tab, fail, roadSteps(ladder).at(-1).path, RIGHT)
      }
      await tryMistake(tab, '02', mistakes()['02'][0], fail)
      const [exercise] = exercises()
      await visit(`${exercise.folder}/task.html`)
      await tryExercise(tab, exercise, fail)
    })
    return `a sample in ${await firefox.version()}`
  } finally {
    await firefox.close()
  }
}
