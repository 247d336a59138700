import { createApp } from 'vue'
import { readTrace } from './read.js'
import TraceFigure from './TraceFigure.vue'

/** Puts the figure in the place of its button. Throws where the text is no trace. */
export function mount(place, text, name) {
  const trace = readTrace(text, name)
  place.replaceChildren()
  place.classList.add('open')
  createApp(TraceFigure, { recorded: trace }).mount(place)
  place.querySelector('input[type=range]').focus({ preventScroll: true })
}
