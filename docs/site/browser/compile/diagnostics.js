// The compiler's messages as {path, line, column, severity, message}, where the learner wrote what they are about.

/** Of a line that the translator changed the column in the source, as far as both agree. */
function columnBefore(column, was, is) {
  if (was === is) return column
  let same = 0, behind = 0
  while (same < was.length && was[same] === is[same]) ++same
  while (behind < was.length - same && was[was.length - 1 - behind] === is[is.length - 1 - behind]) ++behind
  if (column <= same + 1) return column
  if (column > is.length - behind) return column - is.length + was.length
  return same + 1
}

/** `cpp`: the translation of `source`; its first line is a #line, then each is a line of the source. */
export function diagnosticsOf(text, { path, source, cpp }) {
  const was = source.split('\n'), is = cpp.split('\n').slice(1)
  const found = []
  for (const line of text.split('\n')) {
    const m = /^\/?(.+?):(\d+):(?:(\d+):)? (fatal error|error|warning|note): (.*)$/.exec(line)
    if (!m) {
      // A place that is not known, as of "error: too many errors emitted".
      const whole = /^(fatal error|error): (.*)$/.exec(line)
      if (whole) found.push({ path, line: 1, column: 1, severity: 'error', message: whole[2] })
      continue
    }
    if (m[5].startsWith('could not determine the original source location')) continue  // of the translation, which it did not look for
    const at = Number(m[2])
    let column = Number(m[3] ?? 1)
    if (m[1] === path && at <= was.length) column = columnBefore(column, was[at - 1], is[at - 1])
    found.push({ path: m[1], line: at, column, severity: m[4].replace('fatal ', ''), message: m[5] })
  }
  return found
}

/** The translator ends with its one message, "path:line: …". */
export function ofTranslator(text, path) {
  const m = /^\/?(.+?):(\d+): ([^]*)$/.exec(text.trim())
  const [, file, line, message] = m ?? [null, path, 1, text.trim()]
  return [{ path: file, line: Number(line), column: 1, severity: 'error', message }]
}
