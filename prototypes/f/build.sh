set -e
I="-Isrc -Isrc/06_flash_attention -Isrc/common/backend/include -I."
mkdir -p o; rm -f o/*
printf '%s\n' src/06_flash_attention/tensor_cores/step*.cu w/*.cu api.cu check.cu stubs.cpp src/06_flash_attention/launch_checks.cpp src/06_flash_attention/tensor_cores/launch.cpp src/06_flash_attention/tensor_cores/reference.cpp src/common/compare/*.cpp src/common/data/{random,shape,text}.cpp | xargs -P ${1:-16} -I{} sh -c "a=; case {} in *_nv.cu) a=-Inv;; esac; nvcc -std=c++20 -arch=sm_90a -O3 -Xcompiler -fPIC \$a $I -x cu -c {} -o o/\$(basename {}).o"
nvcc -arch=sm_90a -shared $(ls o/*.o | grep -v check.cu) -o lib.so
nvcc -arch=sm_90a $(ls o/*.o | grep -v api.cu) -o check
