"""What the command line does through a gateway that runs: no terminal in here, only reports."""
