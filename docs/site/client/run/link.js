// A program in an address, behind the #: zlib's bytes in base64url. A browser sends what stands there to nobody.
export const MARK = '#program='
const LONGEST = 32_000 // characters of a program in an address
const LARGEST = 200_000 // bytes of a program

/** Gives what stands behind the address of the page that opens it. */
export async function fragmentOf(text) {
  const packed = await bytesOf(new Blob([text]).stream().pipeThrough(new CompressionStream('deflate')))
  const code = btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join(''))
  const fragment = MARK + code.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
  if (fragment.length > LONGEST) throw new Error(`The program is too long for a link: it takes ${fragment.length} characters, and ${LONGEST} are the most.`)
  return fragment
}

/** Gives the program; what is wrong with the link is the message of an error. */
export async function programOf(fragment) {
  if (fragment.length > LONGEST) throw new Error(`The link is too long: it has ${fragment.length} characters, and ${LONGEST} are the most.`)
  try {
    const code = fragment.slice(MARK.length).replaceAll('-', '+').replaceAll('_', '/')
    const packed = Uint8Array.from(atob(code), (letter) => letter.charCodeAt(0))
    const bytes = await bytesOf(new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate')))
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    if (error instanceof TooLarge) throw error
    throw new Error('The link is broken: a part of it is missing, or was changed on its way. Copy all of it, once more.')
  }
}

class TooLarge extends Error {}

async function bytesOf(stream) {
  const pieces = []
  let size = 0
  for (const reader = stream.getReader(); ; ) {
    const { done, value } = await reader.read()
    if (done) return new Uint8Array(await new Blob(pieces).arrayBuffer())
    pieces.push(value)
    if ((size += value.length) > LARGEST) throw new TooLarge(`The program is too long for a link: ${LARGEST} bytes are the most.`)
  }
}
