"""Models: an input part, an encoder, an output part."""
