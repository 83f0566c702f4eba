"""Where matplotlib's inline backend was, long ago."""
