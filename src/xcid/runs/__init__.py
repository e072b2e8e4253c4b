"""Large runs: rows of a file, chunk by chunk, in several processes, with a folder that remembers what is done.

``readers`` cut a file into frames and ``chunks`` these into chunks; ``workers`` hand each to a process that explains it
(``worker``) and leaves a finished chunk behind (``fragments``); ``formats`` turn these into one file. ``manifest`` says
what a folder's chunks belong to, and ``run`` is the whole of it.
"""
