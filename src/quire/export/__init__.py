"""Results become files and rows that other tools read as they are."""
