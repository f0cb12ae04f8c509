"""The agent on a machine that is not ours: its identity, its connection, the chunks it computes.

* A node is its key: made on the first run, kept in a file that its user alone can read, sent nowhere.
* It signs every request it makes; what it is told over its connection is a hint to look.
* It imports no room and no foundation, so that a volunteer installs nothing of a server.

On failure: without its key file a node is a new one, and has to be claimed again.
"""
