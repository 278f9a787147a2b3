"""The script of limits without the passing of time, for tests on slow machines."""


def frozen(script: str) -> str:
    """Return the script with buckets that neither refill nor expire during a test."""
    for passing, still in (("/ 60000)", "/ 1e12)"), ("whole(full + 1000)", "whole(full + 1e9)")):
        assert passing in script
        script = script.replace(passing, still)
    return script
