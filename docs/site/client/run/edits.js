// A reader's edits, one a file, kept by the browser; where it keeps nothing, they last as long as the page.
import { shallowRef } from 'vue'

export const changes = shallowRef(0) // how often one was kept or forgotten on this page
const key = (file) => `edit:${file}`

export function kept(file) {
  try {
    return localStorage.getItem(key(file))
  } catch {
    return null
  }
}

export function keep(file, text) {
  try {
    localStorage.setItem(key(file), text)
    changes.value += 1
  } catch {
    // no room, or not allowed
  }
}

export function forget(file) {
  try {
    localStorage.removeItem(key(file))
    changes.value += 1
  } catch {
    // as above
  }
}
