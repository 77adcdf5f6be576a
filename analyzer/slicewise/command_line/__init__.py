"""What the command line takes: every command with its arguments and options, by what users want."""
