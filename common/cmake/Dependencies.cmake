# What the tutorial builds on. Each library is found as a package; the two small ones are fetched at a
# pinned version where no package is installed.
set(boost "")
set(openblas "")
if(TUTORIAL_BACKEND STREQUAL "cpu")
  find_package(Boost 1.71 QUIET COMPONENTS context)
  if(TARGET Boost::context)
    set(boost "${Boost_VERSION_STRING}")
  endif()
  find_path(CBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas openblas-pthread)
  find_library(OPENBLAS_LIBRARY openblas)
  if(CBLAS_INCLUDE_DIR AND OPENBLAS_LIBRARY)
    set(openblas "${OPENBLAS_LIBRARY}")
  endif()
elseif(NOT TUTORIAL_BACKEND STREQUAL "gpu")
  message(FATAL_ERROR "TUTORIAL_BACKEND is '${TUTORIAL_BACKEND}'; it must be cpu or gpu.")
endif()

# ./learn asks what is here, and installs the rest: name, least version, Debian's package, version here.
if(TUTORIAL_LOOK)
  find_package(Catch2 3 QUIET)
  find_package(CLI11 2.1 QUIET)
  message(STATUS "needs Catch2 3 catch2 ${Catch2_CONSIDERED_VERSIONS}")
  message(STATUS "needs CLI11 2.1 libcli11-dev ${CLI11_CONSIDERED_VERSIONS}")
  if(TUTORIAL_BACKEND STREQUAL "cpu")
    message(STATUS "needs Boost.Context 1.71 libboost-context-dev ${boost}")
    message(STATUS "needs OpenBLAS 0 libopenblas-dev ${openblas}")
  endif()
  return()
endif()

foreach(library IN ITEMS boost openblas)
  if(TUTORIAL_BACKEND STREQUAL "cpu" AND NOT ${library})
    message(FATAL_ERROR "${library} was not found: install it. docs/setup.md lists the packages.")
  endif()
endforeach()
find_package(Threads REQUIRED)

include(FetchContent)
FetchContent_Declare(Catch2
  GIT_REPOSITORY https://github.com/catchorg/Catch2.git
  GIT_TAG v3.7.1
  GIT_SHALLOW TRUE
  FIND_PACKAGE_ARGS 3)
FetchContent_Declare(CLI11
  GIT_REPOSITORY https://github.com/CLIUtils/CLI11.git
  GIT_TAG v2.4.2
  GIT_SHALLOW TRUE
  FIND_PACKAGE_ARGS 2.1)
FetchContent_MakeAvailable(Catch2 CLI11)
if(DEFINED catch2_SOURCE_DIR AND EXISTS "${catch2_SOURCE_DIR}/extras")
  list(APPEND CMAKE_MODULE_PATH "${catch2_SOURCE_DIR}/extras")
endif()
include(Catch)
find_package(Python3 3.9 QUIET COMPONENTS Interpreter)  # the scripts in common/tools
if(NOT Python3_FOUND)
  set(python "it was not found")
  if(Python3_VERSION)
    set(python "${Python3_EXECUTABLE} is ${Python3_VERSION}")
  endif()
  message(FATAL_ERROR "Python 3.9 or newer is needed, and ${python}. docs/setup.md lists the packages.")
endif()

if(TUTORIAL_BACKEND STREQUAL "gpu")
  # For the GPU at hand, or for sm_80 and sm_90 where none is seen. The steps on Hopper need code for sm_90a, which
  # runs on compute capability 9.0 only.
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
      OUTPUT_VARIABLE gpus ERROR_QUIET RESULT_VARIABLE status)
    set(architectures 80-real 90a-real 90-virtual)
    if(status EQUAL 0 AND gpus MATCHES "^9.0")
      set(architectures 90a-real)
    elseif(status EQUAL 0 AND gpus MATCHES "^[0-9]")
      set(architectures native)
    endif()
    message(STATUS "Building for GPU architectures: ${architectures}")
    set(CMAKE_CUDA_ARCHITECTURES "${architectures}" CACHE STRING "GPU architectures to build for")
  endif()
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX} AND EXISTS /usr/local/cuda/bin/nvcc)
    set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc)
  endif()
  enable_language(CUDA)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc 12 takes it
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_EXTENSIONS OFF)
  find_package(CUDAToolkit 12.4 REQUIRED)
endif()
