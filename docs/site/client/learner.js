// How far a reader is with the exercises, kept by the browser as `./learn` keeps it in .learn/exercises.json; where the
// browser keeps nothing, it lasts as long as the page.
import { onMounted, reactive, ref } from 'vue'
import { data as exercises } from './exercises.data.js'
import { changes, kept } from './run/edits.js'

export { exercises }

const KEY = 'exercises'
const state = reactive({ solved: [], hints: {} })
const isRead = ref(false) // a page is built without knowing its reader

function read() {
  try {
    const { solved, hints } = JSON.parse(localStorage.getItem(KEY)) ?? {}
    state.solved = Array.isArray(solved) ? solved : []
    state.hints = hints && typeof hints === 'object' ? hints : {}
  } catch {
    // not allowed, or damaged
  }
  isRead.value = true
}

function write(change) {
  read() // another tab may have written
  change(state)
  try {
    localStorage.setItem(KEY, JSON.stringify(state))
  } catch {
    // no room, or not allowed
  }
}

export function useLearner() {
  onMounted(() => {
    if (isRead.value) return
    read()
    addEventListener('storage', ({ key }) => (key === KEY ? read() : (changes.value += 1)))
  })
}

export const isSolved = (name) => state.solved.includes(name)
export const isBegun = ({ file }) => isRead.value && changes.value >= 0 && kept(file) !== null
export const hintsOf = (name) => state.hints[name] ?? 0

export const solve = (name) => write(({ solved }) => solved.includes(name) || solved.push(name))
export const giveHint = (name) => write(({ hints }) => (hints[name] = hintsOf(name) + 1))
export const reset = (name) => write((all) => {
  all.solved = all.solved.filter((each) => each !== name)
  delete all.hints[name]
})

/** The next one to do after this one, of those that are not solved. */
export function nextAfter(name) {
  const at = exercises.findIndex((one) => one.name === name)
  return [...exercises.slice(at), ...exercises.slice(0, at)].find((one) => !isSolved(one.name))
}
