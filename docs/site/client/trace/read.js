// A recorded trace, checked and in one form. docs/simulator.md says what stands in the file.

const KINDS = ['load', 'store', 'atomic', 'copy', 'barrier', 'warp']

const LONGEST_ROW = 128 // a longer vector is drawn in several rows

function array(each, number) {
  const shape = each.shape?.length ? each.shape : [each.elements ?? 1]
  const size = shape.reduce((product, length) => product * length, 1)
  const vector = shape.at(-1) === size
  const columns = vector ? Math.min(size, LONGEST_ROW) : shape.at(-1)
  return { ...each, number, shape, size, vector, columns, rows: Math.ceil(size / columns) }
}

export function readTrace(text, name) {
  const wrong = (reason) => {
    throw new Error(`${name} is no trace that can be shown: ${reason}. Record it again with --trace.`)
  }
  let file
  try {
    file = JSON.parse(text)
  } catch (error) {
    wrong(`it is no JSON (${error.message})`)
  }
  for (const key of ['kernel', 'file', 'grid', 'block', 'lines', 'arrays', 'events']) if (!file?.[key]) wrong(`it has no "${key}"`)
  if (!file.events.length) wrong('it has no events')
  const arrays = file.arrays.map(array)
  // A list that comes up often stands once in the file, and its number where it is used.
  const list = (value) => (typeof value === 'number' ? file.lists?.[value] : value) ?? []
  const events = file.events.map((event, i) => {
    const all = { ...event, width: event.width ?? 1, lanes: list(event.lanes), elements: list(event.elements), values: list(event.values) }
    if (!KINDS.includes(event.what)) wrong(`event ${i} is of the unknown kind "${event.what}"`)
    const touched = event.array !== undefined && event.array !== null ? arrays[event.array] : null
    if (event.what !== 'barrier' && event.what !== 'warp' && !touched) wrong(`event ${i} names no array`)
    if (all.lanes.length !== all.elements.length && touched) wrong(`event ${i} has ${all.lanes.length} lanes and ${all.elements.length} elements`)
    return { ...all, touched }
  })
  return { ...file, arrays, events }
}

/** As[3][17] */
export function elementName({ name, shape }, element) {
  const index = []
  for (const size of [...shape].reverse()) {
    index.unshift(element % size)
    element = Math.floor(element / size)
  }
  return name + index.map((each) => `[${each}]`).join('')
}

/** (1,0) for block 1 of a grid; z where the grid has one. */
export function blockName(number, [x, y, z]) {
  const index = [number % x, Math.floor(number / x) % y, Math.floor(number / x / y)]
  return `(${(z > 1 ? index : index.slice(0, 2)).join(',')})`
}
