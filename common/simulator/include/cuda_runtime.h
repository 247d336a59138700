// The part of the CUDA runtime that the tutorial and a learner's experiments use, for the CPU
// backend. Names, values and behaviour are NVIDIA's (CUDA C++ Programming Guide; CUDA Runtime API
// reference).
#pragma once

#include "device_functions.h"
#include "simulator/launch_site.h"
#include "simulator/runtime_api.h"
#include "vector_types.h"
