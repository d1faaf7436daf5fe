import sys; sys.path.insert(0,"/work/main/tests")
import pytest, torch, importlib.util
spec=importlib.util.spec_from_file_location("tc","/work/main/tests/test_capture.py"); tc=importlib.util.module_from_spec(spec); spec.loader.exec_module(tc)
from headroles.extraction.capture import run
def test_table(model_of, capsys):
    out=[]
    for name in tc.INSIDE+tc.EAGER_ONLY+tuple(tc.OUTSIDE):
        for L in (128,512):
            f=model_of(name); m=tc._load(f,L); i,l=tc._padded(m); k=tc.Kept(); run(m.network,m.way,i,l,k)
            p=tc._plain(f,"eager",i,output_attentions=True).attentions
            d=max(float((k.whole(a,e)-w[e,:,:n,:n]).abs().max()) for a,w in enumerate(p) for e,n in enumerate(l))
            mx=max(float(w.max()) for w in p)
            out.append((name,L,m.way.name,m.way.causal,d,round(mx,2)))
    with capsys.disabled():
        for o in out: print(*o)
