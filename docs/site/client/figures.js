// A figure that steps through a recorded kernel: loaded when the reader opens it.
import { load, site } from './site.js'

for (const place of document.querySelectorAll('.trace')) {
  const button = place.querySelector('button')
  button.addEventListener('click', async () => {
    button.disabled = true
    try {
      const [{ mount }, answer] = await Promise.all([import('./trace/mount.js'), load(site(`traces/${place.dataset.trace}.json`))])
      mount(place, await answer.text(), `traces/${place.dataset.trace}.json`)
    } catch (error) {
      button.disabled = false
      place.querySelector('p').textContent = error.message
    }
  })
}
