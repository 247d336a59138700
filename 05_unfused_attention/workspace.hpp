// What the stages leave for each other.
#pragma once

#include <memory>

#include "common/data/device_buffer.hpp"
#include "common/measure/row_major_blas.hpp"

namespace tutorial::unfused_attention {

struct Attention;
namespace strips {
struct Resources;
}

/// The tensors between the stages, and cuBLAS's handle. Allocates workspace_bytes().
struct StageWorkspace {
  explicit StageWorkspace(const Attention& attention);

  CublasHandle blas;
  DeviceBuffer<float> q, k, v;                    // (B, NH, T, HS)
  DeviceBuffer<float> preatt, att;                // (B, NH, T, T)
  DeviceBuffer<float> vaccum;                     // (B, NH, T, HS)
  DeviceBuffer<float*> pointers;                  // (6, B·NH): step 3's
  std::shared_ptr<strips::Resources> for_strips;  // what part strips adds: made by its first call
};
/// 4·(4·B·T·C + 2·B·NH·T·T) bytes and 48·B·NH for the pointers. Not an integer, because a problem
/// that is far too large has to be refused with its size.
double workspace_bytes(const Attention& attention);

}  // namespace tutorial::unfused_attention
