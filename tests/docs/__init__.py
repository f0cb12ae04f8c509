"""What the pages say is true: generated ones are current, links lead somewhere, examples run."""
