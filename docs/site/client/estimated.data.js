// The ladders whose steps have an estimate; VitePress calls this when it builds.
import fs from 'node:fs'
import path from 'node:path'
import { ROOT } from '../project.js'

const FILE = path.join(ROOT, 'build/browser/site/estimates.json') // common/tools/measure/page_estimates.py

export default {
  load: () => (fs.existsSync(FILE) ? Object.keys(JSON.parse(fs.readFileSync(FILE)).ladders) : []),
}
