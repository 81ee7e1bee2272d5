"""What every reader and writer needs: bytes in, XML trees, digits, and files that are whole or not there."""
