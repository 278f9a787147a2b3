"""Fixtures of the gateway's tests."""

from collections.abc import AsyncIterator

import openai
import pytest

from tests.app.gateway import Gateway, gateway_fixture

#: one gateway for a file: noise, no keys, no Redis, and OpenAI's rules for strict schemas
gateway = gateway_fixture(strict_profile="openai")


@pytest.fixture
def client(gateway: Gateway) -> openai.OpenAI:
    """The official client, as people use it, but without retries: the first answer counts."""
    return openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="unused", max_retries=0)


@pytest.fixture
async def async_client(gateway: Gateway) -> AsyncIterator[openai.AsyncOpenAI]:
    address = f"{gateway.url}/v1"
    async with openai.AsyncOpenAI(base_url=address, api_key="unused", max_retries=0) as made:
        yield made
