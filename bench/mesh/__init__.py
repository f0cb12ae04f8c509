"""How fast data sets get from server to server, beside a bare copy, the best there can be, and BitTorrent."""
