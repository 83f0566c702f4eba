"""The textual display objects of ``IPython.display``: HTML, Markdown, JSON and so on.

Names, arguments and attributes are IPython's (its documentation of ``IPython.display``); the code
is not.  Loaded only when somebody imports ``IPython.display``.
"""

import os

from .display import DisplayHandle, display

__all__ = [
    "DisplayObject",
    "GeoJSON",
    "HTML",
    "JSON",
    "Javascript",
    "Latex",
    "Markdown",
    "Math",
    "Pretty",
    "ProgressBar",
    "SVG",
    "TextDisplayObject",
    "display_html",
    "display_javascript",
    "display_jpeg",
    "display_json",
    "display_latex",
    "display_markdown",
    "display_pdf",
    "display_png",
    "display_pretty",
    "display_svg",
]


class DisplayObject:
    """Something to show: data at hand, or read from a file or a URL.

    data       str (or bytes for binary kinds); a str that names an existing file, or begins with
               "http", is taken as ``filename`` or ``url``
    url        where to read the data from
    filename   a file to read the data from
    metadata   dict that goes with the representation

    Raises OSError (urllib.error.URLError) where the data cannot be read.
    """

    _read_flags = "r"
    _show_mem_addr = False
    metadata = None

    def __init__(self, data=None, url=None, filename=None, metadata=None):
        if isinstance(data, os.PathLike):
            data = os.fspath(data)
        if isinstance(data, str):
            if data.startswith("http") and url is None:
                data, url, filename = None, data, None
            elif filename is None and _exists(data):
                data, url, filename = None, None, data
        self.data = data
        self.url = url
        self.filename = None if filename is None else os.fspath(filename)
        if metadata is not None:
            self.metadata = metadata
        elif self.metadata is None:
            self.metadata = {}
        self.reload()
        self._check_data()

    def __repr__(self):
        name = f"{type(self).__module__}.{type(self).__name__}"
        return f"<{name} object>"

    def _check_data(self):
        """Raise TypeError if the data is of the wrong type."""

    def _data_and_metadata(self):
        return (self.data, self.metadata) if self.metadata else self.data

    def reload(self):
        """Read the data again from the file or URL."""
        if self.filename is not None:
            encoding = None if "b" in self._read_flags else "utf-8"
            with open(self.filename, self._read_flags, encoding=encoding) as file:
                self.data = file.read()
        elif self.url is not None:
            from urllib.request import urlopen

            with urlopen(self.url) as response:
                data = response.read()
                charset = response.headers.get_content_charset("utf-8")
            self.data = data if "b" in self._read_flags else data.decode(charset, "replace")


def _exists(name):
    try:
        return len(name) < 4096 and os.path.exists(name)
    except (OSError, ValueError):
        return False


class TextDisplayObject(DisplayObject):
    """A display object whose data is text."""

    def _check_data(self):
        if self.data is not None and not isinstance(self.data, str):
            raise TypeError(f"{type(self).__name__} expects text, not {self.data!r}")


class Pretty(TextDisplayObject):
    """Plain text, shown as it is."""

    def __repr__(self):
        return self.data if isinstance(self.data, str) else ""


class HTML(TextDisplayObject):
    """HTML."""

    def _repr_html_(self):
        return self._data_and_metadata()

    def __html__(self):
        """Return the HTML: markupsafe's protocol, so templates do not escape it."""
        return self.data or ""


class Markdown(TextDisplayObject):
    """Markdown."""

    def _repr_markdown_(self):
        return self._data_and_metadata()


class Latex(TextDisplayObject):
    """LaTeX: text with formulas in $ or an environment."""

    def _repr_latex_(self):
        return self._data_and_metadata()


class Math(TextDisplayObject):
    """One formula, set as a display."""

    def _repr_latex_(self):
        formula = (self.data or "").strip("$")
        text = f"$\\displaystyle {formula}$"
        return (text, self.metadata) if self.metadata else text


class SVG(DisplayObject):
    """An SVG picture (text, or bytes in UTF-8); what stands before its <svg> element is dropped."""

    _read_flags = "rb"

    @property
    def data(self):
        """The picture as text."""
        return self._text

    @data.setter
    def data(self, value):
        if isinstance(value, bytes):
            value = value.decode("utf-8")
        start = -1 if value is None else value.find("<svg")
        self._text = value[start:] if start > 0 else value

    def _repr_svg_(self):
        return self._data_and_metadata()


class ProgressBar(DisplayObject):
    """A bar from 0 to ``total``; setting ``progress`` redraws it, iterating counts it up."""

    def __init__(self, total):
        self.total = total
        self._progress = 0
        self.html_width = "60ex"
        self.text_width = 60
        self._handle = DisplayHandle()

    def __repr__(self):
        filled = int(self.text_width * self._progress / self.total) if self.total else 0
        bar = "=" * filled + " " * (self.text_width - filled)
        return f"[{bar}] {self._progress}/{self.total}"

    def _repr_html_(self):
        return (
            f"<progress style='width:{self.html_width}' max='{self.total}' "
            f"value='{self._progress}'></progress>"
        )

    def display(self):
        """Show the bar."""
        self._handle.display(self)

    def update(self):
        """Redraw the bar."""
        self._handle.update(self)

    @property
    def progress(self):
        """How far it is (a number from 0 to total)."""
        return self._progress

    @progress.setter
    def progress(self, value):
        self._progress = value
        self.update()

    def __iter__(self):
        self.display()
        self._progress = -1
        return self

    def __next__(self):
        self.progress += 1
        if self.progress >= self.total:
            raise StopIteration
        return self.progress


class JSON(DisplayObject):
    """Data for the client's JSON viewer: a dict, a list, or JSON text.

    expanded   show all levels at once
    root       name of the root node
    """

    _mime = "application/json"

    def __init__(
        self,
        data=None,
        url=None,
        filename=None,
        expanded=False,
        metadata=None,
        root="root",
        **kwargs,
    ):
        self.metadata = {"expanded": expanded, "root": root, **(metadata or {}), **kwargs}
        super().__init__(data=data, url=url, filename=filename)

    @property
    def data(self):
        """The data as objects."""
        return self._value

    @data.setter
    def data(self, value):
        if isinstance(value, str):
            import json

            value = json.loads(value)
        self._value = value

    def _check_data(self):
        if self.data is not None and not isinstance(self.data, (dict, list)):
            name = type(self).__name__
            raise TypeError(f"{name} expects a JSON object or list, not {self.data!r}")

    def _repr_json_(self):
        return self._data_and_metadata()


class GeoJSON(JSON):
    """A GeoJSON object for clients that draw maps; ``url_template`` and options choose tiles."""

    def __init__(self, *args, layer_options=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.metadata["layer_options"] = layer_options or {}

    def _repr_mimebundle_(self, include=None, exclude=None):
        text = "<IPython.display.GeoJSON object>"
        kind = "application/geo+json"
        return {kind: self.data, "text/plain": text}, {kind: self.metadata}

    def _repr_json_(self):
        return None


class Javascript(TextDisplayObject):
    """JavaScript for the client to run, after the libraries ``lib`` and style sheets ``css``."""

    def __init__(self, data=None, url=None, filename=None, lib=None, css=None):
        self.lib = [lib] if isinstance(lib, str) else list(lib or ())
        self.css = [css] if isinstance(css, str) else list(css or ())
        super().__init__(data=data, url=url, filename=filename)

    def _repr_javascript_(self):
        import json

        text = ""
        for sheet in self.css:
            text += (
                "var link = document.createElement('link'); link.rel = 'stylesheet'; "
                f"link.href = {json.dumps(sheet)}; document.head.appendChild(link);\n"
            )
        for address in self.lib:
            text += (
                "await new Promise((resolve, reject) => { const s = document.createElement("
                "'script'); s.onload = resolve; s.onerror = reject; "
                f"s.src = {json.dumps(address)}; "
                "document.head.appendChild(s); });\n"
            )
        return text + (self.data or "")


def _shower(kind, mime, wrap):
    """Make ``display_html`` and its like: show objects in one format only."""

    def show(*objs, raw=False, metadata=None, **kwargs):
        for item in objs:
            if raw:
                extra = {mime: metadata} if metadata else {}
                display({mime: item}, raw=True, metadata=extra, **kwargs)
            else:
                display(item, metadata=metadata, include=["text/plain", mime], **kwargs)

    show.__name__ = show.__qualname__ = f"display_{kind}"
    show.__doc__ = f"Show objects as {mime}; with ``raw`` they are {wrap} of that type already."
    return show


display_pretty = _shower("pretty", "text/plain", "text")
display_html = _shower("html", "text/html", "text")
display_markdown = _shower("markdown", "text/markdown", "text")
display_svg = _shower("svg", "image/svg+xml", "text")
display_png = _shower("png", "image/png", "bytes")
display_jpeg = _shower("jpeg", "image/jpeg", "bytes")
display_pdf = _shower("pdf", "application/pdf", "bytes")
display_latex = _shower("latex", "text/latex", "text")
display_json = _shower("json", "application/json", "objects")
display_javascript = _shower("javascript", "application/javascript", "text")
