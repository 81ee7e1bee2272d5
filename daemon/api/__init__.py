"""Requests, answers and reports, without any transport."""
