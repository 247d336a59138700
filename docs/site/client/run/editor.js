// CodeMirror, in the colours of the site's code.
import { indentWithTab } from '@codemirror/commands'
import { cpp } from '@codemirror/lang-cpp'
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language'
import { lintGutter, setDiagnostics } from '@codemirror/lint'
import { search, searchKeymap } from '@codemirror/search'
import { EditorState, Prec, RangeSet, StateEffect, StateField } from '@codemirror/state'
import { Decoration, EditorView, gutter, GutterMarker, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { minimalSetup } from 'codemirror'

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.typeName, tags.bool, tags.null, tags.self], color: 'var(--k)' },
  { tag: [tags.string, tags.character], color: 'var(--s)' },
  { tag: tags.comment, color: 'var(--c)' },
  { tag: tags.number, color: 'var(--n)' },
  { tag: tags.processingInstruction, color: 'var(--k)' },
  { tag: [tags.function(tags.variableName), tags.function(tags.definition(tags.variableName))], color: 'var(--f)' },
])

const markLines = StateEffect.define() // numbers of lines
const named = Decoration.line({ class: 'named' })

const marks = StateField.define({
  create: () => Decoration.none,
  update(set, change) {
    set = set.map(change.changes)
    for (const effect of change.effects) {
      if (effect.is(markLines)) set = Decoration.set(effect.value.map((number) => named.range(change.state.doc.line(number).from)))
    }
    return set
  },
  provide: (field) => EditorView.decorations.from(field),
})

const showFigures = StateEffect.define() // [{ line, text, all }]
class Figures extends GutterMarker {
  constructor({ text, all }) {
    super()
    Object.assign(this, { text, all })
  }
  toDOM() {
    return Object.assign(document.createElement('span'), { textContent: this.text, title: this.all.join('\n') })
  }
}
/** Beside the lines, until one is edited: then they would be another file's. */
const figures = StateField.define({
  create: () => RangeSet.empty,
  update(set, change) {
    if (change.docChanged) set = RangeSet.empty
    for (const effect of change.effects) {
      if (effect.is(showFigures)) set = RangeSet.of(effect.value.map((each) => new Figures(each).range(change.state.doc.line(each.line).from)))
    }
    return set
  },
})

export function openEditor(parent, { text, label, onChange, onRun }) {
  const run = () => {
    onRun()
    return true
  }
  const extensions = [
    Prec.highest(keymap.of([{ key: 'Mod-Enter', run }, { key: 'Ctrl-Enter', run }])),
    minimalSetup,
    keymap.of([indentWithTab, ...searchKeymap]),
    [lineNumbers(), highlightActiveLine(), bracketMatching(), indentOnInput(), search({ top: true })],
    cpp(),
    syntaxHighlighting(colours),
    lintGutter(),
    marks,
    [figures, gutter({ class: 'figures', markers: (view) => view.state.field(figures) })],
    EditorState.tabSize.of(2),
    EditorView.contentAttributes.of({ 'aria-label': label }),
    EditorView.updateListener.of((update) => update.docChanged && onChange(update.state.doc.toString())),
  ]
  const view = new EditorView({ parent, state: EditorState.create({ doc: text, extensions }) })
  const lines = () => view.state.doc.lines
  const inside = (number) => Math.min(Math.max(number, 1), lines())

  /** From the compiler's line and column, both from 1, to the end of the word there. */
  function range({ line, column }) {
    const { from, to } = view.state.doc.line(inside(line))
    const at = Math.min(from + Math.max((column || 1) - 1, 0), to)
    return { from: at, to: view.state.wordAt(at)?.to ?? at }
  }

  return {
    text: () => view.state.doc.toString(),
    replace: (other) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: other } }),
    /** Marks lines, and shows the first. */
    mark(numbers) {
      const there = numbers.filter((each) => each >= 1 && each <= lines())
      const shown = there.slice(0, 1).map((each) => EditorView.scrollIntoView(view.state.doc.line(each).from, { y: 'center' }))
      view.dispatch({ effects: [markLines.of(there.sort((a, b) => a - b)), ...shown] })
    },
    /** Writes figures beside lines, and shows the first one. */
    annotate(list) {
      const there = list.filter(({ line }) => line <= lines()).sort((a, b) => a.line - b.line)
      const shown = there.slice(0, 1).map(({ line }) => EditorView.scrollIntoView(view.state.doc.line(line).from, { y: 'center' }))
      view.dispatch({ effects: [showFigures.of(there), ...shown] })
    },
    diagnose(list) {
      const severity = (word) => (/error/.test(word) ? 'error' : /warning/.test(word) ? 'warning' : 'info')
      view.dispatch(setDiagnostics(view.state, list.map((each) => ({ ...range(each), severity: severity(each.severity), message: each.message }))))
    },
    go(number) {
      const { from } = view.state.doc.line(inside(number))
      view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: 'center' }) })
      view.focus()
    },
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  }
}
