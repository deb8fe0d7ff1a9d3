"""What the classes share: number words, tables of short forms and units, what stands beside."""
