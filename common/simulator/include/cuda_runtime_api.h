// CUDA's name for the host side alone. Here it is the whole.
#pragma once

#include "cuda_runtime.h"
