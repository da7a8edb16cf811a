"""Pure values and functions: names, URIs, rewriting, events, configuration. No I/O, no event loop, no SDK."""
