"""Quality of answers: cases with known answers, the requests that ask for them, and the judge.

bfcl          tool calls of the Berkeley Function Calling Leaderboard
extraction    texts with a schema and the values that they state (extraction.json)
cases         a case: its request, its schemas and its possible answers
judging       a chat completion -> a verdict
figures       verdicts of many answers -> shares and means
asking        ``switchyard bench --quality``: the cases sent to a server
"""

from .bfcl import normal, read_bfcl
from .cases import WAYS_OF_ASKING, Asking, Case, halved, spread
from .extraction import QUESTION, read_extraction
from .figures import NAMES, Figures
from .judging import Judge, Verdict
