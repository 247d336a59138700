// Is there room for a step's code beside its prose, and does the reader want it there?
import { ref, watch } from 'vue'

const KEY = 'step-code' // 'closed' once the reader has closed it

export const wide = ref(false)
export const open = ref(true)

if (!import.meta.env.SSR) {
  const query = matchMedia('(min-width: 80rem)')
  const look = () => (wide.value = query.matches)
  query.addEventListener('change', look)
  look()
  open.value = localStorage.getItem(KEY) !== 'closed'
  watch(open, () => localStorage.setItem(KEY, open.value ? 'open' : 'closed'))
}
