// Runs one program. Each run has a worker of its own, which ends with it: a browser may keep the memory of threads that a
// kernel's end left waiting, some hundred megabytes a run.
//
//   to it:    what runProgram takes; texts, {path: text}, in place of its files; keeps, a file that it writes
//   from it:  {type: 'output', text}, {type: 'passed', tests}, {type: 'ended', status, kept}, {type: 'failed', message};
//             kept is that file's text
import { Files } from './files.js'
import { outputOf } from './run/output.js'
import { runProgram } from './run/simulator.js'

const CRASHED = 139 // as a shell says it
const say = (type, more) => self.postMessage({ type, ...more })

self.addEventListener('message', async ({ data: { texts, keeps, ...program } }) => {
  const output = outputOf((text) => say('output', { text }))
  const end = (type, more) => {
    output.flush()
    say(type, more)
  }
  const files = new Files(texts)
  try {
    const passed = (tests) => say('passed', { tests })
    const status = await runProgram({ ...program, files, write: output.write, passed })
    end('ended', { status, kept: new TextDecoder().decode(files.read(keeps ?? '')) })
  } catch (error) {
    if (!(error instanceof WebAssembly.RuntimeError || error instanceof RangeError)) return end('failed', { message: error.message })
    output.write(2, `The program crashed, outside of a kernel: ${error.message}.\n`)
    end('ended', { status: CRASHED })
  }
})
