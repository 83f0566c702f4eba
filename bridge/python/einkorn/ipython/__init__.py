"""What stands on IPython: used only where it is installed, and loaded when it is first needed."""
