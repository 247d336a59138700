// One simulator for all editors of a page: a compiler takes some hundred megabytes.
import { withBase } from 'vitepress'
import { shallowRef } from 'vue'
import { Simulator } from '../../browser/client.js'
import { keepFiles } from '../../browser/offline.js'

export const progress = shallowRef(null) // { loaded, total, what }, in bytes
const simulator = new Simulator()
let users = 0
let ready

export async function use(ladder) {
  users += 1
  await (ready ??= keepFiles(withBase('/')))
  if (users) simulator.load(ladder, (message) => (progress.value = message))
}

export function leave() {
  users -= 1
  setTimeout(() => users || simulator.close()) // unless another editor opens in its place
}

export async function run(what, callbacks) {
  await ready
  return simulator.run(what, callbacks)
}

export const stop = () => simulator.stop()
