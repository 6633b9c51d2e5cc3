"""What turns IR into something that runs."""
