"""Settings: of the gateway from the environment, of its models from there or from a file.

    read_settings()     the settings of a process: environment variables and, if
                        SWITCHYARD_CONFIG_FILE names it, the configuration file

Each setting has one source. Without a configuration file, variables describe the gateway and its
only model. With one, the file describes all models and variables describe the gateway; a variable
for a model is then an error.
"""

from .error import PREFIX, SettingError
from .gateway import MAX_IMAGES, MAX_JSON_VALUES, GatewaySettings, is_loopback
from .model import ConstraintMode, ModelSettings, PolicyName, StrictProfile, UnenforcedStrict
from .model_names import ModelNames, id_of
from .reading import Settings, read_settings
