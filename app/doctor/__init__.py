"""The examination of a setup: settings, machine, Redis, models and workers.

It yields findings in sentences, changes nothing, and judges with the gateway's own parts.
"""

from .examination import examine
from .finding import Finding, Level
