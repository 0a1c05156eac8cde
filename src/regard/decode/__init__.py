"""Decoding: the search for the best text, step by step. It knows no model."""
