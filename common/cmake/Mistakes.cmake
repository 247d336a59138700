# tutorial_mistakes(): the mistakes of a chapter and of its parts (mistakes.txt), as test programs that have
# them. docs/mistakes.md says what the files are. CPU backend only; none of this is part of `all`.
#
#   NN_chapter_mistake_<name>   the chapter's tests, linked with what the mistake makes of the kernels
#   NN_chapter_mistakes         those of a chapter
#   mistakes                    those of all chapters
add_custom_target(mistakes)
set(mistakes_program "${TUTORIAL_ROOT}/common/tools/mistakes.py")

# The mistake is meant, so no warnings (-w). The reports name lines: all that they need is -g1.
set(of_mistakes -w -g1)
tutorial_headers(mistakes_headers LIBRARIES tutorial_common OPTIONS ${tutorial_kernel_options} ${of_mistakes}
  HEADERS ${of_kernels})

# Adds `target`: the mistake `name` of the file `list`, which changes the chapter's files ARGN, each by its
# path in the chapter. Only they are compiled, from copies in `folder`: the linker takes the tests' object
# files as they are, and from the chapter's library only what these objects do not define.
function(tutorial_mistake_program target chapter list name folder)
  list(TRANSFORM ARGN PREPEND "${folder}/" OUTPUT_VARIABLE changed)
  list(TRANSFORM ARGN PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/" OUTPUT_VARIABLE originals)
  add_custom_command(
    OUTPUT ${changed}
    COMMAND "${Python3_EXECUTABLE}" "${mistakes_program}" apply "${list}" ${name} "${folder}"
    DEPENDS "${list}" ${originals} "${mistakes_program}"
    COMMENT "Making the mistake ${target}"
    VERBATIM)

  add_executable(${target} EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${chapter}_tests>)
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
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${folder}" OUTPUT_NAME tests)
  target_include_directories(${target} BEFORE PRIVATE "${folder}" "${CMAKE_CURRENT_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE ${tutorial_fast_linker} $<TARGET_PROPERTY:${chapter}_tests,LINK_LIBRARIES>)
  add_dependencies(${chapter}_mistakes ${target})
endfunction()

function(tutorial_mistakes chapter)
  file(GLOB lists CONFIGURE_DEPENDS mistakes.txt */mistakes.txt)
  if(NOT lists)
    return()
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${lists} "${mistakes_program}")
  execute_process(
    COMMAND "${Python3_EXECUTABLE}" "${mistakes_program}" cmake "${CMAKE_CURRENT_SOURCE_DIR}"
    OUTPUT_VARIABLE mistakes ERROR_VARIABLE problem RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(WARNING "${chapter}: its mistakes are left out. ${problem}")
    return()
  endif()
  add_custom_target(${chapter}_mistakes)
  add_dependencies(mistakes ${chapter}_mistakes)
  string(SUBSTRING ${chapter} 0 2 number)
  string(REGEX MATCHALL "[^\n]+" mistakes "${mistakes}")
  foreach(mistake IN LISTS mistakes)
    separate_arguments(files UNIX_COMMAND "${mistake}")
    list(POP_FRONT files name list)
    set(list "${CMAKE_CURRENT_SOURCE_DIR}/${list}")
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/mistakes/${name}")
    if(files)  # else the test says what is wrong with it
      tutorial_mistake_program(${chapter}_mistake_${name} ${chapter} "${list}" ${name} "${folder}" ${files})
    endif()
    add_test(NAME "mistake ${chapter}: ${name}"
      COMMAND "${Python3_EXECUTABLE}" "${mistakes_program}" check "${list}" ${name} "${folder}/tests")
    set_tests_properties("mistake ${chapter}: ${name}" PROPERTIES
      LABELS "mistakes;mistakes_${number}" TIMEOUT 300)
  endforeach()
endfunction()
