"""HEBI modules, by the vendor's library."""
