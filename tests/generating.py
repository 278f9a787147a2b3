"""Workers whose answers an async generator makes."""

from collections.abc import AsyncGenerator, Mapping
from types import MappingProxyType

from adapters.workers import Chunk, Generation, Receive, Run
from adapters.workers.generator_run import GeneratorRun


class Generating:
    """A worker that has only ``generate``."""

    adapters: Mapping[str, str] = MappingProxyType({})

    def generate(self, generation: Generation) -> AsyncGenerator[Chunk, None]:
        raise NotImplementedError

    def run(self, generation: Generation, receive: Receive) -> Run:
        return GeneratorRun(self.generate(generation), receive)
