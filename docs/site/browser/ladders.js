// The ladders whose files run in the page, by their names in `./learn`.
//   folder   where the files lie
//   page     whose steps they are
//   tests    the module of the ladder's tests; without one a file is a program of its own
//   host     the module of host code that kernels' files call, where there is such
//   beside   files whose functions other steps call
export const LADDERS = {
  try: { folder: 'docs/try', page: 'docs/try.html', beside: [] },
  first_kernel: { folder: 'docs/first_kernel', page: 'docs/00_first_kernel.html', beside: [] },
  '01': { folder: '01_naive_matmul', page: 'docs/01_naive_matmul.html', tests: 'tests_01.wasm', beside: [] },
  '02': { folder: '02_tiled_matmul', page: 'docs/02_tiled_matmul.html', tests: 'tests_02.wasm', beside: [] },
  '03': { folder: '03_masked_bmm', page: 'docs/03_masked_bmm.html', tests: 'tests_03.wasm', beside: ['coarse_masks.cu', 'step2_three_level_mask.cu'] },
  '04': {
    folder: '04_softmax',
    page: 'docs/04_softmax.html',
    tests: 'tests_04.wasm',
    beside: ['step3_online.cu', 'step4_row_on_chip.cu'],
  },
  '05': {
    folder: '05_unfused_attention',
    page: 'docs/05_unfused_attention.html',
    tests: 'tests_05.wasm',
    host: 'host_05.wasm',
    beside: [
      'stage1_permute.cu', 'stage2_scores.cpp', 'stage3_scale_mask.cu', 'stage4_softmax.cu', 'stage5_values.cpp', 'stage6_unpermute.cu',
      'step1_unfused.cpp', 'step2_fused_softmax.cu', 'step3_strided.cu', 'step4_row_in_registers.cu',
    ],
  },
  '06': { folder: '06_flash_attention', page: 'docs/06_flash_attention.html', tests: 'tests_06.wasm', host: 'host_06.wasm', beside: [] },
}

/** The model of 06/model, which writes on a step of chapter 06: the modules of its host code, and the kernels' files that
 *  these call. Its weights are files of the site, too. */
export const MODEL = {
  ladder: '06',
  folder: '06_flash_attention/model',
  modules: ['program.wasm', 'model.wasm', 'model_products.wasm'],
  weights: ['weights.txt', 'weights.bin'],
  beside: ['embed', 'layer_norm', 'split_heads', 'bias'].map((name) => `06_flash_attention/model/${name}.cu`)
    .concat('01_naive_matmul/step2_coalesced.cu', '05_unfused_attention/stage6_unpermute.cu'),
}

/** A ladder by its name. An exercise has one of its own, 02/transpose, whose one file is the learner's. */
export const ladderOf = (name, path) =>
  LADDERS[name] ?? { folder: path.split('/')[0], tests: `exercise_${name.replace('/', '_')}.wasm`, beside: [] }

/** The headers of a ladder's chapter, and its file `name` compiled beforehand, as the build names them. */
export const headersOf = ({ folder }) => `${folder.split('/').pop()}.json`
export const moduleOf = ({ folder }, name) => `${folder.split('/').pop()}.${name.split('/').pop().replace(/\.\w+$/, '.wasm')}`

/** The program that profiles a chapter's steps; it calls what its tests' module has. */
export const programOf = (ladder) => (/^\d\d$/.test(ladder) ? `program_${ladder}.wasm` : null)

// Each module of kernels numbers its source places from another number on; the learner's own from 0.
const PLACES = 1 << 20
export const firstPlace = ({ beside }, name) => PLACES * (beside.indexOf(name) + 1)
