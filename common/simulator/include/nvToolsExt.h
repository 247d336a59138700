// NVTX's name before its third edition.
#pragma once

#include "nvtx3/nvToolsExt.h"
