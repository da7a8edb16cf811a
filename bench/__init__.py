"""What wf-mcp costs: the same calls made directly and through it, paired in one run, as ratios.

Start with `make bench`."""
