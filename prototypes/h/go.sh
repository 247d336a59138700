F="-std=c++20 -arch=sm_90a -O3 -Ishim -I. -Icommon/backend/include"
nvcc $F shim/diag.cu -o diag
./diag 0 1 0 0 x
for h in 0 1 2; do ./diag $h 0 0 0; done
for s in 0 1 2 3; do for p in "0 0" "24 8" "48 32" "-5 -3" "100 0"; do ./diag 0 $s $p; done; done
