"""A rule and rows that come in parts of a frame."""
