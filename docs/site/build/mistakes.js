// The planted mistakes that a reader can look for in the page: those of common/tools/mistakes/mistakes.py that are in a
// file which the page runs. Each is a file of its own, mistakes/01/7.txt, in base64, so that no search stumbles on it.
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { LADDERS } from '../browser/ladders.js'
import { ROOT, text } from '../project.js'
import { runnable } from './runnable.js'

const show = (ladder) => JSON.parse(execFileSync('python3', ['common/tools/mistakes/mistakes.py', 'show', ladder], { cwd: ROOT, maxBuffer: 1 << 26 }))
const isInPage = ({ file, tests }) => /\/step\d+_\w+\.cu$/.test(file) && runnable(file) && !isSlow(path.posix.dirname(file), tests)

const slow = {} // by folder: the names of the tests that a page leaves out
/** Is the test that shows it, such as "more rows than*", one of those? */
function isSlow(folder, test) {
  slow[folder] ??= fs.readdirSync(path.join(ROOT, folder), { recursive: true }).filter((name) => /^tests(\.cpp|\/\w+\.cpp)$/.test(name))
    .flatMap((name) => [...text(`${folder}/${name}`).matchAll(/TEST_CASE\("([^"]+)", "[^"]*\[slow\]/g)].map(([, name]) => name))
  return slow[folder].some((name) => name.startsWith(test.replace(/\*$/, '')))
}

let known
/** {'01': [{id, file, source, revelation, …}, …], …} */
export function mistakes() {
  const roads = Object.keys(LADDERS).filter((ladder) => LADDERS[ladder].tests)
  return (known ??= Object.fromEntries(roads.map((ladder) => [ladder, show(ladder).filter(isInPage)]).filter(([, all]) => all.length)))
}

export function writeMistakes(outDir) {
  for (const [ladder, all] of Object.entries(mistakes())) {
    const folder = path.join(outDir, 'mistakes', ladder)
    fs.mkdirSync(folder, { recursive: true })
    for (const [i, { id, file, source, revelation }] of all.entries()) {
      const told = { id, file, source, revelation, step: runnable(file).step }
      fs.writeFileSync(path.join(folder, `${i}.txt`), Buffer.from(JSON.stringify(told)).toString('base64'))
    }
  }
}
