// In the worker's place while the page is tested: answers what a run would, by a word in the source.

const FILES = [['compiler', 27_000_000], ['simulator', 900_000]]
const TOTAL = FILES.reduce((sum, [, bytes]) => sum + bytes, 0)
const LARGE = new URL('../browser/fake.0123456789ab.wasm', self.location)

const REPORT = `race in coalesced_kernel, global memory, element 37 of 1665
  written by block (0,0) thread (1,0)  step2_coalesced.cu:24   for (int64_t k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
  written by block (0,4) thread (0,5)  step2_coalesced.cu:25   C[row * M + col] = sum;
  nothing orders two blocks of one launch
  likely: two blocks write the same element: check the index (blockIdx), or use an atomic function
  264 of 297 elements are out of bound; the worst is C[1][25]: got 24.3571, want -33.3198, bound 0.0022
  tiles wrong (8×32):  ##
                       ##   ← every tile
  launched at 01_naive_matmul/step2_coalesced.cu:38, and not at other_step2_coalesced.cu:9
`

const wait = (ms) => new Promise((done) => setTimeout(done, ms))
let loaded

async function load() {
  const answer = await fetch(LARGE)
  const { byteLength } = await answer.arrayBuffer()
  if (byteLength !== 100_000 || answer.headers.get('content-type') !== 'application/wasm') throw new Error(`${byteLength} bytes of a large file`)
  let before = 0
  for (const [what, bytes] of FILES) {
    for (const part of [0.3, 0.6, 1]) {
      await wait(150)
      self.postMessage({ type: 'progress', loaded: Math.round(before + part * bytes), total: TOTAL, what })
    }
    before += bytes
  }
}

async function run({ id, path, source }) {
  const say = (type, more) => self.postMessage({ type, id, ...more })
  await (loaded ??= load())
  for (const name of ['translate', 'compile']) {
    say('stage', { name })
    await wait(60)
  }
  if (source.includes('syntax error')) {
    const line = source.split('\n').findIndex((each) => each.includes('syntax error')) + 1
    say('diagnostics', { list: [
      { path, line, column: 3, severity: 'error', message: "use of undeclared identifier 'syntax'" },
      { path: 'common/host/launch.h', line: 7, column: 1, severity: 'note', message: 'declared here' },
    ] })
    return say('done', { status: 2, ran: false, seconds: 0.5 })
  }
  say('stage', { name: 'run' })
  if (source.includes('endless')) return
  if (source.includes('trap')) throw new Error('unreachable')
  if (source.includes('row * M')) {
    for (const line of REPORT.split(/(?<=\n)/)) say('output', { text: line })
    return say('done', { status: 1, ran: true, seconds: 1.25 })
  }
  say('output', { text: 'coalesced: 5 sizes are right; the checks found nothing.\n' })
  return say('done', { status: 0, ran: true, seconds: 0.75 })
}

self.addEventListener('message', async ({ data }) => {
  if (data.type === 'load') await (loaded ??= load())
  else run(data).catch((error) => setTimeout(() => { throw error }))
})
