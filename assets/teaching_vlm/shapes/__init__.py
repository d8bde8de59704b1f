"""Coloured shapes on a grid."""
