"""Images of requests: from a data URL or fetched, and checked before a worker sees them.

    ImageLoader.load()   Media -> Image, or UnreadableImage, which says why not
    ImageHosts           the hosts that images are fetched from

``fetching`` is imported only where hosts are allowed.
"""

from .image_hosts import ImageHosts
from .loader import ImageLoader
from .unreadable import ImageErrorCode, UnreadableImage
