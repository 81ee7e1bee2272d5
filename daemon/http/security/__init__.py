"""Who is let in, how many, and with which certificate."""
