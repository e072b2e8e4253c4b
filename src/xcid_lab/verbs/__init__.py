"""Verbs of the command ``xcid`` that measure: each is imported when it is typed."""
