"""Kits: ready-made recipes with their own groupings, files, tables and reports.

Nobody imports a kit: its groupings and commands are registered by entry points in pyproject.toml,
as those of any other package are.
"""
