// Where a file can be changed by one operator, number, index, condition, call, argument or operand, as JSON:
// [{file, kind, start, end, new}, …], where characters start … end are replaced by `new`.
//
//   node sites.js FILE...
//
// The parser is tree-sitter's, with its grammar of CUDA. What it cannot parse is left alone, as are tests' words,
// includes, static_assert and what only the compiler or the speed depends on.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Language, Parser } from 'web-tree-sitter'

const OPERATORS = {
  '+': ['-'], '-': ['+'], '*': ['+'], '/': ['*'], '%': ['/'], '<': ['<=', '>'], '<=': ['<'], '>': ['>=', '<'],
  '>=': ['>'], '==': ['!='], '!=': ['=='], '&&': ['||'], '||': ['&&'], '<<': ['>>'], '>>': ['<<'], '^': ['|'],
  '&': ['|'], '|': ['&'], '+=': ['=', '-='], '-=': ['+='], '*=': ['='], '/=': ['*='],
}
// Names that are easily taken for one another.
const OTHERS = {
  M: 'N', N: 'K', K: 'N', row: 'col', col: 'row', row0: 'col0', col0: 'row0', m: 'n', n: 'm', i: 'j', j: 'i', BM: 'BN', BN: 'BM',
  lane: 'warp', warp: 'lane', Tq: 'Tk', Tk: 'Tq', q: 'k', k: 'v', NH: 'NH_kv', NH_kv: 'NH', min: 'max', max: 'min', x: 'y', y: 'x',
}
const LEFT_ALONE = new Set(['preproc_include', 'static_assert_declaration', 'comment', 'string_literal', 'raw_string_literal',
  'template_parameter_list', 'launch_bounds', 'attribute', 'using_declaration', 'alias_declaration', 'preproc_call', 'ERROR'])
// A call that does nothing but be waited for, checked or told: without it the program is right, only later or more quietly.
const MAY_GO = /^(CUDA_CHECK_LAUNCH|allow_shared_memory|give_registers|take_registers|static_cast|require|__builtin)/

function* sitesOf(node, names) {
  if (LEFT_ALONE.has(node.type)) return
  const site = (kind, from, text, to = from) => ({ kind, start: from.startIndex, end: to.endIndex, new: text })
  if (node.type === 'binary_expression' || node.type === 'assignment_expression') {
    const operator = node.childForFieldName('operator')
    for (const other of OPERATORS[operator?.type] ?? []) yield site('operator', operator, other)
    const [left, right] = ['left', 'right'].map((field) => node.childForFieldName(field))
    if (['-', '/', '%', '<<', '>>'].includes(operator?.type)) yield site('operand', node, `${right.text} ${operator.type} ${left.text}`)
  }
  if (node.type === 'number_literal' && /^\d+$/.test(node.text)) {
    yield site('constant', node, String(Number(node.text) + 1))
    if (Number(node.text) > 0) yield site('constant', node, String(Number(node.text) - 1))
  }
  if (node.type === 'subscript_expression') {
    const index = node.childForFieldName('indices')?.namedChild(0)
    if (index) yield site('index', index, `${index.text} + 1`)
  }
  if (node.type === 'if_statement') {
    const condition = node.childForFieldName('condition')?.namedChild(0)
    if (condition && !node.text.startsWith('if constexpr')) {
      yield site('condition', condition, `!(${condition.text})`)
      yield site('condition', condition, 'true')
      yield site('condition', condition, 'false')
    }
  }
  if (node.type === 'conditional_expression') {
    const [yes, no] = ['consequence', 'alternative'].map((field) => node.childForFieldName(field))
    if (yes && no) {
      yield site('condition', node, yes.text)
      yield site('condition', node, no.text)
    }
  }
  if (node.type === 'expression_statement' && node.namedChild(0)?.type === 'call_expression' && !MAY_GO.test(node.text))
    yield site(/sync|wait|arrive|fence|commit/.test(node.text) ? 'barrier' : 'call', node, ';')
  if (node.type === 'argument_list') {
    const given = node.namedChildren.filter((child) => child.type !== 'comment')
    for (let i = 0; i + 1 < given.length; ++i)
      if (given[i].type === given[i + 1].type && given[i].type === 'identifier' && given[i].text !== given[i + 1].text)
        yield site('argument', given[i], `${given[i + 1].text}, ${given[i].text}`, given[i + 1])
  }
  if (['identifier', 'field_identifier'].includes(node.type) && names.has(OTHERS[node.text]) &&
      !/declarator|declaration|parameter|field_designator|enumerator/.test(node.parent?.type ?? ''))
    yield site('name', node, OTHERS[node.text])
  for (const child of node.namedChildren) yield* sitesOf(child, names)
}

await Parser.init()
const parser = new Parser()
parser.setLanguage(await Language.load(createRequire(import.meta.url).resolve('tree-sitter-cuda/tree-sitter-cuda.wasm')))
const sites = process.argv.slice(2).flatMap((file) => {
  const text = readFileSync(file, 'utf8')
  return [...sitesOf(parser.parse(text).rootNode, new Set(text.match(/\w+/g)))].map((site) => ({ file, ...site }))
})
process.stdout.write(JSON.stringify(sites))
