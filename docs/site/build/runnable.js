// Which files a reader can edit and run in the page: of ladders and of exercises, by their names in `./learn`.
import fs from 'node:fs'
import path from 'node:path'
import { LADDERS } from '../browser/ladders.js'
import { ROOT } from '../project.js'
import { exercises, mine } from './exercises.js'

const SIMULATOR = path.join(ROOT, 'build/browser/site/simulator.wasm') // common/tools/learn/page_modules.py

/**
 * { ladder: '01', step: 'coalesced' } of 01_naive_matmul/step2_coalesced.cu, of a stage those of step 1;
 * { ladder: '02/transpose', step: '' } of an exercise's mine.cu; null of a file that the page cannot run.
 */
export function runnable(file) {
  if (!fs.existsSync(SIMULATOR)) return null
  const exercise = exercises().find((each) => mine(each) === file)
  if (exercise) return { ladder: exercise.name, step: '' }
  const [ladder, its] = Object.entries(LADDERS).find(([, { folder }]) => folder === path.posix.dirname(file)) ?? []
  if (!ladder) return null
  const name = path.posix.basename(file)
  const isStage = /^stage\d_/.test(name)
  const of = isStage ? its.beside.find((each) => each.startsWith('step1_')) : name
  const [, step] = of.match(its.tests ? /^step\d+_(\w+)\.(?:cu|cpp)$/ : /^(\w+)\.cu$/) ?? []
  return step ? { ladder, step } : null
}

/** The attributes that EditAndRun.vue and StepCode.vue want; none of a file that cannot be run. */
export function runs(file) {
  const found = runnable(file)
  return found ? ` ladder="${found.ladder}" step="${found.step}"` : ''
}
