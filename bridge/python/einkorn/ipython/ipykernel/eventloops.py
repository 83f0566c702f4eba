"""GUI toolkits beside cells: ``%gui``."""

__all__ = ["enable_gui"]


def enable_gui(gui, kernel=None):
    """Have the loop of a toolkit run between cells; None: no longer."""
    from IPython import get_ipython

    get_ipython().enable_gui(gui)
