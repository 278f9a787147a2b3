"""The loader of images."""

from ..concurrency import Offload
from ..images import ImageHosts, ImageLoader
from ..observability import Metrics
from ..settings import GatewaySettings


def make_images(gateway: GatewaySettings, offload: Offload, metrics: Metrics) -> ImageLoader:
    """Return the loader; it fetches only if hosts are allowed."""
    fetcher = None
    if gateway.image_hosts:
        from ..images.fetching import ImageFetcher  # aiohttp, whose import takes 0.15 s

        fetcher = ImageFetcher(
            ImageHosts(gateway.image_hosts),
            max_bytes=gateway.max_image_bytes,
            seconds=gateway.image_fetch_seconds,
            on_failure=lambda failure: metrics.image_fetch_failures.labels(failure).inc(),
        )
    return ImageLoader(
        offload,
        max_bytes=gateway.max_image_bytes,
        max_pixels=gateway.max_image_pixels,
        memory_bytes=gateway.images_memory_bytes,
        fetcher=fetcher,
        on_result=lambda result: metrics.images.labels(result).inc(),
    )
