"""Data: files -> examples -> batches."""
