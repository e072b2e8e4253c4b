"""Large runs: finished chunks are remembered in a folder, so that a run resumes where it was interrupted.

``run`` hands each chunk of rows to a process that explains it (``worker``) and leaves a finished chunk behind.
``folder`` keeps them, and says what they belong to.
"""
