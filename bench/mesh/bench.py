"""The mesh: one transfer beside a bare copy, a swarm beside the ideal and BitTorrent, polls a second.

``transfer_vs_sendfile`` (goal: 0.4 or more), ``swarm_vs_ideal`` (1.15 or less), ``swarm_vs_libtorrent`` (0.6)
are ratios of the same run. The ideal is the size over the speed of one link.
"""

from bench.harness.peers import installed_peers
from bench.harness.table import say, say_ratio, say_settings
from bench.mesh.one_transfer import compare
from bench.mesh.polls import polls_per_s
from bench.mesh.swarm import MEGABYTE, PIECE, by_libtorrent, by_shoal

SERVERS = 8
MB_S = 20.0
SHARD_MB = 2


def measure(*, quick: bool) -> dict[str, float]:
    mebibytes = 64 if quick else 256
    say_settings(
        {
            "swarm": f"1 origin, {SERVERS} servers, {mebibytes} MiB in shards of {SHARD_MB} MiB, "
            f"links of {MB_S:g} MB/s each way",
            "libtorrent": f"1 seed, {SERVERS} peers, the same size and caps, all in one process",
        }
    )
    ours, bare = compare(shards=4 if quick else 16, repetitions=2 if quick else 5)
    figures = {"transfer_vs_sendfile": say_ratio("transfer", ("shoal MB/s", ours), ("sendfile MB/s", bare))}
    rate = polls_per_s(servers=2000, shards=1000, seconds=4 if quick else 15)
    say(f"polls: {rate:.0f} answered with a transfer a second, 2000 servers")
    figures["getwork_per_s"] = rate
    ideal_s = mebibytes * PIECE / MB_S / MEGABYTE
    found = by_shoal(servers=SERVERS, mebibytes=mebibytes, mb_s=MB_S, shard_mb=SHARD_MB)
    sent = found["bytes_from_origin"] / mebibytes / PIECE
    say(f"shoal: {found['seconds']:.2f} s, the origin sent {sent:.2f} copies; ideal {ideal_s:.2f} s")
    figures["swarm_vs_ideal"] = found["seconds"] / ideal_s
    if python := installed_peers().get("libtorrent"):
        other = by_libtorrent(python, peers=SERVERS, mebibytes=mebibytes, mb_s=MB_S)
        copies = other["sent"] / mebibytes / PIECE
        say(f"libtorrent: {other['seconds']:.2f} s, the seed sent {copies:.2f} copies")
        figures["swarm_vs_libtorrent"] = found["seconds"] / other["seconds"]
    return figures
