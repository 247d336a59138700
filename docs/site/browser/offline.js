// Registers the service worker, which keeps the files of a run.

/** Waits until the worker sees what this page asks for. Without one all works, but loads again the next time. */
export async function keepFiles(base) {
  if (!navigator.serviceWorker) return false // a private window, or http to another machine
  try {
    await navigator.serviceWorker.register(`${base}service_worker.js`)
    const { active } = await navigator.serviceWorker.ready
    if (!navigator.serviceWorker.controller) await new Promise((done) => navigator.serviceWorker.addEventListener('controllerchange', done, { once: true }))
    const loaded = performance.getEntriesByType('resource').map(({ name }) => name)
    active.postMessage({ type: 'keep', addresses: [location.href.split('#')[0], ...loaded.filter((name) => name.startsWith(location.origin))] })
    return true
  } catch {
    return false
  }
}
