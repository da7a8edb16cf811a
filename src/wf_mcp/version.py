"""The version, without importing anything that takes time."""

VERSION = "0.1.0"
