#pragma once
#include "tensor_cores/tensor_cores.hpp"
namespace tutorial::flash_attention::tensor_cores {
Launcher w_base;
Launcher w_addr;
Launcher w_ahead;
Launcher w_joint;
Launcher w_joint_ahead;
Launcher w_ahead_b128;
Launcher w_joint_ahead_b128;
Launcher w_addr_b128;
Launcher w_base_nv;
Launcher w_addr_nv;
Launcher w_ahead_nv;
Launcher w_joint_nv;
Launcher w_joint_ahead_nv;
struct V { const char* name; Launcher* f; };
inline V everything[] = {{"fragments",fragments},{"swizzled",swizzled},{"waits_in_order",waits_in_order},{"short_softmax",short_softmax},{"tall_tiles",tall_tiles},{"masks_at_edges",masks_at_edges},{"one_barrier",one_barrier},{"lazy_rescale",lazy_rescale},{"head_sizes",head_sizes},{"any_address",any_address},{"w_base",w_base},{"w_addr",w_addr},{"w_ahead",w_ahead},{"w_joint",w_joint},{"w_joint_ahead",w_joint_ahead},{"w_ahead_b128",w_ahead_b128},{"w_joint_ahead_b128",w_joint_ahead_b128},{"w_addr_b128",w_addr_b128},{"w_base_nv",w_base_nv},{"w_addr_nv",w_addr_nv},{"w_ahead_nv",w_ahead_nv},{"w_joint_nv",w_joint_nv},{"w_joint_ahead_nv",w_joint_ahead_nv}};
}
