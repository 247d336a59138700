for f in main v1 v2 v3 v4 tf32/step*.cu; do f=${f%.cu}; nvcc -std=c++20 -arch=sm_90a -O3 -I. -c -o $(basename $f).o $f.cu 2>&1 | grep -i error & done; wait
nvcc -arch=sm_90a -o prog main.o v[1-4].o step*.o -lcublas && ./prog
