// What an event is, in words.
import { blockName, elementName } from './read.js'

const VERBS = { load: 'reads', store: 'writes', atomic: 'updates, as one operation,' }
const WARP_WORDS = {
  shuffle: 'take values from each other (a shuffle)',
  sync: 'wait for each other',
  vote: 'vote',
  match: 'look for equal values',
  reduction: 'reduce their values to one',
}

const some = (count, word) => `${count} ${word}${count === 1 ? '' : 's'}`

export function sentence(event, { grid }) {
  const block = `block ${blockName(event.block, grid)}`
  const [file, number] = String(event.line).split(':')
  const line = number ? `line ${number} of ${file}` : `line ${file}`
  if (event.what === 'barrier') return `All threads of ${block} meet at the barrier in ${line}.`
  const who = `Warp ${event.warp} of ${block}`
  if (event.what === 'warp') return `${who}, ${line}: its lanes ${WARP_WORDS[event.operation] ?? 'work together'}.`
  const { touched, lanes, elements, width } = event
  const verb = VERBS[event.what] ?? (touched.space === 'global' ? 'copies from' : 'copies to')
  const distinct = new Set(elements).size * width
  const ends = [0, lanes.length - 1].map((i) => `lane ${lanes[i]} ${elementName(touched, elements[i])}`)
  const which = lanes.length === 1 ? ends[0] : `${ends[0]} … ${ends[1]}`
  const same = distinct < lanes.length * width ? `, ${some(distinct, 'element')} for ${some(lanes.length, 'lane')}` : ''
  return `${who}, ${line}: ${verb} ${touched.name}${same}${width > 1 ? `, ${width} elements a lane` : ''}: ${which}.`
}
