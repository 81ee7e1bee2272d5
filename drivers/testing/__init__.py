"""The contract of drivers as a suite of tests, for whoever writes one; needs pytest."""
