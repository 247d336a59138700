set -e
bash build.sh
timeout 60 ./check || true
ALL=fragments,swizzled,waits_in_order,short_softmax,tall_tiles,masks_at_edges,one_barrier,lazy_rescale,head_sizes
timeout 60 python3 time.py $ALL "[(4,16,16,4096,4096,128,0),(4,32,32,4096,4096,64,0)]" || true
V=lazy_rescale,$(grep -o '"w_[a-z0-9_]*"' w/list.hpp | tr -d '"' | paste -sd,)
timeout 90 python3 time.py $V "[(4,16,16,4096,4096,128,0),(4,16,16,4096,4096,128,1),(4,32,32,4096,4096,64,0),(4,32,32,4096,4096,64,1),(8,12,12,1024,1024,64,1)]" || true
for f in step5_tall_tiles step8_lazy_rescale w_addr w_ahead w_joint w_joint_ahead w_addr_nv; do echo $f; cuobjdump -sass o/$f.cu.o | awk '/Function/{p=index($0,"Li128E")} p' | grep -oE '^ +/\*[0-9a-f]+\*/ +(@!?U?P[0-9T]+ )?[A-Z0-9]+' | awk '{print $NF}' | sort | uniq -c | sort -rn | head -26 | awk '{printf "%s %s, ", $2, $1}'; echo; done
