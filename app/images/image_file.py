"""The file of an image: checked as a whole, so that no worker fails at it.

    bytes -> header (image_header) -> bounds -> Pillow decodes all pixels

Bounds    the header, which is read without Pillow, decides about the format and the number of
          pixels, so a file that claims more than it may have is refused before anything is
          allocated. One decode takes up to 8 bytes a pixel (a progressive JPEG's coefficients), so
          images of more than LARGE_PIXELS are decoded one at a time: 400 MB at the default limit,
          beside 130 MB of a smaller one in another thread.
GIL       Pillow releases it while it decodes, except for WebP: there it copies all pixels, 2 ms for
          each million. So a WebP of more than MAX_WEBP_DECODED pixels is not decoded here, only its
          header and its chunks are read.
Threads   any.
Not here  what is done with transparency, orientation and size (the model's own processor).
"""

import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from io import BytesIO

from PIL import GifImagePlugin, JpegImagePlugin, PngImagePlugin, WebPImagePlugin
from PIL.ImageFile import ImageFile

from ..concurrency import gil_released
from .image_header import Header, ImageFormat, read_header
from .unreadable import ImageError

#: pixels of a WebP that are decoded, see the file's header
MAX_WEBP_DECODED = 8_000_000
#: an image's longer side by its shorter one: processors of Qwen-VL, GLM-4V and others refuse more,
#: and a worker's refusal would end a session that has such an image in its history
MAX_RATIO = 200
#: pixels above which images are decoded one at a time
LARGE_PIXELS = 16_000_000
#: the plugins, called directly: ``PIL.Image.open`` tries formats of a global table, and warns of
#: sizes that are allowed here
_PLUGINS: dict[ImageFormat, type[ImageFile]] = {
    "PNG": PngImagePlugin.PngImageFile,
    "JPEG": JpegImagePlugin.JpegImageFile,
    "WEBP": WebPImagePlugin.WebPImageFile,
    "GIF": GifImagePlugin.GifImageFile,
}


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """Facts about an image that can be decoded. Sizes are in pixels."""

    media_type: str
    width: int
    height: int


def ignore_pillow_warnings() -> None:
    """Keep Pillow's warnings from stderr: they quote files of clients."""
    warnings.filterwarnings("ignore", module=r"PIL\.")


def check_file(
    data: bytes, *, max_pixels: int, large: AbstractContextManager[object]
) -> ImageFacts:
    """Return the facts of an image file. ``large``: a lock, held while a large one is decoded.

    Raises:
        ImageError: another format, animated, too many pixels, too narrow, cut or corrupt.
    """
    header = read_header(data)
    width, height = header.width, header.height
    if not width or not height:
        raise ImageError("image_parse_error", f"it has {width:,} x {height:,} pixels")
    if width * height > max_pixels:
        raise ImageError(
            "image_too_large",
            f"it may have at most {max_pixels:,} pixels, got {width * height:,} "
            f"({width:,} x {height:,})",
        )
    if max(width, height) > MAX_RATIO * min(width, height):
        raise ImageError(
            "image_parse_error",
            f"one side may be at most {MAX_RATIO} times as long as the other, got "
            f"{width:,} x {height:,}",
        )
    if header.is_animated:
        raise ImageError(
            "invalid_image_format", f"it is an animated {header.format}; only still images are read"
        )
    if header.format != "WEBP" or width * height <= MAX_WEBP_DECODED:
        _decode(header, large if width * height > LARGE_PIXELS else nullcontext())
    return ImageFacts(f"image/{header.format.lower()}", width, height)


def _decode(header: Header, lock: AbstractContextManager[object]) -> None:
    """Decode all pixels. Raises ImageError."""
    try:
        # the lock inside: no step that waits for it may keep others from running Python
        with gil_released(), lock, BytesIO(header.data) as file:
            image = _PLUGINS[header.format](file)
            size = image.size
            if header.format == "JPEG":
                # an eighth of the size: all data is read, few pixels are kept
                image.draft(None, (1, 1))
            image.load()
            image.close()
    # the plugins raise errors of many kinds (struct.error, IndexError, ...) for broken files
    except Exception as error:
        text = str(error)[:100] or type(error).__name__
        raise ImageError(
            "image_parse_error", f"its {header.format} file is cut or corrupt ({text})"
        ) from error
    if size != (header.width, header.height):
        raise ImageError(
            "image_parse_error",
            f"its {header.format} file has two sizes, {header.width} x {header.height} and "
            f"{size[0]} x {size[1]}",
        )
