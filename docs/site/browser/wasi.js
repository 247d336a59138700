// WASI (preview 1) on files in memory: as much of it as a program asks for that reads files, writes files and prints.

const OK = 0,
  BAD_FILE = 8,
  EXISTS = 20,
  INVALID = 28,
  NO_ENTRY = 44,
  NOT_SUPPORTED = 52,
  NOT_FOLDER = 54
const FOLDER = 3,
  REGULAR = 4,
  CHARACTERS = 2
const CREATE = 1,
  ONLY_FOLDER = 2,
  TRUNCATE = 8
const ROOT = 3 // the descriptor of "/"

export class Exit extends Error {
  constructor(status) {
    super(`exit ${status}`)
    this.status = status
  }
}

/**
 * What a module imports of WASI.
 *   write(stream, text)  what is printed, to stream 1 or 2
 *   files                what it reads and writes (files.js)
 * When the module has been made, use() tells its memory.
 */
export function wasiOf(module, { words = [], environment = {}, files, write }) {
  const decoder = new TextDecoder(),
    encoder = new TextEncoder()
  let memory,
    next = ROOT + 1
  const open = new Map()
  const view = () => new DataView(memory.buffer)
  const bytes = (at, size) => new Uint8Array(memory.buffer, at, size)
  const string = (at, size) => decoder.decode(bytes(at, size))
  const put = (at, value) => view().setUint32(at, value, true)
  const pieces = (list, count) =>
    Array.from({ length: count }, (_, i) => bytes(view().getUint32(list + 8 * i, true), view().getUint32(list + 8 * i + 4, true)))

  const stat = (at, type, size) => {
    bytes(at, 64).fill(0)
    view().setUint8(at + 16, type)
    view().setBigUint64(at + 32, BigInt(size), true)
    return OK
  }
  const strings = (list) => {
    const encoded = list.map((word) => encoder.encode(word + '\0'))
    return {
      sizes: (count, size) => (
        put(count, encoded.length),
        put(
          size,
          encoded.reduce((n, b) => n + b.length, 0),
        ),
        OK
      ),
      get(list, at) {
        encoded.forEach((word, i) => {
          put(list + 4 * i, at)
          bytes(at, word.length).set(word)
          at += word.length
        })
        return OK
      },
    }
  }
  const args = strings(words),
    variables = strings(Object.entries(environment).map((pair) => pair.join('=')))

  const wasi = {
    args_sizes_get: args.sizes,
    args_get: args.get,
    environ_sizes_get: variables.sizes,
    environ_get: variables.get,
    proc_exit(status) {
      throw new Exit(status)
    },
    fd_prestat_get: (fd, at) => (fd === ROOT ? (put(at, 0), put(at + 4, 1), OK) : BAD_FILE),
    fd_prestat_dir_name: (fd, at) => ((bytes(at, 1)[0] = 47), OK),
    fd_fdstat_get(fd, at) {
      bytes(at, 24).fill(0)
      view().setUint8(at, fd < ROOT ? CHARACTERS : fd === ROOT ? FOLDER : REGULAR)
      view().setBigUint64(at + 8, ~0n, true) // all is allowed
      view().setBigUint64(at + 16, ~0n, true)
      return OK
    },
    fd_fdstat_set_flags: () => OK,
    fd_sync: () => OK,
    fd_filestat_get(fd, at) {
      const file = open.get(fd)
      return file ? stat(at, REGULAR, file.data.length) : stat(at, fd === ROOT ? FOLDER : CHARACTERS, 0)
    },
    fd_close(fd) {
      const file = open.get(fd)
      if (file?.written) files.write(file.path, file.data)
      open.delete(fd)
      return OK
    },
    fd_read(fd, list, count, result) {
      const file = open.get(fd)
      if (!file) return BAD_FILE
      let all = 0
      for (const piece of pieces(list, count)) {
        const part = file.data.subarray(file.at, file.at + piece.length)
        piece.set(part)
        file.at += part.length
        all += part.length
      }
      put(result, all)
      return OK
    },
    fd_write(fd, list, count, result) {
      const file = open.get(fd)
      if (!file && fd >= ROOT) return BAD_FILE
      let all = 0
      for (const piece of pieces(list, count)) {
        all += piece.length
        if (!file) {
          write(fd, decoder.decode(piece, { stream: true }))
          continue
        }
        const data = new Uint8Array(Math.max(file.data.length, file.at + piece.length))
        data.set(file.data)
        data.set(piece, file.at)
        Object.assign(file, { data, at: file.at + piece.length, written: true })
      }
      put(result, all)
      return OK
    },
    fd_seek(fd, offset, from, result) {
      const file = open.get(fd)
      if (!file) return BAD_FILE
      file.at = [0, file.at, file.data.length][from] + Number(offset)
      view().setBigUint64(result, BigInt(file.at), true)
      return OK
    },
    path_open(fd, lookup, path, size, flags, rights, inherited, fdFlags, result) {
      const name = string(path, size)
      let data = files.read(name)
      if (files.isFolder(name)) return NOT_SUPPORTED
      if (flags & ONLY_FOLDER) return data ? NOT_FOLDER : NO_ENTRY
      if (!data && !(flags & CREATE)) return NO_ENTRY
      const isNew = !data || (flags & TRUNCATE) !== 0
      if (isNew) data = new Uint8Array()
      open.set(next, { path: name, data, at: 0, written: isNew })
      put(result, next++)
      return OK
    },
    path_filestat_get(fd, lookup, path, size, at) {
      const name = string(path, size),
        data = files.read(name)
      if (data) return stat(at, REGULAR, data.length)
      return files.isFolder(name) ? stat(at, FOLDER, 0) : NO_ENTRY
    },
    path_create_directory(fd, path, size) {
      const name = string(path, size)
      if (files.read(name) || files.isFolder(name)) return EXISTS
      files.makeFolder(name)
      return OK
    },
    path_unlink_file: (fd, path, size) => (files.remove(string(path, size)) ? OK : NO_ENTRY),
    path_rename(fd, from, fromSize, toFd, to, toSize) {
      const name = string(from, fromSize), data = files.read(name)
      if (!data) return NO_ENTRY
      files.write(string(to, toSize), data)
      files.remove(name)
      return OK
    },
    clock_time_get(id, precision, at) {
      view().setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true)
      return OK
    },
    random_get(at, size) {
      crypto.getRandomValues(bytes(at, size))
      return OK
    },
    sched_yield: () => OK,
    path_readlink(fd, path, size) {
      // there are no links
      const name = string(path, size)
      return files.read(name) || files.isFolder(name) ? INVALID : NO_ENTRY
    },
  }

  const imports = {}
  for (const { module: from, name } of WebAssembly.Module.imports(module))
    if (from === 'wasi_snapshot_preview1') imports[name] = wasi[name] ?? (() => NOT_SUPPORTED)
  return {
    imports,
    use: (exported) => {
      memory = exported
    },
  }
}

/** Runs a program of its own. Returns {status, text}: what it printed to both its streams. */
export async function runProgram(module, words, files) {
  let text = ''
  const wasi = wasiOf(module, {
    words,
    files,
    write: (stream, part) => {
      text += part
    },
  })
  const { exports } = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: wasi.imports })
  wasi.use(exports.memory)
  try {
    exports._start()
    return { status: 0, text }
  } catch (end) {
    if (end instanceof Exit) return { status: end.status, text }
    throw end
  }
}
