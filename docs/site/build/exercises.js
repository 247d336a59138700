// The exercises, as common/tools/learn/exercises.py knows them, and what the page loads of one when it is asked for: the
// text to begin with, and our lines.
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { highlight } from '../markdown/highlight.js'
import { ROOT } from '../project.js'

let known
/** [{name: '02/transpose', folder, title, skeleton, solution}] in their order. */
export const exercises = () =>
  (known ??= JSON.parse(execFileSync('python3', ['common/tools/learn/exercises.py', 'json'], { cwd: ROOT })))

/** The file that the learner writes. */
export const mine = ({ folder }) => `${folder}/mine.cu`

export function writeExercises(outDir) {
  for (const exercise of exercises()) {
    const folder = path.join(outDir, 'steps', exercise.folder)
    fs.mkdirSync(folder, { recursive: true })
    fs.writeFileSync(path.join(folder, 'mine.cu.txt'), exercise.skeleton)
    fs.writeFileSync(path.join(folder, 'solution.html'), highlight(exercise.solution, 'cu'))
  }
}
