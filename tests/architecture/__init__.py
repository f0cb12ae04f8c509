"""The rules of the house that are about files; those about imports are in .importlinter (``make check``)."""
