"""The embedded hub: Centrifugo's client protocol (JSON over websocket), spoken by Shoal itself.

Owns the connections of one process, their subscriptions, and what channels remember. The official clients
connect to it or to Centrifugo without knowing which; both ask the same ``Gate``.

* **One process.** Nothing is shared: two sentinels with a hub each would be two beacons. More than one
  sentinel means Centrifugo.
* **Decided without I/O.** A ``Session`` takes frames and verdicts and says what to send, to ask and to end;
  a ``Channel`` knows who listens and what was said. ``Hub`` alone touches the loop, the gate and sockets.
* **In order.** What is published to a channel reaches each of its listeners in the order of its offsets, and
  after the reply that let them in.
* **Bounded.** Sizes of frames, names and queues, the channels of a client and its commands under way have a
  limit each, and whoever is over one is refused or disconnected with the code Centrifugo has for it.

On failure: a hub that ends takes its history with it. Clients come back, are told ``recovered: false``, and
look at the truth elsewhere.
"""
