"""Realtime hints: who may connect, hear and say what; and the two servers that carry it.

Owns the client-facing realtime connection. Two implementations of one small interface (``Beacon``): a
Centrifugo server that asks us through its proxies, and an embedded hub that speaks the same client protocol.

* **Nothing is true because a message said so.** A message is a hint to look; every listener can read the
  truth elsewhere, and does so after a gap (``recovered: false``).
* **Decided once.** Connect, subscribe, publish, refresh and RPC are decided by one ``Gate``, whoever carries
  the bytes. Rooms register their channels and methods with it.
* **Default deny.** A channel or a method nobody registered is refused, and so is whoever is revoked, whatever
  their token says.

On failure: a beacon that is away loses hints, never facts; ``publish`` reports nothing to the caller beyond a
log line and a metric, and the next look finds what the lost hint would have said.
"""
