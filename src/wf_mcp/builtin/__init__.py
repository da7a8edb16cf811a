"""Bundled plug-ins, written against the same surface as anybody's."""
