"""What recorded runs tell without a model: how often each memory knew, what each fusion rule would have drafted."""
