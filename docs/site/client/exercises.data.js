// Of each exercise what every page may show; VitePress calls this when it builds.
import { exercises, mine } from '../build/exercises.js'

export default {
  load: () => exercises().map((one) => ({ name: one.name, folder: one.folder, title: one.title, file: mine(one) })),
}
