"""What every vendor file must do, and the catalog of models."""
