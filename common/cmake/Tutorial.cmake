# tutorial_sources(), tutorial_chapter(), tutorial_program(): how a .cu file, a chapter and a program of one's
# own are built.

# In the cache, because a project that adds the tutorial calls tutorial_program(), too.
set(TUTORIAL_ROOT "${CMAKE_CURRENT_SOURCE_DIR}" CACHE INTERNAL "")

add_library(tutorial_warnings INTERFACE)
set(werror $<$<BOOL:${TUTORIAL_WERROR}>:-Werror>)
target_compile_options(tutorial_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;${werror}>)
if(TUTORIAL_BACKEND STREQUAL "gpu")
  # -lineinfo lets compute-sanitizer and Nsight Compute name source lines; it costs no speed.
  target_compile_options(tutorial_warnings INTERFACE
    $<$<COMPILE_LANGUAGE:CUDA>:-lineinfo;-Xcompiler=-Wall,-Wextra>
    $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${TUTORIAL_WERROR}>>:-Werror=all-warnings>)
endif()

# CPU backend: translates a .cu file into `folder`, and sets `result` to the C++ file. The translator
# rewrites the two constructs that are not C++, and the host compiler compiles the result with the calls
# that -fsanitize=thread,alignment,bounds,object-size makes at every memory access; the simulator, not the
# sanitizers' own libraries, defines the functions called. (So the option must not reach the linker.)
# -Werror=attribute-warning: a kernel that is called without <<<…>>>. -Wno-psabi: a note on CUtensorMap, which is
# aligned to 64 bytes, as a parameter.
set(tutorial_kernel_options -fsanitize-coverage=trace-pc -Wno-unknown-pragmas -Wno-psabi -O1 -g -gdwarf-4
  -Werror=attribute-warning -D__CUDACC__ -D__CUDA_ARCH__=900)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")  # as a page has it: docs/site/browser/compile/flags.js says what for
  list(APPEND tutorial_kernel_options -fsanitize=thread,alignment,array-bounds,object-size
    -mllvm=-tsan-instrument-func-entry-exit=0 -mllvm=-tsan-instrument-read-before-write
    -mllvm=-pragma-unroll-threshold=0 -mllvm=-unroll-threshold=0
    -fno-finite-loops -fno-delete-null-pointer-checks -Wno-pass-failed -Wno-deprecated-volatile)
else()
  list(APPEND tutorial_kernel_options -fsanitize=thread,alignment,bounds,object-size -fno-reorder-blocks -fno-tree-sra
    -fstack-clash-protection -Wno-tsan)
endif()
set(tutorial_kernel_options ${tutorial_kernel_options} CACHE INTERNAL "")

# Headers that many sources include, compiled once for all that are compiled with the same options: <target> with
# what follows OPTIONS, and what follows HEADERS. A target reuses them by tutorial_reuse_headers(), a translated .cu
# file by tutorial_prepend_headers(), which finds the file in `<target>_file`. (With a compiler launcher there is none: ccache, say, does not
# know what is in such a file.)
function(tutorial_headers target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBRARIES;OPTIONS;HEADERS")
  if(CMAKE_CXX_COMPILER_LAUNCHER)
    return()
  endif()
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/${target}.cpp" CONTENT "")
  add_library(${target} OBJECT EXCLUDE_FROM_ALL "${CMAKE_BINARY_DIR}/${target}.cpp")
  target_compile_options(${target} PRIVATE ${arg_OPTIONS})
  target_link_libraries(${target} PRIVATE ${arg_LIBRARIES})
  target_precompile_headers(${target} PRIVATE ${arg_HEADERS})
  get_target_property(folder ${target} BINARY_DIR)
  set(${target}_file "${folder}/CMakeFiles/${target}.dir/cmake_pch.hxx" PARENT_SCOPE)
endfunction()
function(tutorial_reuse_headers target headers)
  if(TARGET ${headers})
    target_precompile_headers(${target} REUSE_FROM ${headers})
  endif()
endfunction()
# The same for .cu files, which have options of their own. A precompiled header must come before all others.
function(tutorial_prepend_headers target source headers)
  if(TARGET ${headers})
    add_dependencies(${target} ${headers})
    get_source_file_property(options "${source}" COMPILE_OPTIONS)
    set_source_files_properties("${source}" PROPERTIES
      COMPILE_OPTIONS "-include;${${headers}_file};${options}" OBJECT_DEPENDS "${${headers}_file}${CMAKE_PCH_EXTENSION}")
  endif()
endfunction()

# The fastest linker that is here, as an option: some hundred small programs are linked with it.
include(CheckLinkerFlag)
foreach(linker IN ITEMS gold lld)
  check_linker_flag(CXX "-fuse-ld=${linker}" TUTORIAL_HAS_${linker})
  if(TUTORIAL_HAS_${linker} AND NOT tutorial_fast_linker)
    set(tutorial_fast_linker "-fuse-ld=${linker}")
  endif()
endforeach()

function(tutorial_translate source folder result)  # and more for the translator: the folders of -I, --set=N=64
  get_filename_component(source "${source}" ABSOLUTE)
  get_filename_component(name "${source}" NAME)
  set(translated "${folder}/${name}.cpp")
  add_custom_command(
    OUTPUT "${translated}"
    COMMAND simulator_translate "${source}" "${translated}" ${ARGN}
    DEPENDS simulator_translate "${source}"
    DEPFILE "${translated}.d"  # the headers beside it
    COMMENT "Translating ${name}"
    VERBATIM)
  set_source_files_properties("${translated}" PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS
    "-include;cuda_runtime.h;${tutorial_kernel_options}")
  set(${result} "${translated}" PARENT_SCOPE)
endfunction()

# Adds sources to a target. On the GPU backend nvcc compiles the .cu files; on the other they include `headers`.
function(tutorial_sources target headers)
  foreach(source IN LISTS ARGN)
    if(TUTORIAL_BACKEND STREQUAL "cpu" AND source MATCHES "\\.cu$")
      # A part's files go to a folder of their own: they may have the same names.
      get_filename_component(folder "${source}" ABSOLUTE)
      get_filename_component(folder "${folder}" DIRECTORY)
      cmake_path(IS_PREFIX CMAKE_CURRENT_BINARY_DIR "${folder}" is_made)
      if(NOT is_made)
        file(RELATIVE_PATH folder "${CMAKE_CURRENT_SOURCE_DIR}" "${folder}")
        set(folder "${CMAKE_CURRENT_BINARY_DIR}/${folder}")
        file(MAKE_DIRECTORY "${folder}")
      endif()
      tutorial_translate("${source}" "${folder}" source)
      tutorial_prepend_headers(${target} "${source}" "${headers}")
    endif()
    target_sources(${target} PRIVATE "${source}")
  endforeach()
endfunction()

tutorial_headers(program_headers LIBRARIES tutorial_common HEADERS "${TUTORIAL_ROOT}/common/program/table.hpp")
tutorial_headers(test_headers LIBRARIES tutorial_testing OPTIONS "$<$<COMPILE_LANGUAGE:CXX>:-O0;-g1>"
  HEADERS "${TUTORIAL_ROOT}/common/testing/testing.hpp")
if(TUTORIAL_BACKEND STREQUAL "cpu")
  set(of_kernels <cuda_runtime.h> <algorithm> <string> "${TUTORIAL_ROOT}/common/compare/compare.hpp"
    "${TUTORIAL_ROOT}/common/kernel/check.hpp")
  tutorial_headers(kernel_headers LIBRARIES tutorial_common OPTIONS ${tutorial_kernel_options} HEADERS ${of_kernels})
  tutorial_headers(kernel_test_headers LIBRARIES tutorial_testing OPTIONS ${tutorial_kernel_options}
    HEADERS ${of_kernels} "${TUTORIAL_ROOT}/common/testing/testing.hpp")
endif()

# A program of one's own: its sources, .cu and C++, from any folder. On the CPU backend it runs with the checks;
# docs/try.md says more. From another project:
#
#   add_subdirectory(path/to/the/tutorial tutorial EXCLUDE_FROM_ALL)
#   tutorial_program(mine mine.cu more.cpp INCLUDE include OPTIONS -DN=64)
#
# With SET N=64 the file's own `#define N …` or `int N = …` gets this value, on the CPU.
# INCLUDE: whole paths of folders with headers. (Those that target_include_directories() names are found, too, but not
# translated.)
function(tutorial_program target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "INCLUDE;OPTIONS;SET")
  list(TRANSFORM arg_SET PREPEND "--set=")
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}.translated")
  set(number 0)
  add_executable(${target})
  foreach(source IN LISTS arg_UNPARSED_ARGUMENTS)
    get_filename_component(source "${source}" ABSOLUTE)
    if(TUTORIAL_BACKEND STREQUAL "cpu" AND source MATCHES "\\.(cu|cpp|cc|cxx)$")
      set(original "${source}")
      math(EXPR number "${number} + 1")  # two files may have one name
      file(MAKE_DIRECTORY "${folder}/${number}")
      tutorial_translate("${source}" "${folder}/${number}" source ${arg_INCLUDE} ${arg_SET})
      if(NOT original MATCHES "\\.cu$")  # looked at for what is missing; not compiled as a kernel is
        set_source_files_properties("${source}" PROPERTIES COMPILE_OPTIONS "")
      endif()
    endif()
    target_sources(${target} PRIVATE "${source}")
  endforeach()
  set_target_properties(${target} PROPERTIES CXX_STANDARD 20 CXX_EXTENSIONS ON)  # nvcc, too, has GNU's extensions
  target_include_directories(${target} PRIVATE ${arg_INCLUDE} "${TUTORIAL_ROOT}")
  foreach(option IN LISTS arg_OPTIONS)
    if(option STREQUAL "-fopenmp")  # of the host's compiler
      target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fopenmp>
        $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fopenmp>)
      target_link_options(${target} PRIVATE -fopenmp)
    else()
      target_compile_options(${target} PRIVATE "${option}")
    endif()
  endforeach()
  if(TUTORIAL_BACKEND STREQUAL "cpu")
    target_link_libraries(${target} PRIVATE simulator simulator_program)
    # nvcc compiles for C++17, in which `volatile` is not frowned upon yet.
    target_compile_options(${target} PRIVATE -Wno-volatile)
  else()
    target_include_directories(${target} PRIVATE "${TUTORIAL_ROOT}/common/backend/include")
    target_link_libraries(${target} PRIVATE CUDA::cudart CUDA::cublas)
  endif()
endfunction()

# Registers a Catch2 binary's test cases with CTest under one label; with a number behind it so many shares of them, on
# the CPU: of hundreds of tests each takes less than to start a program for it. (On a GPU one test's fault could be the
# next's.)
function(tutorial_tests target label)
  target_link_libraries(${target} PRIVATE tutorial_testing)
  # What takes the time is in the libraries: without -O2, and with no more than line numbers for a debugger, the
  # tests themselves compile in half the time.
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-O0;-g1>")
  tutorial_reuse_headers(${target} test_headers)
  if(NOT ARGN OR TUTORIAL_BACKEND STREQUAL "gpu")
    catch_discover_tests(${target}
      TEST_PREFIX "${label}: "
      PROPERTIES LABELS "${label}" SKIP_RETURN_CODE 4 TIMEOUT 600)
    return()
  endif()
  math(EXPR last "${ARGN} - 1")
  foreach(part RANGE ${last})
    math(EXPR number "${part} + 1")
    set(name "${label}: its tests, share ${number} of ${ARGN}")
    add_test(NAME "${name}" COMMAND ${target} --shard-count ${ARGN} --shard-index ${part})
    set_tests_properties("${name}" PROPERTIES LABELS "${label}" SKIP_RETURN_CODE 4 TIMEOUT 600)
  endforeach()
endfunction()

# A chapter, or a part of one: what stands in its folder, where new files are picked up. One rule for both:
#
#   main.cpp             the program, <name>
#   take.cu              nothing here: the main() that ./learn take puts below a step
#   tests.cpp, tests/    its tests, <name>_tests
#   all else             <name>_steps: the kernels, the references and other host code
#   exercises/           common/cmake/Exercises.cmake
#   mistakes.txt         common/cmake/Mistakes.cmake
#   <part>/              a part, which has its own CMakeLists.txt with tutorial_part()
#   <name>_check         all that CTest needs (`./learn watch` builds the tests alone first)
#
# <name> is the folder's: 02_tiled_matmul, and of a part 02_tiled_matmul_hopper. The arguments are libraries that
# the steps need besides, such as another chapter's; a part's have the chapter's. What follows PROGRAM only the
# program and the tests need.
function(tutorial_chapter)
  get_filename_component(name "${CMAKE_CURRENT_SOURCE_DIR}" NAME)
  tutorial_ladder(${name} ${name} ${ARGN})
  target_include_directories(${name}_steps PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}")  # its parts say "hopper/tiles.cuh"
  file(GLOB parts CONFIGURE_DEPENDS */CMakeLists.txt)
  foreach(part IN LISTS parts)
    get_filename_component(part "${part}" DIRECTORY)
    add_subdirectory("${part}")
  endforeach()
endfunction()

function(tutorial_part)
  get_filename_component(part "${CMAKE_CURRENT_SOURCE_DIR}" NAME)
  get_filename_component(chapter "${CMAKE_CURRENT_SOURCE_DIR}" DIRECTORY)
  get_filename_component(chapter "${chapter}" NAME)
  tutorial_ladder(${chapter}_${part} ${chapter}/${part} ${chapter}_steps ${ARGN})
endfunction()

# What both have. `label` is the name in commands, and of the tests.
function(tutorial_ladder name label)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "PROGRAM")
  file(GLOB sources CONFIGURE_DEPENDS *.cu *.cpp)
  file(GLOB tests CONFIGURE_DEPENDS tests.cpp tests/*.cpp tests/*.cu)
  list(REMOVE_ITEM sources "${CMAKE_CURRENT_SOURCE_DIR}/main.cpp" "${CMAKE_CURRENT_SOURCE_DIR}/tests.cpp"
    "${CMAKE_CURRENT_SOURCE_DIR}/take.cu")

  add_library(${name}_steps STATIC)
  tutorial_sources(${name}_steps kernel_headers ${sources})
  tutorial_reuse_headers(${name}_steps program_headers)
  target_link_libraries(${name}_steps PUBLIC ${arg_UNPARSED_ARGUMENTS} tutorial_common)

  add_library(${name}_main OBJECT main.cpp)
  tutorial_reuse_headers(${name}_main program_headers)
  target_link_libraries(${name}_main PRIVATE ${name}_steps ${arg_PROGRAM})
  add_executable(${name} $<TARGET_OBJECTS:${name}_main>)
  target_link_libraries(${name} PRIVATE ${name}_steps ${arg_PROGRAM})

  add_executable(${name}_tests)
  tutorial_sources(${name}_tests kernel_headers ${tests})
  target_link_libraries(${name}_tests PRIVATE ${name}_steps ${arg_PROGRAM} ${tutorial_fast_linker})
  tutorial_tests(${name}_tests ${label})
  add_custom_target(${name}_check)
  add_dependencies(${name}_check ${name}_tests ${name})

  # The test program holds the program, too, as a function: common/testing/program_run.hpp spoils what it computes.
  set(as_function "${CMAKE_CURRENT_BINARY_DIR}/program_main.o")
  add_custom_command(
    OUTPUT "${as_function}"
    COMMAND "${CMAKE_OBJCOPY}" --redefine-sym main=program_main "$<TARGET_OBJECTS:${name}_main>" "${as_function}"
    DEPENDS "$<TARGET_OBJECTS:${name}_main>"
    VERBATIM)
  target_sources(${name}_tests PRIVATE "${as_function}")
  add_dependencies(${name}_tests ${name}_main)  # make builds the one before the other
  target_compile_definitions(${name}_tests PRIVATE TUTORIAL_PROGRAM="$<TARGET_FILE:${name}>"
    TUTORIAL_TESTS="$<TARGET_FILE:${name}_tests>")
  tutorial_exercises(${name})
  if(TUTORIAL_BACKEND STREQUAL "cpu")
    tutorial_mistakes(${name} ${label})
    # Every kernel once more with blocks and threads in another order, at one shape in six: what is right in one
    # order only shows.
    add_test(NAME "${label}: every shape, in shuffled thread order" COMMAND ${name}_tests "[shapes]")
    set_tests_properties("${label}: every shape, in shuffled thread order" PROPERTIES
      ENVIRONMENT "SIMULATOR_ORDER=1;TUTORIAL_SAMPLE=6;TUTORIAL_EDITED="
      LABELS ${label} SKIP_RETURN_CODE 4 TIMEOUT 600
      COST 100)  # the longest begin first, so that no core waits for them at the end
  endif()
endfunction()

# The name and the label of the chapter or part whose folder this is.
macro(tutorial_here)
  file(RELATIVE_PATH label "${TUTORIAL_ROOT}" "${CMAKE_CURRENT_SOURCE_DIR}")
  string(REPLACE "/" "_" name "${label}")
endmacro()

# A test of the program: it answers these words (a list) with a text that matches, and at once, so
# before it computes anything. Further words are the environment.
function(tutorial_answers words text)
  tutorial_here()
  if(TUTORIAL_BACKEND STREQUAL "gpu")
    return()  # there may be no GPU where this is tested
  endif()
  string(REPLACE ";" " " line "${ARGN};${words}")
  string(STRIP "${line}" line)
  add_test(NAME "${label}: the program's answer to ${line}" COMMAND ${name} ${words})
  set_tests_properties("${label}: the program's answer to ${line}" PROPERTIES
    PASS_REGULAR_EXPRESSION "${text}" LABELS ${label} TIMEOUT 30 ENVIRONMENT "${ARGN}")
endfunction()

# Tests of the chapter once more, at one shape in six, on a GPU of another compute capability: with 75 a block has
# 64 KB of shared memory, with 86 it has 99. `tests` is what the test program takes: tags or names, with a comma between them.
function(tutorial_on_capability capability tests)
  tutorial_here()
  if(TUTORIAL_BACKEND STREQUAL "cpu")
    string(REGEX REPLACE "(.)$" ".\\1" dotted ${capability})
    set(test "${label}: on compute capability ${dotted}, ${tests}")
    add_test(NAME "${test}" COMMAND ${name}_tests "${tests}")
    set_tests_properties("${test}" PROPERTIES
      ENVIRONMENT "SIMULATOR_CAPABILITY=${capability};TUTORIAL_SAMPLE=6;TUTORIAL_EDITED="
      LABELS ${label} SKIP_RETURN_CODE 4 TIMEOUT 600)
  endif()
endfunction()
# The test of every shape on the oldest GPU that we support.
function(tutorial_on_the_oldest_gpu)
  tutorial_on_capability(75 "[shapes]")
endfunction()
