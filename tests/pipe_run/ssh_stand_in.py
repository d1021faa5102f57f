#!/usr/bin/env python3
"""Stands in for ssh between made-up hosts: a connection of its own through their network.

  ssh_stand_in.py serve NAME            serves in a host, which gets this name; prints "serves"
  ssh_stand_in.py ADDRESS LINE          runs LINE by the shell of that host, as ssh does

As with ssh, standard input and output are those of the command, and the end of one end is the end of
the other. A host that is cut off is not noticed.
"""
import os
import signal
import socket
import subprocess
import sys
import threading

PORT = 2222


def run(connection, line):
    child = subprocess.Popen(["/bin/sh", "-c", line], stdin=connection, stdout=connection,
                             stderr=subprocess.STDOUT, start_new_session=True)
    child.wait()
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    connection.close()


def serve(name):
    socket.sethostname(name)
    with socket.create_server(("0.0.0.0", PORT)) as server:
        print("serves", flush=True)
        while True:
            connection, _ = server.accept()
            size = int.from_bytes(connection.recv(4, socket.MSG_WAITALL), "big")
            line = connection.recv(size, socket.MSG_WAITALL).decode()
            threading.Thread(target=run, args=(connection, line), daemon=True).start()


def relay(read, write, at_end):
    try:
        while data := read(65536):
            write(data)
    except OSError:
        pass
    at_end()


def write_all(data):
    while data:
        data = data[os.write(1, data):]


def connect(address, line):
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    text = line.encode()
    with socket.create_connection((address, PORT), timeout=10) as connection:
        connection.settimeout(None)
        connection.sendall(len(text).to_bytes(4, "big") + text)
        threading.Thread(target=relay, daemon=True, args=(
            lambda size: os.read(0, size), connection.sendall,
            lambda: connection.shutdown(socket.SHUT_WR))).start()
        relay(connection.recv, write_all, lambda: None)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        connect(sys.argv[1], sys.argv[2])
