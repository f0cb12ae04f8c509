"""Foundation: real PostgreSQL and Valkey as child processes, and the directory they live in.

What it owns: one data directory with all that ``shoal up`` keeps on a machine.

    shoal.lock     who holds the directory; the lock is flock's, the text is for people
    secrets.json   what tokens and links are signed with, and the id of the local owner
    postgres/data  the ledger            valkey/  the brain (append-only file)
    vault/         the bytes             logs/    what the two servers print
    run/           their sockets; elsewhere when the path is too long for a socket

Invariants

* One process at a time holds a directory. The kernel drops the lock with the holder, so ``kill -9``
  never leaves a directory locked.
* No TCP port is opened. Whoever may enter the 0700 directory of the sockets is trusted.
* A server belongs to a directory when it works inside it (its current directory), never because a
  pid file says so. So a recycled pid is never waited for, adopted or killed.
* Servers live in sessions of their own: Ctrl-C or a kill of the caller's process group does not hit
  them. They are ended by ``stop``, and only then.
* PostgreSQL refuses to run as root. For root it runs in a user namespace as ``nobody``, which the
  kernel still treats as the owner of root's files; where that is refused, as ``nobody`` for real.
* ``postgres/data`` and a backup appear under their names complete or not at all.

What happens on failure

* The caller is killed: the servers go on. The next ``start`` adopts them if they were started just
  as it would start them and they answer; otherwise it stops them and starts fresh. ``shoal down``
  ends them with ``stop_leftovers``.
* A server dies: ``run`` starts it again; one that dies again at once takes the process down.
* A server does not start: one ``Unavailable`` with the telling lines of its log.
* A restore was cut short: the directory is marked and refuses to be used.
"""
