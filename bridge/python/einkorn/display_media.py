"""The display objects of ``IPython.display`` for pictures, sound, film, frames, files and code.

Names and arguments are IPython's.  Loaded only when somebody imports ``IPython.display``.
"""

import base64
import mimetypes
import os
import struct
from html import escape
from urllib.parse import quote, urlencode

from .display_objects import DisplayObject, TextDisplayObject

__all__ = ["Audio", "Code", "FileLink", "FileLinks", "IFrame", "Image", "Video", "YouTubeVideo"]

_IMAGES = {
    "png": "image/png",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
}


class Image(DisplayObject):
    """A picture: PNG, JPEG, GIF or WebP.

    data, url, filename   bytes of the picture, or where it is
    format                "png", "jpeg", "gif", "webp"; told from the data or the name if absent
    embed                 put the bytes into the notebook; default: True unless there is a url
    width, height         size on the page in pixels; retina: half the picture's own size
    unconfined            no maximal width
    alt                   alternative text

    Raises ValueError for a format unknown here, OSError where a file cannot be read.
    """

    _read_flags = "rb"

    def __init__(
        self,
        data=None,
        url=None,
        filename=None,
        format=None,
        embed=None,
        width=None,
        height=None,
        retina=False,
        unconfined=False,
        metadata=None,
        alt=None,
    ):
        if isinstance(data, os.PathLike):
            data = os.fspath(data)
        if isinstance(data, str) and not data.startswith("http") and not os.path.exists(data):
            raise FileNotFoundError(f"No such file or directory: {data!r}")
        name = url or filename or (data if isinstance(data, str) else "") or ""
        self.embed = not (url or str(data)[:4] == "http") if embed is None else embed
        self.width, self.height = width, height
        self.retina, self.unconfined, self.alt = retina, unconfined, alt
        super().__init__(data=data, url=url, filename=filename, metadata=metadata)
        self.format = self._format(format, os.fspath(name))
        if retina and self.width is None and self.height is None:
            size = _size(self.data)
            if size:
                self.width, self.height = size[0] // 2, size[1] // 2

    def _format(self, wanted, name):
        if wanted is None and isinstance(self.data, bytes):
            wanted = _sniff(self.data)
        if wanted is None:
            wanted = os.path.splitext(name.partition("?")[0])[1].lstrip(".") or "png"
        wanted = wanted.lower().replace("jpg", "jpeg")
        if self.embed and wanted not in _IMAGES:
            raise ValueError(f"Cannot embed the {wanted!r} image format")
        return wanted

    def reload(self):
        """Read the data again; a picture that is only linked to is left where it is."""
        if self.embed:
            super().reload()

    def _details(self):
        details = {"width": self.width, "height": self.height, "alt": self.alt}
        details = {key: value for key, value in details.items() if value}
        if self.unconfined:
            details["unconfined"] = True
        return {**details, **self.metadata}

    def _repr_mimebundle_(self, include=None, exclude=None):
        if not self.embed or self.data is None:
            return {}
        kind = _IMAGES[self.format]
        details = self._details()
        return {kind: self.data}, ({kind: details} if details else {})

    def _repr_html_(self):
        if self.embed:
            return None
        text = f'<img src="{escape(self.url or self.filename or "")}"'
        for key in ("width", "height", "alt"):
            if getattr(self, key):
                text += f' {key}="{escape(str(getattr(self, key)))}"'
        if self.unconfined:
            text += ' class="unconfined"'
        return text + "/>"


def _sniff(data):
    """Tell a picture's format from its first bytes; None if it is none of the known."""
    if data[:8] == b"\x89PNG\r\n\x1a\n":
        return "png"
    if data[:2] == b"\xff\xd8":
        return "jpeg"
    if data[:6] in (b"GIF87a", b"GIF89a"):
        return "gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp"
    return None


def _size(data):
    """Return (width, height) in pixels of a PNG or JPEG; None if it cannot be told."""
    kind = _sniff(data) if isinstance(data, bytes) else None
    if kind == "png" and len(data) >= 24:
        return struct.unpack(">II", data[16:24])
    if kind != "jpeg":
        return None
    place = 2
    while place + 9 <= len(data) and data[place] == 0xFF:
        marker, length = data[place + 1], struct.unpack(">H", data[place + 2 : place + 4])[0]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[place + 5 : place + 9])
            return width, height
        place += 2 + length
    return None


def _data_url(kind, data):
    """Return bytes (or their base64 text) as a data: URL."""
    text = base64.b64encode(data).decode("ascii") if isinstance(data, bytes) else data
    return f"data:{kind};base64,{text}"


class Video(DisplayObject):
    """A film: a file or URL to link to, or (``embed``) bytes to put into the notebook.

    mimetype is told from the name if absent; width and height are in pixels; html_attributes is
    the text of the element's attributes.  Raises ValueError for data without ``embed``.
    """

    _read_flags = "rb"

    def __init__(
        self,
        data=None,
        url=None,
        filename=None,
        embed=False,
        mimetype=None,
        width=None,
        height=None,
        html_attributes="controls",
    ):
        if isinstance(data, os.PathLike):
            data = os.fspath(data)
        if isinstance(data, str) and url is None and filename is None and not embed:
            data, url = None, data
        if isinstance(data, bytes) and not embed:
            raise ValueError("To show a film from data, pass embed=True")
        self.embed, self.html_attributes = embed, html_attributes
        self.width, self.height = width, height
        name = url or filename or (data if isinstance(data, str) else "")
        self.mimetype = mimetype or mimetypes.guess_type(os.fspath(name))[0] or "video/mp4"
        super().__init__(data=data, url=url, filename=filename)

    def reload(self):
        """Read the data again; a film that is only linked to is left where it is."""
        if self.embed:
            super().reload()

    def _repr_html_(self):
        size = "".join(
            f' {key}="{getattr(self, key)}"' for key in ("width", "height") if getattr(self, key)
        )
        source = self.url or self.filename or ""
        if self.embed:
            source = _data_url(self.mimetype, self.data)
        return f'<video src="{escape(source)}" {self.html_attributes}{size}></video>'


class Audio(DisplayObject):
    """A player for sound: a file, a URL, bytes of a sound file, or samples.

    Samples are a sequence of numbers (or of one sequence per channel), with ``rate`` samples per
    second; with ``normalize`` they are scaled to the full range, else they must lie in -1..1.
    Raises ValueError for samples without a rate or out of range.
    """

    _read_flags = "rb"

    def __init__(
        self,
        data=None,
        filename=None,
        url=None,
        embed=None,
        rate=None,
        autoplay=False,
        normalize=True,
        *,
        element_id=None,
    ):
        if data is None and filename is None and url is None:
            raise ValueError("No audio data found. Expecting filename, url, or data.")
        link = url is not None or (isinstance(data, str) and data.startswith("http"))
        self.embed = not link if embed is None else embed
        self.autoplay, self.element_id = autoplay, element_id
        if data is not None and not isinstance(data, (str, bytes, os.PathLike)):
            if rate is None:
                raise ValueError("rate must be specified when data is a sequence of samples")
            data = _wave(data, rate, normalize)
        super().__init__(data=data, url=url, filename=filename)
        name = self.filename or self.url
        self.mimetype = (name and mimetypes.guess_type(name)[0]) or "audio/wav"

    def reload(self):
        """Read the data again; sound that is only linked to is left where it is."""
        if self.embed:
            super().reload()

    def _repr_html_(self):
        source = self.url or self.filename or ""
        if self.embed and self.data is not None:
            source = _data_url(self.mimetype, self.data)
        attributes = f' id="{escape(self.element_id)}"' if self.element_id else ""
        play = ' autoplay="autoplay"' if self.autoplay else ""
        return (
            f'<audio{attributes} controls="controls"{play}>'
            f'<source src="{escape(source)}" type="{self.mimetype}" /></audio>'
        )


def _wave(samples, rate, normalize):
    """Return samples as the bytes of a WAV file with 16 bits per sample."""
    import array
    import io
    import sys
    import wave

    channels = [list(map(float, part)) for part in samples] if _nested(samples) else None
    if channels is None:
        channels = [list(map(float, samples))]
    peak = max((abs(value) for part in channels for value in part), default=0.0)
    if not normalize and peak > 1:
        raise ValueError("Audio data must be between -1 and 1 when normalize=False.")
    scale = 32767 / (peak or 1.0) if normalize else 32767
    frames = array.array("h", (int(value * scale) for frame in zip(*channels) for value in frame))
    if sys.byteorder == "big":
        frames.byteswap()
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(len(channels))
        file.setsampwidth(2)
        file.setframerate(int(rate))
        file.writeframes(frames.tobytes())
    return buffer.getvalue()


def _nested(samples):
    return len(samples) > 0 and hasattr(samples[0], "__len__")


class IFrame:
    """A frame with another page; further keywords become the query of its URL."""

    def __init__(self, src, width, height, extras=None, **kwargs):
        self.src, self.width, self.height = src, width, height
        self.extras = extras or []
        self.params = kwargs

    def _repr_html_(self):
        query = "?" + urlencode(self.params) if self.params else ""
        extras = "".join(f" {extra}" for extra in self.extras)
        return (
            f'<iframe width="{self.width}" height="{self.height}" '
            f'src="{escape(self.src + query)}" frameborder="0" allowfullscreen{extras}></iframe>'
        )


class YouTubeVideo(IFrame):
    """A film on YouTube by its id; keywords as its player knows them (``start`` in seconds)."""

    def __init__(self, id, width=400, height=300, allow_autoplay=False, **kwargs):
        self.id = id
        extras = []
        if allow_autoplay:
            extras = ['allow="autoplay"']
            kwargs.setdefault("autoplay", 1)
        super().__init__(f"https://www.youtube.com/embed/{id}", width, height, extras, **kwargs)


class FileLink:
    """A link to a file; ``url_prefix`` comes before its path, the other two around the link."""

    def __init__(self, path, url_prefix="", result_html_prefix="", result_html_suffix="<br>"):
        self.path = os.fspath(path)
        self.url_prefix = url_prefix
        self.result_html_prefix, self.result_html_suffix = result_html_prefix, result_html_suffix

    def _link(self, path):
        address = self.url_prefix + quote(path)
        link = f"<a href='{escape(address)}' target='_blank'>{escape(path)}</a>"
        return f"{self.result_html_prefix}{link}{self.result_html_suffix}"

    def _repr_html_(self):
        if not os.path.exists(self.path):
            return f"Path (<tt>{escape(self.path)}</tt>) doesn't exist."
        return self._link(self.path)

    def __repr__(self):
        return os.path.abspath(self.path)


class FileLinks(FileLink):
    """Links to all files in a directory, and below it if ``recursive``."""

    def __init__(self, path, url_prefix="", recursive=True, **kwargs):
        super().__init__(path, url_prefix, **kwargs)
        self.recursive = recursive

    def _files(self):
        for directory, below, files in os.walk(self.path):
            below[:] = sorted(below) if self.recursive else []
            yield directory, sorted(files)

    def _repr_html_(self):
        lines = []
        for directory, files in self._files():
            lines.append(f"{escape(directory)}/<br>")
            lines += [self._link(os.path.join(directory, name)) for name in files]
        return "\n".join(lines)

    def __repr__(self):
        return "\n".join(
            "\n".join([directory + "/", *(f"  {name}" for name in files)])
            for directory, files in self._files()
        )


class Code(TextDisplayObject):
    """Program text; coloured where pygments is installed.  ``language`` is a name it knows."""

    def __init__(self, data=None, url=None, filename=None, language=None):
        self.language = language
        super().__init__(data=data, url=url, filename=filename)

    def _repr_html_(self):
        try:
            from pygments import highlight, lexers
            from pygments.formatters import HtmlFormatter
        except ImportError:
            return f"<pre>{escape(self.data or '')}</pre>"
        if self.language:
            lexer = lexers.get_lexer_by_name(self.language)
        elif self.filename or self.url:
            lexer = lexers.get_lexer_for_filename(self.filename or self.url)
        else:
            lexer = lexers.guess_lexer(self.data)
        style = HtmlFormatter(cssclass="einkorn-code")
        rules = style.get_style_defs(".einkorn-code")
        return f"<style>{rules}</style>{highlight(self.data, lexer, style)}"

    def __repr__(self):
        return self.data or ""
