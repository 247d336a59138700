// The ladders whose files run in the page, by their names in `./learn`.
//   folder   where the files lie
//   page     whose steps they are
//   tests    the module of the ladder's tests; without one a file is a program of its own
//   beside   files whose functions other steps call
export const LADDERS = {
  try: { folder: 'docs/try', page: 'docs/try.html', beside: [] },
  first_kernel: { folder: 'docs/first_kernel', page: 'docs/00_first_kernel.html', beside: [] },
  '01': { folder: '01_naive_matmul', page: 'docs/01_naive_matmul.html', tests: 'tests_01.wasm', beside: [] },
  '02': { folder: '02_tiled_matmul', page: 'docs/02_tiled_matmul.html', tests: 'tests_02.wasm', beside: [] },
  '04': {
    folder: '04_softmax',
    page: 'docs/04_softmax.html',
    tests: 'tests_04.wasm',
    beside: ['step3_online.cu', 'step4_row_on_chip.cu'],
  },
}

/** The headers of a ladder's chapter, and its file `name` compiled beforehand, as the build names them. */
export const headersOf = ({ folder }) => `${folder.split('/').pop()}.json`
export const moduleOf = ({ folder }, name) => `${folder.split('/').pop()}.${name.replace('.cu', '.wasm')}`

// Each module of kernels numbers its source places from another number on; the learner's own from 0.
const PLACES = 1 << 20
export const firstPlace = ({ beside }, name) => PLACES * (beside.indexOf(name) + 1)
