"""The version of this Quire, as workers sign with it."""

VERSION = "0.1.0"
