// A host of static files: no header but the type, and a path below which the site stands.
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'

const TYPES = {
  css: 'text/css', html: 'text/html', js: 'text/javascript', json: 'application/json', svg: 'image/svg+xml', txt: 'text/plain',
  wasm: 'application/wasm', woff2: 'font/woff2',
}

/** Serves a folder; `instead` gives what stands in some files' places, by a pattern of their address. */
export function serve(folder, { base = '/', instead = [] } = {}) {
  const asked = []
  const server = http.createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost')
    const address = decodeURI(pathname)
    asked.push(address)
    const end = (status, body, type = 'html') => response.writeHead(status, { 'content-type': TYPES[type] ?? 'application/octet-stream' }).end(body)
    if (!address.startsWith(base)) return end(404, '')
    const below = address.slice(base.length).replace(/(^|\/)$/, '$1index.html')
    const type = path.extname(below).slice(1)
    const other = instead.find(({ pattern }) => pattern.test(below))
    const file = path.join(folder, below)
    if (other) return end(200, other.body, type)
    if (fs.existsSync(file) && fs.statSync(file).isFile()) return end(200, fs.readFileSync(file), type)
    return end(404, fs.readFileSync(path.join(folder, '404.html')))
  })
  return new Promise((ready) => server.listen(0, 'localhost', () => ready({
    origin: `http://localhost:${server.address().port}`,
    asked,
    close: () => new Promise((closed) => {
      server.close(closed)
      server.closeAllConnections()
    }),
  })))
}
