// Translates, compiles and runs one kernel file; client.js says in which messages.

self.addEventListener('message', ({ data }) => {
  if (data.type !== 'run') return
  self.postMessage({ type: 'output', id: data.id, text: 'The simulator is not built for the browser.\n' })
  self.postMessage({ type: 'done', id: data.id, status: 2, seconds: 0 })
})
