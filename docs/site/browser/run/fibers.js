// The page's side of common/simulator/world/wasm/fiber.cpp: functions that stop in their midst, by JavaScript Promise
// Integration. Whoever calls `resume`, `suspend` or `pass` stops until the promise that it gets is resolved.

const SUSPENDED = 0
// What a process would get as a signal.
const FPE = 8
const ILL = 4
const SEGV = 11

function signalOf(error) {
  if (/divide by zero|integer overflow|divide result unrepresentable/.test(error.message)) return FPE
  if (/unreachable/.test(error.message)) return ILL
  return SEGV // outside the machine's memory, or its stack is full
}
/** A real trap, which no function of the machine's catches: a call that waits for a promise that is rejected with it ends
 *  without a trace. Else its stack would stay as long as the tab, and of those there is room for some ten thousand. */
const LEFT = (() => {
  const unreachable = [0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0, 10, 5, 1, 3, 0, 0, 11]
  try {
    new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(unreachable))).exports.f()
  } catch (trap) {
    return trap
  }
})()
const isTrap = (error) =>
  error instanceof WebAssembly.RuntimeError || error instanceof RangeError || error.name === 'InternalError'

/** The imports of module "fibers"; `start` is given later, by use(). */
export class Fibers {
  #fibers = new Map() // by the address of what a fiber runs: {giveBack, place}; its place is where it waits
  #start
  #fail

  /** `exports` are the simulator's. `fail(error)`: what is no trap of a kernel. */
  use(exports, fail) {
    this.#start = WebAssembly.promising(exports.simulator_fiber_start)
    this.#fail = fail
  }

  /** Runs a fiber, from its beginning or from where it stopped; `giveBack` is told why it stops next. */
  #run(address, stackEnd, giveBack) {
    let fiber = this.#fibers.get(address)
    if (fiber) {
      fiber.giveBack = giveBack
      fiber.place.goOn()
      return
    }
    fiber = { giveBack, place: null }
    this.#fibers.set(address, fiber)
    // Later, for here it would be a call within that of another fiber.
    queueMicrotask(() =>
      this.#start(address, stackEnd).catch((error) => {
        if (error === LEFT) return
        this.#fibers.delete(address)
        if (isTrap(error)) fiber.giveBack(signalOf(error))
        else this.#fail(error)
      }),
    )
  }

  imports() {
    const stops = (what) => new WebAssembly.Suspending((...words) => new Promise((goOn, end) => what({ goOn, end }, ...words)))
    return {
      resume: stops(({ goOn }, address, stackEnd) => this.#run(address, stackEnd, goOn)),
      suspend: stops((place, address, why) => {
        const fiber = this.#fibers.get(address)
        fiber.place = place
        if (why !== SUSPENDED) this.#leave(address)
        fiber.giveBack(why)
      }),
      pass: stops((place, from, to, stackEnd) => {
        const fiber = this.#fibers.get(from)
        fiber.place = place
        this.#run(to, stackEnd, fiber.giveBack)
      }),
      abandon: (address) => this.#leave(address),
    }
  }

  /** No fiber goes on any more. */
  async leave() {
    for (const address of [...this.#fibers.keys()]) this.#leave(address)
    await new Promise((later) => setTimeout(later)) // until all have ended
  }

  #leave(address) {
    this.#fibers.get(address)?.place?.end(LEFT)
    this.#fibers.delete(address)
  }
}
