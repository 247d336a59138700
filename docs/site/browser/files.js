// Files in memory: what a WASI program reads and writes, and the tree that the compiler is given.

const encoder = new TextEncoder()

/** "/a/./b/../c" and "a/c" are both "a/c". */
export function normal(path) {
  const parts = []
  for (const part of path.split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return parts.join('/')
}

export class Files {
  #files = new Map()
  #folders = new Set([''])

  /** `texts`: path to text, or to bytes. */
  constructor(texts = {}) {
    for (const [path, text] of Object.entries(texts)) this.write(path, text)
  }

  write(path, text) {
    path = normal(path)
    this.#files.set(path, typeof text === 'string' ? encoder.encode(text) : text)
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) this.makeFolder(path.slice(0, at))
  }
  read(path) {
    return this.#files.get(normal(path))
  }
  remove(path) {
    return this.#files.delete(normal(path))
  }
  isFolder(path) {
    return this.#folders.has(normal(path))
  }
  makeFolder(path) {
    this.#folders.add(normal(path))
  }

  copy() {
    const other = new Files()
    for (const [path, bytes] of this.#files) other.#files.set(path, bytes)
    for (const path of this.#folders) other.#folders.add(path)
    return other
  }

  /** {folder: {file: bytes}}, as @yowasp/clang takes it. */
  tree() {
    const root = {}
    for (const [path, bytes] of this.#files) {
      const parts = path.split('/')
      const name = parts.pop()
      let folder = root
      for (const part of parts) folder = folder[part] ??= {}
      folder[name] = bytes
    }
    return root
  }
}
