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
const isTrap = (error) =>
  error instanceof WebAssembly.RuntimeError || error instanceof RangeError || error.name === 'InternalError'

/** The imports of module "fibers"; `start` is given later, by use(). */
export class Fibers {
  #fibers = new Map() // by the address of what a fiber runs: {goOn, giveBack}
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
      fiber.goOn()
      return
    }
    fiber = { giveBack, goOn: null }
    this.#fibers.set(address, fiber)
    // Later, for here it would be a call within that of another fiber.
    queueMicrotask(() =>
      this.#start(address, stackEnd).catch((error) => {
        this.#fibers.delete(address)
        if (isTrap(error)) fiber.giveBack(signalOf(error))
        else this.#fail(error)
      }),
    )
  }

  imports() {
    const stops = (what) => new WebAssembly.Suspending((...words) => new Promise((goOn) => what(goOn, ...words)))
    return {
      resume: stops((giveBack, address, stackEnd) => this.#run(address, stackEnd, giveBack)),
      suspend: stops((goOn, address, why) => {
        const fiber = this.#fibers.get(address)
        fiber.goOn = goOn
        if (why !== SUSPENDED) this.#fibers.delete(address)
        fiber.giveBack(why)
      }),
      pass: stops((goOn, from, to, stackEnd) => {
        const fiber = this.#fibers.get(from)
        fiber.goOn = goOn
        this.#run(to, stackEnd, fiber.giveBack)
      }),
      abandon: (address) => {
        this.#fibers.delete(address)
      },
    }
  }
}
