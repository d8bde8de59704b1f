"""Dressed people side by side."""
