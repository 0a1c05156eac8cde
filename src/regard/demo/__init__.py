"""Small worlds made of rules, in which every answer is known."""
