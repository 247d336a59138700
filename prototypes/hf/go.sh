bash build.sh; date +%T
L=$(grep -o '"[a-z0-9_]*"' v/list.hpp | tr -d '"' | paste -sd,)
pick() { echo $L | tr ',' '\n' | grep "^$1" | paste -sd,; }
timeout 100 ./check h128 h176 h128_noboth h128_m0 h128_m3 h128_direct d64_3x128 d64_3x128_f4 d64_3x128_e4 d64_2x192 d96_2x144 d192_2x112 d256_2x80; date +%T
timeout 40 python3 time.py $(pick h) "[(4,16,16,4096,4096,128,0),(4,16,16,4096,4096,128,1)]"
timeout 40 python3 time.py $(pick d64) "[(4,32,32,4096,4096,64,0),(4,32,32,4096,4096,64,1)]"
timeout 40 python3 time.py $(pick d96) "[(4,16,16,4096,4096,96,0),(4,16,16,4096,4096,96,1)]"
timeout 40 python3 time.py $(pick d192) "[(4,16,16,4096,4096,192,0),(4,16,16,4096,4096,192,1)]"
timeout 40 python3 time.py $(pick d256) "[(4,8,8,4096,4096,256,0),(4,8,8,4096,4096,256,1)]"
timeout 40 python3 time.py h128,h176 "[(4,32,8,4096,4096,128,0),(4,32,8,4096,4096,128,1),(16,16,16,1000,1000,128,1),(4,16,16,1024,8192,128,0),(4,16,16,1024,8192,128,1)]"
date +%T
