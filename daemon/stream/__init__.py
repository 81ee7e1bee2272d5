"""The real-time process of one robot: wakes on time, computes, writes, reads, checks, records.

Each package in here is used by its face. This one imports nothing, so that each use loads only what it needs.
"""
