"""What a listener heard: words, how far they were played, and the conversation after that."""
