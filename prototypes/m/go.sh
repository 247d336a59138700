for f in v1 v2 v3 main; do nvcc -std=c++20 -arch=sm_90a -O3 -c $f.cu -o $f.o & done
cd proj; i=0; for f in 02_tiled_matmul/tensor_cores/step*.cu ../steps_main.cu; do nvcc -std=c++20 -arch=sm_90a -O3 -I. -I02_tiled_matmul -Icommon/backend/include -c $f -o $(basename $f .cu).o & done; wait
nvcc -arch=sm_90a *.o -o ../steps -lcublas; cd ..
nvcc -arch=sm_90a v1.o v2.o v3.o main.o -o bench -lcublas
timeout 100 ./steps
timeout 100 ./bench
