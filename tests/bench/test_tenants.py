"""The benchmark of cache namespaces counts what it says."""

import pytest

from bench.tenants import rows
from tests.engine.frontends.random_schemas import byte_vocabulary

pytestmark = pytest.mark.campaign


def test_tenants_find_the_grammars_of_others_only_if_they_share_them():
    found = {(row[0], row[1]): row[2] for row in rows(byte_vocabulary(), (1, 4), 2)}
    assert found == {
        ("1", "shared"): "50%",
        ("1", "key"): "50%",
        ("4", "shared"): "88%",
        ("4", "key"): "50%",
    }
