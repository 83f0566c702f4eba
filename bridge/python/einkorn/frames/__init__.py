"""The Python half of ``einkorn frames``: what its cells need beyond the interpreter itself.

The runner calls the functions of ``einkorn.frames.hooks``.  Like its sibling for Jupyter, the package
imports nothing at start that an interpreter has not loaded after ``site``.
"""
