import os,sys,time,shutil
t=time.time()
from pathlib import Path
from tests.faults import children as c, cases as k, damage as d
c.warm_up(); print("warm",time.time()-t)
w=Path("/tmp/fw5"); shutil.rmtree(w,ignore_errors=True)
k.make_inputs(w/"inputs")
runs={}
for kind in k.run_kinds(): runs[kind]=d.finish(kind,w); print(kind,{f:len(b) for f,b in runs[kind].files.items()})
t=time.time()
n,f=d.do_damages(runs,d.damages_for_verify(runs,0),w,2,time.monotonic()+60)
print(time.time()-t,d.figures("verify",n,f)); open("/tmp/v.txt","w").write("\n".join(f))
t=time.time()
n,f=d.do_damages(runs,d.damages_for_judge(runs,0,3),w,2,time.monotonic()+60)
print(time.time()-t,d.figures("judge",n,f)); open("/tmp/j.txt","w").write("\n".join(f))
