"""What each command does. `slicewise.command_line` declares the commands, and imports one of these when it runs."""
