// What a program prints, on its way to the page: piece by piece at first, then some pieces together; and of a program's own
// words (stream 1) no more than a page can show.
const MOST = 200_000 // characters
const SINGLY = 10_000
const PAUSE = 100 // ms

export function outputOf(send) {
  let size = 0
  let own = 0
  let waiting = ''
  let sent = 0
  const flush = () => {
    if (waiting) send(waiting)
    waiting = ''
    sent = performance.now()
  }
  const write = (stream, text) => {
    if (stream === 1) {
      if (own > MOST) return
      own += text.length
      if (own > MOST) text = `\n… The program prints more than the ${MOST} characters that the page shows.\n`
    }
    size += text.length
    waiting += text
    if (size < SINGLY || performance.now() - sent > PAUSE) flush()
  }
  return { write, flush }
}
