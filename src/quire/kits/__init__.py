"""Kits: ready-made recipes with their own groupings, files, tables and reports."""
