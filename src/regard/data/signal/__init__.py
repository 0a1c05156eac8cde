"""What is no text: vectors (and what is to come), read from files and made ready for the network."""
