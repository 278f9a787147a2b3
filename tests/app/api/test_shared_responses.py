"""Two gateways share the stored responses in a Redis, which may be killed at any time.

The right answers come from a client that keeps its conversation itself.
"""

import random
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import openai
import pytest

from tests.app.gateway import Gateway
from tests.campaigns.chains.conversations import Conversation, client_of, create, replica
from tests.redis_server import RedisServer

#: conversations, and their turns between two events
CLIENTS, TURNS = 6, 8


def run(conversations: list[Conversation]) -> None:
    """Run turns of all conversations at once."""
    barrier = Barrier(len(conversations))

    def turns(conversation: Conversation) -> None:
        barrier.wait()
        for _ in range(TURNS):
            conversation.turn()

    with ThreadPoolExecutor(len(conversations)) as threads:
        list(threads.map(turns, conversations))


def test_chains_over_two_replicas_survive_or_are_lost_but_are_never_wrong(
    redis_server: RedisServer,
):
    with replica(redis_server) as one, replica(redis_server) as other:
        clients = [client_of(one), client_of(other)]
        made = [Conversation(clients, random.Random(seed)) for seed in range(CLIENTS)]
        run(made)
        assert not any(each.lost or each.watch.unstored for each in made)
        for each in made:
            each.watch.count("kills")
        redis_server.kill()
        run(made)
        assert not any(each.lost for each in made)
        redis_server.start()
        run(made)
        # every chain had begun before the restart, which keeps nothing
        assert all(each.lost == 1 for each in made)
        assert all(each.last is not None for each in made)
        assert [text for each in made for text in each.watch.wrong] == []
        assert one.metric("switchyard_internal_errors_total") == 0
        assert other.metric("switchyard_internal_errors_total") == 0
        (ready,) = (line for line in one.lines() if line["event"] == "ready")
        assert ready["stored_responses"] == "redis"


def test_without_redis_answers_are_delivered_and_marked(redis_server: RedisServer):
    """A new conversation works while Redis is down; only its continuation does not."""
    with replica(redis_server) as gateway:
        client = client_of(gateway)
        stored = create(client, input="a")
        redis_server.kill()
        response = create(client, input="b")
        assert response.store is False
        assert gateway.metric("switchyard_responses_unstored_total") == 1
        for number in (stored.id, response.id):
            with pytest.raises(openai.InternalServerError) as raised:
                client.responses.retrieve(number)
            assert (raised.value.status_code, raised.value.code) == (503, "state_unavailable")
        redis_server.start()
        with pytest.raises(openai.NotFoundError):
            client.responses.retrieve(response.id)
        again = create(client, input="c")
        assert again.store is True
        assert client.responses.retrieve(again.id).id == again.id


def test_a_silent_redis_holds_no_answer_back_for_ever(redis_server: RedisServer):
    with replica(redis_server) as gateway:
        client = client_of(gateway)
        stored = create(client, input="a")
        redis_server.pause()
        with client.responses.stream(model="noise", input="b", max_output_tokens=500) as stream:
            assert stream.get_final_response().to_dict()["store"] is False
        with pytest.raises(openai.InternalServerError):
            client.responses.retrieve(stored.id)
        redis_server.resume()
        assert client.responses.retrieve(stored.id).id == stored.id


def test_a_flood_of_one_key_evicts_no_conversation_of_another(redis_server: RedisServer):
    """REGRESSION: no client had a share of Redis; the flood goes to two replicas."""
    settings = {"api_keys": "flood,other", "responses_redis_bytes": 256 << 10}
    with replica(redis_server, **settings) as one, replica(redis_server, **settings) as two:
        other = openai.OpenAI(base_url=f"{one.url}/v1", api_key="other", max_retries=0)
        first = create(other, input="a")
        floods = [
            openai.OpenAI(base_url=f"{each.url}/v1", api_key="flood", max_retries=0)
            for each in (one, two)
        ]
        stored = [create(floods[n % 2], input="b" * 30_000) for n in range(24)]
        assert all(each.store for each in stored)
        assert create(other, input="c", previous_response_id=first.id).store
        assert floods[0].responses.retrieve(stored[-1].id).id == stored[-1].id
        with pytest.raises(openai.NotFoundError):
            floods[0].responses.retrieve(stored[0].id)


def test_a_redis_without_a_key_is_not_trusted(redis_server: RedisServer):
    with Gateway(redis_url=redis_server.url) as gateway:
        (ready,) = (line for line in gateway.lines() if line["event"] == "ready")
        assert ready["stored_responses"] == "memory"
