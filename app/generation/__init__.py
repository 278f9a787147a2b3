"""A worker's chunks to answer deltas: sampling options, decoding, stop strings, several choices."""
