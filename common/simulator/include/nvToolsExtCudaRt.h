// NVTX's name before its third edition.
#pragma once

#include "nvtx3/nvToolsExtCudaRt.h"
