# tutorial_exercises(): the exercises of a chapter or a part, each a folder exercises/<number>_<name>/ (CONTRIBUTING.md
# says what is in it). Its tests are compiled once, and linked with each version of the kernel:
#
#   <ladder>_exercise_<name>_solution   passes
#   <ladder>_exercise_<name>_skeleton   what a learner begins with, the solution with its gaps empty: compiles, and fails
#   <ladder>_exercise_<name>_mine       the learner's, once ./learn exercise has made mine.cu; no part of `all`
#
# In CTest it has its name in commands, 02/transpose; a part's, too: 02/fragments.
function(tutorial_exercises ladder)
  file(GLOB tests CONFIGURE_DEPENDS exercises/*/tests.cpp)
  file(GLOB mine CONFIGURE_DEPENDS exercises/*/mine.cu)
  foreach(test IN LISTS tests)
    get_filename_component(folder "${test}" DIRECTORY)
    get_filename_component(name "${folder}" NAME)
    string(REGEX REPLACE "^[0-9]+_" "" short "${name}")
    set(base "${ladder}_exercise_${short}")
    add_library(${base}_tests OBJECT "${test}")
    target_link_libraries(${base}_tests PRIVATE tutorial_testing)
    target_compile_options(${base}_tests PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-O0;-g1>")
    tutorial_reuse_headers(${base}_tests test_headers)

    set(made "${CMAKE_CURRENT_BINARY_DIR}/exercises/${name}")
    file(MAKE_DIRECTORY "${made}")
    set(program "${TUTORIAL_ROOT}/common/tools/learn/exercises.py")
    add_custom_command(
      OUTPUT "${made}/skeleton.cu"
      COMMAND "${Python3_EXECUTABLE}" "${program}" skeleton "${folder}/solution.cu" "${made}/skeleton.cu"
      DEPENDS "${program}" "${folder}/solution.cu"
      VERBATIM)

    set(sources "${made}/skeleton.cu" "${folder}/solution.cu")
    if("${folder}/mine.cu" IN_LIST mine)
      list(APPEND sources "${folder}/mine.cu")
    endif()
    foreach(source IN LISTS sources)
      get_filename_component(version "${source}" NAME_WE)
      add_executable(${base}_${version} $<TARGET_OBJECTS:${base}_tests>)
      tutorial_sources(${base}_${version} kernel_headers "${source}")
      target_include_directories(${base}_${version} PRIVATE "${folder}")
      target_link_libraries(${base}_${version} PRIVATE tutorial_testing ${tutorial_fast_linker})
      # What is not written yet leaves names unused.
      target_compile_options(${base}_${version} PRIVATE
        $<$<COMPILE_LANGUAGE:CXX>:-Wno-unused> $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wno-unused;-diag-suppress=177,550>)
      set_target_properties(${base}_${version} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY "${made}" OUTPUT_NAME ${version})
    endforeach()
    if(TARGET ${base}_mine)
      set_target_properties(${base}_mine PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()

    string(REGEX REPLACE "_.*" "/${short}" word "${ladder}")
    add_test(NAME "exercise ${word}: the solution passes" COMMAND ${base}_solution)
    add_test(NAME "exercise ${word}: as shipped it fails" COMMAND ${base}_skeleton)
    set_tests_properties("exercise ${word}: the solution passes"
      "exercise ${word}: as shipped it fails" PROPERTIES LABELS exercises TIMEOUT 120)
    # By a check that failed: a crash would not say so.
    set_tests_properties("exercise ${word}: as shipped it fails" PROPERTIES
      PASS_REGULAR_EXPRESSION "test cases failed, [1-9][0-9]* of")
  endforeach()
endfunction()
