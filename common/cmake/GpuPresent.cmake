# CTest reads this before it runs the tests of the gpu preset: without a GPU it stops here, with one
# line, instead of failing test by test.
execute_process(COMMAND nvidia-smi -L OUTPUT_VARIABLE gpus ERROR_QUIET RESULT_VARIABLE status)
if(NOT status EQUAL 0 OR NOT gpus MATCHES "GPU 0")
  message(FATAL_ERROR "No usable NVIDIA GPU here: test with the cpu preset instead.")
endif()
