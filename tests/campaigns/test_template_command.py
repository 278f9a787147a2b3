"""The command line of campaigns with chat templates: counts, findings, exit status."""

import pytest

from tests.app.conversation.chat_templates import FETCH, TEMPLATES
from tests.campaigns.template_command import MAX_SHOWN, Report, main


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize("found", [0, 1, MAX_SHOWN + 1])
def test_a_finding_is_shown_and_fails_the_campaign(
    found: int, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(number: int, seed: int) -> Report:
        return Report({"prompts": number + seed}, [f"finding {n}" for n in range(found)])

    given = ["--prompts", "7", "--seed", "2"]
    status = main("x", None, unit="prompts", number=1, run=run, arguments=given)
    shown = capsys.readouterr()
    assert status == (1 if found else 0)
    assert shown.out == f"| prompts | findings |\n| ---: | ---: |\n| 9 | {found} |\n"
    assert shown.err.splitlines() == [f"finding {n}" for n in range(min(found, MAX_SHOWN))]
