"""Whole runs against the rehearsal server: the engine, the vendors' adapters and real HTTP."""
