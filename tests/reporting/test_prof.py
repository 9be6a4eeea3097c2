import time
from tests.reporting.test_every_page import *
from tests.reporting.conftest import *
def test_prof(browser, report, two_runs):
    tables = [root / name for root in (report, two_runs) for name in ("index.html", "samples.html")]
    samples = [report / "samples" / file_name(id) for id in ("d0/4", "d1/5")]
    with watched(browser) as view:
        for file in (*tables,*samples):
            a=time.time(); page=view.open(file); b=time.time(); check_fit(page,390); check_fit(page,1280); c=time.time(); page.evaluate(OPEN); d=time.time(); check_axe(page); e=time.time()
            n=page.evaluate("document.querySelectorAll('*').length")
            print(file.name[:20], n, *(f"{x:.2f}" for x in (b-a,c-b,d-c,e-d)))
