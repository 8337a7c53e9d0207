"""The doctor: checks each part of an installation, and says in a line how it is."""
