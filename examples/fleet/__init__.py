"""Two engines for a fleet, as different as engines can be.

* ``dps`` plays a fight ten thousand times over: what damage does a caster do in a second, with these spells,
  cast in this order? Random, simulated in NumPy, reduced to moments. ``rotation`` reads the order.
* ``mandelbrot`` draws a picture: an iteration is one of its lines. Nothing random; the lines are collected.

A node needs ``pip install 'shoal[engines]'`` to run them. Tried out without any node::

    >>> from examples.fleet.app import app
    >>> from shoal import try_engine
    >>> print(*try_engine(app, "mandelbrot", {"width": 24, "height": 5}, iterations=5)["values"], sep="\\n")
    ..-----=++*%       %=--:
    ..===+#-=-.        -+---
    .                 -#+=--
    ..===+#-=-.        -+---
    ..-----=++*%       %=--:
"""
