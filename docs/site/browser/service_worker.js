// Keeps what a run in the page needs, so that it is loaded once and works without a network. The build writes the two
// constants, and copies the file to the root of the site; a page registers it at the first click on "Edit and run".
const VERSION = 'VERSION' // of the site's own files
const FILES = ['FILES'] // the large ones, which outlive a version

const TYPES = { wasm: 'application/wasm', js: 'text/javascript', json: 'application/json' }

const PAGES = `pages-${VERSION}`
const LARGE = 'large'
const root = self.registration.scope
const below = (request) => (request.url.startsWith(root) ? new URL(request.url).href.slice(root.length).split('#')[0] : null)

const isLarge = (path) => path.startsWith('browser/') && /\.[0-9a-f]{12}\.\w+$/.test(path)
const isHashed = (path) => path.startsWith('assets/') && /\.[\w-]{8,}\.\w+$/.test(path)

self.addEventListener('install', () => self.skipWaiting())

self.addEventListener('activate', (event) => event.waitUntil(tidy().then(() => self.clients.claim())))

/** What an older site left. The caches of a host belong to all that is served there: only ours are touched. */
async function tidy() {
  const own = (await caches.keys()).filter((name) => name.startsWith(root))
  await Promise.all(own.filter((name) => ![root + PAGES, root + LARGE].includes(name)).map((name) => caches.delete(name)))
  const large = await caches.open(root + LARGE)
  for (const request of await large.keys()) if (!FILES.includes(below(request))) await large.delete(request)
}

/** A large file travels packed, and is unpacked as it comes; as it is, where that is not to be had. */
async function unpacked(request) {
  const packed = self.DecompressionStream ? await fetch(`${request.url}.packed`) : null
  if (!packed?.ok) return fetch(request)
  const type = TYPES[request.url.split('.').pop()] ?? 'application/octet-stream'
  return new Response(packed.body.pipeThrough(new DecompressionStream('gzip')), { headers: { 'content-type': type } })
}

async function fromNetwork(cache, request) {
  const answer = await (isLarge(below(request)) ? unpacked : fetch)(request)
  if (answer.status === 200) await cache.put(request, answer.clone()).catch(() => {}) // the disk may be full
  return answer
}

/** A name with a hash never changes; of all else the newest that can be had. */
async function answer(request, path) {
  const cache = await caches.open(root + (isLarge(path) ? LARGE : PAGES))
  const kept = () => cache.match(request, { ignoreSearch: request.mode === 'navigate', ignoreVary: true })
  if (isLarge(path) || isHashed(path)) return (await kept()) ?? fromNetwork(cache, request)
  try {
    return await fromNetwork(cache, request)
  } catch (error) {
    return (await kept()) ?? Promise.reject(error)
  }
}

self.addEventListener('fetch', (event) => {
  const path = event.request.method === 'GET' && !event.request.headers.has('range') ? below(event.request) : null
  if (path !== null) event.respondWith(answer(event.request, path))
})

/** A page tells what it had loaded before this worker was there, and wants to be served by it from now on. */
self.addEventListener('message', (event) => {
  if (event.data?.type !== 'keep') return
  event.waitUntil(self.clients.claim().then(() => Promise.all(event.data.addresses.map(async (address) => {
    const request = new Request(address)
    const path = below(request)
    if (path !== null) await answer(request, path).catch(() => {})
  }))))
})
