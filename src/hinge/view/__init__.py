"""Pictures and the web viewer."""

__all__: list[str] = []
