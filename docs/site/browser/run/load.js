// Loads side modules (tool-conventions' DynamicLinking.md) beside the simulator: they share its memory, its table of
// functions and its stack pointer, and use what it and the modules before them export.

/** What `dylink.0` says a module needs of memory and of the table. */
function needs(module) {
  const bytes = new Uint8Array(WebAssembly.Module.customSections(module, 'dylink.0')[0])
  let at = 0
  const number = () => {
    let value = 0,
      shift = 0,
      byte
    do {
      byte = bytes[at++]
      value |= (byte & 127) << shift
      shift += 7
    } while (byte & 128)
    return value >>> 0
  }
  while (at < bytes.length) {
    const kind = number(),
      size = number(),
      end = at + size
    if (kind === 1) return { bytes: number(), alignment: 1 << number(), functions: number() }
    at = end
  }
  return { bytes: 0, alignment: 1, functions: 0 }
}

export class Loader {
  #simulator
  #symbols = new Map() // name to a function, or to a global that holds an address
  #slots = new Map() // of functions in the table

  constructor(exports) {
    this.#simulator = exports
    for (const [name, value] of Object.entries(exports)) this.#symbols.set(name, value)
  }

  /** Calls of `name` in later modules go to the symbol `to`. */
  rename(name, to) {
    this.#symbols.set(name, this.#symbols.get(to))
  }

  slot(func) {
    if (!this.#slots.has(func)) {
      const table = this.#simulator.__indirect_function_table
      const at = table.grow(1)
      table.set(at, func)
      this.#slots.set(func, at)
    }
    return this.#slots.get(func)
  }

  /**
   * Instantiates modules in their order: a call finds the functions of the modules before, an address those of all. (A
   * call through JavaScript would not do: no fiber could stop below it.) Then their static variables are initialised.
   * They lie one behind the other: the simulator notes for each byte from the first `__shared__` array to the last whose it
   * is. Returns, for each, {exports, begin, bytes}, and what is in none of them.
   */
  async load(modules) {
    const loaded = [],
      missing = new Set()
    const all = modules.map(({ module, lacks }) => ({ module, missing: lacks ? new Set() : missing, need: needs(module) }))
    let free = this.#simulator.malloc(all.reduce((sum, { need }) => sum + need.bytes + need.alignment, 0))
    for (const { module, missing, need } of all) {
      const begin = Math.ceil(free / need.alignment) * need.alignment
      loaded.push(await this.#instantiate(module, missing, need, begin))
      free = begin + need.bytes
    }
    for (const { addresses } of loaded)
      for (const [from, name, global] of addresses) {
        const known = this.#symbols.get(name)
        if (known !== undefined) global.value = from === 'GOT.mem' ? known.value : this.slot(known)
        else if (from === 'GOT.mem') missing.add(name) // the address of a function that nobody calls may stay null
      }
    for (const { exports } of loaded) exports.__wasm_apply_data_relocs?.()
    for (const { exports } of loaded) exports.__wasm_call_ctors?.()
    return { loaded, missing: [...missing] }
  }

  async #instantiate(module, missing, need, begin) {
    const s = this.#simulator
    new Uint8Array(s.memory.buffer, begin, need.bytes).fill(0)
    const tableBegin = s.__indirect_function_table.grow(need.functions)
    const constant = (value) => new WebAssembly.Global({ value: 'i32' }, value)
    const env = {
      memory: s.memory,
      __indirect_function_table: s.__indirect_function_table,
      __stack_pointer: s.__stack_pointer,
      __memory_base: constant(begin),
      __table_base: constant(tableBegin),
    }
    const imports = { env, 'GOT.mem': {}, 'GOT.func': {} }
    const addresses = []
    for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
      if (from === 'GOT.mem' || from === 'GOT.func') {
        const global = new WebAssembly.Global({ value: 'i32', mutable: true }, 0)
        imports[from][name] = global
        addresses.push([from, name, global])
      } else if (!(name in env)) {
        const known = this.#symbols.get(name)
        if (known !== undefined) env[name] = known
        else if (kind === 'function') env[name] = this.#stub(name, missing)
        else missing.add(name)
      }
    }
    const { exports } = await WebAssembly.instantiate(module, imports)
    // Addresses of its own are told from where its memory begins.
    for (const [name, value] of Object.entries(exports)) {
      if (this.#symbols.has(name)) continue
      this.#symbols.set(
        name,
        value instanceof WebAssembly.Global && value !== s.__stack_pointer ? constant(begin + value.value) : value,
      )
    }
    return { exports, begin, bytes: need.bytes, addresses }
  }

  #stub(name, missing) {
    missing.add(name)
    return () => {
      throw new Error(`${name} is in no module`)
    }
  }
}
