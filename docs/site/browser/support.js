// What a browser must have to run a kernel.

const NEWER = 'Chrome or Edge 137, Firefox 153 and Safari 27 have it, and newer ones'
const LEAST_GIGABYTES = 2
const SPAN_PAGES = 8192 // 512 MiB of addresses, of which a run uses a part

// A module of one function: block (result exnref), try_table, catch_all_ref. Browsers took this encoding last.
const EXCEPTIONS = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0,
  10, 15, 1, 13, 0, 2, 105, 31, 64, 1, 3, 0, 11, 0, 11, 26, 11,
])

function hasRoom() {
  try {
    return Boolean(new WebAssembly.Memory({ initial: SPAN_PAGES }))
  } catch {
    return false
  }
}

/** One sentence about what this browser lacks; an empty one if it has all. */
export function missing() {
  if (typeof WebAssembly !== 'object') return `This browser has no WebAssembly, or it is switched off; ${NEWER}.`
  if (!('Suspending' in WebAssembly)) return `This browser's WebAssembly cannot wait in the middle of a kernel (JSPI); ${NEWER}.`
  if (!WebAssembly.validate(EXCEPTIONS)) return `This browser's WebAssembly has no exceptions (exnref); ${NEWER}.`
  if (navigator.deviceMemory < LEAST_GIGABYTES || !hasRoom()) return 'This device has too little memory for the compiler and the simulator; a computer with 4 GB has enough.'
  return ''
}
