"""What stands between one socket and its session: requests and streams, bounded both ways."""
