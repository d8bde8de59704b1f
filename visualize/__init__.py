"""Traces as figures, sentences and pages: pure functions from records, no model and no server."""
