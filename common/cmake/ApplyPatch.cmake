# Run by the build (Mistakes.cmake): puts copies of ORIGINALS into FOLDER and applies PATCH to them. An
# older test program goes first, so that one that cannot be built is not taken for the new one.
file(REMOVE "${FOLDER}/tests")
file(COPY ${ORIGINALS} DESTINATION "${FOLDER}")

find_program(patch_program patch)
if(NOT patch_program)
  message(FATAL_ERROR "The program `patch` is not here: install the package patch.")
endif()
execute_process(
  COMMAND "${patch_program}" -p2 -f -s --no-backup-if-mismatch -r - -d "${FOLDER}" -i "${PATCH}"
  RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(NOT status EQUAL 0)
  foreach(original IN LISTS ORIGINALS)
    get_filename_component(name "${original}" NAME)
    file(REMOVE "${FOLDER}/${name}")
  endforeach()
  message(FATAL_ERROR "${PATCH} no longer applies: the code that it changes has changed. "
    "Make the same mistake in today's code and store that diff in its place.\n${said}")
endif()
