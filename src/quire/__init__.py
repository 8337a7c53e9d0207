"""Quire turns piles of documents into reviewed, structured data with language models."""
