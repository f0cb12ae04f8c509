"""The embedded hub beside a real Centrifugo: how fast a message reaches many, and what idle clients cost."""
