"""Training: the objective, the loop, the scores, and what is kept."""
