# tutorial_mistakes(): the mistakes of a chapter or of a part (mistakes.txt), as test programs that have
# them. docs/CONTRIBUTING.md says what the files are. CPU backend only; none of this is part of `all`.
#
#   NN_chapter_mistake_<name>   the chapter's tests, linked with what the mistake makes of the kernels; of a part
#                               NN_chapter_part_mistake_<name>, with the part's tests
#   NN_chapter_mistakes         those of a chapter, without its parts
#   mistakes                    those of all chapters and parts
add_custom_target(mistakes)
set(mistakes_program "${TUTORIAL_ROOT}/common/tools/mistakes/mistakes.py")

# The mistake is meant, so no warnings (-w). The reports name lines: all that they need is -g1.
set(of_mistakes -w -g1)
tutorial_headers(mistakes_headers LIBRARIES tutorial_common OPTIONS ${tutorial_kernel_options} ${of_mistakes}
  HEADERS ${of_kernels})

# Adds `target`: the ladder's tests with the files ARGN of `ladder`, each by its path in the chapter, `root`, in place of
# the originals. Only they are compiled, from copies in `folder`: the linker takes the tests' object files as they
# are, and from the ladder's library only what these objects do not define. The tests' files come behind the changed
# ones, so that an inline function of a header, or a list of steps, is the changed one for them, too. So does an object
# file, a whole path among ARGN.
function(tutorial_changed_program target ladder root folder)
  add_executable(${target} EXCLUDE_FROM_ALL)
  set(objects ${ARGN})
  list(FILTER objects INCLUDE REGEX "\\.o$")
  list(FILTER ARGN EXCLUDE REGEX "\\.o$")
  list(TRANSFORM ARGN PREPEND "${folder}/" OUTPUT_VARIABLE changed)
  foreach(source IN LISTS changed)
    if(source MATCHES "\\.cu$")
      get_filename_component(parent "${source}" DIRECTORY)
      tutorial_translate("${source}" "${parent}" source)
      tutorial_prepend_headers(${target} "${source}" mistakes_headers)
    endif()
    if(source MATCHES "\\.cpp$")
      set_property(SOURCE "${source}" APPEND PROPERTY COMPILE_OPTIONS ${of_mistakes})
      # The build tool does not see that an #include leads to a changed header before there is one.
      set_property(SOURCE "${source}" APPEND PROPERTY OBJECT_DEPENDS "${changed}")
      target_sources(${target} PRIVATE "${source}")
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${folder}" OUTPUT_NAME tests LINKER_LANGUAGE CXX)
  target_include_directories(${target} BEFORE PRIVATE "${folder}" "${root}")
  target_link_libraries(${target} PRIVATE $<TARGET_OBJECTS:${ladder}_tests> ${objects} ${tutorial_fast_linker}
    $<TARGET_PROPERTY:${ladder}_tests,LINK_LIBRARIES>)
endfunction()

# The same of the mistake `name` of the file `list`, which mistakes.py writes into `folder`.
function(tutorial_mistake_program target ladder root list name folder)
  list(TRANSFORM ARGN PREPEND "${folder}/" OUTPUT_VARIABLE changed)
  list(TRANSFORM ARGN PREPEND "${root}/" OUTPUT_VARIABLE originals)
  add_custom_command(
    OUTPUT ${changed}
    COMMAND "${Python3_EXECUTABLE}" "${mistakes_program}" apply "${list}" ${name} "${folder}"
    DEPENDS "${list}" ${originals} "${mistakes_program}"
    COMMENT "Making the mistake ${target}"
    VERBATIM)
  tutorial_changed_program(${target} ${ladder} "${root}" "${folder}" ${ARGN})
  add_dependencies(${ladder}_mistakes ${target})
endfunction()

# Sets `result` to the mistakes of the file `list`, each its name and the files that change with it.
function(tutorial_listed_mistakes list label result)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${list}" "${mistakes_program}")
  execute_process(
    COMMAND "${Python3_EXECUTABLE}" "${mistakes_program}" cmake "${list}"
    OUTPUT_VARIABLE mistakes ERROR_VARIABLE problem RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${label}: its mistakes cannot be listed. ${problem}")
  endif()
  string(REGEX MATCHALL "[^\n]+" mistakes "${mistakes}")
  set(${result} "${mistakes}" PARENT_SCOPE)
endfunction()

function(tutorial_mistakes ladder label)
  set(list "${CMAKE_CURRENT_SOURCE_DIR}/mistakes.txt")
  file(GLOB lists CONFIGURE_DEPENDS mistakes.txt)
  if(NOT lists)
    return()
  endif()
  tutorial_listed_mistakes("${list}" "${label}" mistakes)
  add_custom_target(${ladder}_mistakes)
  add_dependencies(mistakes ${ladder}_mistakes)
  string(REGEX MATCH "^[^/]*" root "${label}")
  set(root "${TUTORIAL_ROOT}/${root}")
  foreach(mistake IN LISTS mistakes)
    separate_arguments(files UNIX_COMMAND "${mistake}")
    list(POP_FRONT files name)
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/mistakes/${name}")
    if(files)  # else the test says what is wrong with it
      tutorial_mistake_program(${ladder}_mistake_${name} ${ladder} "${root}" "${list}" ${name} "${folder}" ${files})
    endif()
    add_test(NAME "mistake ${label}: ${name}"
      COMMAND "${Python3_EXECUTABLE}" "${mistakes_program}" check "${list}" ${name} "${folder}/tests")
    set_tests_properties("mistake ${label}: ${name}" PROPERTIES
      LABELS "mistakes;mistakes ${label}" TIMEOUT 300)
  endforeach()
endfunction()
