"""The HTTP API: routes over the engine, who may use them, and errors in one shape."""
