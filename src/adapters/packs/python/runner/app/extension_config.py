"""Values that packs read from `config/config.json` below the working folder, by the name of the pack."""

import json
from pathlib import Path
from typing import Any


class ExtensionConfigManager:
    def __init__(self, config_json_path: str = "config/config.json") -> None:
        self.config_json_path = Path(config_json_path)

    def get_extension_config(self, extension_name: str, *_args: Any, **_options: Any) -> dict:
        """The values of a pack; empty without the file. Nothing is written."""
        if not self.config_json_path.exists():
            return {}
        values = json.loads(self.config_json_path.read_text(encoding="utf-8") or "{}")
        return values.get(extension_name, {})

    def get_config_value(self, extension_name: str, key: str, default: Any = None) -> Any:
        return self.get_extension_config(extension_name).get(key, default)
