"""The methods that are compared: one file each, behind `Scorer.predict`."""
