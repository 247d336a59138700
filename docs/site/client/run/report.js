// Where a report speaks of the edited file: "step2_coalesced.cu:24", also with a path before it or a column behind.

const place = (name) => new RegExp(`[\\w./-]*(?<![\\w.-])${name.replace(/\./g, '\\.')}:(\\d+)(?::\\d+)?`, 'g')

/** A report as [{ text, line }]; what has a line leads there. */
export function pieces(report, name) {
  const found = []
  let at = 0
  for (const match of report.matchAll(place(name))) {
    found.push({ text: report.slice(at, match.index) }, { text: match[0], line: Number(match[1]) })
    at = match.index + match[0].length
  }
  return [...found, { text: report.slice(at) }]
}

export const namedLines = (report, name) => [...new Set([...report.matchAll(place(name))].map(([, line]) => Number(line)))]

export const diagnosticLines = (list) =>
  list.map(({ path, line, column, severity, message }) => `${path}:${line}:${column}: ${severity}: ${message}\n`).join('')
