"""A backend of matplotlib that shows figures in the output of a cell.

matplotlib imports it, as ``module://einkorn.inline``, when the first figure is made; see
``einkorn.figures`` for who tells it to.  It does what the package matplotlib_inline does in
IPython: ``plt.show()`` shows all open figures and closes them, the end of a cell shows those that
the cell left, and ``plt.ioff()`` keeps new ones back until ``plt.show()``.
"""

import io
import weakref

import matplotlib
from matplotlib import colors
from matplotlib._pylab_helpers import Gcf
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import _einkorn

from . import display, errors

__all__ = ["set_matplotlib_close", "set_matplotlib_formats"]

_FORMATS = {  # name -> MIME type, matplotlib's name, pixels for one
    "png": ("image/png", "png", 1),
    "retina": ("image/png", "png", 2),
    "png2x": ("image/png", "png", 2),
    "jpeg": ("image/jpeg", "jpg", 1),
    "jpg": ("image/jpeg", "jpg", 1),
    "svg": ("image/svg+xml", "svg", 1),
    "pdf": ("application/pdf", "pdf", 1),
}

_formats = ("png",)
_options = {"bbox_inches": "tight"}  # of FigureCanvasBase.print_figure
_closes = True
_fresh = weakref.WeakSet()  # figures that nobody has shown yet; closed ones may vanish
_made = False  # has a figure been made since the last flush?


def set_matplotlib_formats(*formats, **options):
    """Choose what figures are shown as: any of png, retina, jpeg, svg and pdf.

    ``options`` go to ``figure.canvas.print_figure``: ``bbox_inches``, ``pil_kwargs`` and so on.
    """
    global _formats, _options
    unknown = [name for name in formats if name not in _FORMATS]
    if unknown:
        raise ValueError(f"supported formats are {', '.join(_FORMATS)}, not {', '.join(unknown)}")
    _formats, _options = formats, {"bbox_inches": "tight", **options}


def set_matplotlib_close(close=True):
    """Choose whether figures that were shown are closed: at the end of a cell, by plt.show()."""
    global _closes
    _closes = close


# --- What a figure looks like ---------------------------------------------------------------------


def represent(figure, include=None, exclude=None):
    """Return the representations of a Figure, without its text, as (data, metadata).

    See display.bundle.  An empty figure has none: it would be a large blank.
    """
    data, metadata = {}, {}
    if not figure.axes and not figure.lines:
        return data, metadata
    for mime, form, scale in map(_FORMATS.get, _formats):
        if display.is_wanted(mime, include, exclude):
            image = data[mime] = _draw(figure, form, scale)
            if scale != 1:  # the size to show it in, for which a PNG's header has the pixels
                width, height = (int.from_bytes(image[at : at + 4], "big") for at in (16, 20))
                metadata[mime] = {"width": width // scale, "height": height // scale}
    return data, metadata


def _draw(figure, form, scale):
    options = {
        "format": form,
        "facecolor": figure.get_facecolor(),
        "edgecolor": figure.get_edgecolor(),
        "dpi": figure.dpi * scale,
        **_options,
    }
    file = io.BytesIO()
    figure.canvas.print_figure(file, **options)
    image = file.getvalue()
    return image.decode() if form == "svg" else image


def _metadata(figure):
    """Tell a client that a transparent figure needs a background against which it can be read."""
    if colors.to_rgba(figure.get_facecolor())[3] >= 0.5:
        return None
    axes = [axis for each in figure.axes for axis in (each.xaxis, each.yaxis)]
    labels = [label.get_color() for axis in axes for label in axis.get_ticklabels()]
    luminances = colors.to_rgba_array(labels)[:, :3].dot((0.299, 0.587, 0.114))  # ITU BT.601
    light = {bool(luminance > 0.5) for luminance in luminances}
    if len(light) != 1:
        return None
    return {"needs_background": "dark" if light.pop() else "light"}


def _publish(figure):
    display.display(figure, metadata=_metadata(figure))


# --- The backend ----------------------------------------------------------------------------------


class FigureManager(FigureManagerBase):
    """What pyplot holds of an open figure."""

    def show(self):
        """Show the figure (``figure.show()``), unless the end of the cell is going to."""
        if self.canvas.figure not in _fresh:
            _publish(self.canvas.figure)


class FigureCanvas(FigureCanvasAgg):
    """What the figures are drawn on."""

    manager_class = FigureManager


def new_figure_manager(num, *arguments, FigureClass=Figure, **keywords):
    """Make a figure for pyplot; return its manager."""
    return new_figure_manager_given_figure(num, FigureClass(*arguments, **keywords))


def new_figure_manager_given_figure(num, figure):
    """Make the manager of a figure."""
    global _made
    manager = FigureCanvas.new_manager(figure, num)
    if matplotlib.is_interactive():
        _fresh.add(figure)
        _made = True
    return manager


def show(close=None, block=None):
    """Show all open figures; ``close`` them then (None: see set_matplotlib_close)."""
    try:
        for manager in Gcf.get_all_fig_managers():
            _publish(manager.canvas.figure)
    finally:
        _fresh.clear()
        if (_closes if close is None else close) and Gcf.figs:
            matplotlib.pyplot.close("all")


def flush():
    """Show what has been made since the last time; see figures.flush."""
    global _made
    if not _made:
        return
    try:
        if _closes:
            show()
        else:
            for figure in [manager.canvas.figure for manager in Gcf.get_all_fig_managers()]:
                if figure in _fresh:
                    _publish(figure)
    except BaseException as error:  # an interrupt, for one
        _einkorn.error(*errors.describe(error))
    finally:
        _fresh.clear()
        _made = False
