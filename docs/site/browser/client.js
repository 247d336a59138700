// The page's side of the worker that compiles and runs.
//
//   to the worker:   {type: 'load', ladder: '01'}
//                    {type: 'run', id, ladder: '01', step: 'coalesced', path: '01_naive_matmul/step2_coalesced.cu', source,
//                     profile: true for its profile, in place of the tests, write: true for what the model writes with it, or
//                     estimate: true for what a GPU would say, also of the source as it was, `shipped`;
//                     options: which tests, as Catch2 has it}
//   from the worker: {type: 'progress', loaded, total, what}      bytes of all files together
//                    {type: 'stage', id, name: 'translate' | 'compile' | 'run', passed}    how many tests have by now
//                    {type: 'diagnostics', id, list: [{path, line, column, severity, message}]}   not in the output again
//                    {type: 'output', id, text}                    as it comes
//                    {type: 'done', id, status, ran, seconds}      status as a program's: 0 when all is right; did it run?
//
// What could not be loaded is said in the output of the next run, which tries again.

const start = () => new Worker(new URL('./worker.js', import.meta.url), { type: 'module' })

export class Simulator {
  #worker = null
  #run = null // the one that the worker is at
  #runs = 0
  #ladder = null
  #onProgress = () => {}

  /** Begins to load what a run needs; a run may be asked for before all is there. */
  load(ladder = this.#ladder, onProgress = this.#onProgress) {
    this.#ladder = ladder
    this.#onProgress = onProgress
    if (this.#worker) return
    this.#worker = start()
    this.#worker.addEventListener('message', ({ data }) => this.#take(data))
    this.#worker.addEventListener('error', (event) => this.#fail(event))
    this.#worker.postMessage({ type: 'load', ladder })
  }

  /** Gives {status, ran, seconds}; status is 'stopped' after stop(). One run at a time. */
  run(what, { onStage, onDiagnostics, onOutput }) {
    this.stop()
    this.load(what.ladder)
    return new Promise((resolve, reject) => {
      this.#run = { id: ++this.#runs, resolve, reject, onStage, onDiagnostics, onOutput, begun: performance.now() }
      this.#worker.postMessage({ type: 'run', id: this.#run.id, ...what })
    })
  }

  /** Ends a run, also one that would never end, and begins again with a fresh worker. */
  stop() {
    const run = this.#run
    if (!run) return
    this.close()
    this.load()
    run.resolve({ status: 'stopped', seconds: (performance.now() - run.begun) / 1000 })
  }

  close() {
    this.#worker?.terminate()
    this.#worker = this.#run = null
  }

  #take(message) {
    if (message.type === 'progress') return this.#onProgress(message)
    const run = this.#run
    if (message.id !== run?.id) return
    if (message.type === 'stage') run.onStage(message.name, message.passed)
    else if (message.type === 'diagnostics') run.onDiagnostics(message.list)
    else if (message.type === 'output') run.onOutput(message.text)
    else if (message.type === 'done') {
      this.#run = null
      run.resolve(message)
    }
  }

  #fail({ message }) {
    const run = this.#run
    this.close()
    run?.reject(new Error(message ? `The simulator's worker failed: ${message}` : "The simulator's worker cannot be loaded: is the site still being served?"))
  }
}
