"""What crosses the network: msgspec structs, one module per subject. No behaviour.

A boundary decodes strictly: what it does not know, it refuses.
"""
