"""State machines and sequencing: mounts, sessions, catalogues, the bus. Talks to the world through `ports`."""
