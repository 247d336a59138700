// CUDA's name for make_float4() and its kin.
#pragma once

#include "vector_types.h"
