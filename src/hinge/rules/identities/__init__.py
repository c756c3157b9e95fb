"""The published identities."""
