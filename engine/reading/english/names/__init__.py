"""Classes of what only names: short forms, addresses, codes, telephone numbers, capitals."""
