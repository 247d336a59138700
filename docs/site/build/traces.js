// The recordings go along as they are.
import fs from 'node:fs'
import path from 'node:path'
import { exists, recording, ROOT } from '../project.js'

const FOLDER = path.dirname(recording(''))

export function copyTraces(outDir) {
  if (exists(FOLDER)) fs.cpSync(path.join(ROOT, FOLDER), path.join(outDir, 'traces'), { recursive: true })
}
