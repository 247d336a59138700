// Opens the built site in headless Chromium. `./learn docs --check` builds and serves it, and sets SITE_URL, SITE_DIR,
// CHROMIUM and FIREFOX. Names of parts on the command line choose those.
import { launch } from './browser.js'
import { editAndRun } from './edit_and_run.js'
import { estimateInPage } from './estimate_in_page.js'
import { everyPage } from './every_page.js'
import { exercisesInPage } from './exercises_in_page.js'
import { figures } from './figures.js'
import { inFirefox } from './in_firefox.js'
import { keyboard } from './keyboard.js'
import { mistakesInPage, modelInPage, runInPage } from './run_in_page.js'

async function notFound(browser, fail) {
  const tab = await browser.newPage()
  const answer = await tab.goto(`${process.env.SITE_URL}/nothing.html`)
  const page = await tab.waitForSelector('.NotFound', { timeout: 5000 }).catch(() => null)
  if (answer.status() !== 404 || !page) fail('/nothing.html', 'is not answered with the page for that')
  await tab.close()
  return 'a wrong address'
}

const problems = []
const fail = (where, reason) => problems.push(`${where}: ${reason}`)
const browser = await launch()
try {
  const parts = [notFound, keyboard, figures, editAndRun, runInPage, estimateInPage, modelInPage, mistakesInPage, exercisesInPage, inFirefox, everyPage]
  for (const part of parts.filter(({ name }) => process.argv.length < 3 || process.argv.includes(name))) {
    const start = Date.now()
    try {
      console.log(`checked: ${await part(browser, fail)} (${Math.round((Date.now() - start) / 1000)} s)`)
    } catch (error) {
      fail(part.name, error.stack)
    }
  }
} finally {
  await browser.close()
}
for (const each of problems) console.error(each)
console.log(problems.length ? `${problems.length} problems` : 'The site is as it should be.')
process.exitCode = problems.length ? 1 : 0
