"""The pure decisions: sizes, packs, texts, retries and forecasts."""
