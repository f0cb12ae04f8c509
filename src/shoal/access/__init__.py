"""Access: who is asking.

Owns ``users`` (everybody we have seen) and ``access_keys`` (what services and workers come with), and
answers one question: ``Access.authenticate(header) -> Principal``.

* **Users** come with a JWT: HS256 with a shared secret, as Supabase issues it, or a key from a JWKS.
  The header's ``alg`` picks the verifier and nothing else; the algorithm is pinned to the key's type,
  so a public key is never used as a secret, and ``none`` is nobody. ``exp`` is required.
* **Services and workers** come with a key, ``shoal_<kind>_<id>_<secret>``. It is shown once; only its
  SHA-256 is kept, and it is compared in constant time.
* A secret-signed token with the role ``service_role`` is a service. A JWKS cannot make services: the
  people who run a login page are not the people who run this system.
* Whoever was let in as a user has a row in ``users``, so that what they own can refer to it.

States of a key: ``live`` → ``retiring`` (a newer secret has its name; it goes on until ``expires_at``)
→ ``ended``; or ``live | retiring`` → ``ended`` at once by revoking. A name has at most one live key. The
database's clock decides.

On failure: a database that does not answer lets no key in. A JWKS that does not answer lets in whoever
holds a token of a key we already know, and answers ``jwks_unreachable`` to others; it is asked at most
every 30 s, so that forged key ids cannot turn us against the login server.
"""
