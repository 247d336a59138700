#include <cstring>
#include "v/list.hpp"
#include "common/compare/compare.hpp"
#include <cstdio>
#include <cmath>
#include <random>
#include <functional>
#include <vector>
#include <string>
using namespace tutorial;
using namespace tutorial::flash_attention;
using namespace tutorial::flash_attention::tensor_cores;
typedef Attention A;
#define CK(x) do{auto e=(x);if(e){printf("CUDA %s line %d\n",cudaGetErrorString(e),__LINE__);exit(1);}}while(0)
struct P { A s; std::vector<float> q,k,v; };
float rnd(float x){return __bfloat162float(__float2bfloat16(x));}
P normal(A s,float add0,float slope,std::function<bool(long)> masked={}){ P p{s};std::mt19937 g(1);std::normal_distribution<float> n;
 p.q.resize(s.B*s.NH*s.Tq*s.HS);p.k.resize(s.B*s.NH_kv*s.Tk*s.HS);p.v.resize(p.k.size());
 for(auto*x:{&p.q,&p.k,&p.v})for(float&f:*x)f=rnd(n(g));
 if(add0||slope||masked){for(size_t i=0;i<p.q.size();i+=s.HS)p.q[i]=1;for(size_t j=0;j<p.k.size();j+=s.HS){long t=j/s.HS%s.Tk;p.k[j]=rnd(std::sqrt((float)s.HS)*(add0+slope*t));if(masked&&masked(t))p.k[j]=-INFINITY;}}
 return p;}
double worst_out=0,worst_lse=0;
void check(const V& x,const P& p,int off=0){
 const A&s=p.s; bf16*d[4];float*lse;size_t n[4]={p.q.size(),p.k.size(),p.v.size(),p.q.size()};const std::vector<float>*h[3]={&p.q,&p.k,&p.v};
 for(int i=0;i<4;i++){CK(cudaMalloc(&d[i],n[i]*2+256));CK(cudaMemset(d[i],255,n[i]*2+256));std::vector<bf16> t(n[i]);if(i<3){for(size_t e=0;e<n[i];e++)t[e]=__float2bfloat16((*h[i])[e]);CK(cudaMemcpy(d[i]+off,t.data(),2*n[i],cudaMemcpyHostToDevice));}}
 size_t rows=s.rows();CK(cudaMalloc(&lse,rows*4+64));CK(cudaMemset(lse,255,rows*4+64));
 bool ran=true;
 try{x.f(s,d[0]+off,d[1]+off,d[2]+off,d[3]+off,lse);}catch(std::exception&e){ran=false;if(0)printf("%s refused: %s\n",x.name,e.what());}
 CK(cudaDeviceSynchronize());
 if(ran){std::vector<bf16> o(n[3]+64);std::vector<float> l(rows+16);CK(cudaMemcpy(o.data(),d[3]+off,2*n[3]+64,cudaMemcpyDeviceToHost));CK(cudaMemcpy(l.data(),lse,4*rows+64,cudaMemcpyDeviceToHost));
  std::vector<long> rr; auto some=sample_rows(rows,rows*s.Tk*s.HS>20000000?64:rows,1);
  auto want=tensor_cores::reference(s,p.q,p.k,p.v,some);
  long bad=0;double wo=0,wl=0;
  auto cmp=[&](double got,double w,double b,double&worst){bool ok=std::isnan(w)?std::isnan(got):std::isinf(w)?got==w:std::fabs(got-w)<=b;if(!ok){if(!bad)printf("  bad: got %g want %g bound %g\n",got,w,b);bad++;}if(std::isfinite(w)&&b>0)worst=std::max(worst,std::fabs(got-w)/b);};
  for(size_t r=0;r<some.size();r++){for(long e=0;e<s.HS;e++)cmp(__bfloat162float(o[some[r]*s.HS+e]),want.out.value[r*s.HS+e],want.out.bound[r*s.HS+e],wo);cmp(l[some[r]],want.lse.value[r],want.lse.bound[r],wl);}
  for(int e=0;e<32;e++)if(((unsigned char*)&o[n[3]])[e]!=255){bad++;printf("guard out\n");break;}
  if(((unsigned char*)&l[rows])[0]!=255)bad++,printf("guard lse\n");
  worst_out=std::max(worst_out,wo);worst_lse=std::max(worst_lse,wl);
  if(bad)printf("WRONG %s B%ld NH%ld/%ld Tq%ld Tk%ld HS%ld causal%d off%d: %ld\n",x.name,s.B,s.NH,s.NH_kv,s.Tq,s.Tk,s.HS,s.causal,off,bad);
 }
 for(auto*y:d)cudaFree(y);cudaFree(lse);
}
int main(int argc,char**argv){
 std::vector<P> ps;
 for(bool c:{true,false}){
  for(A s:std::vector<A>{{1,1,1,1,1,16},{1,1,1,5,3,16},{1,1,1,64,64,64},{1,1,1,32,97,40},{1,1,1,130,200,32},{1,1,1,190,90,8},{1,1,1,1,150,128},{2,2,2,37,70,24},{2,4,2,35,33,24},{1,3,1,20,40,128},{1,1,1,37,70,72},{1,1,1,140,280,104},{1,2,1,300,700,128},{1,2,1,300,700,64},{1,1,1,4,0,16}}){s.causal=c;ps.push_back(normal(s,0,0));}
  for(long HS=16;HS<=256;HS+=8)ps.push_back(normal({1,1,1,150,200,HS,c},0,0));
  for(long HS:{16,80,128}){for(float a:{200.f,-200.f,-2e4f,2e4f})ps.push_back(normal({1,1,1,70,130,HS,c},a,0));
  for(float sl:{.1f,-.1f})ps.push_back(normal({1,1,1,33,260,HS,c},0,sl)),ps.push_back(normal({1,1,1,33,260,HS,c},-200,sl));
  for(auto r:std::vector<std::array<long,3>>{{0,63,0},{0,150,-100},{64,127,-100},{130,199,0},{0,199,0}})ps.push_back(normal({1,1,1,140,200,HS,c},r[2],0,[=](long j){return j>=r[0]&&j<=r[1];}));}
  P p=normal({1,1,1,40,40,16,c},0,0);p.q[3*16+1]=NAN;p.k[30*16+2]=INFINITY;ps.push_back(p);
 }
 for(auto&x:everything){bool sel=argc<2;for(int i=1;i<argc;i++)sel|=!strcmp(argv[i],x.name);if(!sel)continue;worst_out=worst_lse=0;for(auto&p:ps)check(x,p);if(!strcmp(x.name,"any_address")){for(auto&p:ps)if(p.s.rows()<=200)check(x,p,1+p.s.HS/8%3);}
  for(auto s:std::vector<A>{{1,2,1,1000,3000,128,true},{1,1,1,3000,3000,64,false}})check(x,normal(s,0,0));
  printf("%-16s checked; worst of bound: out %.3f lse %.3f\n",x.name,worst_out,worst_lse);}
}
