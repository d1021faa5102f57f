"""Programs that look to a trial like those of a build, for the self-test. MADE_UP in their environment
says what is wrong with them."""

import sys
from pathlib import Path

PIPE_TRACE = '''
import json, os, sqlite3, sys
if sys.argv[1] == "plan":
    if "--list" in sys.argv:
        print("1F1B     one forward, one backward\\n  also: x\\nForwardOnly  forwards only\\n  forwards only\\nauto   a search")
    else:
        sys.stderr.write("# made up\\n0F0,0F1,0SEND_F1,0B0,0B1\\n1RECV_F0,1F0,1B0,1F1,1B1\\n")
    sys.exit(0)
if sys.argv[1] == "info":
    found = [{"severity": "warning", "file": "workerlog.0", "message": "a line is torn", "advice": ""}]
    print(json.dumps({"diagnostics": found if os.environ.get("MADE_UP") == "torn log" else []}))
    sys.exit(0)
with sqlite3.connect(sys.argv[3]) as base:
    base.execute("CREATE TABLE job (id INTEGER PRIMARY KEY, rank, lane, kind, begin_ns, end_ns, step, arguments)")
    base.execute("CREATE TABLE meta (key, value)")
    dropped = 3 if os.environ.get("MADE_UP") == "dropped" else 0
    base.execute("INSERT INTO meta VALUES ('pipetrace', ?)",
                 (json.dumps({"ranks": [{"rank": 0, "end": {"dropped": dropped}}, {"rank": 1}]}),))
    for rank in (0, 1):
        lines = open(f"{sys.argv[1]}/workerlog.{rank}").read().splitlines()
        for at, line in enumerate(lines):
            step, kind = line.split(" = ")[1].split(", ")
            action = None if kind == "lr" else json.dumps({"action": kind})
            base.execute("INSERT INTO job VALUES (NULL, ?, 'compute', 'forward', ?, ?, ?, ?)",
                         (rank, at, at, int(step), action) if action else (rank, at, at, int(step), None))
    base.execute("UPDATE job SET kind = 'lr' WHERE arguments IS NULL")
'''

TRAINING = '''
import os, subprocess, sys, time
wrong = os.environ.get("MADE_UP", "")
option = lambda name: sys.argv[sys.argv.index(name) + 1]
rank = int(os.environ.get("RANK", -1))
steps = int(option("--steps"))
rows = [["0F0", "0F1", "0B0", "0B1"], ["1F0", "1B0", "1F1", "1B1"]]
losses = "0x1p+1\\n" * steps if steps < 1000 else ""
if rank < 0:
    open(option("--losses"), "w").write(losses)
    sys.exit(0)
logs = os.environ["PIPETRACE_LOG_DIR"]
peer = 1 - rank
open(f"{logs}/pid{rank}", "w").write(str(os.getpid()))
with open(f"{logs}/workerlog.{rank}", "w") as log:
    for step in range(steps if steps < 1000 else 3):
        for action in ["lr"] + rows[rank]:
            if wrong != "gap" or rank != 0 or (step, action) != (1, "0B0"):
                print(f"step = {step}, {action}", file=log)
while not os.path.exists(f"{logs}/pid{peer}"):
    time.sleep(0.01)
if steps < 1000:
    time.sleep(1.5)
    if rank == 1:
        open(option("--losses"), "w").write(losses.replace("1", "2", 1) if wrong == "losses" else losses)
    os.remove(f"{logs}/pid{peer}")
    sys.exit(0)
def lives():
    with open("/proc/" + open(f"{logs}/pid{peer}").read() + "/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0] != "Z"
try:
    while lives():
        time.sleep(0.01)
except (OSError, ValueError):
    pass
if wrong == "never ends":
    time.sleep(1000)
if wrong == "process":
    subprocess.Popen(["sleep", "1000"], start_new_session=True)
if wrong == "file":
    open(os.environ["TMPDIR"] + "/left", "w")
if wrong == "port":
    import socket
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("127.0.0.1", int(os.environ["MASTER_PORT"])))
    server.listen(1)
    del os.environ["PIPETRACE_TRIAL"]
    if os.fork() == 0:
        os.execv("/bin/sleep", ["sleep", "3"]) if not server.set_inheritable(True) else None
named = rank if wrong == "name" else peer
word = "stalled: it ended no action" if wrong == "cause" else "died, last seen in 0F1"
claimed = 99 if wrong == "short log" else 15
if wrong != "silent":
    print(f"error: rank {named} {word} of step 2 (12 actions ended); this rank, {rank}, was in 1B0 "
          f"of step 2 ({claimed} actions ended)", file=sys.stderr)
if wrong in ("report", "report in a file"):
    text = "==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x10\\n    #0 0x2 in begin() a.cpp:3\\n"
    if wrong == "report":
        sys.stderr.write(text)
    else:
        path = os.environ["ASAN_OPTIONS"].split("log_path='")[1].split("'")[0]
        open(f"{path}.7", "w").write(text)
if wrong == "undefined":
    print("a.cpp:3:5: runtime error: signed integer overflow", file=sys.stderr)
if wrong == "ring":
    open(f"{logs}/workerlog.{rank}.ring", "w")
sys.exit(1 if wrong == "code" else 2)
'''


def write_programs(build):
    """A build folder with made-up programs in place of the real ones."""
    folder = Path(build) / "bin"
    folder.mkdir(parents=True)
    for name, text in (("pipe-trace", PIPE_TRACE), ("faulty_training", TRAINING)):
        program = folder / name
        program.write_text(f"#!{sys.executable}\n{text}")
        program.chmod(0o755)
