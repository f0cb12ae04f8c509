"""One module per generated page of ``docs/reference``: each reads the code and returns Markdown.

The same code gives the same text, byte for byte, on every machine: nothing here looks at the
environment, the clock or the width of a terminal.
"""
