"""API keys and tokens: their sources, their holders, and the limits of each.

``token_verifier`` is imported late: only gateways that take tokens need PyJWT.
"""

from .client import PRIORITIES, Client
from .followed_file import KeysUnreadable
from .key_entry import KeyEntry, digest_of, new_key, parse_time
from .key_file import KeyFile
from .keys import Keys, KeySource, bearer, refused
from .redis_keys import RedisKeys
