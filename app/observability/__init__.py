"""Metrics, logs, traces, and the record of each request."""

from .event_loop import observed
from .left_out import IGNORED_HEADER, header_listing
from .logs import Forward, Logger, make_logger
from .metrics import Metrics, ModelMetrics, drop_gauges, keep_values_in, method_label
from .request_log import Outcome, RequestLog, Requests
from .request_record import Attempt, RequestRecord
from .shadow_metrics import ShadowMetrics
