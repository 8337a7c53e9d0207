"""The small model of this machine; nothing here needs its weights."""
