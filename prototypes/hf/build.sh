python3 variants.py
I="-Isrc -Isrc/06_flash_attention -Isrc/common/backend/include -I."
mkdir -p o; rm -f o/*
printf '%s\n' v/*.cu api.cu check.cu stubs.cpp src/06_flash_attention/launch_checks.cpp src/06_flash_attention/tensor_cores/launch.cpp src/06_flash_attention/tensor_cores/reference.cpp src/common/compare/*.cpp src/common/data/{random,shape,text}.cpp | xargs -P ${1:-16} -I{} sh -c "nvcc -std=c++20 -arch=sm_90a -O3 -Xptxas -v -Xcompiler -fPIC $I -x cu -c {} -o o/\$(basename {}).o > o/\$(basename {}).log 2>&1 || grep error o/\$(basename {}).log | head -3"
grep -lE "C75[01]" o/*.log; grep -hE "spill" o/*.log | grep -v " 0 bytes spill stores"
nvcc -arch=sm_90a -shared $(ls o/*.o | grep -v check.cu) -o lib.so
nvcc -arch=sm_90a $(ls o/*.o | grep -v api.cu) -o check
