// The whole chain, from a .cu file to a module, with the page's own compiler. Half a minute.
import assert from 'node:assert/strict'
import test from 'node:test'
import { compile, load, sourceOf } from './chain.js'

const imports = async (bytes) => WebAssembly.Module.imports(await WebAssembly.compile(bytes))
const lineOf = (source, text) => source.slice(0, source.indexOf(text)).split('\n').length

// What a kernel's module may ask other modules for: hooks of accesses, the simulator, CUDA's functions, the C++ library.
const KNOWN = [/^__(tsan|ubsan_handle|sanitizer_cov|cxa)_/, /^_ZN9simulator/, /^_Z\d+_?_?(cuda|cublas|pipeline)/, /^_ZN?K?St/, /^_ZT[VIS]/,
  /^_Z(nw|na|dl|da)/, /^(mem(cpy|set|move|cmp|chr)|strlen|f?printf|puts|putchar|exit|abort)$/, /^(thread|block)Idx$|^(block|grid)Dim$/,
  /^(memory|__indirect_function_table|__(stack_pointer|memory_base|table_base)|simulator_site|__cpp_exception)$/]

const ROAD = ['01_naive_matmul/step1_uncoalesced.cu', '01_naive_matmul/step2_coalesced.cu', '02_tiled_matmul/step1_shared_tile.cu',
  '02_tiled_matmul/step2_register_tile.cu', '02_tiled_matmul/step3_conflict_free.cu', '02_tiled_matmul/step4_vectorised.cu',
  '02_tiled_matmul/step5_pipelined.cu', 'docs/first_kernel/first_kernel.cu', 'docs/first_kernel/two_dimensions.cu']

for (const file of ROAD)
  test(`${file} becomes a module that asks for nothing but the simulator`, async (t) => {
    const { bytes, diagnostics, milliseconds, sites } = await compile(file)
    assert.deepEqual(diagnostics, [])
    const wanted = (await imports(bytes)).map((each) => each.name)
    assert.deepEqual(wanted.filter((name) => !KNOWN.some((known) => known.test(name))), [])
    assert.ok(wanted.includes('simulator_site'))
    const { count, functions } = await load(bytes)
    assert.equal(count, sites)
    assert.ok(functions.some((name) => name.includes('kernel') || /saxpy|multiply/.test(name)), functions.join(' '))
    t.diagnostic(`${Object.entries(milliseconds).map(([name, ms]) => `${name} ${ms.toFixed(0)}`).join(', ')} ms; ${bytes.length} bytes`)
  })

test('while a kernel runs, each access says its line', async () => {
  const file = '01_naive_matmul/step2_coalesced.cu', source = sourceOf(file)
  const { bytes } = await compile(file)
  const seen = []
  const hook = (what) => (address) => { if (address >= module.heap) seen.push([what, module.where()]) }
  const module = await load(bytes, {
    __tsan_read4: hook('read'), __tsan_write4: hook('write'),
    _ZN9simulator6launchERKNS_6LaunchEPFvPKvES4_m: (launch, call, context) => module.table.get(call)(context),
  })
  const at = module.heap
  module.exports._ZN8tutorial12naive_matmul9coalescedEPKfS2_Pfxxx(at, at + 64, at + 128, 1n, 1n, 2n)
  const sum = `/${file}:${lineOf(source, 'sum += A[')}`, store = `/${file}:${lineOf(source, 'C[row * N + col] = sum')}`
  assert.deepEqual(seen, [['read', sum], ['read', sum], ['read', sum], ['read', sum], ['write', store]])
})

test('shared arrays stand in a table, each with the gap behind it', async () => {
  const { variables } = await load((await compile('02_tiled_matmul/step1_shared_tile.cu')).bytes)
  const ends = variables.map(({ name }) => name.replace(/.*E(?=\d)/, ''))
  assert.deepEqual(ends, ['2As', '22simulator_gap_after_As', '2Bs', '22simulator_gap_after_Bs'])
  for (const i of [0, 2]) {
    assert.equal(variables[i].at % 32, 0)
    assert.equal(variables[i + 1].at, variables[i].at + variables[i].bytes)
  }
})

const FIRST = 'docs/first_kernel/first_kernel.cu'
const errors = async (source, more) => (await compile(FIRST, source, more)).diagnostics
  .filter(({ severity }) => severity === 'error').map(({ path, line, column, message }) => `${path}:${line}:${column}: ${message}`)

test('a mistake in the language is named where it is', async () => {
  const source = sourceOf(FIRST), line = lineOf(source, 'const int i =')
  assert.deepEqual(await errors(source.replace('const int i = blockIdx.x', 'const int i = blockIdx.q')),
    [`${FIRST}:${line}:26: no member named 'q' in 'uint3'`])
})

test('what the translator refuses, and what is called without <<<>>>, too', async () => {
  const source = sourceOf(FIRST), line = lineOf(source, 'saxpy<<<')
  const [shape] = await errors(source.replace('saxpy<<<blocks, threads>>>(', 'saxpy<<<blocks, threads('))
  assert.ok(shape.startsWith(`${FIRST}:${line}:`), shape)
  const [call] = await errors(source.replace('saxpy<<<blocks, threads>>>(', 'saxpy('))
  assert.ok(call.startsWith(`${FIRST}:${line}:`) && call.includes('kernel<<<grid, block>>>(arguments)'), call)
})

test('a function that is nowhere is an error at its call', async () => {
  const source = sourceOf(FIRST).replace('int main() {', 'float nowhere(int, float*);\nint main() {\n  nowhere(1, nullptr);')
  assert.deepEqual(await errors(source, { knows: (name) => name !== '_Z7nowhereiPf' }),
    [`${FIRST}:${lineOf(source, 'nowhere(1')}:1: undefined reference to nowhere(int, float*)`])
})

test('a copy of a float4 is one access, tested for its alignment; of `s += x` the read is one, too', async () => {
  const source = `#include <cstdio>
__global__ void k(float4* to, const float4* from, float* sum) {
  to[0] = from[0];
  *sum += from[1].x;
}
void run(float4* to, const float4* from, float* sum) { k<<<1, 1>>>(to, from, sum); }
`
  const { bytes, diagnostics } = await compile(FIRST, source)
  assert.deepEqual(diagnostics, [])
  const seen = []
  const hook = (what) => (address) => { if (address >= module.heap) seen.push(`${what} ${module.where().split(':')[1]}`) }
  const module = await load(bytes, {
    __tsan_read4: hook('read'), __tsan_write4: hook('write'), __tsan_read16: hook('read16'), __tsan_write16: hook('write16'),
    __ubsan_handle_type_mismatch_v1: (data, address) => hook('misaligned')(address),
    _ZN9simulator6launchERKNS_6LaunchEPFvPKvES4_m: (launch, call, context) => module.table.get(call)(context),
  })
  const at = module.heap, run = module.exports._Z3runP6float4PKS_Pf
  run(at, at + 64, at + 128)
  assert.deepEqual(seen.splice(0), ['read16 3', 'write16 3', 'read 4', 'read 4', 'write 4'])
  run(at, at + 68, at + 128)
  assert.ok(seen.includes('misaligned 3'), seen.join(', '))
})
