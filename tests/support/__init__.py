"""What tests of several rooms share: real servers of each generation, and a folder to keep them in."""
