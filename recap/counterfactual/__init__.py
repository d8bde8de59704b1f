"""What a prediction owes to the picture: the same text again, in front of other pictures."""
