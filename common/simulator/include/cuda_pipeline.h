// The primitives of CUDA's header of this name; cuda::pipeline is not here.
#pragma once

#include "cuda_pipeline_primitives.h"
