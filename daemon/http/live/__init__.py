"""Reports and requests over WebSockets."""
