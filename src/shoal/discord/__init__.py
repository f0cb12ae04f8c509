"""The room of Discord: membership of a server as a permission, and the bot.

A node may be open to the members of a **guild** (a Discord server): it accepts the grant ``discord:<guild>``.
A job carries that grant for each guild its owner is a member of. So this room answers one question, in which
guilds is this user, and says so again whenever the answer changes. It also is the bot that people ask about
their jobs and nodes.

What there is
    * A **link** says which Discord account belongs to which user. A user makes a code, and the account that
      tells it to the bot is theirs: nobody can name an account that they cannot speak from.
    * A **filter** says of each guild "certainly not a member" or "perhaps one". It is a Bloom filter with a
      documented format (``docs/explanation/membership-filters.md``), kept in ``discord_server_filters`` and
      in the memory of every sentinel, so that a miss costs no network call.
    * A **roll** is the exact list of a guild's members. Only the sentinel that runs the bot has it.

What always holds
    * A filter alone lets nobody in. A hit is confirmed exactly before it becomes a grant: by the roll, while
      it is fresh, else by Discord's API.
    * No filter, an unreadable one, an empty one, no link: no grant.
    * A filter never forgets a member while it is being changed: joins are added at once, and after leaves it
      is built anew and exchanged whole.

What happens on failure
    * Discord is away: what was confirmed stays so for a few minutes and then ends; nothing new is confirmed.
    * The process with the bot dies: another sentinel takes the lease, connects, and asks for all members.
    * Without a token this room is not built, nothing of it is imported, and no job has a grant of a guild.
"""
