// What programs say natively, to be compared with a page's report.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { LADDERS } from '../browser/ladders.js'
import { runnable } from '../build/runnable.js'
import { ROOT } from '../project.js'

/** What two runs may say differently: which device they had, where their sources lie, how many accesses were seen. */
export const comparable = (report) => report.replace(/^device: .*\n/m, '').replace(/(?<![\w.])\/?(?:[\w.-]+\/)+(?=[\w.]+:\d)/g, '').replace(/seen \d+ times?/g, 'seen').replace(/ {3}\(called in [\w.:, ]+\)/g, '')

/** What a program says, on one worker, as a page has one; null where it is not built. */
export async function saidNatively(program, words = [], environment = {}) {
  if (!fs.existsSync(program)) return null
  const child = spawn('taskset', ['-c', '0', program, ...words], { cwd: ROOT, env: { ...process.env, ...environment }, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => { said += text })
  await new Promise((ended) => child.on('close', ended))
  return said
}

/** A mistake's tests, those that a page has, built with Clang as a page's are: cmake --preset cpu-clang. */
export const mistakeNatively = (ladder, { id, file }) => saidNatively(
  path.join(ROOT, 'build/cpu-clang', LADDERS[ladder].folder, 'mistakes', id, 'tests'),
  ['~[files]~[slow]~[program]~[where_it_runs]'], { TUTORIAL_STEP: runnable(file).step })

/** The first line that differs. */
export function difference(report, wanted) {
  const [here, there] = [report, wanted].map((each) => each.split('\n'))
  const at = here.findIndex((line, i) => line !== there[i])
  return `in the page\n${here.slice(at, at + 3).join('\n')}\nand natively\n${there.slice(at, at + 3).join('\n')}`
}
