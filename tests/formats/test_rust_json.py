"""JSON as programs in Rust write it."""

from typing import Any

import pytest

from adapters.formats.rust_json import rust_json


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([True, None, "é\n"], '[true,null,"é\\n"]'),
        ({"b": 1, "a": {"d": 2, "c": []}}, '{"b":1,"a":{"d":2,"c":[]}}'),
        ([1e-5, 1e-7, 1e16, -0.0, 1.50], "[0.00001,1e-7,1e16,-0.0,1.5]"),
        ([(1 << 64) - 1, 1 << 64], "[18446744073709551615,1.8446744073709552e19]"),
        # REGRESSION: numbers of clients that no float has ended the request with a 500
        ([10**400, -(10**400)], f"[1{'0' * 400},-1{'0' * 400}]"),
        # REGRESSION: "nan" and "inf" are no numbers in any dialect of JSON
        ([float("nan"), float("inf"), float("-inf")], "[NaN,Infinity,-Infinity]"),
    ],
    ids=["values", "members", "floats", "integers", "beyond-floats", "no-numbers"],
)
def test_values_are_written_as_the_programs_do(value: Any, text: str) -> None:
    assert rust_json(value) == text


def test_keys_are_sorted_and_exponents_have_a_sign_if_asked() -> None:
    value = {"b": {"d": 1e16, "c": 1e-7}, "a": True}
    assert rust_json(value, sorts=True, plus="+") == '{"a":true,"b":{"c":1e-7,"d":1e+16}}'
