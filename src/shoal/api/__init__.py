"""The front door for programs: HTTP.

Owns the assembly of the ASGI app, what every request goes through, and the endpoints that belong to
no room. A room's endpoints are a file here (``jobs.py``), handed to ``build_app`` as Litestar
handlers or routers; the roles join them.

* **Closed by default.** What is handed in as ``handlers`` needs a token or a key; only what is handed
  in as ``open_handlers`` does not. A handler takes ``principal: Caller``; the guards ``users_only``
  and ``services_only`` narrow further.
* **Every error is a problem** (RFC 9457) with a stable ``code``. One table turns error kinds into
  statuses. What nobody expected is logged with an incident id, and only that id is told.
* **Limits everywhere**: the head of a request (64 KiB), its body (``api_max_body_bytes``, also when no
  length was announced). JSON is read strictly: no NaN, no repeated names, no NUL characters.
* **Nothing a stranger sends becomes a label, a log field or a page** without being checked: request ids
  are sanitised, metrics use route templates, files are served as from a foreign origin.

A request passes, from the outside in: the protocol with its limits (``protocol``), the edge with
request id, log line, metrics and security headers (``edge``), Litestar's routing, the guard that
authenticates (``identity``), the handler; errors become problems in ``errors``.

On failure: a dependency that does not answer is a 503 problem with ``Retry-After``. ``GET /status`` looks
at all of them and answers 503 when one is disconnected, so that a load balancer passes this process
over. On SIGTERM no new connection is taken, and requests under way end within the grace period.
"""
