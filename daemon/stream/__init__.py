"""The real-time process: wakes on time, computes, writes, reads, records."""
