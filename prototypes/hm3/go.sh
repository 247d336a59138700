I="-I. -I../.. -I../../common/backend/include"
rm -f *.o
python3 - <<'P' > jobs.txt
import re
for m in re.finditer(r'V\((\w+), ([^)]*)\)', open('vs.hpp').read()):
    for o in ('float','bf16'): print(f'{m[1]}_{o} {o} {m[2].replace(" ","")}')
P
( nvcc -std=c++20 -arch=sm_90a -O3 $I -c main.cu -o main.o & 
xargs -P 15 -L1 sh -c 'printf "#include \"kernel.cuh\"\ntemplate void launch<Cfg<$2>, $1>(const bf16*, const bf16*, $1*, int, int, int);\n" > v_$0.cu; nvcc -std=c++20 -arch=sm_90a -O3 -Xptxas -v -I. -I../.. -I../../common/backend/include -c v_$0.cu -o v_$0.o > v_$0.log 2>&1' < jobs.txt; wait )
grep -hE "spill|C75" v_*.log | sort | uniq -c
nvcc -arch=sm_90a *.o -o bench -lcublas && timeout 80 ./bench | grep -v "  ok$"
