# What the tutorial builds on. Each library is found as a package; the two small ones are fetched at a
# pinned version where no package is installed.
include(FetchContent)

set(unavailable_help
    "Install it (docs/setup.md lists the packages), or connect to the internet and configure again.")

FetchContent_Declare(Catch2
  GIT_REPOSITORY https://github.com/catchorg/Catch2.git
  GIT_TAG v3.7.1
  GIT_SHALLOW TRUE
  FIND_PACKAGE_ARGS 3)
FetchContent_Declare(CLI11
  GIT_REPOSITORY https://github.com/CLIUtils/CLI11.git
  GIT_TAG v2.4.2
  GIT_SHALLOW TRUE
  FIND_PACKAGE_ARGS 2)
FetchContent_MakeAvailable(Catch2 CLI11)
if(DEFINED catch2_SOURCE_DIR AND EXISTS "${catch2_SOURCE_DIR}/extras")
  list(APPEND CMAKE_MODULE_PATH "${catch2_SOURCE_DIR}/extras")
endif()
include(Catch)
find_package(Threads REQUIRED)
find_package(Python3 3.9 COMPONENTS Interpreter)  # for the mistakes, docs/mistakes.md

if(TUTORIAL_BACKEND STREQUAL "gpu")
  include(GpuArchitectures)
  enable_language(CUDA)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc 12 takes it
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_EXTENSIONS OFF)
  find_package(CUDAToolkit 12.4 REQUIRED)
elseif(TUTORIAL_BACKEND STREQUAL "cpu")
  find_package(Boost REQUIRED COMPONENTS context)
  find_path(CBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas openblas-pthread)
  find_library(OPENBLAS_LIBRARY openblas)
  if(NOT CBLAS_INCLUDE_DIR OR NOT OPENBLAS_LIBRARY)
    message(FATAL_ERROR "OpenBLAS was not found. ${unavailable_help}")
  endif()
else()
  message(FATAL_ERROR "TUTORIAL_BACKEND is '${TUTORIAL_BACKEND}'; it must be cpu or gpu.")
endif()
