"""Connects a device to its gateway, again and again: for MicroPython and Python."""

import socket
import time

# Seconds of silence after which the device sends a ping. The gateway waits 300 s.
PING_SECONDS = 30
MAX_RETRY_SECONDS = 60


def connect_once(device, host, port):
    address = socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM)[0][-1]
    link = socket.socket()
    try:
        # Connecting and sending have the same timeout as reading.
        link.settimeout(PING_SECONDS)
        link.connect(address)
        link.sendall(device.start())
        is_answered = True
        while True:
            try:
                chunk = link.recv(1024)
            except OSError as error:
                # ETIMEDOUT of MicroPython on boards and on Unix, and TimeoutError of Python.
                if error.args[0] not in (116, 110, "timed out"):
                    raise
                # Two silent periods, although a ping has an answer: the connection is dead.
                if not is_answered:
                    raise
                is_answered = False
                link.sendall(device.ping())
                continue
            if not chunk:
                return
            is_answered = True
            replies = device.receive(chunk)
            if replies:
                link.sendall(replies)
    finally:
        link.close()


def connect_forever(device, host, port):
    retry = 1
    while True:
        started = time.time()
        try:
            connect_once(device, host, port)
            print("connection closed")
        except OSError as error:
            print("connection lost:", error)
        if time.time() - started > MAX_RETRY_SECONDS:
            retry = 1
        time.sleep(retry)
        retry = min(retry * 2, MAX_RETRY_SECONDS)
