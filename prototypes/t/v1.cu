#include "kernel.cuh"
std::initializer_list<Entry> v1() { static std::initializer_list<Entry> e = {}; return e; }
