// CUDA declares threadIdx and its kin here. Here they come with cuda_runtime.h.
#pragma once

#include "cuda_runtime.h"
