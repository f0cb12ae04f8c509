"""The same in BitTorrent, by libtorrent: one seed and peers in one process, each a session with caps.

``PYTHON torrent.py FOLDER BYTES PEERS BYTES_PER_S`` prints JSON: seconds until all have everything, and how
many bytes the seed sent. Needs libtorrent alone.
"""

import json
import os
import sys
import time
from pathlib import Path

import libtorrent

PIECE = 1024 * 1024
LONGEST_S = 300.0


def session(rate: int) -> "libtorrent.session":
    return libtorrent.session(
        {
            "listen_interfaces": "127.0.0.1:0",
            "upload_rate_limit": rate,
            "download_rate_limit": rate,
            "enable_dht": False,
            "enable_lsd": False,
            "enable_upnp": False,
            "enable_natpmp": False,
            "allow_multiple_connections_per_ip": True,
            "rate_limit_ip_overhead": False,
        }
    )


def main() -> None:
    folder, size, peers, rate = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    seed_folder = folder / "seed"
    seed_folder.mkdir(parents=True)
    with (seed_folder / "data").open("wb") as file:
        for _ in range(size // PIECE):
            file.write(os.urandom(PIECE))
    files = libtorrent.file_storage()
    libtorrent.add_files(files, str(seed_folder / "data"))
    made = libtorrent.create_torrent(files, PIECE)
    libtorrent.set_piece_hashes(made, str(seed_folder))
    info = libtorrent.torrent_info(made.generate())
    sessions = [session(rate) for _ in range(peers + 1)]
    handles = []
    for number, one in enumerate(sessions):
        where = seed_folder if number == 0 else folder / f"peer-{number}"
        where.mkdir(exist_ok=True)
        handles.append(one.add_torrent({"ti": info, "save_path": str(where)}))
    for handle in handles:  # rates of peers on the same machine are not limited otherwise
        handle.set_upload_limit(rate)
        handle.set_download_limit(rate)
    while not handles[0].status().is_seeding:
        time.sleep(0.01)
    began = time.monotonic()
    ports = [one.listen_port() for one in sessions]
    for number, handle in enumerate(handles):
        for other, port in enumerate(ports):
            if other < number:
                handle.connect_peer(("127.0.0.1", port))
    while not all(handle.status().is_seeding for handle in handles):
        if time.monotonic() - began > LONGEST_S:
            break
        time.sleep(0.02)
    took = time.monotonic() - began
    print(json.dumps({"seconds": took, "sent": handles[0].status().total_payload_upload}), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
