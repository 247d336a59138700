// The pass over assembler text, and the compiler's messages, without a compiler.
import assert from 'node:assert/strict'
import test from 'node:test'
import { diagnosticsOf, ofTranslator } from '../compile/diagnostics.js'
import { addSites, isLibrary, placeOf } from '../compile/sites.js'
import { text } from '../../project.js'

test('what is library code is what native reports skip, too', () => {
  const source = text('common/simulator/world/symbols.cpp')
  const rule = source.slice(source.indexOf('bool is_hopper_word'))
  const names = [...rule.matchAll(/ends_with\("(\/common\/kernel\/\w+\.cuh)"\)/g)].map((m) => m[1])
  for (const [, name] of rule.match(/\{("barrier".*?)\}/)[1].matchAll(/"(\w+)"/g)) names.push(`/common/kernel/${name}.cuh`)
  assert.equal(names.length, 10)
  for (const name of [...names, '/usr/include/c++/v1/vector', '/common/simulator/include/device_functions.h']) assert.ok(isLibrary(name), name)
  for (const name of ['/common/kernel/reduce.cuh', '/01_naive_matmul/step1_uncoalesced.cu']) assert.ok(!isLibrary(name), name)
  assert.equal(rule.match(/path\.starts_with\("(.*?)"\)/)[1], '/usr/')
  assert.equal(rule.match(/path\.find\("(.*?)"\)/)[1], '/simulator/include/')
})

test('the place of a call is the first one that is no library', () => {
  assert.deepEqual(placeOf(' /01/x.cu:41:7'), ['/01/x.cu', 41])
  assert.deepEqual(placeOf(' /01/x.cu:41'), ['/01/x.cu', 41])
  assert.deepEqual(placeOf(' /common/kernel/vector4.cuh:9:3 @[ /01/x y.cu:7:5 @[ /01/x y.cu:20:1 ] ]'), ['/01/x y.cu', 7])
  assert.deepEqual(placeOf(' /01/x.cu:0:3 @[ /01/x.cu:8:5 ]'), ['/01/x.cu', 8])
  assert.deepEqual(placeOf(' /usr/include/math.h:3:1'), ['/usr/include/math.h', 3])
  assert.equal(placeOf(' /01/x.cu:0:0'), null)
})

const ASSEMBLER = `\t.file\t"kernel.cpp"
\t.type\tinner,@function
\t.globl\touter
\t.type\touter,@function
inner:
\t.loc\t1 3 5 # /x.cu:3:5
\tcall\t__tsan_read4
\ti32.div_s
\tend_function
outer:
\t.loc\t1 9 1 # /x.cu:9:1
\tcall\tinner
\ti32.const\tinner@TBREL
\tcall\t__tsan_write4
\tend_function
_ZZ1kvE2As:
\t.size\t_ZZ1kvE2As, 16
_ZZ1kvE22simulator_gap_after_As:
\t.size\t_ZZ1kvE22simulator_gap_after_As, 256
_ZZ1kvE5plain:
\t.size\t_ZZ1kvE5plain, 4
`

test('each call that leaves the file, and what may trap, has a number of its own', () => {
  const { text: out, count, exports, calls } = addSites(ASSEMBLER, 100)
  assert.equal(count, 4) // none, and three
  assert.deepEqual(exports, ['outer'])
  assert.deepEqual([...calls], [['__tsan_read4', ['/x.cu', 3]], ['__tsan_write4', ['/x.cu', 9]]])
  assert.match(out, /i32.const\t101\n\tglobal.set\tsimulator_site\n\tcall\t__tsan_read4/)
  assert.match(out, /i32.const\t102\n\tglobal.set\tsimulator_site\n\ti32.div_s/)
  assert.match(out, /9:1\n\tcall\tinner/)
  assert.match(out, /i32.div_s\n\tcall\t__tsan_func_exit\n\tend_function/)
  assert.match(out, /i32.const\t103\n\tglobal.set\tsimulator_site\n\tcall\t__tsan_write4/)
})

test('a loop that calls nothing is given a check', () => {
  const loop = (inside) => `\t.loc\t1 4 1 # /x.cu:4:1\n\tloop\n${inside}\tbr\t0\n\tend_loop\n`
  const call = /loop\n\ti32.const\t1\n.*\n\tcall\t__sanitizer_cov_trace_pc\n/
  assert.match(addSites(loop('')).text, call)
  assert.doesNotMatch(addSites(loop('\tcall\t__tsan_read4\n')).text, call)
  assert.equal(addSites(loop(loop(''))).text.match(/call/g).length, 2)
})

const table = (out, name) => out.match(new RegExp(`\n${name}:\n((?:\t.int32\t.*\n)*)`))[1].trim().split('\n').map((row) => row.replace(/\s*\.int32\s/, ''))

test('a table tells the arithmetic of each basic block that has some', () => {
  const begins = '\tcall\t__sanitizer_cov_trace_pc\n'
  const code = `k:\n\tf32.div \n${begins}\tf32.mul \n\tf32.add \n\tf32.mul \n\tf64.mul \n\tf32.load\t0\n${begins}\ti32.add \n` +
    `${begins}\tf32.sub \n\tcall\tfmaxf\n\tf32.sqrt \n\tcall\texpf\n\tcall\tfmaf\n\tend_function\n`
  assert.deepEqual(table(addSites(code, 100).text, 'simulator_arithmetic').map(Number),
    [1, 2, 1, 0, 0, 0, 3, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0])
})

test('tables tell shared arrays with their gaps, and functions whose address is taken', () => {
  const { text: out } = addSites(ASSEMBLER)
  const named = (label) => out.match(new RegExp(`\n\\${label}:\n\t.asciz\t"(.*)"`))[1]
  const variables = table(out, 'simulator_variables')
  assert.deepEqual(variables.filter((_, i) => i % 3 < 2), ['_ZZ1kvE2As', '16', '_ZZ1kvE22simulator_gap_after_As', '256', '0', '0'])
  assert.equal(named(variables[2]), '_ZZ1kvE2As')
  const functions = table(out, 'simulator_functions')
  assert.equal(functions.length, 4)
  assert.equal(named(functions[1]), 'inner')
})

test('a message names the line and the column that the learner wrote', () => {
  const source = 'one\n  k<<<g, b>>>(x, y);\n'
  const cpp = '#line 1 "/a/k.cu"\none\n  ::simulator::launch_site("k", g, b)(x, y);\n'
  const at = (column) => diagnosticsOf(`/a/k.cu:2:${column}: error: no [-Wx]`, { path: 'a/k.cu', source, cpp })[0]
  assert.deepEqual(at(3), { path: 'a/k.cu', line: 2, column: 3, severity: 'error', message: 'no [-Wx]' })
  assert.equal(at(1 + cpp.split('\n')[2].indexOf('y)')).column, 1 + source.split('\n')[1].indexOf('y)'))
  assert.ok(at(12).column <= 12)
  assert.equal(diagnosticsOf('/b.hpp:7:1: fatal error: x\n1 error generated.', { path: 'a/k.cu', source, cpp }).length, 1)
  assert.deepEqual(ofTranslator('/a/k.cu:5: asm is not here\n', 'a/k.cu'),
    [{ path: 'a/k.cu', line: 5, column: 1, severity: 'error', message: 'asm is not here' }])
})
