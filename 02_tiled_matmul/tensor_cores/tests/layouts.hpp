// For the tests of this part and of part hopper: a step's product from matrices with gaps, beside
// the reference.
#pragma once

#include <cstring>
#include <string>

#include "tensor_cores/tests/check_step.hpp"

namespace tutorial::tiled_matmul::tensor_cores {

/// `count` matrices (rows, cols) in global memory, of which what lies between rows and between
/// matrices was never written and holds 0xff bytes: NaN, and for the simulator an error to read.
template <class T>
class Gapped {
 public:
  Gapped(int64_t count, int64_t stride, int64_t rows, int64_t cols, int64_t ld, int64_t offset)
      : count_(count),
        stride_(stride),
        rows_(rows),
        cols_(cols),
        ld_(ld),
        memory_(size(), offset) {}

  T* data() { return memory_.data(); }
  /// From an array without gaps on the host, and to one on the device.
  void fill(const std::vector<T>& values) {
    for (int64_t i = 0; i < count_ && rows_ * cols_ > 0; ++i)
      CUDA_CHECK(cudaMemcpy2D(data() + i * stride_, ld_ * sizeof(T),
                              values.data() + i * rows_ * cols_, cols_ * sizeof(T),
                              cols_ * sizeof(T), rows_, cudaMemcpyHostToDevice));
  }
  void copy_to(T* dense) {
    for (int64_t i = 0; i < count_ && rows_ * cols_ > 0; ++i)
      CUDA_CHECK(cudaMemcpy2D(dense + i * rows_ * cols_, cols_ * sizeof(T), data() + i * stride_,
                              ld_ * sizeof(T), cols_ * sizeof(T), rows_, cudaMemcpyDeviceToDevice));
  }
  /// Do all gaps hold 0xff bytes, and what lies around the matrices?
  bool gaps_intact() const {
    std::vector<unsigned char> bytes(size() * sizeof(T));
    std::vector<bool> is_gap(size(), true);
    for (int64_t i = 0; i < count_; ++i)
      for (int64_t row = 0; row < rows_; ++row)
        for (int64_t col = 0; col < cols_; ++col) is_gap[i * stride_ + row * ld_ + col] = false;
    const std::vector<T> host = memory_.to_host();
    std::memcpy(bytes.data(), host.data(), bytes.size());
    for (size_t i = 0; i < bytes.size(); ++i)
      if (is_gap[i / sizeof(T)] && bytes[i] != 0xff) return false;
    return memory_.guards_intact();
  }

 private:
  int64_t size() const {
    if (count_ * rows_ * cols_ == 0) return 0;
    return (count_ - 1) * stride_ + (rows_ - 1) * ld_ + cols_;
  }
  int64_t count_, stride_, rows_, cols_, ld_;
  DeviceBuffer<T> memory_;
};

/// A and B of a product as the step gets them.
class Inputs {
 public:
  Inputs(const Bf16Product& p, Offsets offsets)
      : p_(p),
        A_(bf16_values({p.batch, p.M, p.K}, 1)),
        B_(bf16_values({p.batch, p.K, p.N}, 2)),
        a_(p.batch, p.stride_a, p.M, p.K, p.lda, offsets.a),
        b_(p.batch, p.stride_b, p.b_transposed ? p.N : p.K, p.b_transposed ? p.K : p.N, p.ldb,
           offsets.b) {
    a_.fill(narrowed<bf16>(A_));
    std::vector<float> transposed = B_;
    for (size_t i = 0; i < B_.size() && p.b_transposed; ++i) {
      const int64_t x = static_cast<int64_t>(i), of = x / (p.K * p.N) * p.K * p.N;
      transposed[of + x % p.N * p.K + x / p.N % p.K] = B_[i];
    }
    b_.fill(narrowed<bf16>(transposed));
  }
  const bf16* A() { return a_.data(); }
  const bf16* B() { return b_.data(); }

  /// All products, one behind the other.
  Expected want() const {
    Expected all;
    for (int64_t i = 0; i < p_.batch; ++i) {
      const Expected one = reference(std::span(A_).subspan(i * p_.M * p_.K, p_.M * p_.K),
                                     std::span(B_).subspan(i * p_.K * p_.N, p_.K * p_.N), p_.N,
                                     p_.K, all_rows(p_.M));
      all.value.insert(all.value.end(), one.value.begin(), one.value.end());
      all.bound.insert(all.bound.end(), one.bound.begin(), one.bound.end());
    }
    return all;
  }

 private:
  Bf16Product p_;
  std::vector<float> A_, B_;
  Gapped<bf16> a_, b_;
};

inline std::string text_of(const Bf16Product& p) {
  const auto text = [](int64_t number) { return " " + std::to_string(number); };
  return "M, N, K" + text(p.M) + text(p.N) + text(p.K) + (p.b_transposed ? ", B transposed" : "") +
         ", lda, ldb, ldc" + text(p.lda) + text(p.ldb) + text(p.ldc) + ", batch" + text(p.batch) +
         ", strides" + text(p.stride_a) + text(p.stride_b) + text(p.stride_c);
}

/// Launches the step for both types of C, in memory with gaps, and compares with the reference.
inline void check_layout(const Step<Launcher>& step, const Bf16Product& product,
                         Offsets offsets = {}) {
  if (!is_in_sample(step.name) || is_too_large_here(step)) return;
  const Bf16Product p = spelled_out(product);
  INFO(step.name << " " << text_of(p) << ", offsets " << offsets.a << ", " << offsets.b << ", "
                 << offsets.c);
  Inputs inputs(p, offsets);
  DeviceBuffer<std::byte> memory(workspace_bytes(product, inputs.A(), inputs.B()));
  const auto launch = [&]<class Out>(Out* dense) {
    Gapped<Out> c(p.batch, p.stride_c, p.M, p.N, p.ldc, offsets.c);
    step.launch(product, inputs.A(), inputs.B(), c.data(), workspace_in(memory), nullptr);
    CUDA_CHECK_LAUNCH();
    c.copy_to(dense);
    if (!c.gaps_intact()) FAIL_CHECK("the kernel wrote between the rows of C, or around them");
  };
  const Layout layout = {.batch = p.batch, .rows = p.M, .cols = p.N, .tile = step.tile};
  const Expected want = inputs.want();
  check_launch([&](float* C) { launch(C); }, want, layout);
  INFO("C in bf16");
  check_launch([&](bf16* C) { launch(C); }, in_bf16(want), layout);
}

/// Products with one B or the other, tight and with gaps, of some sizes and of none.
inline void check_layouts(const Step<Launcher>& step, std::initializer_list<Shape> shapes) {
  for (const auto& [M, N, K] : shapes)
    for (bool transposed : {false, true}) {
      Bf16Product p = {.M = M, .N = N, .K = K, .b_transposed = transposed};
      check_layout(step, p);
      const int64_t along_b = transposed ? K : N;
      p.lda = ceil_div(K, 8) * 8 + 8, p.ldb = ceil_div(along_b, 8) * 8, p.ldc = ceil_div(N, 8) * 8;
      p.batch = 3;
      check_layout(step, p);  // rows that TMA takes, and 16-byte copies
      p.stride_a = M * p.lda + 8, p.stride_b = (transposed ? N : K) * p.ldb + 16;
      p.stride_c = M * p.ldc + 24;
      check_layout(step, p);
      p.lda += 3, p.ldb += 1, p.ldc += 5;  // rows that begin anywhere
      p.stride_a = 0, p.stride_b = 0, p.stride_c = 0, p.batch = 2;
      check_layout(step, p);
    }
}

/// What the step asks global memory for, with one B and the other and several products.
inline void check_layout_asks(const Step<Launcher>& step, const Bf16Product& product) {
  const Bf16Product p = spelled_out(product);
  INFO(step.name << " " << text_of(p));
  Inputs inputs(p, {});
  Gapped<float> c(p.batch, p.stride_c, p.M, p.N, p.ldc, 0);
  Gapped<bf16> narrow_c(p.batch, p.stride_c, p.M, p.N, p.ldc, 0);
  const std::vector<float> zeros(p.batch * p.M * p.N);  // a beta reads them
  c.fill(zeros);
  narrow_c.fill(narrowed<bf16>(zeros));
  for (Output C : {Output(c.data()), Output(narrow_c.data())}) {
    const Counts counts = check_asked_for(step, [&](auto run) {
      return run(product, inputs.A(), inputs.B(), C, Workspace(), nullptr);
    });
    // Of fp32 some steps store pairs, which collide.
    if (std::holds_alternative<bf16*>(C)) CHECK(counts.shared_stores.conflicts == 0);
  }
}

/// Its launches in two streams.
inline void check_layout_in_two_streams(const Step<Launcher>& step, const Bf16Product& product) {
  if (is_too_large_here(step) || !is_in_sample(step.name)) return;
  const Bf16Product p = spelled_out(product);
  INFO(step.name << " " << text_of(p));
  Inputs inputs(p, {});
  const auto launch = [&](Output C, Workspace workspace, cudaStream_t stream) {
    step.launch(product, inputs.A(), inputs.B(), C, workspace, stream);
  };
  check_in_two_streams<float>(p.batch * p.M * p.N, 0, launch);
  check_in_two_streams<bf16>(p.batch * p.M * p.N, 0, launch);
}

}  // namespace tutorial::tiled_matmul::tensor_cores
