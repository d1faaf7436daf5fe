import os,sys,time,shutil
t=time.time()
from pathlib import Path
from tests.faults import children as c, cases as k, strikes as s
from tests.faults.parallel import do_in_forks
c.warm_up(); print("warm",time.time()-t)
w=Path("/tmp/fw"); shutil.rmtree(w,ignore_errors=True)
k.make_inputs(w/"inputs"); print("inputs",time.time()-t)
only=sys.argv[2:] 
cs=[x for x in k.cases() if x.workers==1 and (not only or any(o in x.name for o in only))]
first=[k.prepare(x,w) for x in cs if x.name in ("label","probe","judge label")]
t1=time.time()
rest=do_in_forks(lambda x:k.prepare(x,w),[x for x in cs if x.name not in [f.case.name for f in first]],2)
print("prep",time.time()-t1, sum(len(p.changes) for p in first+rest))
t1=time.time()
tr=s.do_strikes(s.kills(first+rest,0),w,2,time.monotonic()+float(sys.argv[1]))
line,f=s.figures("kills",tr); print(time.time()-t1,line); open("/tmp/kills.txt","w").write("\n".join(f))
t1=time.time()
tr=s.do_strikes(s.errors(first+rest,0),w,2,time.monotonic()+float(sys.argv[1]))
line,f=s.figures("errors",tr); print(time.time()-t1,line); open("/tmp/errors.txt","w").write("\n".join(f))
