// Registers the service worker, which keeps the files of a run.

const PATIENCE = 3000 // ms

const soon = (promise) => Promise.race([promise, new Promise((done) => setTimeout(done, PATIENCE))])

/** Waits until the worker sees what this page asks for. Without one all works, but loads again the next time. */
export async function keepFiles(base) {
  const { serviceWorker } = navigator
  if (!serviceWorker) return // a private window, or http to another machine
  const controlled = new Promise((done) => serviceWorker.addEventListener('controllerchange', done, { once: true }))
  try {
    await serviceWorker.register(`${base}service_worker.js`)
    const registration = await soon(serviceWorker.ready)
    const loaded = performance.getEntriesByType('resource').map(({ name }) => name)
    registration?.active.postMessage({ type: 'keep', addresses: [location.href.split('#')[0], ...loaded] })
    if (!serviceWorker.controller) await soon(controlled)
  } catch (error) {
    console.info(`Nothing is kept for the next visit: ${error.message}`)
  }
}
