"""A job that runs by itself: every Monday at nine in Berlin, and once a minute to see it work.

shoal up --app examples.digest:app, and then: shoal schedule apply examples.digest:app
"""

import msgspec

from shoal import App, Context, Graph

app = App()


class Digest(msgspec.Struct):
    of: str = "the last minute"


@app.task("digest.write")
def write(context: Context, digest: Digest) -> str:
    context.artifact("digest.txt", f"What happened in {digest.of}.\n", type="text", content_type="text/plain")
    return digest.of


@app.schedule(name="weekly digest", cron="0 9 * * 1", tz="Europe/Berlin", params={"of": "the last week"})
@app.schedule(name="minutely digest", every=(1, "MINUTES"), overlap="skip", missed="skip")
@app.job("digest")
def digest(params: Digest) -> Graph:
    graph = Graph()
    graph.add(write, params)
    return graph
