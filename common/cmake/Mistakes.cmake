# tutorial_mistakes(): the mistakes of a chapter, NN_chapter/mistakes/*.patch, as test programs that have
# them. docs/mistakes.md says what the files are. CPU backend only; none of this is part of `all`.
#
#   NN_chapter_mistake_<name>   the chapter's tests, linked with what one patch makes of the kernels
#   NN_chapter_mistakes         those of a chapter
#   mistakes                    those of all chapters
add_custom_target(mistakes)
add_test(NAME "mistakes: learn break" COMMAND "${TUTORIAL_ROOT}/common/tests/break_test")  # needs patch
set_tests_properties("mistakes: learn break" PROPERTIES LABELS mistakes TIMEOUT 120)

# Adds `target`, built from `patch`, with its files in `folder`. Only what the patch touches is compiled:
# the linker takes the tests' object file as it is, and from the chapter's library only what the patched
# objects do not define. A patch of a .cuh file touches all .cu files that include it.
function(tutorial_mistake_program target chapter patch folder)
  file(STRINGS "${patch}" touched REGEX "^\\+\\+\\+ b/")
  list(TRANSFORM touched REPLACE "^\\+\\+\\+ b/([^\t ]*).*" "\\1")
  foreach(list IN ITEMS names originals patched sources)
    set(${list} "")
  endforeach()
  foreach(file IN LISTS touched)
    if(NOT file MATCHES "^${chapter}/([^/]+\\.cuh?)$" OR NOT EXISTS "${TUTORIAL_ROOT}/${file}")
      return()  # check_mistake says what is wrong with it
    endif()
    list(APPEND names "${CMAKE_MATCH_1}")
    list(APPEND originals "${TUTORIAL_ROOT}/${file}")
    list(APPEND patched "${folder}/${CMAKE_MATCH_1}")
  endforeach()
  if(NOT touched)
    return()
  endif()

  set(script "${TUTORIAL_ROOT}/common/cmake/ApplyPatch.cmake")
  add_custom_command(
    OUTPUT ${patched}
    COMMAND "${CMAKE_COMMAND}" "-DPATCH=${patch}" "-DORIGINALS=${originals}" "-DFOLDER=${folder}"
            -P "${script}"
    DEPENDS "${patch}" ${originals} "${script}"
    COMMENT "Making the mistake ${target}"
    VERBATIM)

  # What a patched header changes are the .cu files that include it.
  file(GLOB all RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cu")
  foreach(source IN LISTS all)
    file(STRINGS "${CMAKE_CURRENT_SOURCE_DIR}/${source}" includes REGEX "^#include \".*\\.cuh\"")
    foreach(name IN LISTS names)
      if("${includes}" MATCHES "\"${name}\"")
        set(${source}_is_changed TRUE)
      endif()
    endforeach()
    if(NOT source IN_LIST names AND NOT ${source}_is_changed)
      list(REMOVE_ITEM all "${source}")
    endif()
  endforeach()
  foreach(name IN LISTS all)
    set(source "${CMAKE_CURRENT_SOURCE_DIR}/${name}")
    if(name IN_LIST names)
      set(source "${folder}/${name}")
    endif()
    tutorial_translate("${source}" "${folder}" translated)
    set_property(SOURCE "${translated}" APPEND PROPERTY COMPILE_OPTIONS -w)  # the mistake is meant
    # The build tool does not see that an #include leads to the patched header before there is one.
    set_property(SOURCE "${translated}" APPEND PROPERTY OBJECT_DEPENDS "${patched}")
    list(APPEND sources "${translated}")
  endforeach()

  add_executable(${target} EXCLUDE_FROM_ALL ${sources} $<TARGET_OBJECTS:${chapter}_tests>)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${folder}" OUTPUT_NAME tests)
  target_include_directories(${target} BEFORE PRIVATE "${folder}" "${CMAKE_CURRENT_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE ${chapter}_steps tutorial_testing)
  add_dependencies(${chapter}_mistakes ${target})
endfunction()

function(tutorial_mistakes chapter)
  file(GLOB patches CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/mistakes/*.patch")
  if(NOT patches)
    return()
  endif()
  add_custom_target(${chapter}_mistakes)
  add_dependencies(mistakes ${chapter}_mistakes)
  string(SUBSTRING ${chapter} 0 2 number)
  foreach(patch IN LISTS patches)
    get_filename_component(name "${patch}" NAME_WE)
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/mistakes/${name}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${patch}")
    tutorial_mistake_program(${chapter}_mistake_${name} ${chapter} "${patch}" "${folder}")
    add_test(NAME "mistake ${chapter}: ${name}"
      COMMAND "${TUTORIAL_ROOT}/common/tools/check_mistake" "${patch}" "${folder}/tests")
    set_tests_properties("mistake ${chapter}: ${name}" PROPERTIES
      LABELS "mistakes;mistakes_${number}" TIMEOUT 300)
  endforeach()
endfunction()
