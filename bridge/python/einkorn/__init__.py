"""The Python half of Einkorn: what a cell needs beyond the interpreter itself.

The runner (the C module ``_einkorn``) calls the functions of ``einkorn.hooks``; everything here
talks back through that module only.  Importing the package pulls in nothing that an interpreter
has not loaded after ``site``; what is heavier is imported where it is first used.
"""

__version__ = "0.1.0"
