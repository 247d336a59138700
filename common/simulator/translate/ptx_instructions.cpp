#include "common/simulator/translate/ptx_instructions.hpp"

#include <iterator>
#include <sstream>
#include <utility>
#include <vector>

namespace simulator {
namespace {

// A line each: name, operands, types, expression; "-" for none.
constexpr char kInstructions[] = R"(
mov                   Dt       ifhx $0
add                   Dww      ifhx $0 + $1
sub                   Dww      ifhx $0 - $1
mul                   Dww      ifhx $0 * $1
mul.hi.s32            Att      i    ::__mulhi($0, $1)
mul.hi.u32            Att      i    ::__umulhi($0, $1)
mul.wide.s32          Att      i    static_cast<long long>($0) * $1
mul.wide.u32          Att      i    static_cast<unsigned long long>($0) * $1
mad                   Dwww     i    $0 * $1 + $2
mad                   Dttt     f    std::fma($0, $1, $2)
fma                   Dttt     f    std::fma($0, $1, $2)
fma                   Attt     h    __hfma($0, $1, $2)
fma                   Attt     x    __hfma2($0, $1, $2)
div                   Dtt      if   $0 / $1
rem                   Dtt      i    $0 % $1
min                   Dtt      if   ::min($0, $1)
max                   Dtt      if   ::max($0, $1)
abs                   Dt       if   std::abs($0)
neg                   Dw       if   -$0
ex2                   At       f    std::exp2($0)
lg2                   At       f    std::log2($0)
rcp                   At       f    1 / $0
sqrt                  At       f    std::sqrt($0)
rsqrt                 At       f    1 / std::sqrt($0)
sin                   At       f    std::sin($0)
cos                   At       f    std::cos($0)
tanh                  At       f    std::tanh($0)
and                   Dtt      i    $0 & $1
or                    Dtt      i    $0 | $1
xor                   Dtt      i    $0 ^ $1
not                   Dt       i    ~$0
shl                   Dwu      i    ::simulator::ptx_shift_left($0, $1)
shr                   Dtu      i    ::simulator::ptx_shift_right($0, $1)
popc                  Aw       i    std::popcount($0)
clz                   Aw       i    std::countl_zero($0)
brev.b32              At       i    ::__brev($0)
brev.b64              At       i    ::__brevll($0)
bfind.u32             At       i    31 - std::countl_zero($0)
bfe                   Dtuu     i    ::simulator::ptx_bit_field($0, $1, $2)
bfi.b32               Attuu    i    ::simulator::ptx_insert($0, $1, $2, $3)
lop3.b32              Atttu    i    ::simulator::ptx_lop3($0, $1, $2, $3)
prmt.b32              Attt     i    ::__byte_perm($0, $1, $2)
shf.l.wrap.b32        Attt     i    ::__funnelshift_l($0, $1, $2)
shf.r.wrap.b32        Attt     i    ::__funnelshift_r($0, $1, $2)
cvt.f16x2.f32         Att      f    ::__floats2half2_rn($1, $0)
cvt.bf16x2.f32        Att      f    ::__floats2bfloat162_rn($1, $0)
cvt.rna.tf32.f32      At       f    ::ptx::to_tf32($0)
setp.eq               Att      if   $0 == $1
setp.ne               Att      if   $0 != $1
setp.lt               Att      if   $0 < $1
setp.le               Att      if   $0 <= $1
setp.gt               Att      if   $0 > $1
setp.ge               Att      if   $0 >= $1
selp                  Dttb     if   $2 ? $0 : $1
cvta.to.shared        Dt       i    ::__cvta_generic_to_shared(reinterpret_cast<const void*>($0))
cvta.to               Dt       i    $0
ld                    Ap       ifhx ::simulator::ptx_load_one($0)
ld.v2                 AAp      ifhx ::simulator::ptx_load<2>($0)
ld.v4                 AAAAp    ifhx ::simulator::ptx_load<4>($0)
st                    pt       ifhx ::simulator::ptx_store($0, {$1})
st.v2                 ptt      ifhx ::simulator::ptx_store($0, {$1, $2})
st.v4                 ptttt    ifhx ::simulator::ptx_store($0, {$1, $2, $3, $4})
atom.add              Apt      if   ::atomicAdd($0, $1)
atom.min              Apt      i    ::atomicMin($0, $1)
atom.max              Apt      i    ::atomicMax($0, $1)
atom.and              Apt      i    ::atomicAnd($0, $1)
atom.or               Apt      i    ::atomicOr($0, $1)
atom.exch             Apt      i    ::atomicExch($0, $1)
atom.cas              Aptt     i    ::atomicCAS($0, $1, $2)
red.add               pt       if   ::atomicAdd($0, $1)
red.min               pt       i    ::atomicMin($0, $1)
red.max               pt       i    ::atomicMax($0, $1)
prefetch              p        -    static_cast<void>($0)
cp.async              sgi      -    ::__pipeline_memcpy_async($0, $1, $2)
cp.async              sgiu     -    ::__pipeline_memcpy_async($0, $1, $2, $2 - $3)
cp.async.commit_group -        -    ::__pipeline_commit()
cp.async.wait_group   i        -    ::__pipeline_wait_prior($0)
cp.async.wait_all     -        -    ::__pipeline_commit(), ::__pipeline_wait_prior(0)
membar.cta            -        -    ::__threadfence_block()
membar.gl             -        -    ::__threadfence()
membar.sys            -        -    ::__threadfence_system()
fence.acq_rel.cta     -        -    ::__threadfence_block()
fence.acq_rel.gpu     -        -    ::__threadfence()
fence.acq_rel.sys     -        -    ::__threadfence_system()
bar                   i        -    ::simulator::ptx_barrier($0)
barrier               i        -    ::simulator::ptx_barrier($0)
bar                   ii       -    ::simulator::named_barrier($0, $1, true)
barrier               ii       -    ::simulator::named_barrier($0, $1, true)
bar.arrive            ii       -    ::simulator::named_barrier($0, $1, false)
bar.warp              u        -    ::__syncwarp($0)
shfl.idx.b32          Atuuu    i    ::__shfl_sync($3, $0, $1, 32 - ($2 >> 8 & 31))
shfl.up.b32           Atuuu    i    ::__shfl_up_sync($3, $0, $1, 32 - ($2 >> 8 & 31))
shfl.down.b32         Atuuu    i    ::__shfl_down_sync($3, $0, $1, 32 - ($2 >> 8 & 31))
shfl.bfly.b32         Atuuu    i    ::__shfl_xor_sync($3, $0, $1, 32 - ($2 >> 8 & 31))
vote.ballot.b32       Abu      i    ::__ballot_sync($1, $0)
activemask.b32        A        i    ::__activemask()
redux.add             Atu      i    ::__reduce_add_sync($1, $0)
redux.min             Atu      i    ::__reduce_min_sync($1, $0)
redux.max             Atu      i    ::__reduce_max_sync($1, $0)
trap                  -        -    ::__trap()
nanosleep.u32         t        i    ::__nanosleep($0)
ldmatrix.x1.b16       As       i    ::simulator::ptx_ldmatrix<1>($0)
ldmatrix.x2.b16       AAs      i    ::simulator::ptx_ldmatrix<2>($0)
ldmatrix.x4.b16       AAAAs    i    ::simulator::ptx_ldmatrix<4>($0)
ldmatrix.x1.trans.b16 As       i    ::simulator::ptx_ldmatrix_trans<1>($0)
ldmatrix.x2.trans.b16 AAs      i    ::simulator::ptx_ldmatrix_trans<2>($0)
ldmatrix.x4.trans.b16 AAAAs    i    ::simulator::ptx_ldmatrix_trans<4>($0)
mma.m16n8k16.f32.bf16.bf16.f32 AAAAuuuuuuffff f    ::simulator::ptx_mma(::simulator::mma_bf16, {$0, $1, $2, $3}, {$4, $5}, {$6, $7, $8, $9})
mma.m16n8k16.f32.f16.f16.f32 AAAAuuuuuuffff f    ::simulator::ptx_mma(::simulator::mma_half, {$0, $1, $2, $3}, {$4, $5}, {$6, $7, $8, $9})
mma.m16n8k16.f16.f16.f16.f16 AAuuuuuuuu h    ::simulator::ptx_mma(::simulator::mma_half, {$0, $1, $2, $3}, {$4, $5}, {$6, $7})
mma.m16n8k8.f32.tf32.tf32.f32 AAAAuuuuuuffff f    ::simulator::ptx_mma(::simulator::mma_tf32, {$0, $1, $2, $3}, {$4, $5}, {$6, $7, $8, $9})
mma.m16n8k8.f32.f16.f16.f32 AAAAuuuffff f    ::simulator::ptx_mma(::simulator::mma_half_k8, {$0, $1}, {$2}, {$3, $4, $5, $6})
mma.m16n8k8.f16.f16.f16.f16 AAuuuuu  h    ::simulator::ptx_mma(::simulator::mma_half_k8, {$0, $1}, {$2}, {$3, $4})
)";

constexpr PtxType kTypes[] = {
    {"u8", 'i', "unsigned char"},
    {"b8", 'i', "unsigned char"},
    {"s8", 'i', "signed char"},
    {"u16", 'i', "unsigned short"},
    {"b16", 'i', "unsigned short"},
    {"s16", 'i', "short"},
    {"u32", 'i', "unsigned"},
    {"b32", 'i', "unsigned"},
    {"s32", 'i', "int"},
    {"u64", 'i', "unsigned long long"},
    {"b64", 'i', "unsigned long long"},
    {"s64", 'i', "long long"},
    {"f32", 'f', "float"},
    {"f64", 'f', "double"},
    {"f16", 'h', "::__half"},
    {"bf16", 'h', "::__nv_bfloat16"},
    {"f16x2", 'x', "::__half2"},
    {"bf16x2", 'x', "::__nv_bfloat162"},
    {"pred", 'b', "bool"},
};

// %laneid and its kin.
constexpr std::pair<std::string_view, std::string_view> kRegisters[] = {
    {"laneid", "::simulator::lane()"},
    {"warpid", "(::simulator::ptx_thread() / 32)"},
    {"nwarpid", "((::simulator::ptx_threads() + 31) / 32)"},
    {"smid", "::simulator::multiprocessor()"},
    {"clock", "static_cast<unsigned>(::clock64())"},
    {"clock64", "::clock64()"},
    {"globaltimer", "::clock64()"},
    {"lanemask_eq", "(1u << ::simulator::lane())"},
    {"lanemask_lt", "((1u << ::simulator::lane()) - 1)"},
    {"lanemask_le", "((2u << ::simulator::lane()) - 1)"},
    {"lanemask_gt", "~((2u << ::simulator::lane()) - 1)"},
    {"lanemask_ge", "~((1u << ::simulator::lane()) - 1)"},
    {"tid", "::threadIdx"},
    {"ntid", "::blockDim"},
    {"ctaid", "::blockIdx"},
    {"nctaid", "::gridDim"},
    {"cluster_ctarank", "::simulator::cluster_rank()"},
    {"cluster_nctarank", "::simulator::cluster_size()"},
};

// By a part of the instruction's name; the first that fits.
constexpr std::pair<std::string_view, std::string_view> kInstead[] = {
    {":", "write the loop in C++; common/kernel/barrier.cuh waits at an mbarrier"},
    {"bra", "write the branch or the loop in C++"},
    {"wgmma.", "common/kernel/wgmma.cuh has it"},
    {"mbarrier.", "common/kernel/barrier.cuh has it"},
    {"fence.proxy", "common/kernel/tma.cuh has it"},
    {"fence.mbarrier", "common/kernel/barrier.cuh has it"},
    {"cp.async.bulk.", "common/kernel/tma.cuh has it"},
    {"createpolicy.", "common/kernel/tma.cuh has it"},
    {"setmaxnreg.", "common/kernel/warpgroup.cuh has it"},
    {"elect.", "common/kernel/warpgroup.cuh has it"},
    {"barrier.cluster.", "common/kernel/cluster.cuh has it"},
    {"mapa.", "common/kernel/cluster.cuh has it"},
    {"stmatrix.", "common/kernel/mma.cuh has it"},
    {"mma.", "it has m16n8k16 of bf16 and fp16, and m16n8k8 of fp16 and TF32"},
    {".acquire", "use an atomic function and __threadfence()"},
    {".release", "use an atomic function and __threadfence()"},
    {".relaxed", "use ld.volatile, st.volatile or an atomic function"},
    {"", "docs/try.md lists what is"},
};

std::vector<PtxInstruction> read_table() {
  std::vector<PtxInstruction> table;
  std::istringstream lines(kInstructions);
  for (PtxInstruction row; lines >> row.name >> row.operands >> row.types;) {
    std::getline(lines >> std::ws, row.expression);
    if (row.operands == "-") row.operands.clear();
    if (row.types == "-") row.types.clear();
    table.push_back(row);
  }
  return table;
}

}  // namespace

const PtxInstruction* ptx_instruction(const std::string& name, const PtxType* type,
                                      size_t operands) {
  static const std::vector<PtxInstruction> table = read_table();
  const std::string with_type = type ? name + "." + std::string(type->name) : name;
  for (const PtxInstruction& known : table)
    if ((known.name == with_type || known.name == name) && known.operands.size() == operands &&
        (type ? known.types.find(type->kind) != known.types.npos : known.types.empty()))
      return &known;
  return nullptr;
}

const PtxType* ptx_type(std::string_view name) {
  for (const PtxType& type : kTypes)
    if (type.name == name) return &type;
  return nullptr;
}

std::string_view ptx_register(std::string_view name) {
  for (const auto& [known, expression] : kRegisters)
    if (known == name) return expression;
  return "";
}

std::string_view instead_of_ptx(std::string_view name) {
  for (const auto& [part, instead] : kInstead)
    if (name.find(part) != name.npos) return instead;
  return "";
}

}  // namespace simulator
