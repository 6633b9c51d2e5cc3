"""C libraries as they are: functions, structures and numbers, without arrays and without policy."""
