"""The whole Transformer as a tool: train it, look inside it, ship it."""
