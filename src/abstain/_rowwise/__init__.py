"""A rule and rows that are elsewhere: in parts of a frame, on a device, beside a model."""
