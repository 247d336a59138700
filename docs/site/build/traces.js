// The recordings go along as they are.
import fs from 'node:fs'
import path from 'node:path'
import { exists, ROOT } from '../project.js'

export function copyTraces(outDir) {
  if (exists('docs/site/traces')) fs.cpSync(path.join(ROOT, 'docs/site/traces'), path.join(outDir, 'traces'), { recursive: true })
}
