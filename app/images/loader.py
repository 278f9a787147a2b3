"""Images of requests: read, checked, once for equal URLs.

Invariants   I1 a bad image is an UnreadableImage, never an error.
             I2 the event loop only moves bytes of fetches. Base64, hashes and checks run in the
                threads of images (concurrency), one step an image, so that clients with many images
                wait for themselves.
Verdicts     agents repeat all their images in each request, so the verdict on a file is kept, by
             client and digest: a PNG of 1.4 MB (1920 x 1080) takes 8 ms in place of 31, a JPEG of 2
             MB (12 million pixels) 10 ms in place of 30, a progressive one 10 ms in place of 85.
             Verdicts of other clients are never used: the time of an answer must not tell that
             another client has sent the file.
Memory       MAX_VERDICTS of about 300 bytes; no file is kept. Images of open answers have a bound
             (image_memory).
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING

from adapters.workers import Image

from ..concurrency import Offload
from ..generation import Media
from .data_url import check_size, decode_data_url, encode, is_data_url
from .image_file import ImageFacts, check_file, ignore_pillow_warnings
from .image_hosts import ImageHosts
from .image_memory import ImageMemory, ImageShare
from .unreadable import ImageError, UnreadableImage, shortened

if TYPE_CHECKING:
    from .fetching import ImageFetcher

MAX_VERDICTS = 4_096


class ImageLoader:
    """See the file's header.

    Args:
        max_bytes: of an image's file.
        max_pixels: of an image.
        memory_bytes: of all images until their answers have ended.
        fetcher: of http and https URLs; None: no host is allowed.
        on_result: called for each image with "read", or with the code of its error.
    """

    def __init__(
        self,
        offload: Offload,
        *,
        max_bytes: int,
        max_pixels: int,
        memory_bytes: int,
        fetcher: "ImageFetcher | None" = None,
        on_result: Callable[[str], None] = lambda result: None,
    ) -> None:
        self._offload, self._fetcher, self._on_result = offload, fetcher, on_result
        self._max_bytes, self._max_pixels = max_bytes, max_pixels
        self._memory = ImageMemory(memory_bytes)
        self._verdicts: OrderedDict[tuple[str, bytes], ImageFacts | UnreadableImage] = OrderedDict()
        self._lock, self._large = threading.Lock(), threading.Lock()
        ignore_pillow_warnings()

    async def load(
        self, media: Sequence[Media], client: str
    ) -> Mapping[str, Image | UnreadableImage]:
        """Return the image of each URL, or why it cannot be read. Media without a URL are skipped.

        ``detail`` of an image is None: media with one URL may differ in it.

        Raises:
            ApiError: 503, too many images wait, most of them this client's, or too many are in
                memory.
        """
        sources: dict[str, str | bytes | UnreadableImage] = {
            each.url: each.url for each in media if each.url is not None
        }
        share = self._memory.share(client)
        share.grow(sum(map(len, sources)))
        fetched = await self._fetch([url for url in sources if _is_web_url(url)], client)
        share.grow(sum(len(each) for each in fetched.values() if isinstance(each, bytes)) * 4 // 3)
        sources |= fetched
        loaded: dict[str, Image | UnreadableImage] = {}
        for url, source in sources.items():
            if isinstance(source, UnreadableImage):
                loaded[url] = source
            else:
                step = partial(self._read, source, client, share)
                loaded[url] = await self._offload.run_image(client, step)
        for each in loaded.values():
            self._on_result(each.code if isinstance(each, UnreadableImage) else "read")
        return loaded

    def close(self) -> None:
        """Close the fetcher."""
        if self._fetcher is not None:
            self._fetcher.close()

    async def _fetch(
        self, urls: Sequence[str], client: str
    ) -> Mapping[str, bytes | UnreadableImage]:
        if self._fetcher is not None and urls:
            return await self._fetcher.fetch(urls, client)
        refused = {}
        for url in urls:
            try:
                ImageHosts(()).check(url)
            except ImageError as error:
                refused[url] = error.unreadable
        return refused

    def _read(self, source: str | bytes, client: str, share: ImageShare) -> Image | UnreadableImage:
        """Return the image of a data URL, or of a file that was fetched. Runs off the loop."""
        try:
            if isinstance(source, bytes):
                check_size(len(source), self._max_bytes)
                data, text = source, ""
            else:
                data, text = _decoded(source, self._max_bytes)
            digest = blake2b(data, digest_size=16).digest()
            facts = self._verdict(data, digest, client)
        except ImageError as error:
            return error.unreadable
        if isinstance(facts, UnreadableImage):
            return facts
        text = text or encode(data)
        return Image(facts.media_type, text, digest, facts.width, facts.height, share=share)

    def _verdict(self, data: bytes, digest: bytes, client: str) -> ImageFacts | UnreadableImage:
        key = client, digest
        with self._lock:
            if (known := self._verdicts.get(key)) is not None:
                self._verdicts.move_to_end(key)
                return known
        try:
            verdict: ImageFacts | UnreadableImage = check_file(
                data, max_pixels=self._max_pixels, large=self._large
            )
        except ImageError as error:
            verdict = error.unreadable
        with self._lock:
            self._verdicts[key] = verdict
            if len(self._verdicts) > MAX_VERDICTS:
                self._verdicts.popitem(last=False)
        return verdict


def _is_web_url(url: str) -> bool:
    return url[:8].lower().startswith(("http://", "https://"))


def _decoded(url: str, max_bytes: int) -> tuple[bytes, str]:
    """Return the bytes of a data URL and their Base64. Raises ImageError."""
    if not is_data_url(url):
        raise ImageError(
            "invalid_image_url",
            f"its URL must begin with data:image/, http:// or https://, got {shortened(url)}",
        )
    return decode_data_url(url, max_bytes)
