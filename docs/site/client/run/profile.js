// What a profile says of each line (common/program/source_profile.cpp), out of its text.

const ROW = /^(?:load|store|atomic|shared load|shared store|shared atomic) .* ([\d.]+) (sectors|passes) /

/** [{ line, text, all }] of the file's lines that have figures: in short, and their rows as they stand in the report. */
export function profiledLines(report, name) {
  const found = new Map()
  let isHere = false, line = null
  for (const row of report.split('\n')) {
    const [figures, code] = row.split(' │', 2).map((part) => part.trimEnd())
    if (code === undefined) {
      isHere = false
      continue
    }
    if (/^ +requests /.test(figures)) isHere = code.trim() === name
    const number = /^ +(\d+)( |$)/.exec(code)
    if (number) line = Number(number[1])
    if (isHere && line && /^[a-z]|^  ▲/.test(figures)) found.set(line, [...(found.get(line) ?? []), figures.trim()])
    if (!isHere) line = null
  }
  return [...found].map(([line, all]) => ({ line, all, text: all.map(inShort).filter(Boolean).join(', ') })).filter(({ text }) => text)
}

function inShort(row) {
  const [, each, unit] = ROW.exec(row) ?? []
  return each ? `${each} ${unit}` : row.startsWith('▲') ? '▲' : ''
}
