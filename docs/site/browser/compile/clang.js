// The page's compiler, @yowasp/clang, asked for one of its programs at a time: clang -cc1, clang -cc1as, wasm-ld. (Its
// driver would start them, and costs as much time as each: build/kernels.js asks it once what it would start.)

const decoder = new TextDecoder()

/**
 * Runs a program on a tree of files. Returns {ok, output, messages}: the bytes of its standard output, and the text of
 * the other stream. (A file that it writes piece by piece is copied whole for each piece: let it write to "-".)
 */
export async function run(clang, words, tree) {
  const pieces = []
  let messages = '', ok = true
  try {
    await clang.runLLVM(words, tree, {
      stdout: bytes => { if (bytes) pieces.push(bytes.slice()); },
      stderr: bytes => { if (bytes) messages += decoder.decode(bytes, { stream: true }); },
      fetchProgress: () => {},
      decodeASCII: false,
    })
  } catch (error) {
    if (!(error instanceof clang.Exit)) throw error
    ok = false
  }
  const output = new Uint8Array(pieces.reduce((size, piece) => size + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    output.set(piece, at)
    at += piece.length
  }
  return { ok, output, messages }
}

/** The command that the driver would start for these words. */
export async function commandOf(clang, words, tree) {
  const { messages } = await run(clang, [words[0], '-###', ...words.slice(1)], tree)
  const line = messages.split('\n').find(line => line.startsWith(' "'))
  if (!line) throw new Error(messages)
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(m => m[1].replace(/\\(.)/g, '$1')).filter((word, i) => i > 0 || word)
}
