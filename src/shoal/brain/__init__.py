"""The brain: Redis (7 or newer) or Valkey, for what changes often and can be rebuilt.

What it owns
    The connection, the way Lua scripts are called, and the names of the keys that the foundation
    itself uses. A room keeps its own scripts in its own ``lua`` folder and its own keys in its
    own module; both go through here.

Invariants
    * One atomic step is one script. A script is called by the names in its header, never by
      position, and a wrong name is refused before anything is sent.
    * The server's clock decides. A script that needs the time opens with ::

          local clock = redis.call('TIME')
          local now_us = clock[1] * 1000000 + clock[2]

      Microseconds since 1970 fit a Lua number exactly. Hand them to ``redis.call`` as numbers:
      ``tostring`` and ``..`` keep only 14 digits.
    * **Every script is safe to run twice with the same arguments.** A reply can get lost after
      the script ran. The connection then sends the call again, three times at most, and a caller
      that still gets ``ConnectionError`` cannot know either. Fence by attempt or by token.
    * A script answers with integers, strings and flat lists. ``nil`` cuts a list short and a
      fraction is truncated: answer ``''`` and ``string.format('%.17g', x)`` instead.

When something fails
    * The server forgot its scripts (``SCRIPT FLUSH``, restart, failover): the call loads the
      script again and goes on; the caller notices nothing.
    * The server restarts or is away for about a second: calls wait and are sent again. After that
      they raise ``redis.exceptions.ConnectionError``.
    * Everything in it is lost: work is repeated, no result is lost or wrong. Lease epochs still
      grow, because they start from the server's clock.

The header of a script
    ``scripts`` refuses a file without one, and one that its code does not match::

        -- rate_limit: what it does, in a sentence
        -- keys: accepted
        -- args: limit, window_ms, rest...
        -- returns: what comes back
        -- touches: accepted

    A further line ``-- uses: clock, plans`` puts the code of ``parts/clock.lua`` and ``parts/plans.lua``
    before the script's own: what several scripts of a room must do alike is written once.

    A last name that ends in ``...`` takes a list of any length. ``none`` stands for no keys, no
    args, or nothing touched. ``touches`` names the keys it may change. A script that
    finds its keys in what it reads (the brain is one server, never a cluster) declares none, and its
    parts name them.
"""
