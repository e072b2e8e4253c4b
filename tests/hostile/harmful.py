"""Functions that do harm in a process that has a parent, as the one that tries model files has; no tests."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time


def _is_child():
    return multiprocessing.parent_process() is not None


def crash(table):
    if _is_child():
        os.kill(os.getpid(), signal.SIGSEGV)
    return table


def hang(table):
    if _is_child():
        time.sleep(600)
    return table


def eat(table):
    if _is_child():
        bytearray(2**50)
    return table
